// The system's C++ compiler: generated C++ in, a shared object out.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace pipec::driver {

/// The compiler is missing, refused the code, or was killed. what() is a sentence, and what the compiler said.
struct NativeCompilerError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct NativeOptions {
    std::string command;      ///< --cxx; empty: $CXX, or c++
    int optimize = 3;         ///< -O0 to -O3
    std::string extra_flags;  ///< --cxxflags, separated by spaces; they come last and so win
};

struct NativeCompiler {
    std::vector<std::string> command;
    std::vector<std::string> flags;
    /// What distinguishes objects of this compiler from those of another one: its version, and with -march=native the
    /// processor's features.
    std::string identity;
};

/// Finds the compiler and asks for its version. Throws NativeCompilerError.
NativeCompiler find_native_compiler(const NativeOptions& options);

/// A program of one source file and the header that it includes.
struct NativeSource {
    std::string source_name, source;
    std::string header_name, header;
};

/// The key of the object in the cache: equal keys mean equal objects.
std::string object_key(const NativeCompiler& compiler, const NativeSource& source);

/// Compiles inside `directory`, which should be empty, and returns the object's path there. Calls `when_slow` once if
/// it takes a noticeable time. Throws NativeCompilerError or FileError.
std::filesystem::path compile_object(const NativeCompiler& compiler, const NativeSource& source,
                                     const std::filesystem::path& directory, const std::function<void()>& when_slow);

}  // namespace pipec::driver
