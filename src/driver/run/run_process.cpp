// Starting programs with posix_spawn, and collecting what they print.
#include "driver/run/run_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <stdexcept>
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

constexpr std::size_t kMostProcesses = 256;
constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

// What a signal handler may know: the processes that run (0: a free place), and the first signal that arrived.
std::array<std::atomic<pid_t>, kMostProcesses> running_processes{};
std::atomic<int> arrived_signal = 0;
static_assert(std::atomic<pid_t>::is_always_lock_free);

// Of the watches that live; the first one sets the handlers, the last one puts the old ones back.
std::mutex watches_mutex;
int watches = 0;
std::array<struct sigaction, kSignals.size()> old_actions{};

void pass_on(int signal) {
    const int saved = errno;
    int none = 0;
    arrived_signal.compare_exchange_strong(none, signal);
    for (const std::atomic<pid_t>& place : running_processes) {
        if (const pid_t process = place; process > 0) kill(process, signal);
    }
    errno = saved;
}

/// A process that gets the signals of this one.
class Running {
public:
    explicit Running(pid_t process) : place_(take_place(process)) {
        if (const int signal = arrived_signal) kill(process, signal);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { place_ = 0; }

private:
    static std::atomic<pid_t>& take_place(pid_t process) {
        for (std::atomic<pid_t>& place : running_processes) {
            pid_t none = 0;
            if (place.compare_exchange_strong(none, process)) return place;
        }
        throw std::logic_error("more commands at the same time than there are places for");
    }
    std::atomic<pid_t>& place_;
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
    const SignalWatch watch;
    SignalWatch::check();
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno, command.front());
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    pid_t process = 0;
    const int error =
        posix_spawnp(&process, command.front().c_str(), &actions, nullptr, pointers(command).data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        fail(error, command.front());
    }
    ProcessResult result;
    {
        const Running running(process);
        result.output = read_until_end(ends[0], patience, when_slow);
        // Its number stays its own until it is waited for.
        siginfo_t ended{};
        while (waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
        }
    }
    close(ends[0]);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        result.signal = WTERMSIG(status);
    } else {
        result.exit_code = WEXITSTATUS(status);
    }
    SignalWatch::check();
    return result;
}

SignalWatch::SignalWatch() {
    const std::lock_guard lock(watches_mutex);
    if (watches++ > 0) return;
    arrived_signal = 0;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        sigaction(kSignals[i], nullptr, &old_actions[i]);
        if (old_actions[i].sa_handler == SIG_IGN) continue;  // nohup's children stay
        struct sigaction action {};
        action.sa_handler = pass_on;
        sigaction(kSignals[i], &action, nullptr);
    }
}

SignalWatch::~SignalWatch() {
    const std::lock_guard lock(watches_mutex);
    if (--watches > 0) return;
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &old_actions[i], nullptr);
}

void SignalWatch::check() {
    if (const int signal = arrived_signal) throw Interrupted{signal};
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
