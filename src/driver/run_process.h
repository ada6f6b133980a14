// Other programs: run one and wait for it, or become one.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace pipec::driver {

struct ProcessResult {
    int exit_code = 0;
    int signal = 0;      ///< that ended it, or 0
    std::string output;  ///< standard output and standard error together
    [[nodiscard]] bool ok() const { return exit_code == 0 && signal == 0; }
};

/// Runs a command (its first word is searched on PATH) with an empty standard input, and waits. `when_slow` is called
/// once if it takes longer than `patience`. Throws std::system_error where the command cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, std::chrono::milliseconds patience = {},
                          const std::function<void()>& when_slow = {});

/// Replaces this process. Only returns by throwing std::system_error.
[[noreturn]] void become(const std::string& program, const std::vector<std::string>& command);

}  // namespace pipec::driver
