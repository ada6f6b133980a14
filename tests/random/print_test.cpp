// The text of a pipeline is a program: compiling what --emit pipeline prints gives a pipeline that computes the same.
// So precedence, literals and types are printed right, and nothing is lost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "ir/print.h"
#include "ir/visit.h"
#include "random/program.h"
#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"

namespace pipec::testing::print_test {
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

/// What the interpreter makes of a pipeline; without the analysis a program may well read out of bounds.
std::optional<std::map<std::string, reference::Array>> results(const ir::Pipeline& pipeline,
                                                               const reference::Arguments& arguments) {
    try {
        return reference::run(pipeline, arguments);
    } catch (const reference::Error&) {
        return std::nullopt;
    }
}

TEST(Print, TheTextOfAPipelineIsAProgram) {
    std::mt19937_64 rng(99);
    compiler::Settings options;
    options.last = compiler::Phase::Elaborate;
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
        for (const Fill fill : {Fill::Smooth, Fill::Extreme}) {
            std::map<std::string, std::int64_t> sizes;
            for (const ir::SizeParameter& size : first.pipelines.front().sizes) sizes[size.name] = 2 + 2 * (i % 3);
            const reference::Arguments arguments = random_arguments(first.pipelines.front(), sizes, fill, rng);
            const auto expected = results(first.pipelines.front(), arguments);
            const auto actual = results(second.pipelines.front(), arguments);
            ASSERT_EQ(expected.has_value(), actual.has_value()) << text;
            if (!expected) continue;
            for (const auto& [output, array] : *expected) ASSERT_EQ(difference(array, actual->at(output)), "") << text;
            ++compared;
        }
    }
    EXPECT_GE(compared, 100);
}

}  // namespace
}  // namespace pipec::testing::print_test
