// How the system's compiler is found, called, and blamed.
#include "driver/native_compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include "driver/cache_digest.h"
#include "driver/files.h"
#include "driver/run_process.h"

namespace fs = std::filesystem;

namespace pipec::driver {

namespace {

constexpr std::chrono::milliseconds kNoticeable{400};
constexpr std::size_t kShownLines = 30;

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> result;
    for (std::string word; stream >> word;) result.push_back(word);
    return result;
}

ProcessResult run_compiler(const std::vector<std::string>& command, const std::function<void()>& when_slow = {}) {
    try {
        return run_process(command, kNoticeable, when_slow);
    } catch (const std::system_error& error) {
        throw NativeCompilerError(fmt::format(
            "cannot start the C++ compiler `{}`: {}\n  note: `--cxx COMMAND` or the environment variable CXX "
            "names another one",
            command.front(), error.code().message()));
    }
}

/// The first lines of what a compiler printed, each indented.
std::string excerpt(const std::string& output) {
    std::istringstream stream(output);
    std::string result;
    std::size_t count = 0;
    for (std::string line; std::getline(stream, line); ++count) {
        if (count < kShownLines) result += "\n    " + line;
    }
    if (count > kShownLines) result += fmt::format("\n    ... and {} lines more", count - kShownLines);
    return result;
}

NativeCompilerError failed(const std::vector<std::string>& command, const ProcessResult& result, const char* doing) {
    const std::string how = result.signal != 0
                                ? fmt::format("was killed by signal {} ({})", result.signal, strsignal(result.signal))
                                : fmt::format("failed with exit code {}", result.exit_code);
    return NativeCompilerError(
        fmt::format("the C++ compiler `{}` {} {}{}", command.front(), how, doing, excerpt(result.output)));
}

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

NativeCompiler find_native_compiler(const NativeOptions& options) {
    const char* environment = std::getenv("CXX");
    std::string command = options.command;
    if (command.empty() && environment != nullptr) command = environment;
    NativeCompiler result{words(command), {}, {}};
    if (result.command.empty()) result.command = {"c++"};
    // Results do not depend on these flags: no contraction to fused multiply-add, no fast-math. errno and the
    // floating-point exception flags are the only things that the -fno- flags give up, and nobody reads them.
    result.flags = {"-std=c++17",
                    fmt::format("-O{}", options.optimize),
                    "-march=native",
                    "-fopenmp",
                    "-ffp-contract=off",
                    "-fno-math-errno",
                    "-fno-trapping-math",
                    "-fPIC",
                    "-shared"};
    for (const std::string& flag : words(options.extra_flags)) result.flags.push_back(flag);

    std::vector<std::string> version = result.command;
    version.emplace_back("--version");
    const ProcessResult answer = run_compiler(version);
    if (!answer.ok()) throw failed(version, answer, "when it was asked for its version");
    const bool native = std::any_of(result.flags.begin(), result.flags.end(),
                                    [](const std::string& flag) { return flag.find("native") != std::string::npos; });
    result.identity = answer.output + (native ? processor() : "");
    return result;
}

std::string object_key(const NativeCompiler& compiler, const NativeSource& source) {
    std::string text = "object 1\n";
    const auto add = [&](const std::string& part) { text += fmt::format("{}:{}\n", part.size(), part); };
    for (const std::string& word : compiler.command) add(word);
    for (const std::string& flag : compiler.flags) add(flag);
    add(compiler.identity);
    add(source.source_name);
    add(source.source);
    add(source.header_name);
    add(source.header);
    return sha256(text);
}

fs::path compile_object(const NativeCompiler& compiler, const NativeSource& source, const fs::path& directory,
                        const std::function<void()>& when_slow) {
    const fs::path object = directory / "object.so", text = directory / source.source_name;
    write_files({{text.string(), source.source}, {(directory / source.header_name).string(), source.header}});
    std::vector<std::string> command = compiler.command;
    command.insert(command.end(), compiler.flags.begin(), compiler.flags.end());
    command.insert(command.end(), {"-o", object.string(), text.string()});
    const ProcessResult result = run_compiler(command, when_slow);
    if (!result.ok()) {
        throw failed(compiler.command, result, "on the code that pipec generated");
    }
    return object;
}

}  // namespace pipec::driver
