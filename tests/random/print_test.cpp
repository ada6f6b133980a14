// The text of a pipeline is a program: compiling what --emit pipeline prints gives a pipeline that prints the same. So
// precedence, literals and types are printed right, and nothing is lost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <sstream>

#include "ir/print.h"
#include "ir/visit.h"
#include "random/program.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::testing {
namespace {

/// Gives everything a name that a person could have written: stages made by the compiler have dots and brackets in
/// theirs, and variables that hide each other could not be told apart in a text.
ir::Pipeline with_plain_names(ir::Pipeline p) {
    std::set<std::string> taken;
    for (ir::Stage& stage : p.stages) {
        if (stage.output < 0) {
            for (char& c : stage.name) {
                if (c == '.' || c == '[' || c == ']' || c == '\'') c = '_';
            }
            stage.name += "_";
        }
        while (!taken.insert(stage.name).second) stage.name += "_";
    }
    for (std::size_t i = 0; i < p.variables.size(); ++i) {
        std::string& name = p.variables[i].name;
        std::replace_if(
            name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
        name += fmt::format("_{}", i);
    }
    return p;
}

/// Infinity and NaN have no literal.
bool is_printable(const ir::Pipeline& p) {
    bool printable = true;
    for (const ir::Stage& stage : p.stages) {
        for (const ir::Expr& root : ir::expressions(stage)) {
            ir::for_each_node(root, [&](const ir::Expr& e) {
                if (const auto* c = ir::as<ir::FloatConstant>(e)) printable = printable && std::isfinite(c->value);
            });
        }
    }
    return printable;
}

/// Lines in alphabetical order: definitions may stand in any.
std::string sorted_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return fmt::format("{}", fmt::join(lines, "\n"));
}

/// The text without what the two ways differ in: the numbers that with_plain_names gives to variables, once more on
/// each way (x_12, then x_12_40), underscores at the ends of stages' names, the order of the lines.
std::string canonical(const std::string& text) {
    std::string result;
    std::vector<std::string> seen;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i;
        while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
            ++end;
        if (end == i) {
            result += text[i++];
            continue;
        }
        const std::string word = text.substr(i, end - i);
        const std::size_t underscore = word.find('_');
        const bool variable = underscore != std::string::npos &&
                              word.find_first_not_of("0123456789_", underscore) == std::string::npos &&
                              underscore + 1 < word.size() && word.back() != '_';
        result += variable ? word.substr(0, underscore) : word;
        i = end;
    }
    std::string without;
    for (const char c : result) {
        if (c != '_') without += c;
    }
    return sorted_lines(without);
}

TEST(Print, TheTextOfAPipelineIsAProgram) {
    std::mt19937_64 rng(99);
    driver::CompileOptions options;
    options.last = driver::Phase::Elaborate;
    int compared = 0;
    for (int i = 0; i < 120; ++i) {
        Tape tape(40 + rng() % 300);
        for (auto& choice : tape) choice = static_cast<std::uint16_t>(rng());
        SourceManager sources;
        const Compiled first = compile_text(sources, "first.pipe", program_text(tape, "p"), options);
        if (!first.ok() || !is_printable(first.pipelines.front())) continue;
        const std::string text = ir::to_string(with_plain_names(first.pipelines.front()));
        const Compiled second = compile_text(sources, "second.pipe", text, options);
        ASSERT_TRUE(second.ok()) << text << render_text(second.diags, sources);
        const std::string again = ir::to_string(with_plain_names(second.pipelines.front()));
        ASSERT_EQ(canonical(text), canonical(again)) << program_text(tape, "p");
        ++compared;
    }
    EXPECT_GE(compared, 50);
}

}  // namespace
}  // namespace pipec::testing
