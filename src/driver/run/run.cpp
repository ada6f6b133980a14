// `pipec run`: the passes of the compiler, nvcc or the system's C++ compiler (or the cache), then pipec-run in place of
// this process. The compiler links no image library; pipec-run links no compiler.
#include "driver/run/run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <system_error>

#include "driver/command_line.h"
#include "driver/files.h"
#include "driver/native/tool.h"
#include "driver/options.h"
#include "driver/run/for_this_machine.h"
#include "driver/run/run_process.h"
#include "driver/run/run_steps.h"
#include "runner/options.h"
#include "support/unicode.h"

namespace pipec::driver {

namespace {

struct RunOptions {
    MachineOptions machine;
    runner::Options run;
};

constexpr const char* kRunFooter = R"(
The pipeline runs on the first GPU where there are a GPU, NVIDIA's driver and nvcc, otherwise on
the CPU; --device chooses. It is compiled for this machine, and the result is kept in
$XDG_CACHE_HOME/pipec or ~/.cache/pipec. Options are explained in docs/run.md.

Exit codes: 0 success, 1 the program has errors, a compiler or the GPU is missing or failed, or
the pipeline refused its inputs, 2 wrong command line, 3 a file could not be read or written or
does not fit.

Examples:
  pipec run blur.pipe --in img=photo.png --out out=blurred.png
  pipec run harris.pipe --in img=photo.png --gray img --set k=0.05 --out response=corners.tif
  pipec run harris.pipe --in img=photo.png --gray img --repeat 20
  pipec run harris.pipe --in img=photo.png --gray img --device cpu
  pipec run blur.pipe --in img=slide.tif --out out=blurred.tif --memory 2G)";

struct ParsedRun {
    RunOptions options;
    std::optional<int> finished;  ///< exit code: nothing is to be run
};

constexpr const char* kRunTitle = "Compiles a pipeline for this machine and runs it on images.";

void declare(CLI::App& app, RunOptions& options) {
    app.footer(kRunFooter);
    add_machine_options(app, options.machine);
    runner::add_options(app, options.run);
    app.allow_extras();
}

ParsedRun parse_run_options(int argc, char** argv) {
    ParsedRun parsed;
    RunOptions& options = parsed.options;
    CLI::App app(kRunTitle, "pipec run");
    declare(app, options);
    try {
        parse_arguments(app, {argv + 1, argv + argc});
        refuse_extras(app, "one file is run at a time");
        if (const auto wrong = inconsistency(options.machine.schedule)) throw CLI::ParseError(*wrong, kExitUsage);
        if (const auto wrong = runner::inconsistency(options.run)) throw CLI::ParseError(*wrong, kExitUsage);
        options.machine.windows = options.run.tiled();
    } catch (const CLI::CallForHelp&) {
        write_files({{"-", app.help()}});
        parsed.finished = kExitSuccess;
        return parsed;
    } catch (const CLI::ParseError& error) {
        std::cerr << "pipec: error: " << printable(error.what()) << "\nTry `pipec run --help`.\n";
        parsed.finished = kExitUsage;
        return parsed;
    }
    return parsed;
}

int run_pipeline(const RunOptions& options) {
    const std::string runner = find_runner();
    const std::string& input = options.machine.program.input;
    LoadedProgram program;
    if (!load(with_versions(options.machine), program)) return kExitProgramError;
    const std::size_t index = choose_pipeline(input, options.machine.pipeline, program.checked.pipelines);
    const MachineObject made =
        make_for_this_machine(options.machine, program, index, options.run.device, runner, options.run.quiet);
    runner::Options run = options.run;
    run.device = made.gpu ? std::to_string(made.gpu->number) : "cpu";
    std::vector<std::string> command = {"pipec-run", made.object.file.inherited_path(), "--pipeline",
                                        program.checked.pipelines[index].name};
    const std::vector<std::string> arguments = runner::to_arguments(run);
    command.insert(command.end(), arguments.begin(), arguments.end());
    become(runner, command);
}

}  // namespace

void describe_run(const AppVisitor& visit) {
    describe<RunOptions>(kRunTitle, "pipec run", declare, visit);
}

int run_command(int argc, char** argv) {
    const ParsedRun parsed = parse_run_options(argc, argv);
    if (parsed.finished) return *parsed.finished;
    try {
        return run_pipeline(parsed.options);
    } catch (const RunError& error) {
        return fail_run(error.exit_code, error.what());
    } catch (const fusion::ScheduleError& error) {
        return fail_run(kExitProgramError, error.what());
    } catch (const ToolError& error) {
        return fail_run(kExitProgramError, error.what());
    } catch (const std::system_error& error) {
        return fail_run(kExitFile, error.what());
    }
}

}  // namespace pipec::driver
