// What a compilation writes, and where.
#pragma once

#include <string>
#include <vector>

#include "compiler/passes.h"
#include "driver/files.h"
#include "driver/native/native_compiler.h"
#include "driver/options.h"

namespace pipec::driver {

/// What the passes made, as far as the results need it.
struct Compilation {
    SourceManager sources;
    compiler::Checked checked;
    compiler::Scheduled scheduled;  ///< for a GPU
    std::optional<fusion::Schedules> host_schedules;
    codegen::Origin origin;
    bool windows = false;                      ///< functions for windows, besides
    std::optional<std::string> plans;          ///< for a GPU, where they are what is printed
    std::optional<compiler::Lowered> lowered;  ///< for a GPU, where code is made
};

/// Where results go; "-" is standard output, an empty path means that this one is not written.
struct OutputPaths {
    std::string main;  ///< the code, the object, or the step that --emit asks for
    std::string header;
    std::string kept_code;     ///< the code of an object, where it stays
    std::string include_name;  ///< how the code names its header: relative to where the code is
    std::string dependencies;
};

/// Paths that cannot be: one that would overwrite the program, or two results in one file. what() is the message.
struct BadPaths : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Chooses the paths that the options leave open. Throws BadPaths.
OutputPaths plan_outputs(const Options& options);

/// Throws BadPaths where a result would overwrite a file that was read.
void protect_inputs(const OutputPaths& paths, const Options& options, const Program& program);

/// The last pass that the options need.
compiler::Phase last_phase(Emit emit);

/// Whether the result is for callers, who need something to call.
bool writes_code(Emit emit);

/// The name of the code that becomes an object.
std::string object_source_name(const Options& options, const OutputPaths& paths);

/// What an object is made of: the code and a header beside it, under names that the object's has chosen. Where the code
/// is kept, it says so, and debuggers find it.
NativeSource object_source(const OutputPaths& paths, const Options& options, const Compilation& compilation);

/// All files of a compilation without errors, except an object.
std::vector<OutputFile> make_outputs(const Options& options, const OutputPaths& paths, const Compilation& compilation);

/// The rule for make (DependencyOptions): targets, then every file read, then, with phony targets, a rule for each
/// import.
std::string dependency_rule(const std::vector<std::string>& targets, const std::vector<std::string>& files,
                            bool phony_targets);

}  // namespace pipec::driver
