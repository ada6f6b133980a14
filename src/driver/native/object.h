// -c and -shared: from generated code to an object, through nvcc or the system's C++ compiler.
#pragma once

#include <filesystem>
#include <string>

#include "driver/native/native_compiler.h"
#include "driver/options.h"

namespace pipec::driver {

/// The compiler that the options choose. Throws ToolError where there is none, and BadArchitecture (nvcc.h) for a GPU
/// that it does not know; where the command is only printed, nothing is run to find that out.
NativeCompiler object_compiler(fusion::Platform platform, const ObjectOptions& options);

struct ObjectBytes {
    std::string bytes;
    std::string output;  ///< what the compiler had to say
};

/// Compiles in a directory of its own, and prints the command where the options want it. Throws ToolError or FileError.
ObjectBytes make_object(const NativeCompiler& compiler, const NativeSource& source, const ObjectOptions& options);

/// The command with which make_object() compiles in `directory`, as one line for a shell.
std::string object_command(const NativeCompiler& compiler, const std::string& source_name, const ObjectOptions& options,
                           const std::filesystem::path& directory);

}  // namespace pipec::driver
