#include "driver/native/tool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <system_error>

#include "driver/run/run_process.h"

namespace fs = std::filesystem;

namespace pipec::driver {

namespace {

constexpr std::chrono::milliseconds kNoticeable{400};
constexpr std::size_t kShownLines = 30;

/// The first lines of what a tool printed, each indented.
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

}  // namespace

std::string run_tool(const Tool& tool, const std::vector<std::string>& arguments, const std::string& purpose,
                     const std::function<void()>& when_slow) {
    std::vector<std::string> command = tool.command;
    command.insert(command.end(), arguments.begin(), arguments.end());
    try {
        ProcessResult result = run_process(command, kNoticeable, when_slow);
        if (result.ok()) return std::move(result.output);
        const std::string how =
            result.signal != 0 ? fmt::format("was killed by signal {} ({})", result.signal, strsignal(result.signal))
                               : fmt::format("failed with exit code {}", result.exit_code);
        throw ToolError(
            fmt::format("{} `{}` {} {}{}", tool.name, command.front(), how, purpose, excerpt(result.output)));
    } catch (const std::system_error& error) {
        throw ToolError(fmt::format("cannot start {} `{}`: {}\n  note: {}", tool.name, command.front(),
                                    error.code().message(), tool.advice));
    }
}

std::vector<std::string> command_words(const std::string& text) {
    std::error_code error;
    if (fs::is_regular_file(text, error)) return {text};
    std::istringstream stream(text);
    std::vector<std::string> result;
    for (std::string word; stream >> word;) result.push_back(word);
    return result;
}

bool is_executable(const fs::path& file) {
    std::error_code error;
    return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

std::optional<fs::path> find_on_path(const std::string& name) {
    const char* path = std::getenv("PATH");
    std::istringstream directories(path == nullptr ? "" : path);
    for (std::string directory; std::getline(directories, directory, ':');) {
        const fs::path file = fs::path(directory) / name;
        if (!directory.empty() && is_executable(file)) return file;
    }
    return std::nullopt;
}

std::string shell_quoted(const std::vector<std::string>& words) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    std::string result;
    for (const std::string& word : words) {
        if (!result.empty()) result += ' ';
        if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
            result += word;
            continue;
        }
        result += '\'';
        for (const char c : word) result += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
        result += '\'';
    }
    return result;
}

}  // namespace pipec::driver
