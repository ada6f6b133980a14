#include "driver/run/run_steps.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <system_error>

#include "driver/command_line.h"
#include "driver/files.h"
#include "driver/native/object.h"
#include "driver/native/temporary_directory.h"
#include "driver/options.h"
#include "support/diagnostics.h"
#include "support/unicode.h"

namespace fs = std::filesystem;

namespace pipec::driver {

int fail_run(int exit_code, const char* message) {
    // A compiler's output may have many lines; each is printed with its control characters made visible.
    std::cerr << "pipec: error: ";
    std::istringstream lines(message);
    for (std::string line; std::getline(lines, line);) std::cerr << printable(line) << "\n";
    return exit_code;
}

void refuse_extras(const CLI::App& app, const std::string& one_file) {
    // In the order in which they were written.
    const std::vector<std::string> extras = app.remaining();
    if (extras.empty()) return;
    const std::string name = extras[0].substr(0, extras[0].find('='));
    if (!name.starts_with("-")) throw CLI::ParseError(fmt::format("`{}`: {}", name, one_file), kExitUsage);
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& known : option->get_lnames()) names.push_back(classic_name("--" + known));
    }
    const auto close = closest_name(classic_name(name), names);
    const std::string advice = close ? fmt::format("; did you mean `{}`?", *close) : "";
    throw CLI::ParseError(fmt::format("unknown option `{}`{}", classic_name(name), advice), kExitUsage);
}

std::string find_runner() {
    if (auto runner = locate_runner()) return *runner;
    std::error_code error;
    throw RunError(kExitFile,
                   fmt::format("there is no pipec-run: not in {}, not in libexec/pipec beside it, and not on PATH\n"
                               "  note: a build with -DPIPEC_BUILD_RUNNER=OFF has none",
                               fs::read_symlink("/proc/self/exe", error).parent_path().string()));
}

std::size_t choose_pipeline(const std::string& input, const std::string& name,
                            const std::vector<ir::Pipeline>& pipelines) {
    if (pipelines.empty()) throw RunError(kExitProgramError, input + " has no pipeline to run");
    std::vector<std::string> names;
    std::string list;
    for (const ir::Pipeline& pipeline : pipelines) {
        if (pipeline.name == name) return names.size();
        names.push_back(pipeline.name);
        list += fmt::format("{}`{}`", list.empty() ? "" : ", ", pipeline.name);
    }
    if (name.empty()) {
        if (pipelines.size() == 1) return 0;
        throw RunError(kExitUsage,
                       fmt::format("{} has several pipelines: {}; choose one with `--pipeline NAME`", input, list));
    }
    const auto close = closest_name(name, names);
    throw RunError(kExitUsage, fmt::format("{} has no pipeline `{}`; {}", input, name,
                                           close ? fmt::format("did you mean `{}`?", *close) : "it has " + list));
}

Progress::Progress(std::string what, bool quiet)
    : what_(std::move(what)), watched_(!quiet && isatty(STDERR_FILENO) != 0) {}

void Progress::show() {
    if (!watched_) return;
    shown_ = true;
    std::cerr << what_ << " ..." << std::flush;
}

void Progress::end() {
    if (!std::exchange(shown_, false)) return;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    std::cerr << fmt::format(" {:.1f} s\n", seconds.count());
}

void Progress::skipped(const std::string& why) {
    if (watched_) std::cerr << what_ << ": " << why << "\n";
}

NativeCompiler gpu_compiler(const PresentGpu& gpu, const GpuCompilerOptions& options) {
    ObjectOptions object;
    object.shared = true;
    object.optimize = options.native.optimize;
    object.fast_math = options.fast_math;
    object.architectures = {gpu.architecture};
    object.nvcc = options.nvcc;
    object.cxx = options.native.command;
    object.cxx_flags = command_words(options.native.extra_flags);
    object.nvcc_flags = {"-cudart=static"};  // it shares the driver with pipec-run, and needs no library of CUDA's
    NativeCompiler result = object_compiler(fusion::Platform::Cuda, object);
    result.identity = run_tool(result.tool, {"--version"}, "when it was asked for its version");
    return result;
}

CompiledObject get_object(const NativeCompiler& compiler, const NativeSource& source, bool use_cache,
                          const std::function<void()>& when_slow) {
    std::optional<ObjectCache> cache;
    if (use_cache) {
        if (const auto directory = ObjectCache::default_directory()) cache.emplace(*directory);
    }
    const std::string key = object_key(compiler, source);
    if (cache) {
        if (auto found = cache->find(key)) return {std::move(*found), key, {}, true};
    }
    const TemporaryDirectory directory;
    const fs::path object = compile_object(compiler, source, directory.path(), "object.so", when_slow).path;
    if (!cache) return {open_file(object), key};
    try {
        return {cache->store(key, object), key};
    } catch (const FileError& error) {
        return {open_file(object), key, error.what()};
    }
}

}  // namespace pipec::driver
