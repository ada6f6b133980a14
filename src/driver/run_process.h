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

/// Somebody wants this process to end: SIGINT, SIGTERM or SIGHUP arrived while it waited. It is thrown, so that
/// temporary files are removed; whoever catches it ends by die_of().
struct Interrupted {
    int signal;
};

/// Ends this process by a signal as if nobody had caught it.
[[noreturn]] void die_of(int signal);

/// Runs a command (its first word is searched on PATH) with an empty standard input, and waits. `when_slow` is called
/// once if it takes longer than `patience`. Throws std::system_error where the command cannot be started.
/// A signal that asks this process to end is passed on to the command and thrown as Interrupted after its end.
ProcessResult run_process(const std::vector<std::string>& command, std::chrono::milliseconds patience = {},
                          const std::function<void()>& when_slow = {});

/// Replaces this process. Only returns by throwing std::system_error.
[[noreturn]] void become(const std::string& program, const std::vector<std::string>& command);

}  // namespace pipec::driver
