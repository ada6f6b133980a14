// Random programs: the compiler accepts or rejects them, and where it accepts, both targets compute what the
// interpreter computes (the CUDA target in the SIMT emulator), and nothing is read out of bounds.
//
// A failure prints a program made as small as possible; keep it in regressions/ (regressions_test.cpp).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>

#include "random/check.h"
#include "random/program.h"
#include "support/render.h"

namespace pipec::testing::random_test {
namespace {

int from_environment(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoi(text);
}

int seed() {
    return from_environment("PIPEC_RANDOM_SEED", 1);
}
int program_count() {
    return from_environment("PIPEC_RANDOM_PROGRAMS", 64);
}

/// RapidCheck reads its settings from the environment, once; the same seed must give the same programs.
void configure_rapidcheck() {
    setenv("RC_PARAMS", fmt::format("seed={} max_success={}", seed(), program_count()).c_str(), 0);
}

/// The failure of one program alone, by the interpreter, on the host and on the device; empty where there is none.
std::string failure_of(const std::string& text, const std::string& flags) {
    SourceManager sources;
    const auto subject = check_program(sources, "p", text);
    if (subject->accepted()) check_on_host({subject.get()}, sources, flags);
    if (subject->accepted()) check_on_device({subject.get()}, sources);
    return subject->failure;
}

TEST(Random, CodeEqualsReference) {
    constexpr int kBatch = 32;  // programs in one run of the system's compiler
    std::mt19937_64 rng(static_cast<std::uint64_t>(seed()));
    int accepted = 0, failures = 0;
    for (int done = 0; done < program_count() && failures < 3; done += kBatch) {
        SourceManager sources;
        std::vector<Tape> tapes;
        std::vector<std::unique_ptr<Subject>> subjects;
        std::vector<Subject*> legal;
        // With versions for several processors, of which this one takes its own; and by turns without, as any can run
        // it.
        const std::string flags = done / kBatch % 2 == 0 ? "" : "-DPIPE_NO_VERSIONS";
        for (int i = 0; i < std::min(kBatch, program_count() - done); ++i) {
            tapes.push_back(random_tape(rng, 40, 440));
            const std::string name = fmt::format("p{}", done + i);
            subjects.push_back(check_program(sources, name, program_text(tapes.back(), name)));
            if (subjects.back()->accepted()) legal.push_back(subjects.back().get());
        }
        accepted += static_cast<int>(legal.size());
        check_on_host(legal, sources, flags);
        std::erase_if(legal, [](const Subject* s) { return !s->failure.empty(); });
        check_on_device(legal, sources);
        for (std::size_t i = 0; i < subjects.size() && failures < 3; ++i) {
            if (subjects[i]->failure.empty()) continue;
            ++failures;
            // Each attempt may run a compiler.
            const auto fails = [&](const Tape& t) { return !failure_of(program_text(t, "p"), flags).empty(); };
            const std::string smaller = program_text(shrink(tapes[i], 150, fails), "p");
            const std::string failure = failure_of(smaller, flags);  // none: it needs the others, or the budget ran out
            ADD_FAILURE() << subjects[i]->failure << "\n" << (failure.empty() ? subjects[i]->text : smaller + failure);
        }
    }
    // Mostly rejected programs would test nothing.
    EXPECT_GE(accepted, program_count() * 6 / 10);
    RecordProperty("accepted", accepted);
}

TEST(Random, AcceptedOrRejectedAndNeverOutOfBounds) {
    configure_rapidcheck();
    const bool ok = rc::check("programs of every length", [] {
        const auto tape = *rc::gen::resize(300, rc::gen::container<Tape>(rc::gen::arbitrary<std::uint16_t>()));
        const std::string text = program_text(tape, "p");
        SourceManager sources;
        const auto subject = check_program(sources, "p", text);
        RC_CLASSIFY(subject->accepted(), "accepted");
        if (!subject->failure.empty()) RC_FAIL(subject->failure + "\n" + text);
    });
    EXPECT_TRUE(ok);
}

/// Words and marks that the language knows, to be put where they do not belong.
const std::vector<std::string> kPieces = {"(",
                                          ")",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          "..",
                                          "..=",
                                          "..k",
                                          "=",
                                          "+=",
                                          "<",
                                          "==",
                                          "-",
                                          "*",
                                          "/",
                                          "%",
                                          "&",
                                          "1",
                                          "0x",
                                          "1.5",
                                          "9999999999999999999999",
                                          "if",
                                          "then",
                                          "else",
                                          "let",
                                          "in",
                                          "for",
                                          "fn",
                                          "return",
                                          "const",
                                          "pipeline",
                                          "accumulate",
                                          "sum",
                                          "min",
                                          "argmax",
                                          "float32",
                                          "uint8",
                                          "bool",
                                          "R",
                                          "C",
                                          "x",
                                          "f1",
                                          "in0",
                                          "import",
                                          "\"boundary\"",
                                          "where",
                                          "order",
                                          "not",
                                          "and",
                                          "true",
                                          "\n",
                                          "//",
                                          "/*",
                                          "\"",
                                          "@",
                                          "\xc3\xa4",
                                          "rank(in0)",
                                          "lower(in0, 0)",
                                          "saturate<uint8>(x)",
                                          "mirror(in0)"};

TEST(Random, BrokenTextIsRejectedInPeace) {
    std::mt19937_64 rng(static_cast<std::uint64_t>(seed()) + 1);
    for (int i = 0; i < program_count() * 4; ++i) {
        Tape tape = random_tape(rng, 40, 440);
        tape.resize(tape.size() / 4);
        std::string text = program_text(tape, "p");
        for (std::size_t edits = 1 + rng() % 3; edits > 0; --edits) {
            const std::size_t at = rng() % text.size();
            const std::size_t length = std::min<std::size_t>(rng() % 12, text.size() - at);
            switch (rng() % 3) {
                case 0: text.erase(at, length); break;
                case 1: text.insert(at, " " + kPieces[rng() % kPieces.size()] + " "); break;
                default: text.insert(rng() % text.size(), text.substr(at, length)); break;
            }
            if (text.empty()) text = "\n";
        }
        SourceManager sources;
        const auto subject = check_program(sources, "p", text);
        // A program that is broken may still be a legal one.
        EXPECT_EQ(subject->failure, "") << text;
        if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace pipec::testing::random_test
