// Where conditions on data may be evaluated besides what they stand before: a read that they keep in bounds is not.
#include "codegen/expr/both_sides.h"

#include <gtest/gtest.h>

#include "support_lib/compile.h"

namespace pipec::testing::both_sides_test {
namespace {

bool is_safe(const std::string& params, const std::string& condition) {
    SourceManager sources;
    const Compiled compiled =
        compile_text(sources, "case.pipe",
                     "pipeline p(k: uint8[R, C], w: float32[10], v: float32[256], f: float32[R, C]" + params +
                         ") -> out: int32[R, C] { out(y, x) = if " + condition + " then 1 else 0 }");
    for (const Diagnostic& d : compiled.diags.all()) EXPECT_NE(d.severity, Severity::Error) << d.message;
    return codegen::both_sides_are_safe(compiled.pipelines.front(), compiled.models.front(), 0);
}

bool may_read_first(const std::string& value) {
    SourceManager sources;
    const Compiled compiled =
        compile_text(sources, "case.pipe",
                     "pipeline p(k: uint8[R, C], w: float32[10], f: float32[R, C]) -> out: float32[R, C] {"
                     " near(x) = min(x, 1)\n nearer(x) = near(x) * 2\n dark(y, x) = k(y, x) / 2\n out(y, x) = " +
                         value + " }");
    for (const Diagnostic& d : compiled.diags.all()) EXPECT_NE(d.severity, Severity::Error) << d.message;
    const ir::Pipeline& pipeline = compiled.pipelines.front();
    return codegen::choices_are_safe(pipeline, compiled.models.front(), pipeline.outputs.front().stage);
}

TEST(Choices, AreReadFirstWhereDataSayNothingOfPlaces) {
    EXPECT_TRUE(may_read_first("if k(y, x) > 3 then f(y, x) else f(y, max(x - 1, 0))"));
    EXPECT_TRUE(may_read_first("if k(y, x) > 3 then (if x > 0 then f(y, x - 1) else 0) else 1"));
    EXPECT_FALSE(may_read_first("if k(y, x) < 10 then w(k(y, x)) else 0"));
    EXPECT_FALSE(may_read_first("if near(x) > 0 then f(y, x - 1) else 0"));
    EXPECT_FALSE(may_read_first("if nearer(x) > 0 then f(y, x - 1) else 0"));
    EXPECT_TRUE(may_read_first("if dark(y, x) > 0 then f(y, max(x - 1, 0)) else 0"));
    EXPECT_FALSE(may_read_first("if x <= k(y, x) and k(y, x) < 10 then w(x) else 0"));
}

TEST(BothSides, AreSafeWhereDataSayNothingOfPlaces) {
    EXPECT_TRUE(is_safe("", "k(y, x) > 3 and f(y, x) > 1"));
    EXPECT_TRUE(is_safe(", t: uint8", "k(y, x) > t and f(y, max(x - 1, 0)) > 1 and k(min(y + 1, R - 1), x) < t"));
    EXPECT_TRUE(is_safe("", "k(y, x) > k(y, max(x - 1, 0)) and k(y, x) > k(max(y - 1, 0), x)"));
    EXPECT_TRUE(is_safe("", "k(y, x) > 3 or x > 2 and x < C - 1 and k(y, x + 1) > 3"));
    EXPECT_TRUE(is_safe("", "k(y, x) > x and y > 3"));
    EXPECT_TRUE(is_safe("", "0 <= f(y, x) and f(y, x) <= C - 1"));
}

TEST(BothSides, AreNotWhereTheySayAPlace) {
    EXPECT_FALSE(is_safe("", "k(y, x) < 10 and w(k(y, x)) > 3"));
    EXPECT_FALSE(is_safe("", "k(y, x) >= 10 or w(k(y, x)) > 3"));
    EXPECT_FALSE(is_safe("", "x <= k(y, x) and v(x) > 3"));
    EXPECT_FALSE(is_safe("", "(let i = k(y, x) in i < 10 and w(i) > 3)"));
    // Through a parameter, and a condition that stands elsewhere.
    EXPECT_FALSE(is_safe(", t: int32", "t >= 0 and t <= k(y, x) and v(t) > 3"));
    EXPECT_FALSE(is_safe(", t: int32", "x == t and (t <= k(y, x) and v(x) > 3)"));
}

}  // namespace
}  // namespace pipec::testing::both_sides_test
