// How long `pipec -fsyntax-only` takes for each program, and how much memory at its peak.
//
//   compile_bench [--max-seconds S] [--max-megabytes M] [--repeat N] PIPEC FILE...
//
// Prints a table; the time is the best of N runs. With a bound, exceeding it in every run makes the exit code 1.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace {

struct Measurement {
    double seconds = 0;
    double megabytes = 0;
    bool succeeded = false;
};

Measurement measure(const std::string& compiler, const std::string& file) {
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child == 0) {
        // Messages would only disturb the table; a program that is refused shows as a failure in it.
        const int null = open("/dev/null", O_WRONLY);
        if (null >= 0) dup2(null, STDERR_FILENO);
        execl(compiler.c_str(), compiler.c_str(), "-fsyntax-only", file.c_str(), static_cast<char*>(nullptr));
        _exit(127);
    }
    int status = 0;
    rusage usage{};
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) return {};
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return {elapsed.count(), static_cast<double>(usage.ru_maxrss) / 1024,
            WIFEXITED(status) && WEXITSTATUS(status) == 0};
}

Measurement best_of(int repeat, const std::string& compiler, const std::string& file) {
    Measurement best = measure(compiler, file);
    for (int i = 1; i < repeat && best.succeeded; ++i) {
        const Measurement next = measure(compiler, file);
        best.seconds = std::min(best.seconds, next.seconds);
        best.megabytes = std::min(best.megabytes, next.megabytes);
    }
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    double max_seconds = std::numeric_limits<double>::infinity();
    double max_megabytes = std::numeric_limits<double>::infinity();
    int repeat = 3;
    std::vector<std::string> names;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument.rfind("--", 0) == 0 && i + 1 < argc) {
            const double value = std::atof(argv[++i]);
            if (argument == "--max-seconds") max_seconds = value;
            if (argument == "--max-megabytes") max_megabytes = value;
            if (argument == "--repeat") repeat = static_cast<int>(value);
        } else {
            names.push_back(argument);
        }
    }
    if (names.size() < 2) {
        std::fprintf(stderr, "usage: %s [--max-seconds S] [--max-megabytes M] [--repeat N] PIPEC FILE...\n", argv[0]);
        return 2;
    }

    bool good = true;
    std::printf("%-44s %9s %9s\n", "program", "seconds", "MB");
    for (std::size_t i = 1; i < names.size(); ++i) {
        const Measurement m = best_of(repeat, names[0], names[i]);
        const char* remark = !m.succeeded                  ? "  refused"
                             : m.seconds > max_seconds     ? "  too slow"
                             : m.megabytes > max_megabytes ? "  too much memory"
                                                           : "";
        good = good && *remark == '\0';
        std::printf("%-44s %9.3f %9.1f%s\n", names[i].c_str(), m.seconds, m.megabytes, remark);
    }
    return good ? 0 : 1;
}
