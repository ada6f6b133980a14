// Compilers that pipec calls: the system's C++ compiler, and nvcc. Run, wait, and blame.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace pipec::driver {

/// A tool is missing, refused its input, or was killed. what() is a sentence, and the first lines of what it printed.
struct ToolError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Tool {
    std::string name;                  ///< for messages: "the C++ compiler"
    std::vector<std::string> command;  ///< the program and what always stands behind it
    std::string advice;                ///< for messages: how a person chooses another one
};

/// Runs a tool and returns what it printed. `purpose` ends the sentence about a failure: "on the code that ...".
/// Calls `when_slow` once if it takes a noticeable time. Throws ToolError.
std::string run_tool(const Tool& tool, const std::vector<std::string>& arguments, const std::string& purpose,
                     const std::function<void()>& when_slow = {});

/// How a person names a command: a file of that name, whatever blanks it has, or words between blanks.
std::vector<std::string> command_words(const std::string& text);

/// Where `name` is found on PATH.
std::optional<std::filesystem::path> find_on_path(const std::string& name);

bool is_executable(const std::filesystem::path& file);

/// The words as a shell reads them back.
std::string shell_quoted(const std::vector<std::string>& words);

}  // namespace pipec::driver
