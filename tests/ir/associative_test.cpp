// Which scans can be shared out along their lines, and into which parts.
#include "ir/associative.h"

#include <gtest/gtest.h>

#include <map>

#include "support_lib/compile.h"

namespace pipec::ir::associative_test {
namespace {

std::optional<AssociativeScan> found(const std::string& type, const std::string& value, bool fast_math = false) {
    SourceManager sources;
    const testing::Compiled compiled =
        testing::compile_text(sources, "test.pipe",
                              "pipeline p(a: " + type + "[N], b: " + type + "[N], k: uint8[N]) -> s: " + type +
                                  "[N] { s(x) = " + value + " }");
    EXPECT_TRUE(compiled.ok()) << value;
    if (!compiled.ok()) return std::nullopt;
    const Stage& stage = compiled.definitions.front().stages.front();
    if (!is_associative_scan(stage, 0, fast_math)) return std::nullopt;
    const auto is_before = [](const Expr& e) {
        const auto* read = as<Read>(e);
        return read != nullptr && read->source == Source{Source::Kind::Stage, 0};
    };
    return associative_scan(std::get<Pure>(stage.definition).value, is_before, fast_math);
}

TEST(Associative, OperatorsOfIntegersAre) {
    const std::string first = "if x == 0 then a(x) else ";
    for (const auto& [op, value] : std::map<BinaryOp, std::string>{{BinaryOp::Add, "s(x - 1) + a(x)"},
                                                                   {BinaryOp::Mul, "a(x) * s(x - 1)"},
                                                                   {BinaryOp::Min, "min(s(x - 1), a(x))"},
                                                                   {BinaryOp::Max, "max(a(x), s(x - 1))"},
                                                                   {BinaryOp::BitXor, "s(x - 1) ^ a(x)"},
                                                                   {BinaryOp::BitAnd, "s(x - 1) & a(x)"}}) {
        const auto scan = found("int32", first + value);
        ASSERT_TRUE(scan) << value;
        EXPECT_EQ(scan->op, op) << value;
    }
    // The negated term is added.
    EXPECT_EQ(found("int64", first + "s(x - 1) - a(x)")->op, BinaryOp::Add);
    EXPECT_EQ(found("int32", first + "s(x - 1) + a(x) - b(x)")->op, BinaryOp::Add);
    // A point takes over what was before, or begins again.
    const auto seen = found("int32", "if k(x) > 9 then x else if x > 0 then s(x - 1) else -1");
    ASSERT_TRUE(seen);
    EXPECT_FALSE(seen->op);
}

TEST(Associative, OthersAreNot) {
    const std::string first = "if x == 0 then a(x) else ";
    for (const char* value :
         {"a(x) - s(x - 1)", "s(x - 1) * 2 + a(x)", "max(s(x - 1) + a(x), b(x))", "s(x - 1) / 2 + a(x)",
          "s(x - 1) + s(x - 1)", "if s(x - 1) > 9 then a(x) else s(x - 1) + a(x)",
          "a(x) + (if x > 1 then s(x - 2) else 0)", "abs(s(x - 1)) + a(x)"}) {
        EXPECT_FALSE(found("int32", first + value)) << value;
    }
}

/// Sums of floats would be other sums, extremes are the same in any grouping.
TEST(Associative, FloatsHaveAnOrder) {
    const std::string first = "if x == 0 then a(x) else ";
    EXPECT_FALSE(found("float32", first + "s(x - 1) + a(x)"));
    EXPECT_FALSE(found("float64", first + "s(x - 1) * a(x)"));
    EXPECT_TRUE(found("float32", first + "s(x - 1) + a(x)", true));
    for (const char* type : {"float16", "float32", "float64"}) {
        const auto least = found(type, first + "min(s(x - 1), a(x))");
        const auto most = found(type, first + "max(a(x), s(x - 1))");
        ASSERT_TRUE(least && most);
        EXPECT_FALSE(least->term_first);
        EXPECT_TRUE(most->term_first);  // 0 and -0 are equal, and it is defined which of them comes out
        EXPECT_FALSE(found(type, first + "min(a(x), min(s(x - 1), b(x)))"));
    }
}

TEST(Associative, ALineBeginsAgainWhereNothingIsReadOfIt) {
    const auto run = found("int32", "if k(x) < 9 then 0 else (if x > 0 then s(x - 1) else 0) + 1");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->op, BinaryOp::Add);
    EXPECT_EQ(as_int(run->identity), 0);
    EXPECT_EQ(run->restart->type, Type::Bool);
    EXPECT_FALSE(as_int(run->restart));  // no constant: it depends on the point
}

}  // namespace
}  // namespace pipec::ir::associative_test
