// Generated code in, an object or a shared object out; and the system's C++ compiler as `pipec run` calls it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "driver/native/tool.h"

namespace pipec::driver {

struct NativeOptions {
    std::string command;      ///< --cxx; empty: $CXX, or c++
    int optimize = 3;         ///< -O0 to -O3
    std::string extra_flags;  ///< --cxxflags, separated by spaces; they come last and so win
};

/// A compiler with all its flags.
struct NativeCompiler {
    Tool tool;
    std::vector<std::string> flags;
    /// What distinguishes objects of this compiler from those of another one: its version, and with -march=native the
    /// processor's features. Only where a cache wants to know.
    std::string identity = {};
};

/// `command` as a person named it, else $CXX, else c++.
Tool cxx_tool(const std::string& command);

/// C++17, results that do not depend on the processor, threads.
std::vector<std::string> cxx_flags(int optimize);

/// The compiler of `pipec run`, which is asked for its version. Throws ToolError.
NativeCompiler find_native_compiler(const NativeOptions& options);

/// A program of one source file and the header that it includes.
struct NativeSource {
    std::string source_name, source;
    std::string header_name, header;
};

/// The key of the object in the cache: equal keys mean equal objects.
std::string object_key(const NativeCompiler& compiler, const NativeSource& source);

/// What a compiler made, and what it had to say.
struct NativeObject {
    std::filesystem::path path;
    std::string output;
};

/// The compiler's arguments that make `object` of `source`.
std::vector<std::string> compile_arguments(const NativeCompiler& compiler, const std::filesystem::path& source,
                                           const std::filesystem::path& object);

/// Compiles inside `directory`, which should be empty, to the file `object_name` there. Calls `when_slow` once if it
/// takes a noticeable time. Throws ToolError or FileError.
NativeObject compile_object(const NativeCompiler& compiler, const NativeSource& source,
                            const std::filesystem::path& directory, const std::string& object_name,
                            const std::function<void()>& when_slow = {});

}  // namespace pipec::driver
