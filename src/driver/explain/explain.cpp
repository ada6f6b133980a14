#include "driver/explain/explain.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <optional>

#include "codegen/emit/c/text.h"
#include "compiler/automatic_schedule.h"
#include "compiler/diagnostics.h"
#include "driver/command_line.h"
#include "driver/diagnostics.h"
#include "driver/explain/explain_html.h"
#include "driver/explain/explain_json.h"
#include "driver/explain/explain_report.h"
#include "driver/explain/explain_text.h"
#include "driver/files.h"
#include "driver/gpu_option.h"
#include "driver/options.h"
#include "driver/outputs.h"
#include "driver/program.h"
#include "driver/response_files.h"
#include "driver/run/run_steps.h"
#include "runner/options.h"
#include "support/unicode.h"

namespace pipec::driver {

namespace {

struct ExplainOptions {
    ProgramOptions program;
    std::string output = "-";
    bool html = false;
    bool json = false;
    ScheduleOptions schedule;
};

struct ParsedExplain {
    ExplainOptions options;
    std::optional<int> finished;  ///< exit code: there is nothing to explain
};

constexpr const char* kExplainFooter = R"(
For each kernel: its stages, where their values are kept, its tiles and their overlap, the bytes
that it moves, and the time that a model of the GPU predicts, term by term; then what other
strategies would take, and what keeps neighbouring kernels apart. Options are explained in
docs/explain.md. Nothing is measured.

Exit codes: 0 success, 1 the program or its schedule has errors, 2 wrong command line, 3 a file
could not be read or written.

Examples:
  pipec explain blur.pipe
  pipec explain blur.pipe --cost-model paper --gpu a100 --tune-for R=1080,C=1920
  pipec explain blur.pipe --html -o blur.html
  pipec explain blur.pipe --json)";

/// The sizes are for the prediction, whatever the schedule comes from.
std::optional<std::string> wrong(const ExplainOptions& options) {
    if (options.program.input.empty()) return "no input file";
    if (options.output.empty()) return "a file name is empty";
    if (options.html && options.json) return "`--html` and `--json` exclude each other";
    ScheduleOptions schedule = options.schedule;
    if (schedule.request.file || schedule.request.strategy) schedule.request.model.sizes.clear();
    return inconsistency(schedule);
}

constexpr const char* kExplainTitle = "Says why a pipeline runs on a GPU as it does.";

void declare(CLI::App& app, ExplainOptions& options) {
    app.footer(kExplainFooter);
    use_classic_names(app);
    app.add_option("file.pipe", options.program.input, "The program; `-` is standard input")->option_text(" ");
    const std::string output_group = "Output";
    app.add_option("-o,--output", options.output, "Where the report goes; default: standard output")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->option_text("FILE")
        ->group(output_group);
    app.add_flag("--html", options.html, "A page with pictures instead of text, all in one file")->group(output_group);
    app.add_flag("--json", options.json, "JSON instead of text, for programs")->group(output_group);
    add_message_options(app, options.program, output_group);
    const std::string input_group = "Input";
    add_import_option(app, options.program, input_group);
    add_fast_math_option(app, options.program.fast_math, input_group);
    add_schedule_options(app, options.schedule, kUsualGpu, "Fusion and tiling");
    app.allow_extras();
}

ParsedExplain parse_explain_options(int argc, char** argv) {
    ParsedExplain parsed;
    ExplainOptions& options = parsed.options;
    CLI::App app(kExplainTitle, "pipec explain");
    declare(app, options);
    const std::vector<std::string> arguments = expand_response_files({argv + 1, argv + argc});
    try {
        parse_arguments(app, arguments);
        refuse_extras(app, "one file is explained at a time");
        if (const auto message = wrong(options)) throw CLI::ParseError(*message, kExitUsage);
    } catch (const CLI::CallForHelp&) {
        write_files({{"-", app.help()}});
        parsed.finished = kExitSuccess;
    } catch (const CLI::ParseError& error) {
        std::cerr << "pipec: error: " << printable(error.what()) << "\nTry `pipec explain --help`.\n";
        parsed.finished = kExitUsage;
    }
    return parsed;
}

/// What there is to say about a program without errors. Throws fusion::ScheduleError, also where code generation
/// refuses a schedule.
std::string explanation(const ExplainOptions& options, const LoadedProgram& program) {
    const compiler::Settings settings = options.program.settings();
    const fusion::Target target = gpu_target(options.schedule.gpu);
    compiler::ScheduleRequest request = options.schedule.request;
    read_files(request);
    compiler::Checked all = program.checked;
    compiler::keep_versions(all, request.model, target, settings, program.sources);
    const auto [checked, known] = compiler::choose_versions(all, request.model.sizes);
    // A size that is known in a version is not among its sizes.
    for (const auto& values : known) {
        for (const auto& [name, value] : values) {
            const auto has_size = [&](const ir::Pipeline& pipeline) {
                return std::ranges::find(pipeline.sizes, name, &ir::SizeParameter::name) != pipeline.sizes.end();
            };
            if (std::ranges::none_of(checked.pipelines, has_size)) request.model.sizes.erase(name);
        }
    }
    const compiler::Prepared prepared = compiler::prepare(checked);
    const compiler::Scheduled scheduled = compiler::schedule(prepared, request, target, settings, program.sources);
    compiler::lower(checked, scheduled, settings, program.sources);
    const std::vector<std::vector<std::int64_t>> sizes = compiler::tuned_sizes(request.model, prepared);
    std::vector<explain::PipelineReport> reports;
    for (std::size_t i = 0; i < prepared.size(); ++i) {
        const fusion::Schedule& schedule = scheduled.schedules.at(prepared[i].pipeline.name);
        reports.push_back(
            explain::explain({prepared[i], schedule, target, sizes[i], program.sources, settings.fast_math}));
        reports.back().sizes.insert(reports.back().sizes.end(), known[i].begin(), known[i].end());
    }
    const std::string title(codegen::base_name(program.name));
    if (options.json) return explain::to_json(reports);
    return options.html ? explain::to_html(title, reports) : explain::to_text(reports);
}

int explain_program(const ExplainOptions& options) {
    WarningOptions warnings;
    warnings.none = options.program.no_warnings;
    Diagnostics diags(warnings);
    LoadedProgram program;
    const FileId main = add_source(program.sources, options.program.input);
    program.name = program.sources.name(main);
    compiler::Settings settings = options.program.settings();
    settings.versions = compiler::is_automatic(options.schedule.request);
    program.checked = compiler::check(program.sources, main, settings, diags);
    if (program.checked.pipelines.empty() && !diags.has_errors()) {
        diags.report(diag::MissingPipeline, {}, program.name);
    }
    std::string text;
    if (!diags.has_errors()) {
        try {
            text = explanation(options, program);
        } catch (const fusion::ScheduleError& error) {
            diags.report(diag::InvalidSchedule, {}, error.what());
        }
    }
    print(diags, program.sources, options.program.color);
    if (diags.has_errors()) return kExitProgramError;
    Options read;  // the files that must not be written to
    read.input = options.program.input;
    read.schedule = options.schedule;
    OutputPaths paths;
    paths.main = options.output;
    protect_inputs(paths, read, program.checked.program);
    write_files({{options.output, std::move(text)}});
    return kExitSuccess;
}

}  // namespace

void describe_explain(const AppVisitor& visit) {
    describe<ExplainOptions>(kExplainTitle, "pipec explain", declare, visit);
}

int explain_command(int argc, char** argv) {
    const ParsedExplain parsed = parse_explain_options(argc, argv);
    return parsed.finished ? *parsed.finished : explain_program(parsed.options);
}

}  // namespace pipec::driver
