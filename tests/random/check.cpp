#include "random/check.h"

#include <fmt/format.h>

#include <ctime>
#include <fstream>

#include "random/arguments.h"
#include "support/render.h"
#include "support_lib/device.h"
#include "support_lib/host.h"

namespace pipec::testing {

namespace {

std::vector<std::map<std::string, std::int64_t>> legal_sizes(const ir::Pipeline& pipeline,
                                                             const std::vector<int>& largest, std::mt19937_64& rng) {
    std::vector<std::map<std::string, std::int64_t>> result;
    for (int attempt = 0; attempt < 20 && result.size() < largest.size(); ++attempt) {
        std::map<std::string, std::int64_t> sizes;
        for (const ir::SizeParameter& size : pipeline.sizes) {
            const auto most = static_cast<std::uint64_t>(largest[result.size()]);
            sizes[size.name] = 1 + static_cast<std::int64_t>(rng() % most);
        }
        if (sizes_are_legal(pipeline, sizes)) result.push_back(sizes);
    }
    return result;
}

std::string describe(const reference::Arguments& arguments) {
    std::string text;
    for (const auto& [name, value] : arguments.sizes) text += fmt::format(" {}={}", name, value);
    for (const auto& [name, value] : arguments.params) text += fmt::format(" {}={}", name, to_text(value));
    return text;
}

void interpret(Subject& subject, const std::vector<int>& largest) {
    const ir::Pipeline& pipeline = subject.compiled.definitions.front();
    std::mt19937_64 rng(subject.text.size());
    Fill fill = Fill::Smooth;
    for (const auto& sizes : legal_sizes(pipeline, largest, rng)) {
        const std::optional<reference::Arguments> legal = legal_arguments(pipeline, sizes, fill, rng);
        if (!legal) continue;
        const reference::Arguments& arguments = *legal;
        try {
            subject.runs.push_back({arguments, reference::run(pipeline, arguments)});
        } catch (const reference::Error& error) {
            subject.failure =
                fmt::format("accepted, but the interpreter finds with{}: {}", describe(arguments), error.what());
            return;
        }
        fill = fill == Fill::Smooth ? Fill::Extreme : Fill::Smooth;
    }
}

/// `run` takes arguments, a layout, and the number of the run.
template <class Run>
void compare(Subject& subject, const char* target, const Run& run_target) {
    std::size_t next_layout = subject.text.size();
    for (const Subject::Run& run : subject.runs) {
        for (const Layout layout : {Layout::Dense, kLayouts[next_layout++ % std::size(kLayouts)]}) {
            const auto actual = run_target(run.arguments, layout, next_layout);
            for (const auto& [output, array] : run.expected) {
                const std::string differs = difference(array, actual.at(output));
                if (differs.empty()) continue;
                subject.failure = fmt::format("{} and interpreter differ with{}, {} images: `{}`: {}", target,
                                              describe(run.arguments), name(layout), output, differs);
                return;
            }
        }
    }
}

void compare(Subject& subject, const HostLibrary& library) {
    const runner::abi::pipe_info& info = library.info(subject.name);
    compare(subject, "host", [&](const reference::Arguments& arguments, Layout layout, std::size_t) {
        return run_host(info, arguments, layout);
    });
}

void compare(Subject& subject, const DeviceLibrary& library) {
    const runner::abi::pipe_info& info = library.info(subject.name);
    compare(subject, "device", [&](const reference::Arguments& arguments, Layout layout, std::size_t run) {
        return run_device(info, arguments, layout, run);
    });
}

std::vector<codegen::Unit> units_of(const std::vector<Subject*>& subjects) {
    std::vector<codegen::Unit> units;
    for (const Subject* s : subjects) units.push_back({&s->compiled.pipelines.front(), &s->compiled.models.front()});
    return units;
}

}  // namespace

std::unique_ptr<Subject> check_program(SourceManager& sources, const std::string& name, const std::string& text,
                                       const std::vector<int>& largest) {
    auto subject = std::make_unique<Subject>();
    subject->name = name;
    subject->text = text;
    std::ofstream(PIPEC_BINARY_DIR "/random-current.pipe") << text;  // for whoever looks into a crash
    try {
        const std::clock_t begin = std::clock();
        subject->compiled = compile_text(sources, name + ".pipe", text);
        subject->compile_seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        const Compiled& compiled = subject->compiled;
        render_text(compiled.diags, sources);
        if (compiled.ok() && compiled.pipelines.size() != compiled.models.size()) {
            subject->failure = "neither accepted nor rejected with an error";
        } else if (subject->accepted()) {
            subject->name = compiled.pipelines.front().name;
            interpret(*subject, largest);
        }
    } catch (const std::exception& error) {
        subject->failure = fmt::format("exception: {}", error.what());
    }
    return subject;
}

namespace {

/// `make` compiles a batch.
template <class Make>
void check_batch(const std::vector<Subject*>& subjects, const Make& make) {
    if (subjects.empty()) return;
    try {
        const auto library = make(subjects);
        for (Subject* subject : subjects) {
            try {
                compare(*subject, *library);
            } catch (const std::exception& error) {
                subject->failure = error.what();
            }
        }
    } catch (const std::exception& error) {
        // Something in the batch does not compile: halve it until the culprit is alone.
        if (subjects.size() == 1) {
            subjects.front()->failure = error.what();
            return;
        }
        const auto middle = subjects.begin() + static_cast<std::ptrdiff_t>(subjects.size() / 2);
        check_batch({subjects.begin(), middle}, make);
        check_batch({middle, subjects.end()}, make);
    }
}

}  // namespace

void check_on_host(const std::vector<Subject*>& subjects, const SourceManager& sources, const std::string& flags) {
    check_batch(subjects, [&](const std::vector<Subject*>& batch) {
        return std::make_unique<HostLibrary>(units_of(batch), sources, flags, HostTiling::Small);
    });
}

void check_on_device(const std::vector<Subject*>& subjects, const SourceManager& sources) {
    check_batch(subjects, [&](const std::vector<Subject*>& batch) {
        codegen::CudaOptions options{.deterministic = true, .schedules = {}};
        for (const Subject* s : batch) {
            if (s->schedule) options.schedules.emplace(s->name, *s->schedule);
        }
        return std::make_unique<DeviceLibrary>(units_of(batch), sources, options);
    });
}

}  // namespace pipec::testing
