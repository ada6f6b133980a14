// The options, the last passes, and the compiler behind them.
#include "driver/run/for_this_machine.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "driver/command_line.h"
#include "driver/gpu_option.h"
#include "driver/options.h"
#include "support/unicode.h"

namespace pipec::driver {

void add_machine_options(CLI::App& app, MachineOptions& options) {
    use_classic_names(app);
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
    add_fast_math_option(app, options.program.fast_math, compile_group);
    app.add_flag("--no-cache", options.no_cache, "Compile anew and keep nothing")->group(compile_group);
    add_message_options(app, options.program, compile_group);
    add_schedule_options(app, options.schedule, kPresentGpu, "Fusion and tiling, on a GPU");
}

ProgramOptions with_versions(const MachineOptions& options) {
    ProgramOptions result = options.program;
    result.versions = compiler::is_automatic(options.schedule.request);
    return result;
}

namespace {

/// The last passes, for a GPU or for the processor. Throws fusion::ScheduleError and FileError.
NativeSource generate(const MachineOptions& options, const LoadedProgram& program, std::size_t pipeline,
                      const std::optional<fusion::Target>& gpu) {
    compiler::Settings settings = options.program.settings();
    settings.windows = options.windows;
    const compiler::Checked one = compiler::only(program.checked, pipeline);
    std::optional<compiler::Lowered> lowered;
    if (gpu) {
        compiler::ScheduleRequest request = options.schedule.request;
        read_files(request);
        // A file of schedules may be about all pipelines of the program.
        const compiler::Scheduled scheduled =
            compiler::schedule(compiler::prepare(program.checked), request, *gpu, settings, program.sources);
        lowered = compiler::lower(one, scheduled, settings, program.sources);
        lowered->versions = compiler::lower_versions(one, request.model, *gpu, settings, program.sources);
    }
    return {gpu ? "pipeline.cu" : "pipeline.cpp",
            compiler::code_text(program.name, "pipeline.h", one, lowered, program.sources, {}, std::nullopt,
                                options.windows),
            "pipeline.h", compiler::header_text(program.name, "pipeline", one, {}, options.windows)};
}

}  // namespace

MachineObject make_for_this_machine(const MachineOptions& options, const LoadedProgram& program, std::size_t pipeline,
                                    const std::string& device, const std::string& runner, bool quiet) {
    const std::optional<PresentGpu> gpu = choose_gpu(device, runner, options.nvcc);
    if (options.program.fast_math && !gpu) {
        throw RunError(kExitUsage, "`-ffast-math` is for a GPU, but this runs on the CPU");
    }
    if (const auto given = first_given(options.schedule)) {
        if (!gpu) throw RunError(kExitUsage, fmt::format("`{}` is for a GPU, but this runs on the CPU", *given));
    }
    std::optional<fusion::Target> target;
    if (gpu) target = gpu_target(options.schedule.gpu, *gpu, runner);
    const NativeSource source = generate(options, program, pipeline, target);
    const NativeCompiler compiler = gpu ? gpu_compiler(*gpu, {options.native, options.nvcc, options.program.fast_math})
                                        : find_native_compiler(options.native);
    Progress progress(fmt::format("compiling {} for {}", printable(program.name), gpu ? gpu->architecture : "the CPU"),
                      quiet);
    CompiledObject object = get_object(compiler, source, !options.no_cache, [&] { progress.show(); });
    progress.end();
    if (object.cached) progress.skipped("cached");
    if (!object.not_kept.empty()) {
        std::cerr << "pipec: warning: the compiled pipeline is not kept: " << printable(object.not_kept) << "\n";
    }
    return {std::move(object), gpu};
}

}  // namespace pipec::driver
