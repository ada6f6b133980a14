#include "fuzz/isolated.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fstream>
#include <stdexcept>

namespace pipec::testing {

namespace {

constexpr int kEscaped = 86;  // exit status of a child whose work threw

void write_all(int fd, const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
        if (n < 0 && errno != EINTR) _exit(1);
        if (n > 0) done += static_cast<std::size_t>(n);
    }
}

[[noreturn]] void run_child(int fd, const Limits& limits,
                            const std::function<void(const std::function<void(const std::string&)>&)>& work) {
    dup2(fd, STDERR_FILENO);  // sanitizers, assertions
    if (limits.bytes > 0) {
        // The emulator has reserved terabytes already.
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlim_t bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + limits.bytes;
        const rlimit memory{bytes, bytes};
        setrlimit(RLIMIT_AS, &memory);
    }
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGALRM, SIG_DFL);
    alarm(limits.seconds);
    try {
        work([fd](const std::string& text) { write_all(fd, text); });
    } catch (const std::exception& error) {
        write_all(fd, error.what());
        _exit(kEscaped);
    }
    _exit(0);  // no destructors: nothing of the parent's is to be written twice
}

std::string death_of(int status, const Limits& limits) {
    if (WIFSIGNALED(status)) {
        const int number = WTERMSIG(status);
        if (number == SIGALRM) return fmt::format("time out after {} s", limits.seconds);
        return fmt::format("signal {} ({})", number, strsignal(number));
    }
    if (WEXITSTATUS(status) == kEscaped) return "exception";
    return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit status {}", WEXITSTATUS(status));
}

}  // namespace

Outcome isolated(const Limits& limits,
                 const std::function<void(const std::function<void(const std::string&)>& say)>& work) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) {
        close(ends[0]);
        run_child(ends[1], limits, work);
    }
    close(ends[1]);
    Outcome outcome;
    char buffer[1 << 16];
    while (true) {
        const ssize_t n = read(ends[0], buffer, sizeof buffer);
        if (n > 0) outcome.text.append(buffer, static_cast<std::size_t>(n));
        if (n == 0 || (n < 0 && errno != EINTR)) break;
    }
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    outcome.death = death_of(status, limits);
    return outcome;
}

}  // namespace pipec::testing
