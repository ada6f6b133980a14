// `pipec run`: the passes of the compiler, nvcc or the system's C++ compiler (or the cache), then pipec-run in place of
// this process. The compiler links no image library; pipec-run links no compiler.
#include "driver/run/run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <system_error>

#include "driver/files.h"
#include "driver/gpu_option.h"
#include "driver/native/native_compiler.h"
#include "driver/native/tool.h"
#include "driver/options.h"
#include "driver/program.h"
#include "driver/run/run_device.h"
#include "driver/run/run_process.h"
#include "driver/run/run_steps.h"
#include "driver/schedule_options.h"
#include "runner/options.h"
#include "support/unicode.h"

namespace pipec::driver {

namespace {

struct RunOptions {
    ProgramOptions program;
    std::string pipeline;  ///< empty: the only one
    NativeOptions native;
    std::string nvcc;  ///< --nvcc; empty: found
    bool no_cache = false;
    ScheduleOptions schedule;
    runner::Options run;
};

constexpr const char* kFooter = R"(
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
  pipec run harris.pipe --in img=photo.png --gray img --device cpu)";

struct Parsed {
    RunOptions options;
    std::optional<int> finished;  ///< exit code: nothing is to be run
};

Parsed parse_run_options(int argc, char** argv) {
    Parsed parsed;
    RunOptions& options = parsed.options;
    CLI::App app("Compiles a pipeline for this machine and runs it on images.", "pipec run");
    app.footer(kFooter);
    app.get_formatter()->column_width(34);
    app.add_option("file.pipe", options.program.input, "The program; `-` is standard input")
        ->required()
        ->option_text(" ");
    app.add_option("--pipeline", options.pipeline, "Which pipeline of the file; needed where there are several")
        ->option_text("NAME");
    const std::string compile_group = "Compilation";
    add_import_option(app, options.program, compile_group);
    app.add_option("-O", options.native.optimize, "Optimisation, 0 to 3; default 3")
        ->check(CLI::Range(0, 3))
        ->option_text("N")
        ->group(compile_group);
    app.add_option("--cxx", options.native.command, "The C++ compiler; default $CXX, or c++")
        ->option_text("COMMAND")
        ->group(compile_group);
    app.add_option("--nvcc", options.nvcc, "The CUDA compiler; default $NVCC, or where CUDA is installed")
        ->option_text("COMMAND")
        ->group(compile_group);
    app.add_option("--cxxflags", options.native.extra_flags, "More flags for the C++ compiler: --cxxflags='-g -O1'")
        ->option_text("FLAGS")
        ->group(compile_group);
    const auto set_float_rules = [&options](const std::string& rules) {
        options.program.fast_math = rules == "fast-math";
    };
    app.add_option_function<std::string>("-f", set_float_rules,
                                         "-ffast-math: on a GPU, count with floats as if they were real numbers; "
                                         "-fno-fast-math undoes it")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->check(CLI::IsMember({"fast-math", "no-fast-math"}))
        ->option_text("fast-math")
        ->group(compile_group);
    app.add_flag("--no-cache", options.no_cache, "Compile anew and keep nothing")->group(compile_group);
    add_message_options(app, options.program, compile_group);
    add_schedule_options(app, options.schedule, kPresentGpu, "Fusion and tiling, on a GPU");
    runner::add_options(app, options.run);
    app.allow_extras();
    try {
        runner::parse(app, {argv + 1, argv + argc});
        refuse_extras(app, "one file is run at a time");
        if (const auto wrong = inconsistency(options.schedule)) throw CLI::ParseError(*wrong, kExitUsage);
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

/// The last passes, for a GPU or for the processor. Throws fusion::ScheduleError and FileError.
NativeSource generate(const RunOptions& options, const LoadedProgram& program, std::size_t pipeline,
                      const std::optional<fusion::Target>& gpu) {
    const compiler::Settings settings = options.program.settings();
    const compiler::Checked one = compiler::only(program.checked, pipeline);
    std::optional<compiler::Lowered> lowered;
    if (gpu) {
        compiler::ScheduleRequest request = options.schedule.request;
        read_files(request);
        // A file of schedules may be about all pipelines of the program.
        const compiler::Scheduled scheduled =
            compiler::schedule(compiler::prepare(program.checked), request, *gpu, settings, program.sources);
        lowered = compiler::lower(one, scheduled, settings, program.sources);
    }
    return {gpu ? "pipeline.cu" : "pipeline.cpp",
            compiler::code_text(program.name, "pipeline.h", one, lowered, program.sources), "pipeline.h",
            compiler::header_text(program.name, "pipeline", one)};
}

int run_pipeline(const RunOptions& options) {
    const std::string runner = find_runner();
    LoadedProgram program;
    if (!load(options.program, program)) return kExitProgramError;
    const std::size_t index = choose_pipeline(options.program.input, options.pipeline, program.checked.pipelines);
    const std::optional<PresentGpu> gpu = choose_gpu(options.run.device, runner, options.nvcc);
    if (options.program.fast_math && !gpu) {
        throw RunError(kExitUsage, "`-ffast-math` is for a GPU, but this runs on the CPU");
    }
    if (const auto given = first_given(options.schedule)) {
        if (!gpu) throw RunError(kExitUsage, fmt::format("`{}` is for a GPU, but this runs on the CPU", *given));
    }
    std::optional<fusion::Target> target;
    if (gpu) target = gpu_target(options.schedule.gpu, *gpu, runner);
    const NativeSource source = generate(options, program, index, target);
    const NativeCompiler compiler = gpu ? gpu_compiler(*gpu, {options.native, options.nvcc, options.program.fast_math})
                                        : find_native_compiler(options.native);
    Progress progress("compiling " + printable(options.program.input), options.run.quiet);
    const CompiledObject object = get_object(compiler, source, !options.no_cache, [&] { progress.show(); });
    if (!object.not_kept.empty()) {
        std::cerr << "pipec: warning: the compiled pipeline is not kept: " << printable(object.not_kept) << "\n";
    }
    progress.end();
    runner::Options run = options.run;
    run.device = gpu ? std::to_string(gpu->number) : "cpu";
    std::vector<std::string> command = {"pipec-run", object.file.inherited_path(), "--pipeline",
                                        program.checked.pipelines[index].name};
    const std::vector<std::string> arguments = runner::to_arguments(run);
    command.insert(command.end(), arguments.begin(), arguments.end());
    become(runner, command);
}

}  // namespace

int run_command(int argc, char** argv) {
    const Parsed parsed = parse_run_options(argc, argv);
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
