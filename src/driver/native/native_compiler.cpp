// How the system's compiler is found, called, and blamed.
#include "driver/native/native_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "driver/files.h"
#include "driver/native/cache_digest.h"

namespace fs = std::filesystem;

namespace pipec::driver {

namespace {

/// Two processors whose lines here are equal run the same -march=native code.
std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    std::string result;
    for (std::string line; std::getline(file, line) && !line.empty();) {
        for (const char* key :
             {"vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "Features"}) {
            if (line.starts_with(key)) result += line + "\n";
        }
    }
    return result;
}

}  // namespace

Tool cxx_tool(const std::string& command) {
    const char* environment = std::getenv("CXX");
    Tool tool{"the C++ compiler", command_words(command),
              "`--cxx COMMAND` or the environment variable CXX names another one"};
    if (tool.command.empty() && environment != nullptr) tool.command = command_words(environment);
    if (tool.command.empty()) tool.command = {"c++"};
    return tool;
}

std::vector<std::string> cxx_flags(int optimize) {
    // Results do not depend on these flags: no contraction to fused multiply-add, no fast-math. errno and the
    // floating-point exception flags are the only things that the -fno- flags give up, and nobody reads them.
    return {"-std=c++17",      fmt::format("-O{}", optimize), "-fopenmp", "-ffp-contract=off",
            "-fno-math-errno", "-fno-trapping-math"};
}

NativeCompiler find_native_compiler(const NativeOptions& options) {
    NativeCompiler result{cxx_tool(options.command), cxx_flags(options.optimize)};
    for (const char* flag : {"-march=native", "-fPIC", "-shared"}) result.flags.emplace_back(flag);
    for (const std::string& flag : command_words(options.extra_flags)) result.flags.push_back(flag);

    const std::string version = run_tool(result.tool, {"--version"}, "when it was asked for its version");
    const bool native = std::any_of(result.flags.begin(), result.flags.end(),
                                    [](const std::string& flag) { return flag.find("native") != std::string::npos; });
    result.identity = version + (native ? processor() : "");
    return result;
}

std::string object_key(const NativeCompiler& compiler, const NativeSource& source) {
    std::string text = "object 1\n";
    const auto add = [&](const std::string& part) { text += fmt::format("{}:{}\n", part.size(), part); };
    for (const std::string& word : compiler.tool.command) add(word);
    for (const std::string& flag : compiler.flags) add(flag);
    add(compiler.identity);
    add(source.source_name);
    add(source.source);
    add(source.header_name);
    add(source.header);
    return sha256(text);
}

std::vector<std::string> compile_arguments(const NativeCompiler& compiler, const fs::path& source,
                                           const fs::path& object) {
    std::vector<std::string> result = compiler.flags;
    result.insert(result.end(), {"-o", object.string(), source.string()});
    return result;
}

NativeObject compile_object(const NativeCompiler& compiler, const NativeSource& source, const fs::path& directory,
                            const std::string& object_name, const std::function<void()>& when_slow) {
    const fs::path object = directory / object_name, text = directory / source.source_name;
    write_files({{text.string(), source.source}, {(directory / source.header_name).string(), source.header}});
    std::string output = run_tool(compiler.tool, compile_arguments(compiler, text, object),
                                  "on the code that pipec generated", when_slow);
    return {object, std::move(output)};
}

}  // namespace pipec::driver
