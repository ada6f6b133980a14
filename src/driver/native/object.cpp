#include "driver/native/object.h"

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>

#include "driver/native/nvcc.h"
#include "driver/native/temporary_directory.h"
#include "support/unicode.h"

namespace fs = std::filesystem;

namespace pipec::driver {

namespace {

/// `argument` for the C++ compiler that nvcc calls; nvcc separates such arguments at commas that have no backslash.
std::string through_nvcc(const std::string& argument) {
    std::string result = "-Xcompiler=";
    for (const char c : argument) result += c == ',' ? std::string("\\,") : std::string(1, c);
    return result;
}

NativeCompiler cuda_compiler(const ObjectOptions& options) {
    NativeCompiler result{find_nvcc(options.nvcc), {}};
    if (!options.print_only) check_architectures(result.tool, options.architectures);
    std::vector<std::string>& flags = result.flags;
    // Without fused multiply-add floats mean the same as on the host.
    const char* floats = options.fast_math ? "--use_fast_math" : "--fmad=false";
    flags = {"-std=c++17", fmt::format("-O{}", options.optimize), floats};
    if (options.optimize < 3) flags.push_back(fmt::format("-Xptxas=-O{}", options.optimize));
    for (std::string& flag : architecture_flags(options.architectures)) flags.push_back(std::move(flag));
    if (!options.cxx.empty()) flags.push_back("-ccbin=" + options.cxx);
    if (options.pic) flags.push_back(through_nvcc("-fPIC"));
    if (options.debug) flags.insert(flags.end(), {"-g", "-lineinfo"});
    flags.emplace_back(options.shared ? "-shared" : "-c");
    for (const std::string& flag : options.cxx_flags) flags.push_back(through_nvcc(flag));
    flags.insert(flags.end(), options.nvcc_flags.begin(), options.nvcc_flags.end());
    return result;
}

NativeCompiler host_compiler(const ObjectOptions& options) {
    NativeCompiler result{cxx_tool(options.cxx), cxx_flags(options.optimize)};
    std::vector<std::string>& flags = result.flags;
    if (options.pic) flags.emplace_back("-fPIC");
    if (options.debug) flags.emplace_back("-g");
    flags.emplace_back(options.shared ? "-shared" : "-c");
    flags.insert(flags.end(), options.cxx_flags.begin(), options.cxx_flags.end());
    return result;
}

std::string object_name(const std::string& source_name, const ObjectOptions& options) {
    return fs::path(source_name).replace_extension(options.shared ? ".so" : ".o").string();
}

std::string read_object(const fs::path& path, const Tool& tool) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    if (bytes.empty()) {
        throw ToolError(fmt::format("{} `{}` reported success but wrote no object", tool.name, tool.command.front()));
    }
    return bytes;
}

}  // namespace

NativeCompiler object_compiler(fusion::Platform platform, const ObjectOptions& options) {
    return platform == fusion::Platform::Cuda ? cuda_compiler(options) : host_compiler(options);
}

std::string object_command(const NativeCompiler& compiler, const std::string& source_name, const ObjectOptions& options,
                           const fs::path& directory) {
    std::vector<std::string> command = compiler.tool.command;
    for (std::string& argument :
         compile_arguments(compiler, directory / source_name, directory / object_name(source_name, options))) {
        command.push_back(std::move(argument));
    }
    return shell_quoted(command);
}

ObjectBytes make_object(const NativeCompiler& compiler, const NativeSource& source, const ObjectOptions& options) {
    const TemporaryDirectory directory;
    if (options.verbose) {
        std::cerr << printable(object_command(compiler, source.source_name, options, directory.path())) << "\n"
                  << std::flush;
    }
    NativeObject made = compile_object(compiler, source, directory.path(), object_name(source.source_name, options));
    return {read_object(made.path, compiler.tool), std::move(made.output)};
}

}  // namespace pipec::driver
