// Input that is no program: no crash, no hang, a bounded number of errors. And the programs that exist, whole and
// damaged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "parsed.h"

namespace pipec {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

std::string repeat(std::string_view piece, std::size_t times) {
    std::string result;
    for (std::size_t i = 0; i < times; ++i) result += piece;
    return result;
}

std::string constant(const std::string& value) {
    return "const A = " + value + "\n";
}

struct Bad {
    const char* name;
    std::function<std::string()> text;
    const char* first_id;  ///< of the first diagnostic; empty: there is none
};
void PrintTo(const Bad& bad, std::ostream* out) {
    *out << bad.name;
}

class Robust : public testing::TestWithParam<Bad> {};

TEST_P(Robust, EndsSoonWithTheRightError) {
    const std::string text = GetParam().text();
    const std::clock_t start = std::clock();
    const Parsed parsed(text);
    // Processor time, so that a busy machine does not matter. Usually a second without optimisation.
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 10.0);
    EXPECT_LE(parsed.diags.error_count(), Diagnostics::kMaxErrors);
    const std::vector<std::string> ids = parsed.ids();
    EXPECT_EQ(ids.empty() ? "" : ids.front(), GetParam().first_id);
}

std::string random_bytes(unsigned low, unsigned high) {
    std::mt19937 random(1);
    std::string text;
    while (text.size() < kMegabyte) text += static_cast<char>(low + random() % (high - low + 1));
    return text;
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, Robust,
    testing::Values(
        Bad{"Empty", [] { return std::string(); }, ""}, Bad{"Newlines", [] { return repeat("\r\n", 1000); }, ""},
        Bad{"OnlyByteOrderMark", [] { return std::string("\xEF\xBB\xBF"); }, ""},
        Bad{"RandomBytes", [] { return random_bytes(0, 255); }, "nul-byte"},
        Bad{"RandomBytesWithoutNul", [] { return random_bytes(1, 255); }, "invalid-utf8"},
        Bad{"RandomAscii", [] { return random_bytes(32, 126); }, "foreign-syntax"},
        Bad{"Nul", [] { return std::string("const A = 1\0", 12); }, "nul-byte"},
        Bad{"Utf8Surrogate", [] { return std::string("// \xED\xA0\x80\n"); }, "invalid-utf8"},
        Bad{"Utf8Overlong", [] { return std::string("// \xC0\xAF\n"); }, "invalid-utf8"},
        Bad{"Utf8CutOff", [] { return std::string("// \xE2\x82"); }, "invalid-utf8"},
        Bad{"Parentheses", [] { return std::string(kMegabyte, '('); }, "nested-too-deeply"},
        Bad{"Braces", [] { return std::string(kMegabyte, '{'); }, "nested-too-deeply"},
        Bad{"Closers", [] { return std::string(kMegabyte, ')'); }, "unmatched-bracket"},
        Bad{"OneNumber", [] { return constant(std::string(kMegabyte, '1')); }, "integer-out-of-range"},
        Bad{"Quotes", [] { return std::string(kMegabyte, '"'); }, "syntax-error"},
        Bad{"Comments", [] { return repeat("/* ", kMegabyte / 3); }, "unterminated-comment"},
        Bad{"Slashes", [] { return std::string(kMegabyte, '/'); }, ""},
        Bad{"Names", [] { return repeat("a ", kMegabyte / 2); }, "statement-outside-pipeline"},
        Bad{"Keywords", [] { return repeat("pipeline ", 100'000); }, "keyword-as-name"},
        Bad{"BrokenStatements", [] { return in_pipeline(repeat("a(x) = \n", 100'000)); }, "syntax-error"},
        Bad{"Minus", [] { return constant(repeat("- ", 100'000) + "1"); }, "nested-too-deeply"},
        Bad{"Not", [] { return constant(repeat("not ", 100'000) + "a"); }, "nested-too-deeply"},
        Bad{"If", [] { return constant(repeat("if a then b else ", 50'000) + "1"); }, "nested-too-deeply"},
        Bad{"Let", [] { return constant(repeat("let a = ", 50'000) + "1"); }, "nested-too-deeply"},
        Bad{"Reductions", [] { return constant(repeat("sum(i in 0..3) ", 50'000) + "1"); }, "nested-too-deeply"},
        Bad{"Ternary", [] { return constant(repeat("a ? b : ", 50'000) + "1"); }, "nested-too-deeply"},
        Bad{"ElseIf", [] { return in_pipeline("if a { }" + repeat(" else if b { }", 50'000)); }, "nested-too-deeply"},
        Bad{"Blocks", [] { return in_pipeline(repeat("for l in 0..3 {", 50'000)); }, "nested-too-deeply"},
        Bad{"Sum", [] { return constant(repeat("a + ", 100'000) + "1"); }, "expression-too-deep"},
        Bad{"Comparison", [] { return constant(repeat("a < ", 100'000) + "1"); }, "expression-too-deep"},
        Bad{"Calls", [] { return constant("f" + repeat("(x)", 100'000)); }, "expression-too-deep"},
        Bad{"Indices", [] { return constant("f" + repeat("[x]", 100'000)); }, "expression-too-deep"}),
    [](const auto& instance) { return instance.param.name; });

TEST(Limits, LongSumsAndDeepNestingWork) {
    EXPECT_EQ(Parsed(constant(repeat("a + ", 1999) + "1")).messages(), "");
    EXPECT_EQ(Parsed(constant(std::string(250, '(') + "1" + std::string(250, ')'))).messages(), "");
    EXPECT_EQ(Parsed(constant(repeat("(1 + 2 * -", 250) + "1" + std::string(250, ')'))).messages(), "");
    EXPECT_EQ(Parsed(constant(repeat("if a then b else ", 250) + "1")).messages(), "");
    std::string table = "[1";
    for (int i = 0; i < 20'000; ++i) table += ", 1";
    EXPECT_EQ(Parsed(constant(table + "]")).messages(), "");
}

// ---------------------------------------------------------------------------------------------------- real programs

std::vector<std::filesystem::path> programs() {
    std::vector<std::filesystem::path> result;
    for (const char* folder : {"stdlib", "examples"}) {
        for (const auto& entry :
             std::filesystem::directory_iterator(std::filesystem::path(PIPEC_SOURCE_DIR) / folder)) {
            if (entry.path().extension() == ".pipe") result.push_back(entry.path());
        }
    }
    std::sort(result.begin(), result.end());
    return result;
}

std::string read(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Programs, TheLibraryAndTheExamplesParse) {
    ASSERT_GE(programs().size(), 10U);
    for (const auto& path : programs()) {
        const Parsed parsed(read(path));
        EXPECT_EQ(parsed.messages(), "") << path;
        EXPECT_FALSE(parsed.file.items.empty()) << path;
    }
}

/// The tokens of a text, as pieces that with what lies between them make up the text.
std::vector<std::pair<std::size_t, std::size_t>> pieces(std::string_view text) {
    std::vector<std::pair<std::size_t, std::size_t>> result;
    const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i + 1;
        while (word(text[i]) && end < text.size() && word(text[end])) ++end;
        if (!std::isspace(static_cast<unsigned char>(text[i]))) result.emplace_back(i, end);
        i = end;
    }
    return result;
}

TEST(Programs, DamagedOnesNeitherCrashNorHang) {
    std::mt19937 random(20);
    std::size_t rejected = 0, total = 0;
    for (const auto& path : programs()) {
        const std::string text = read(path);
        const auto tokens = pieces(text);
        for (int round = 0; round < 40; ++round) {
            std::string damaged = text;
            const auto [begin, end] = tokens[random() % tokens.size()];
            const auto [other, other_end] = tokens[random() % tokens.size()];
            switch (round % 3) {
                case 0: damaged.erase(begin, end - begin); break;
                case 1: damaged.insert(end, " " + text.substr(begin, end - begin)); break;
                default: damaged.replace(begin, end - begin, text.substr(other, other_end - other)); break;
            }
            const Parsed parsed(damaged);
            ++total;
            rejected += parsed.diags.has_errors() ? 1 : 0;
            // One wrong token is no reason for a page of errors.
            EXPECT_LE(parsed.diags.error_count(), 12U) << path << " round " << round << "\n" << parsed.messages();
            const std::string tree = parsed.tree();
            EXPECT_TRUE(parsed.diags.has_errors() || !tree.empty());
        }
    }
    EXPECT_GT(rejected, total / 4);  // much of the damage hits comments and names
}

}  // namespace
}  // namespace pipec
