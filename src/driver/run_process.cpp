// Starting programs with posix_spawn, and collecting what they print.
#include "driver/run_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace pipec::driver {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> result;
    // exec's interface predates const; it does not write to the words.
    for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
    result.push_back(nullptr);
    return result;
}

[[noreturn]] void fail(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

// What a signal handler may know: the process that runs, and the first signal that arrived. One process runs at a time.
volatile sig_atomic_t running_process = 0;
volatile sig_atomic_t arrived_signal = 0;

void pass_on(int signal) {
    const int saved = errno;
    if (arrived_signal == 0) arrived_signal = signal;
    if (running_process > 0) kill(running_process, signal);
    errno = saved;
}

/// While it lives, signals that would end this process are passed on instead.
class SignalGuard {
public:
    SignalGuard() {
        arrived_signal = 0;
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            sigaction(kSignals[i], nullptr, &old_[i]);
            if (old_[i].sa_handler == SIG_IGN) continue;  // nohup's children stay
            struct sigaction action {};
            action.sa_handler = pass_on;
            sigaction(kSignals[i], &action, nullptr);
        }
    }
    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;
    ~SignalGuard() {
        running_process = 0;
        for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &old_[i], nullptr);
    }
    static void watch(pid_t process) {
        running_process = process;
        if (arrived_signal != 0) kill(process, arrived_signal);
    }

private:
    static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
    std::array<struct sigaction, kSignals.size()> old_{};
};

/// Everything from the pipe until its writers are gone.
std::string read_until_end(int descriptor, std::chrono::milliseconds patience, const std::function<void()>& when_slow) {
    std::string output;
    std::array<char, 4096> buffer{};
    bool waiting = static_cast<bool>(when_slow);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
        int timeout = -1;
        if (waiting) {
            const auto left = deadline - std::chrono::steady_clock::now();
            timeout = static_cast<int>(
                std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::milliseconds>(left).count()));
        }
        pollfd poll_one{descriptor, POLLIN, 0};
        const int ready = poll(&poll_one, 1, timeout);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) {
            waiting = false;
            when_slow();
            continue;
        }
        const ssize_t count = read(descriptor, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return output;
        output.append(buffer.data(), static_cast<std::size_t>(count));
    }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, std::chrono::milliseconds patience,
                          const std::function<void()>& when_slow) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno, command.front());
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    const SignalGuard guard;
    pid_t process = 0;
    const int error =
        posix_spawnp(&process, command.front().c_str(), &actions, nullptr, pointers(command).data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        fail(error, command.front());
    }
    SignalGuard::watch(process);
    ProcessResult result;
    result.output = read_until_end(ends[0], patience, when_slow);
    close(ends[0]);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        result.signal = WTERMSIG(status);
    } else {
        result.exit_code = WEXITSTATUS(status);
    }
    if (arrived_signal != 0) throw Interrupted{arrived_signal};
    return result;
}

void die_of(int signal) {
    ::signal(signal, SIG_DFL);
    raise(signal);
    _exit(128 + signal);
}

void become(const std::string& program, const std::vector<std::string>& command) {
    execv(program.c_str(), pointers(command).data());
    fail(errno, program);
}

}  // namespace pipec::driver
