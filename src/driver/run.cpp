// `pipec run`: the passes of the compiler, nvcc or the system's C++ compiler (or the cache), then pipec-run in place of
// this process. The compiler links no image library; pipec-run links no compiler.
#include "driver/run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <system_error>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/emit/host/host.h"
#include "driver/compile.h"
#include "driver/fast_math.h"
#include "driver/files.h"
#include "driver/gpu_option.h"
#include "driver/native_compiler.h"
#include "driver/options.h"
#include "driver/run_device.h"
#include "driver/run_process.h"
#include "driver/run_steps.h"
#include "driver/schedule.h"
#include "driver/schedule_options.h"
#include "driver/tool.h"
#include "runner/options.h"
#include "support/render.h"
#include "support/unicode.h"

namespace pipec::driver {

namespace {

struct RunOptions {
    std::string input;
    std::string pipeline;  ///< empty: the only one
    std::vector<std::string> include_dirs;
    NativeOptions native;
    std::string nvcc;  ///< --nvcc; empty: found
    bool fast_math = false;
    bool no_cache = false;
    bool no_warnings = false;
    bool color = false;
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
    app.add_option("file.pipe", options.input, "The program; `-` is standard input")->required()->option_text(" ");
    app.add_option("--pipeline", options.pipeline, "Which pipeline of the file; needed where there are several")
        ->option_text("NAME");
    const std::string compile_group = "Compilation";
    app.add_option("-I", options.include_dirs, "Search DIR for imports")
        ->allow_extra_args(false)
        ->option_text("DIR ...")
        ->group(compile_group);
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
    const auto set_float_rules = [&options](const std::string& rules) { options.fast_math = rules == "fast-math"; };
    app.add_option_function<std::string>("-f", set_float_rules,
                                         "-ffast-math: on a GPU, count with floats as if they were real numbers; "
                                         "-fno-fast-math undoes it")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->check(CLI::IsMember({"fast-math", "no-fast-math"}))
        ->option_text("fast-math")
        ->group(compile_group);
    app.add_flag("--no-cache", options.no_cache, "Compile anew and keep nothing")->group(compile_group);
    app.add_flag("-w", options.no_warnings, "No warnings about the program")->group(compile_group);
    std::string color = "auto";
    app.add_option("--color", color, "auto, always or never")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->option_text("WHEN")
        ->group(compile_group);
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
    options.color = use_color(color == "always" ? Color::Always : color == "never" ? Color::Never : Color::Auto);
    return parsed;
}

int run_pipeline(const RunOptions& options) {
    const std::string runner = find_runner();
    WarningOptions warnings;
    warnings.none = options.no_warnings;
    Diagnostics diags(warnings);
    SourceManager sources;
    const FileId main = sources.add(options.input == "-" ? "<stdin>" : options.input, read_source(options.input));
    Compilation compilation =
        compile(sources, main, {options.include_dirs, {}, Phase::Analyze, options.fast_math}, diags);
    if (options.fast_math && !diags.has_errors()) warn_of_finite_math(compilation.pipelines, diags);
    std::cerr << render_text(diags, sources, {.color = options.color}) << std::flush;
    if (diags.has_errors()) return kExitProgramError;

    const std::size_t index = choose_pipeline(options.input, options.pipeline, compilation.pipelines);
    const ir::Pipeline& pipeline = compilation.pipelines[index];
    const std::vector<codegen::Unit> unit = {{&pipeline, &compilation.models.at(index)}};
    const std::string_view program = sources.name(main);
    const std::optional<PresentGpu> gpu = choose_gpu(options.run.device, runner, options.nvcc);
    if (options.fast_math && !gpu) throw RunError(kExitUsage, "`-ffast-math` is for a GPU, but this runs on the CPU");
    codegen::CudaOptions cuda;
    codegen::MadeGroups made;
    cuda.fast_math = options.fast_math;
    if (const auto given = first_given(options.schedule)) {
        if (!gpu) throw RunError(kExitUsage, fmt::format("`{}` is for a GPU, but this runs on the CPU", *given));
    }
    if (gpu) {
        compilation.target = cuda.target = gpu_target(options.schedule.gpu, *gpu, runner);
        cuda.schedules = make_schedules(options.schedule, compilation, sources, options.fast_math, &made);
        cuda.made = &made;
    }
    const NativeSource source = {gpu ? "pipeline.cu" : "pipeline.cpp",
                                 gpu ? codegen::cuda_source(program, "pipeline.h", unit, sources, cuda)
                                     : codegen::host_source(program, "pipeline.h", unit, sources),
                                 "pipeline.h", codegen::header(program, "pipeline", unit)};
    const NativeCompiler compiler = gpu ? gpu_compiler(*gpu, {options.native, options.nvcc, options.fast_math})
                                        : find_native_compiler(options.native);
    Progress progress("compiling " + printable(options.input), options.run.quiet);
    const CompiledObject object = get_object(compiler, source, !options.no_cache, [&] { progress.show(); });
    if (!object.not_kept.empty()) {
        std::cerr << "pipec: warning: the compiled pipeline is not kept: " << printable(object.not_kept) << "\n";
    }
    progress.end();
    runner::Options run = options.run;
    run.device = gpu ? std::to_string(gpu->number) : "cpu";
    std::vector<std::string> command = {"pipec-run", object.file.inherited_path(), "--pipeline", pipeline.name};
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
