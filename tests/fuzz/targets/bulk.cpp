// fuzz_bulk: many mutated programs through one target, in the build as it is, without coverage (docs/fuzzing.md).
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include "fuzz/isolated.h"
#include "fuzz/targets/mutate.h"
#include "fuzz/targets/targets.h"
#include "support/big_stack.h"

namespace pipec::fuzz {
namespace {

using Clock = std::chrono::steady_clock;
using Number = std::uint64_t;

/// Inputs of one process: what the ANTLR runtime learns of each of them stays in memory.
constexpr Number kBatch = 20'000;
constexpr unsigned kSecondsOfInput = 20;
constexpr std::size_t kBytes = std::size_t{4} << 30;

constexpr const char* kUsage =
    "usage: fuzz_bulk parser|frontend [--seed N] [--first N] [--inputs N] [--seconds N] [--length BYTES] [--keep DIR]\n"
    "                 [--print] FILE_OR_DIRECTORY...\n";

struct Options {
    const Target* target = nullptr;
    std::map<std::string, Number> numbers = {
        {"--seed", 1}, {"--first", 0}, {"--inputs", 1000}, {"--seconds", 0}, {"--length", 512}};
    std::string keep;
    bool print = false;
    std::vector<std::string> files;
};

Options parse(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        const bool has_value = argument == "--keep" || options.numbers.contains(argument);
        if (has_value && i + 1 == arguments.size()) throw std::runtime_error(argument + " needs a value");
        if (argument == "--print") {
            options.print = true;
        } else if (argument == "--keep") {
            options.keep = arguments[++i];
        } else if (has_value) {
            const std::string& text = arguments[++i];
            Number& number = options.numbers[argument];
            if (const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
                error != std::errc() || end != text.data() + text.size()) {
                throw std::runtime_error(fmt::format("{}: `{}` is not a number", argument, text));
            }
        } else if (argument.starts_with("-")) {
            throw std::runtime_error(fmt::format("unknown option `{}`", argument));
        } else if (options.target == nullptr) {
            options.target = std::find_if(std::begin(kTargets), std::end(kTargets),
                                          [&](const Target& t) { return t.name == argument; });
            if (options.target == std::end(kTargets)) throw std::runtime_error("there is no target " + argument);
        } else {
            options.files.push_back(argument);
        }
    }
    if (options.files.empty()) throw std::runtime_error(kUsage);
    return options;
}

std::vector<std::string> read(const std::vector<std::string>& names) {
    std::vector<std::filesystem::path> files;
    for (const std::filesystem::path name : names) {
        if (!std::filesystem::is_directory(name))
            files.push_back(name);
        else
            for (const auto& entry : std::filesystem::directory_iterator(name)) {
                if (entry.is_regular_file()) files.push_back(entry.path());
            }
    }
    std::sort(files.begin(), files.end());  // numbers of inputs count on it
    std::vector<std::string> texts;
    for (const auto& file : files) {
        std::ifstream in(file, std::ios::binary);
        if (!in) throw std::runtime_error("cannot read " + file.string());
        texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return texts;
}

/// Which input a child is at, for the parent of one that died.
std::atomic<Number>& shared_number() {
    void* const page =
        mmap(nullptr, sizeof(std::atomic<Number>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("no shared memory");
    return *new (page) std::atomic<Number>(0);
}

void report(const Options& options, Number number, const std::string& input, const testing::Outcome& outcome) {
    const Number seed = options.numbers.at("--seed");
    fmt::print("---- {} --seed {} --first {}: {}\n{}\n{}\n", options.target->name, seed, number, outcome.death,
               outcome.text, input);
    if (options.keep.empty()) return;
    std::filesystem::create_directories(options.keep);
    std::ofstream(fmt::format("{}/{}-{}-{}.pipe", options.keep, options.target->name, seed, number)) << input;
}

int run(const Options& options) {
    const auto number_of = [&](const char* name) { return options.numbers.at(name); };
    const Mutator mutator(read(options.files), number_of("--length"));
    const Number seed = number_of("--seed"), first = number_of("--first"), last = first + number_of("--inputs");
    if (options.print) {
        for (Number i = first; i < last; ++i) fmt::print("{}\n", mutator.input(seed, i));
        return 0;
    }
    std::atomic<Number>& current = shared_number();
    const auto begin = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    const auto limit = static_cast<double>(number_of("--seconds"));
    Number next = first, findings = 0;
    while (next < last && (limit == 0 || seconds() < limit)) {
        const Number end = std::min(next + kBatch, last);
        current = next;
        const testing::Outcome outcome = testing::isolated({kSecondsOfInput, kBytes}, [&](const auto&) {
            run_on_big_stack(kStackBytes, [&] {
                for (Number i = next; i < end && (limit == 0 || seconds() < limit); ++i) {
                    current = i;
                    alarm(kSecondsOfInput);
                    options.target->run(mutator.input(seed, i));
                    current = i + 1;
                }
            });
        });
        next = current;
        if (outcome.death.empty()) continue;
        ++findings;
        report(options, next, mutator.input(seed, next), outcome);
        ++next;
    }
    fmt::print("{}: {} inputs, numbers {} to {} of seed {}, in {:.0f} s ({:.0f} per second), {} findings\n",
               options.target->name, next - first, first, next, seed, seconds(),
               static_cast<double>(next - first) / seconds(), findings);
    return findings > 0 ? 1 : 0;
}

}  // namespace
}  // namespace pipec::fuzz

int main(int argc, char** argv) {
    try {
        return pipec::fuzz::run(pipec::fuzz::parse({argv + 1, argv + argc}));
    } catch (const std::exception& error) {
        fmt::print(stderr, "fuzz_bulk: {}\n", error.what());
        return 2;
    }
}
