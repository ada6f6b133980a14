#include "driver/explain.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>

#include "codegen/emit/c/text.h"
#include "driver/automatic_schedule.h"
#include "driver/command_line.h"
#include "driver/compile.h"
#include "driver/diagnostics.h"
#include "driver/explain_html.h"
#include "driver/explain_report.h"
#include "driver/explain_text.h"
#include "driver/files.h"
#include "driver/gpu_option.h"
#include "driver/options.h"
#include "driver/outputs.h"
#include "driver/response_files.h"
#include "driver/run_steps.h"
#include "driver/schedule.h"
#include "runner/options.h"
#include "support/render.h"
#include "support/unicode.h"

namespace pipec::driver {

namespace {

struct ExplainOptions {
    std::string input;
    std::string output = "-";
    std::vector<std::string> include_dirs;
    bool html = false;
    bool fast_math = false;
    bool no_warnings = false;
    bool color = false;
    ScheduleOptions schedule;
};

struct Parsed {
    ExplainOptions options;
    std::optional<int> finished;  ///< exit code: there is nothing to explain
};

constexpr const char* kFooter = R"(
For each kernel: its stages, where their values are kept, its tiles and their overlap, the bytes
that it moves, and the time that a model of the GPU predicts, term by term; then what other
strategies would take, and what keeps neighbouring kernels apart. Options are explained in
docs/explain.md. Nothing is measured.

Exit codes: 0 success, 1 the program or its schedule has errors, 2 wrong command line, 3 a file
could not be read or written.

Examples:
  pipec explain blur.pipe
  pipec explain blur.pipe --cost-model paper --gpu a100 --tune-for R=1080,C=1920
  pipec explain blur.pipe --html -o blur.html)";

/// The sizes are for the prediction, whatever the schedule comes from.
std::optional<std::string> wrong(const ExplainOptions& options) {
    if (options.input.empty()) return "no input file";
    if (options.output.empty()) return "a file name is empty";
    ScheduleOptions schedule = options.schedule;
    if (schedule.file || schedule.strategy) schedule.automatic.sizes.clear();
    return inconsistency(schedule);
}

Parsed parse_explain_options(int argc, char** argv) {
    Parsed parsed;
    ExplainOptions& options = parsed.options;
    CLI::App app("Says why a pipeline runs on a GPU as it does.", "pipec explain");
    app.footer(kFooter);
    app.get_formatter()->column_width(34);
    std::vector<std::string> files;
    app.add_option("file.pipe", options.input, "The program; `-` is standard input")->option_text(" ");
    const std::string output_group = "Output";
    app.add_option("-o,--output", options.output, "Where the report goes; default: standard output")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->option_text("FILE")
        ->group(output_group);
    app.add_flag("--html", options.html, "A page with pictures instead of text, all in one file")->group(output_group);
    app.add_flag("-w", options.no_warnings, "No warnings about the program")->group(output_group);
    std::string color = "auto";
    app.add_option("--color", color, "auto, always or never: messages about the program")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->option_text("WHEN")
        ->group(output_group);
    const std::string input_group = "Input";
    app.add_option("-I", options.include_dirs, "Search DIR for imports")
        ->allow_extra_args(false)
        ->option_text("DIR ...")
        ->group(input_group);
    app.add_flag("--ffast-math", options.fast_math, "The code with -ffast-math")->group(input_group);
    add_schedule_options(app, options.schedule, kUsualGpu, "Fusion and tiling");
    app.allow_extras();
    Arguments arguments = rewrite_classic(expand_response_files({argv + 1, argv + argc}));
    // Behind `--` stand files, whatever they look like.
    if (!arguments.files.empty()) arguments.options.emplace_back("--");
    arguments.options.insert(arguments.options.end(), arguments.files.begin(), arguments.files.end());
    try {
        runner::parse(app, arguments.options);
        refuse_extras(app, "one file is explained at a time");
        if (const auto message = wrong(options)) throw CLI::ParseError(*message, kExitUsage);
    } catch (const CLI::CallForHelp&) {
        write_files({{"-", app.help()}});
        parsed.finished = kExitSuccess;
    } catch (const CLI::ParseError& error) {
        std::cerr << "pipec: error: " << printable(error.what()) << "\nTry `pipec explain --help`.\n";
        parsed.finished = kExitUsage;
    }
    options.color = use_color(color == "always" ? Color::Always : color == "never" ? Color::Never : Color::Auto);
    return parsed;
}

std::vector<explain::PipelineReport> reports(const ExplainOptions& options, const Compilation& compilation,
                                             const SourceManager& sources) {
    const std::vector<fusion::Inlined> prepared = schedulable(compilation);
    const std::vector<std::vector<std::int64_t>> sizes = tuned_sizes(options.schedule.automatic, prepared);
    std::vector<explain::PipelineReport> result;
    for (std::size_t i = 0; i < prepared.size(); ++i) {
        const fusion::Schedule& schedule = compilation.schedules.at(prepared[i].pipeline.name);
        result.push_back(
            explain::explain({prepared[i], schedule, compilation.target, sizes[i], sources, options.fast_math}));
    }
    return result;
}

int explain_program(const ExplainOptions& options) {
    WarningOptions warnings;
    warnings.none = options.no_warnings;
    Diagnostics diags(warnings);
    SourceManager sources;
    const FileId main = sources.add(options.input == "-" ? "<stdin>" : options.input, read_source(options.input));
    Compilation compilation =
        compile(sources, main, {options.include_dirs, {}, Phase::Analyze, options.fast_math}, diags);
    if (compilation.pipelines.empty() && !diags.has_errors()) {
        diags.report(diag::MissingPipeline, {}, std::string(sources.name(main)));
    }
    std::string text;
    if (!diags.has_errors()) {
        try {
            compilation.target = gpu_target(options.schedule.gpu);
            compilation.schedules =
                make_schedules(options.schedule, compilation, sources, options.fast_math, &compilation.made);
            // Code generation refuses what it cannot make, before anything is said about it.
            Options check;
            check.emit = Emit::Nothing;
            check.object.fast_math = options.fast_math;
            check_schedules(check, compilation, sources);
            const std::vector<explain::PipelineReport> all = reports(options, compilation, sources);
            const std::string title(codegen::base_name(sources.name(main)));
            text = options.html ? explain::to_html(title, all) : explain::to_text(all);
        } catch (const fusion::ScheduleError& error) {
            diags.report(diag::InvalidSchedule, {}, error.what());
        }
    }
    std::cerr << render_text(diags, sources, {.color = options.color}) << std::flush;
    if (diags.has_errors()) return kExitProgramError;
    Options read;  // the files that must not be written to
    read.input = options.input;
    read.schedule = options.schedule;
    OutputPaths paths;
    paths.main = options.output;
    protect_inputs(paths, read, compilation.program);
    write_files({{options.output, std::move(text)}});
    return kExitSuccess;
}

}  // namespace

int explain_command(int argc, char** argv) {
    const Parsed parsed = parse_explain_options(argc, argv);
    return parsed.finished ? *parsed.finished : explain_program(parsed.options);
}

}  // namespace pipec::driver
