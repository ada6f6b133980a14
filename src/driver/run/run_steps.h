// The steps that `pipec run`, `pipec tune` and `pipec profile` share: from a program to an object that pipec-run runs.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/native/cache.h"
#include "driver/native/native_compiler.h"
#include "driver/run/run_device.h"
#include "ir/pipeline.h"

namespace CLI {
class App;
}

namespace pipec::driver {

/// Why there is no run; what() is the message for the person.
struct RunError : std::runtime_error {
    RunError(int code, const std::string& message) : std::runtime_error(message), exit_code(code) {}
    int exit_code;
};

/// Prints an error, whose text may have many lines, and returns the exit code.
int fail_run(int exit_code, const char* message);

/// Throws CLI::ParseError for what is left on the command line; `one_file` is said of a second file.
void refuse_extras(const CLI::App& app, const std::string& one_file);

/// pipec-run's path. Throws RunError.
std::string find_runner();

/// The index of the pipeline called `name`; of the only one where that is empty. `input` is the program's file. Throws
/// RunError.
std::size_t choose_pipeline(const std::string& input, const std::string& name,
                            const std::vector<ir::Pipeline>& pipelines);

/// Says that something takes long, where a person watches.
class Progress {
public:
    Progress(std::string what, bool quiet);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress() { end(); }
    void show();
    void end();
    /// Says in place of that why it did not.
    void skipped(const std::string& why);

private:
    std::string what_;
    bool watched_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct GpuCompilerOptions {
    NativeOptions native;
    std::string nvcc;  ///< --nvcc; empty: found
    bool fast_math = false;
};
/// nvcc for the architecture of one GPU, asked for its version. Throws ToolError.
NativeCompiler gpu_compiler(const PresentGpu& gpu, const GpuCompilerOptions& options);

struct CompiledObject {
    OpenFile file;
    std::string key;            ///< of the cache's entry: a digest of all that the object depends on
    std::string not_kept = {};  ///< why the cache has it not, where that failed
    bool cached = false;        ///< found in the cache
};
/// The object of a source, from the cache or made now. Throws ToolError.
CompiledObject get_object(const NativeCompiler& compiler, const NativeSource& source, bool use_cache,
                          const std::function<void()>& when_slow = {});

}  // namespace pipec::driver
