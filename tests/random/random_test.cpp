// Random programs: the compiler accepts or rejects them, and where it accepts, both targets compute what the
// interpreter computes (the CUDA target in the SIMT emulator), and nothing is read out of bounds.
//
// A failure prints a program made as small as possible; keep it in regressions/, where it is tested from then on.
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

namespace pipec::testing {
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

Tape random_tape(std::mt19937_64& rng) {
    Tape tape(40 + rng() % 400);
    for (auto& choice : tape) choice = static_cast<std::uint16_t>(rng());
    return tape;
}

/// The failure of one program alone, by the interpreter, on the host and on the device; empty where there is none.
std::string failure_of(const std::string& text) {
    SourceManager sources;
    const auto subject = check_program(sources, "p", text);
    if (subject->accepted()) check_on_host({subject.get()}, sources);
    if (subject->accepted()) check_on_device({subject.get()}, sources);
    return subject->failure;
}

/// A simpler tape whose program still fails: parts are cut off or set to 0 as long as that lasts.
Tape shrink(Tape tape) {
    const auto fails = [](const Tape& t) { return !failure_of(program_text(t, "p")).empty(); };
    int budget = 150;  // each attempt may run a compiler
    for (std::size_t length = tape.size() / 2; length > 0 && budget > 0; length /= 2) {
        for (std::size_t at = 0; at + length <= tape.size() && budget > 0;) {
            Tape shorter = tape;
            const auto begin = shorter.begin() + static_cast<std::ptrdiff_t>(at);
            shorter.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
            Tape zeroed = tape;
            std::fill_n(zeroed.begin() + static_cast<std::ptrdiff_t>(at), length, std::uint16_t{0});
            if (--budget > 0 && fails(shorter)) {
                tape = shorter;
            } else if (zeroed != tape && --budget > 0 && fails(zeroed)) {
                tape = zeroed;
                at += length;
            } else {
                at += length;
            }
        }
    }
    return tape;
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
        for (int i = 0; i < std::min(kBatch, program_count() - done); ++i) {
            tapes.push_back(random_tape(rng));
            const std::string name = fmt::format("p{}", done + i);
            subjects.push_back(check_program(sources, name, program_text(tapes.back(), name)));
            if (subjects.back()->accepted()) legal.push_back(subjects.back().get());
        }
        accepted += static_cast<int>(legal.size());
        check_on_host(legal, sources);
        std::erase_if(legal, [](const Subject* s) { return !s->failure.empty(); });
        check_on_device(legal, sources);
        for (std::size_t i = 0; i < subjects.size() && failures < 3; ++i) {
            if (subjects[i]->failure.empty()) continue;
            ++failures;
            const std::string smaller = program_text(shrink(tapes[i]), "p");
            const std::string failure = failure_of(smaller);  // none: it needs the others, or the budget ran out
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
        Tape tape = random_tape(rng);
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

class Regressions : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> regression_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(PIPEC_SOURCE_DIR "/tests/random/regressions")) {
        if (entry.path().extension() == ".pipe") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// rejected_*.pipe are illegal programs, all others legal ones.
TEST_P(Regressions, StayFixed) {
    SourceManager sources;
    const auto subject = check_program(sources, "p", read_file(GetParam()));
    EXPECT_EQ(subject->failure, "");
    const bool legal = std::filesystem::path(GetParam()).filename().string().rfind("rejected_", 0) != 0;
    EXPECT_EQ(subject->accepted(), legal) << render_text(subject->compiled.diags, sources);
    if (subject->accepted()) check_on_host({subject.get()}, sources);
    if (subject->accepted()) check_on_device({subject.get()}, sources);
    EXPECT_EQ(subject->failure, "");
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Regressions);
INSTANTIATE_TEST_SUITE_P(All, Regressions, ::testing::ValuesIn(regression_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::testing
