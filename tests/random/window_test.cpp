// Random programs and random windows: windows of a launch are the same part of a launch of whole images, bit by bit,
// and nothing outside of what `required` says decides about them: on the host, and on a GPU, in the SIMT emulator.
//
// A failure prints a program made as small as possible; keep it in regressions/ (regressions_test.cpp).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>

#include "random/check.h"
#include "random/image_program.h"
#include "random/program.h"
#include "support_lib/compile.h"
#include "support_lib/device.h"
#include "support_lib/host.h"

namespace pipec::testing::window_test {
namespace {

int from_environment(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoi(text);
}

std::string to_text(const Windows& windows) {
    std::string text;
    for (const auto& [name, box] : windows) {
        text += " " + name;
        for (const auto& [lo, hi] : box) text += fmt::format("[{}..{}]", lo, hi);
    }
    return text;
}

/// Inputs with other values outside of these windows.
reference::Arguments changed_outside(const reference::Arguments& arguments, const Windows& windows,
                                     std::mt19937_64& rng) {
    reference::Arguments result = arguments;
    for (auto& [name, array] : result.inputs) {
        const WindowBox& box = windows.at(name);
        if (box.empty()) continue;
        const reference::Array other = random_array(array.type, array.extents, Fill::Smooth, rng);
        for (std::size_t linear = 0; linear < array.size(); ++linear) {
            std::size_t rest = linear;
            bool inside = true;
            for (std::size_t d = box.size(); d-- > 0;) {
                const auto extent = static_cast<std::size_t>(array.extents[d]);
                const auto at = static_cast<std::int64_t>(rest % extent);
                rest /= extent;
                inside = inside && box[d].first <= at && at < box[d].second;
            }
            if (!inside) array.set(linear, other.get(linear));
        }
    }
    return result;
}

struct Targets {
    WindowedPipeline host, device;
};

/// One window of one run; what is wrong, or nothing.
std::string problem_of(const Subject& subject, const Targets& targets, const Subject::Run& run, Layout layout,
                       std::mt19937_64& rng) {
    const WindowedPipeline& pipeline = targets.host;
    const Windows outputs = random_windows(*pipeline.info, run.expected, rng);
    const Windows needed = required_windows(pipeline, run.arguments, outputs);
    const auto told = [&](const std::string& what) {
        return fmt::format("{}; outputs{}, inputs{}, {} images", what, to_text(outputs), to_text(needed), name(layout));
    };
    const auto compare = [&](const std::map<std::string, reference::Array>& actual, const char* who) -> std::string {
        for (const auto& [output, box] : outputs) {
            const std::string differs = difference(part_of(run.expected.at(output), box), actual.at(output));
            if (!differs.empty()) return told(fmt::format("{}: `{}`: {}", who, output, differs));
        }
        return "";
    };
    try {
        const auto whole =
            reference::run(subject.compiled.definitions.front(), changed_outside(run.arguments, needed, rng));
        std::map<std::string, reference::Array> parts;
        for (const auto& [output, box] : outputs) parts.emplace(output, part_of(whole.at(output), box));
        if (std::string wrong = compare(parts, "more is needed"); !wrong.empty()) return wrong;
        Windows held = needed;  // or more
        for (auto& [input, box] : held) {
            const auto& extents = run.arguments.inputs.at(input).extents;
            for (std::size_t d = 0; d < box.size() && rng() % 4 == 0; ++d) {
                if (box[d].first > 0) --box[d].first;
                if (box[d].second < extents[d]) ++box[d].second;
            }
        }
        if (std::string wrong = compare(run_host_windows(pipeline, run.arguments, outputs, held, layout), "host");
            !wrong.empty()) {
            return wrong;
        }
        if (required_windows(targets.device, run.arguments, outputs) != needed) return told("the targets disagree");
        return compare(run_device_windows(targets.device, run.arguments, outputs, held, layout, rng()), "device");
    } catch (const std::exception& error) {
        return told(fmt::format("exception: {}", error.what()));
    }
}

void check_windows(const std::vector<Subject*>& subjects, const SourceManager& sources, HostTiling tiling,
                   int windows = 8) {
    std::vector<codegen::Unit> units;
    for (const Subject* s : subjects) units.push_back({&s->compiled.pipelines.front(), &s->compiled.models.front()});
    try {
        const HostLibrary library(units, sources, "-O1 -DPIPE_NO_VERSIONS", tiling, true);
        const DeviceLibrary device(units, sources, {.deterministic = true, .schedules = {}}, true);
        for (Subject* subject : subjects) {
            const Targets pipeline{library.windowed(subject->name), device.windowed(subject->name)};
            std::mt19937_64 rng(subject->text.size());
            for (const Subject::Run& run : subject->runs) {
                for (int window = 0; window < windows && subject->failure.empty(); ++window) {
                    const Layout layout = window % 2 == 0 ? Layout::Dense : kLayouts[rng() % std::size(kLayouts)];
                    subject->failure = problem_of(*subject, pipeline, run, layout, rng);
                }
            }
        }
    } catch (const std::exception& error) {
        for (Subject* s : subjects) s->failure = fmt::format("exception: {}", error.what());
    }
}

using Generate = std::string (*)(const Tape& tape, const std::string& name);

void check_random(Generate generate, const std::vector<int>& largest, int programs) {
    constexpr int kBatch = 16;
    std::mt19937_64 rng(static_cast<std::uint64_t>(from_environment("PIPEC_RANDOM_SEED", 1)));
    const auto tiling = [](int done) { return done / kBatch % 2 == 0 ? HostTiling::Small : HostTiling::Usual; };
    int failures = 0;
    for (int done = 0; done < programs && failures < 3; done += kBatch) {
        SourceManager sources;
        std::vector<Tape> tapes;
        std::vector<std::unique_ptr<Subject>> subjects;
        std::vector<Subject*> legal;
        for (int i = 0; i < std::min(kBatch, programs - done); ++i) {
            tapes.push_back(random_tape(rng, 40, 440));
            const std::string name = fmt::format("p{}", done + i);
            subjects.push_back(check_program(sources, name, generate(tapes.back(), name), largest));
            if (subjects.back()->accepted()) legal.push_back(subjects.back().get());
        }
        check_windows(legal, sources, tiling(done));
        for (std::size_t i = 0; i < subjects.size() && failures < 3; ++i) {
            if (!subjects[i]->accepted() && subjects[i]->failure.empty()) continue;
            if (subjects[i]->failure.empty()) continue;
            ++failures;
            const auto failure_of = [&](const std::string& text) {
                SourceManager own;
                const auto subject = check_program(own, "p", text, largest);
                if (subject->accepted()) check_windows({subject.get()}, own, tiling(done));
                return subject->failure;
            };
            const auto fails = [&](const Tape& t) { return !failure_of(generate(t, "p")).empty(); };
            const std::string smaller =
                generate(shrink(tapes[i], from_environment("PIPEC_RANDOM_SHRINKING", 60), fails), "p");
            ADD_FAILURE() << subjects[i]->failure << "\n" << smaller << failure_of(smaller);
        }
    }
}

TEST(RandomWindows, AreTheSamePartOfTheWhole) {
    check_random(program_text, {9, 24}, from_environment("PIPEC_RANDOM_PROGRAMS", 16));
}

/// PIPEC_WINDOW_PROGRAMS: another directory than that of the examples.
TEST(RandomWindows, OfExamplesAreTheSamePartOfTheWhole) {
    const char* const directory = std::getenv("PIPEC_WINDOW_PROGRAMS");
    for (const auto& entry :
         std::filesystem::directory_iterator(directory == nullptr ? PIPEC_SOURCE_DIR "/examples" : directory)) {
        if (entry.path().extension() != ".pipe") continue;
        SourceManager sources;
        const auto subject = check_program(sources, entry.path().stem(), read_file(entry.path()), {19});
        if (!subject->accepted()) {
            ADD_FAILURE() << entry.path() << subject->failure;
            continue;
        }
        subject->name = subject->compiled.pipelines.front().name;
        EXPECT_FALSE(subject->runs.empty()) << entry.path();
        check_windows({subject.get()}, sources, HostTiling::Small, 4);
        EXPECT_EQ(subject->failure, "") << entry.path();
    }
}

TEST(RandomWindows, OfImagePipelinesAreTheSamePartOfTheWhole) {
    check_random(image_program, {6, 30, 90}, from_environment("PIPEC_RANDOM_PROGRAMS", 16));
}

}  // namespace
}  // namespace pipec::testing::window_test
