// Random pipelines under random schedules: on the CUDA target, in the SIMT emulator, they compute what the interpreter
// computes. A strategy may refuse a group; how often it did is printed.
//
// A failure prints a program and a schedule made as small as possible; keep them in regressions/
// (regressions_test.cpp).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "fusion/schedule_json.h"
#include "random/check.h"
#include "random/image_program.h"
#include "random/random_schedule.h"
#include "support/render.h"

namespace pipec::testing::fused_test {
namespace {

int from_environment(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoi(text);
}

struct Tapes {
    Tape program, schedule;
};

/// Checks the front end and chooses a schedule.
std::unique_ptr<Subject> subject_of(const Tapes& tapes, SourceManager& sources, const std::string& name, Tried& tried) {
    auto subject = check_program(sources, name, image_program(tapes.program, name), {6, 30, 90});
    if (!subject->accepted()) {
        if (subject->failure.empty()) subject->failure = render_text(subject->compiled.diags, sources);
        return subject;
    }
    try {
        subject->schedule = random_schedule(
            tapes.schedule, {&subject->compiled.pipelines.front(), &subject->compiled.models.front()}, sources, tried);
    } catch (const std::exception& error) {
        subject->failure = fmt::format("exception: {}", error.what());
    }
    return subject;
}

std::unique_ptr<Subject> run_alone(const Tapes& tapes, SourceManager& sources) {
    Tried tried;
    auto subject = subject_of(tapes, sources, "p", tried);
    if (subject->failure.empty()) check_on_device({subject.get()}, sources);
    return subject;
}

std::string report(const Tapes& tapes) {
    SourceManager sources;
    const auto subject = run_alone(tapes, sources);
    const std::string schedule =
        subject->schedule ? fusion::to_json({{subject->name, *subject->schedule}}, subject->compiled.pipelines) : "";
    return fmt::format("{}\n{}{}", subject->failure, subject->text, schedule);
}

/// First the schedule, as fewer and simpler groups say most; then the program; each attempt runs a compiler.
Tapes shrink_both(Tapes tapes) {
    const auto fails = [](const Tapes& t) {
        SourceManager sources;
        return !run_alone(t, sources)->failure.empty();
    };
    if (!fails(tapes)) return tapes;  // it needs the others
    const int budget = from_environment("PIPEC_RANDOM_SHRINKING", 60);
    tapes.schedule = shrink(tapes.schedule, budget, [&](const Tape& t) { return fails({tapes.program, t}); });
    tapes.program = shrink(tapes.program, budget, [&](const Tape& t) { return fails({t, tapes.schedule}); });
    return tapes;
}

TEST(Fused, CodeEqualsReference) {
    constexpr int kBatch = 4;  // programs in one run of the system's compiler
    const int programs = from_environment("PIPEC_RANDOM_FUSED", 8);
    std::mt19937_64 rng(static_cast<std::uint64_t>(from_environment("PIPEC_RANDOM_SEED", 1)));
    Tried tried;
    int failures = 0;
    for (int done = 0; done < programs && failures < 3; done += kBatch) {
        SourceManager sources;
        std::vector<Tapes> tapes;
        std::vector<std::unique_ptr<Subject>> subjects;
        std::vector<Subject*> legal;
        for (int i = 0; i < std::min(kBatch, programs - done); ++i) {
            const Tape program = random_tape(rng, 20, 200);
            tapes.push_back({program, random_tape(rng, 60, 300)});
            subjects.push_back(subject_of(tapes.back(), sources, fmt::format("p{}", done + i), tried));
            if (subjects.back()->failure.empty()) legal.push_back(subjects.back().get());
        }
        check_on_device(legal, sources);
        for (std::size_t i = 0; i < subjects.size() && failures < 3; ++i) {
            if (subjects[i]->failure.empty()) continue;
            ++failures;
            ADD_FAILURE() << "program " << done + static_cast<int>(i) << ": " << subjects[i]->failure << "\n"
                          << report(shrink_both(tapes[i]));
        }
    }
    fmt::print("{}", to_string(tried));
    int groups = 0;
    for (const auto& [strategy, counts] : tried.counts) {
        groups += counts.groups;
        EXPECT_LE(counts.refused, 5 + 4 * counts.groups) << name(strategy) << " refuses nearly everything";
    }
    EXPECT_GE(groups, programs);
}

}  // namespace
}  // namespace pipec::testing::fused_test
