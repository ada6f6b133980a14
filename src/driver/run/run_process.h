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

/// While one lives, signals that ask this process to end are passed on to the commands that run, and remembered.
/// run_process() has one of its own; who runs several commands has one around them, so that no signal comes between.
class SignalWatch {
public:
    SignalWatch();
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;
    ~SignalWatch();
    /// Throws Interrupted where a signal has arrived.
    static void check();
};

/// Ends this process by a signal as if nobody had caught it.
[[noreturn]] void die_of(int signal);

/// Runs a command (its first word is searched on PATH) with an empty standard input, and waits. `when_slow` is called
/// once if it takes longer than `patience`. Throws std::system_error where the command cannot be started.
/// A signal that asks this process to end is passed on to the command and thrown as Interrupted after its end. Several
/// threads may run commands at the same time.
ProcessResult run_process(const std::vector<std::string>& command, std::chrono::milliseconds patience = {},
                          const std::function<void()>& when_slow = {});

/// Replaces this process. Only returns by throwing std::system_error.
[[noreturn]] void become(const std::string& program, const std::vector<std::string>& command);

}  // namespace pipec::driver
