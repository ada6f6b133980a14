// Formatting changes neither meaning nor what is formatted already: of the programs of this repository, of random
// programs, and of both with random spaces, line breaks and comments between their tokens.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <regex>

#include "format/format.h"
#include "frontend/concrete.h"
#include "frontend/parse.h"
#include "ir/print.h"
#include "random/generators.h"
#include "support/big_stack.h"
#include "support_lib/compile.h"

namespace pipec::testing {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> formatted(const std::string& name, const std::string& text) {
    SourceManager sources;
    Diagnostics diags;
    const FileId file = sources.add(name, text);
    return format::format_text(sources, file, diags);
}

/// The syntax tree without places.
std::string tree(const std::string& text) {
    static const std::regex place("  @[0-9]+:[0-9]+\n");
    SourceManager sources;
    Diagnostics diags;
    const FileId file = sources.add("a.pipe", text);
    return std::regex_replace(ast::to_string(parse(sources, file, diags), sources), place, "\n");
}

/// The pipelines as text; none where they have errors.
std::string pipelines(const std::string& name, const std::string& text) {
    SourceManager sources;
    compiler::Settings settings;
    settings.last = compiler::Phase::Elaborate;
    std::string result;
    for (const ir::Pipeline& p : compile_text(sources, name, text, settings).definitions) result += ir::to_string(p);
    return result;
}

/// False where the text has a syntax error.
bool check(const std::string& name, const std::string& text) {
    const auto once = formatted(name, text);
    if (!once) return false;
    EXPECT_EQ(formatted(name, *once).value_or("an error"), *once) << text;
    EXPECT_EQ(tree(text), tree(*once)) << text;
    return true;
}

std::vector<fs::path> programs() {
    std::vector<fs::path> result;
    for (const char* directory : {"examples", "stdlib", "bench", "docs", "tests"}) {
        for (const auto& entry : fs::recursive_directory_iterator(fs::path(PIPEC_SOURCE_DIR) / directory)) {
            if (entry.path().extension() == ".pipe" && entry.is_regular_file()) result.push_back(entry.path());
        }
    }
    std::ranges::sort(result);
    return result;
}

/// The same tokens and comments with other gaps between them, and comments that were not there.
std::string with_other_gaps(const std::string& text, std::mt19937_64& rng) {
    static constexpr const char* kGaps[] = {" ",  " ",    "\n",         "\n\n\n",   "  \t", " /* c */ ",
                                            "\n", "\r\n", " // note\n", "\n// x\n", " ",    "\n  /* a\n b */\n"};
    SourceManager sources;
    Diagnostics diags;
    const FileId file = sources.add("a.pipe", text);
    const auto parsed = parse_concrete(sources, file, diags);
    std::string result;
    const std::uint64_t calm = 1 + rng() % 8;
    for (const concrete::Token& token : parsed->tokens) {
        result += sources.text(token.range);
        if (token.kind == concrete::TokenKind::LineComment) result += "\n";
        result += rng() % calm == 0 ? kGaps[rng() % std::size(kGaps)] : " ";
    }
    return result;
}

TEST(Format, ProgramsKeepTheirMeaning) {
    run_on_big_stack(std::size_t{256} << 20U, [] {
        int checked = 0;
        for (const fs::path& path : programs()) {
            const std::string text = read_file(path.string());
            if (!check(path.string(), text)) continue;
            const auto once = formatted(path.string(), text);
            EXPECT_EQ(pipelines(path.string(), text), pipelines(path.string(), *once)) << path;
            ++checked;
        }
        EXPECT_GE(checked, 300);
    });
}

TEST(Format, RandomProgramsKeepTheirMeaning) {
    run_on_big_stack(std::size_t{256} << 20U, [] {
        std::mt19937_64 rng(5);
        for (const ProgramGenerator& generator : program_generators("all")) {
            for (int i = 0; i < 60; ++i) {
                Tape tape(generator.least + rng() % (generator.most - generator.least + 1));
                for (auto& choice : tape) choice = static_cast<std::uint16_t>(rng());
                const std::string text = generator.text(tape, "p");
                ASSERT_TRUE(check("a.pipe", text)) << text;
                ASSERT_EQ(pipelines("a.pipe", text), pipelines("a.pipe", *formatted("a.pipe", text))) << text;
            }
        }
    });
}

TEST(Format, AnyGapsBetweenTokensWillDo) {
    run_on_big_stack(std::size_t{256} << 20U, [] {
        std::mt19937_64 rng(6);
        for (const fs::path& path : programs()) {
            const std::string text = read_file(path.string());
            if (!formatted(path.string(), text)) continue;
            for (int i = 0; i < 3; ++i) ASSERT_TRUE(check("a.pipe", with_other_gaps(text, rng))) << path;
        }
    });
}

TEST(Format, LongAndDeepProgramsTakeTheirTimeButNoMore) {
    run_on_big_stack(std::size_t{256} << 20U, [] {
        std::string sum = "const A = 1";
        for (int i = 0; i < 2000; ++i) sum += " + 1";
        EXPECT_TRUE(check("a.pipe", sum));
        EXPECT_TRUE(check("a.pipe", "const A = " + std::string(200, '(') + "1" + std::string(200, ')')));
        std::string table = "const A = [1";
        for (int i = 0; i < 20000; ++i) table += ", 1";
        EXPECT_TRUE(check("a.pipe", table + "]"));
        std::string many;
        for (int i = 0; i < 5000; ++i) many += fmt::format("fn f{}(a) {{ return a + {} }} ", i, std::string(120, '1'));
        EXPECT_FALSE(check("a.pipe", many));  // numbers that large are none
        many.clear();
        for (int i = 0; i < 5000; ++i) many += fmt::format("fn f{}(a) {{ return a + {} }} ", i, std::string(120, 'a'));
        EXPECT_TRUE(check("a.pipe", many));
    });
}

}  // namespace
}  // namespace pipec::testing
