// `pipec run`: the passes of the compiler, nvcc or the system's C++ compiler (or the cache), then pipec-run in place of
// this process. The compiler links no image library; pipec-run links no compiler.
#include "driver/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <system_error>

#include "codegen/cuda.h"
#include "codegen/host.h"
#include "driver/cache.h"
#include "driver/compile.h"
#include "driver/fast_math.h"
#include "driver/files.h"
#include "driver/native_compiler.h"
#include "driver/object.h"
#include "driver/options.h"
#include "driver/run_device.h"
#include "driver/run_process.h"
#include "driver/schedule.h"
#include "driver/schedule_options.h"
#include "driver/temporary_directory.h"
#include "driver/tool.h"
#include "runner/options.h"
#include "support/render.h"
#include "support/unicode.h"

namespace fs = std::filesystem;

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

/// Why there is no run; what() is the message for the person.
struct RunError : std::runtime_error {
    RunError(int code, const std::string& message) : std::runtime_error(message), exit_code(code) {}
    int exit_code;
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

/// What is left over, in the order in which it was written.
void refuse_extras(const CLI::App& app) {
    const std::vector<std::string> extras = app.remaining();
    if (extras.empty()) return;
    const std::string name = extras[0].substr(0, extras[0].find('='));
    if (!name.starts_with("-")) throw CLI::ParseError(fmt::format("`{}`: one file is run at a time", name), kExitUsage);
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
    }
    const auto close = closest_name(name, names);
    const std::string advice = close ? fmt::format("; did you mean `{}`?", *close) : "";
    throw CLI::ParseError(fmt::format("unknown option `{}`{}", name, advice), kExitUsage);
}

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
    add_schedule_options(app, options.schedule, "Fusion and tiling, on a GPU");
    runner::add_options(app, options.run);
    app.allow_extras();
    try {
        app.parse(argc, argv);
        refuse_extras(app);
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

std::string find_runner() {
    if (auto runner = locate_runner()) return *runner;
    std::error_code error;
    throw RunError(kExitFile,
                   fmt::format("there is no pipec-run: not in {}, not in libexec/pipec beside it, and not on PATH\n"
                               "  note: it is built where OpenImageIO is found",
                               fs::read_symlink("/proc/self/exe", error).parent_path().string()));
}

/// The index of the pipeline to run.
std::size_t choose_pipeline(const RunOptions& options, const std::vector<ir::Pipeline>& pipelines) {
    if (pipelines.empty()) throw RunError(kExitProgramError, options.input + " has no pipeline to run");
    std::vector<std::string> names;
    std::string list;
    for (const ir::Pipeline& pipeline : pipelines) {
        if (pipeline.name == options.pipeline) return names.size();
        names.push_back(pipeline.name);
        list += fmt::format("{}`{}`", list.empty() ? "" : ", ", pipeline.name);
    }
    if (options.pipeline.empty()) {
        if (pipelines.size() == 1) return 0;
        throw RunError(kExitUsage, fmt::format("{} has several pipelines: {}; choose one with `--pipeline NAME`",
                                               options.input, list));
    }
    const auto close = closest_name(options.pipeline, names);
    throw RunError(kExitUsage, fmt::format("{} has no pipeline `{}`; {}", options.input, options.pipeline,
                                           close ? fmt::format("did you mean `{}`?", *close) : "it has " + list));
}

/// Says that something takes long, where a person watches.
class Progress {
public:
    Progress(std::string what, bool quiet) : what_(std::move(what)), watched_(!quiet && isatty(STDERR_FILENO) != 0) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress() {
        if (!shown_) return;
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
        std::cerr << fmt::format(" {:.1f} s\n", seconds.count());
    }
    void show() {
        if (!watched_) return;
        shown_ = true;
        std::cerr << what_ << " ..." << std::flush;
    }

private:
    std::string what_;
    bool watched_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// nvcc for the architecture of one GPU.
NativeCompiler cuda_compiler(const RunOptions& options, const Gpu& gpu) {
    ObjectOptions object;
    object.shared = true;
    object.optimize = options.native.optimize;
    object.fast_math = options.fast_math;
    object.architectures = {gpu.architecture};
    object.nvcc = options.nvcc;
    object.cxx = options.native.command;
    object.cxx_flags = command_words(options.native.extra_flags);
    object.nvcc_flags = {"-cudart=static"};  // it shares the driver with pipec-run, and needs no library of CUDA's
    NativeCompiler result = object_compiler(Target::Cuda, object);
    result.identity = run_tool(result.tool, {"--version"}, "when it was asked for its version");
    return result;
}

/// The compiled object, from the cache or made now.
OpenFile get_object(const RunOptions& options, const NativeCompiler& compiler, const NativeSource& source) {
    std::optional<ObjectCache> cache;
    if (!options.no_cache) {
        if (const auto directory = ObjectCache::default_directory()) cache.emplace(*directory);
    }
    const std::string key = object_key(compiler, source);
    if (cache) {
        if (auto found = cache->find(key)) return std::move(*found);
    }
    const TemporaryDirectory directory;
    Progress progress("compiling " + printable(options.input), options.run.quiet);
    const fs::path object =
        compile_object(compiler, source, directory.path(), "object.so", [&] { progress.show(); }).path;
    if (cache) {
        try {
            return cache->store(key, object);
        } catch (const FileError& error) {
            std::cerr << "pipec: warning: the compiled pipeline is not kept: " << printable(error.what()) << "\n";
        }
    }
    return open_file(object);
}

int run_pipeline(const RunOptions& options) {
    const std::string runner = find_runner();
    WarningOptions warnings;
    warnings.none = options.no_warnings;
    Diagnostics diags(warnings);
    SourceManager sources;
    const FileId main = sources.add(options.input == "-" ? "<stdin>" : options.input, read_source(options.input));
    const Compilation compilation = compile(sources, main, {options.include_dirs, {}, Phase::Analyze}, diags);
    if (options.fast_math && !diags.has_errors()) warn_of_finite_math(compilation.pipelines, diags);
    std::cerr << render_text(diags, sources, {.color = options.color}) << std::flush;
    if (diags.has_errors()) return kExitProgramError;

    const std::size_t index = choose_pipeline(options, compilation.pipelines);
    const ir::Pipeline& pipeline = compilation.pipelines[index];
    const std::vector<codegen::Unit> unit = {{&pipeline, &compilation.models.at(index)}};
    const std::string_view program = sources.name(main);
    const std::optional<Gpu> gpu = choose_gpu(options.run.device, runner, options.nvcc);
    if (options.fast_math && !gpu) throw RunError(kExitUsage, "`-ffast-math` is for a GPU, but this runs on the CPU");
    codegen::CudaOptions cuda;
    cuda.fast_math = options.fast_math;
    if (const auto given = first_given(options.schedule)) {
        if (!gpu) throw RunError(kExitUsage, fmt::format("`{}` is for a GPU, but this runs on the CPU", *given));
        ScheduleOptions schedule = options.schedule;
        schedule.automatic.device = gpu->name;
        cuda.schedules = make_schedules(schedule, compilation, sources, options.fast_math);
    }
    const NativeSource source = {gpu ? "pipeline.cu" : "pipeline.cpp",
                                 gpu ? codegen::cuda_source(program, "pipeline.h", unit, sources, cuda)
                                     : codegen::host_source(program, "pipeline.h", unit, sources),
                                 "pipeline.h", codegen::header(program, "pipeline", unit)};
    const OpenFile object =
        get_object(options, gpu ? cuda_compiler(options, *gpu) : find_native_compiler(options.native), source);
    runner::Options run = options.run;
    run.device = gpu ? std::to_string(gpu->number) : "cpu";
    std::vector<std::string> command = {"pipec-run", object.inherited_path(), "--pipeline", pipeline.name};
    const std::vector<std::string> arguments = runner::to_arguments(run);
    command.insert(command.end(), arguments.begin(), arguments.end());
    become(runner, command);
}

int fail(int exit_code, const char* message) {
    // A compiler's output may have many lines; each is printed with its control characters made visible.
    std::cerr << "pipec: error: ";
    std::istringstream lines(message);
    for (std::string line; std::getline(lines, line);) std::cerr << printable(line) << "\n";
    return exit_code;
}

}  // namespace

int run_command(int argc, char** argv) {
    const Parsed parsed = parse_run_options(argc, argv);
    if (parsed.finished) return *parsed.finished;
    try {
        return run_pipeline(parsed.options);
    } catch (const RunError& error) {
        return fail(error.exit_code, error.what());
    } catch (const fusion::ScheduleError& error) {
        return fail(kExitProgramError, error.what());
    } catch (const ToolError& error) {
        return fail(kExitProgramError, error.what());
    } catch (const std::system_error& error) {
        return fail(kExitFile, error.what());
    }
}

}  // namespace pipec::driver
