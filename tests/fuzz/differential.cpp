// pipec-fuzz: random programs x schedules; interpreter against host code against the SIMT emulator.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "fuzz/campaign.h"
#include "fuzz/isolated.h"

namespace pipec::testing {
namespace {

using Clock = std::chrono::steady_clock;

struct Counts {
    std::size_t programs = 0, cases = 0, accepted = 0, illegal = 0;
    std::map<std::string, std::size_t> findings;  ///< by kind

    void add(const Verdict& verdict) {
        ++cases;
        accepted += verdict.accepted;
        illegal += verdict.illegal;
        if (verdict.finding) ++findings[verdict.finding->kind];
    }
};

void keep(const Case& c, const Finding& finding, const FuzzOptions& options, const std::string& reproduce) {
    if (options.keep.empty()) return;
    std::filesystem::create_directories(options.keep);
    const std::string base =
        fmt::format("{}/{}-{}-{}-{}", options.keep, finding.kind, options.seed, c.program, c.schedule);
    std::ofstream out(base + ".pipe");
    out << "// " << reproduce << "\n";
    for (std::size_t at = 0; at < finding.message.size();) {
        const std::size_t end = std::min(finding.message.find('\n', at), finding.message.size());
        out << "// " << finding.message.substr(at, end - at) << "\n";
        at = end + 1;
    }
    out << c.text();
    if (!finding.schedule.empty()) std::ofstream(base + ".json") << finding.schedule;
}

void report(Case c, Finding finding, const FuzzOptions& options) {
    const std::string reproduce = fmt::format(
        "pipec-fuzz --seed {} --generator {} --first {} --programs 1{}{}{}", options.seed, options.generator, c.program,
        options.schedules > 0 ? fmt::format(" --schedules {}", options.schedules) : "",
        finding.kind == "refused" ? " --refused" : "",
        finding.kind == "slow" ? fmt::format(" --slow {}", options.slow) : "");
    if (options.reduce) {
        const Case smaller = reduced(c, finding, options);
        // Alone it may be fine: then it needs the others of its batch, and stays as it is.
        if (const Verdict verdict = judge({smaller}, options).front(); verdict.finding) {
            c = smaller;
            finding = *verdict.finding;
        }
    }
    fmt::print("---- {}: {}\n{}\n{}{}\n", finding.kind, reproduce, finding.message, c.text(), finding.schedule);
    std::fflush(stdout);
    keep(c, finding, options, reproduce);
}

/// The batches of one of the jobs. Counts what it saw.
Counts work(const FuzzOptions& options, std::size_t job) {
    Counts counts;
    const auto begin = Clock::now();
    for (std::size_t done = job * options.batch; done < options.programs; done += options.jobs * options.batch) {
        if (options.seconds > 0 && std::chrono::duration<double>(Clock::now() - begin).count() > options.seconds) break;
        std::vector<Case> cases;
        const std::size_t end = std::min(options.programs, done + options.batch);
        for (std::size_t i = done; i < end; ++i) {
            const std::vector<Case> more = cases_of(options.first + i, options);
            cases.insert(cases.end(), more.begin(), more.end());
        }
        counts.programs += end - done;
        const std::vector<Verdict> verdicts = judge(cases, options);
        for (std::size_t i = 0; i < cases.size(); ++i) {
            counts.add(verdicts[i]);
            if (verdicts[i].finding) report(cases[i], *verdicts[i].finding, options);
        }
    }
    return counts;
}

void print(const Counts& counts, double seconds, const FuzzOptions& options) {
    fmt::print("{} programs in {:.1f} s ({:.1f} per second), {} cases: {} accepted", counts.programs, seconds,
               static_cast<double>(counts.programs) / seconds, counts.cases, counts.accepted);
    if (options.refused) fmt::print(", {} illegal", counts.illegal);
    for (const auto& [kind, count] : counts.findings) fmt::print(", {} {}", count, kind);
    fmt::print("\n");
}

/// Each job in a process of its own; what they count comes back through the outcome's text.
Counts run_jobs(const FuzzOptions& options) {
    std::vector<std::pair<pid_t, std::FILE*>> jobs;
    for (std::size_t job = 0; job < options.jobs; ++job) {
        std::FILE* const file = std::tmpfile();
        std::fflush(nullptr);
        const pid_t child = fork();
        if (file == nullptr || child < 0) throw std::runtime_error("no process for a job");
        if (child == 0) {
            const Counts counts = work(options, job);
            fmt::print(file, "{} {} {} {}", counts.programs, counts.cases, counts.accepted, counts.illegal);
            for (const auto& [kind, count] : counts.findings) fmt::print(file, " {} {}", kind, count);
            std::fflush(nullptr);
            _exit(0);
        }
        jobs.emplace_back(child, file);
    }
    Counts all;
    for (const auto& [child, file] : jobs) {
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) throw std::runtime_error("a job died");
        std::rewind(file);
        Counts counts;
        if (std::fscanf(file, "%zu %zu %zu %zu", &counts.programs, &counts.cases, &counts.accepted, &counts.illegal) !=
            4)
            throw std::runtime_error("a job counted nothing");
        all.programs += counts.programs;
        all.cases += counts.cases;
        all.accepted += counts.accepted;
        all.illegal += counts.illegal;
        char kind[32];
        std::size_t count = 0;
        while (std::fscanf(file, " %31s %zu", kind, &count) == 2) all.findings[kind] += count;
        std::fclose(file);
    }
    return all;
}

int main(const std::vector<std::string>& arguments) {
    FuzzOptions options;
    try {
        options = parse_fuzz_options(arguments);
        if (program_generators(options.generator).empty()) {
            throw std::runtime_error(fmt::format("--generator: there is no `{}`", options.generator));
        }
    } catch (const std::exception& error) {
        std::cerr << "pipec-fuzz: error: " << error.what() << "\n";
        return 2;
    }
    if (options.print) {
        for (std::size_t i = 0; i < options.programs; ++i) {
            fmt::print("{}", cases_of(options.first + i, options).front().text(fmt::format("p{}", options.first + i)));
        }
        return 0;
    }
    const auto begin = Clock::now();
    const Counts counts = run_jobs(options);
    print(counts, std::chrono::duration<double>(Clock::now() - begin).count(), options);
    return counts.findings.empty() ? 0 : 1;
}

}  // namespace
}  // namespace pipec::testing

int main(int argc, char** argv) {
    return pipec::testing::main({argv + 1, argv + argc});
}
