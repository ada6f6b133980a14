// The types that memory keeps stages in, and what is left of their casts where nothing keeps them.
#include <gtest/gtest.h>

#include "fusion/inline.h"
#include "ir/visit.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::narrow_stages_test {
namespace {

using ir::Type;

testing::Compiled compiled(const std::string& body, const std::string& out = "int64") {
    SourceManager sources;
    testing::Compiled result =
        testing::compile_text(sources, "narrow.pipe",
                              "import \"math\"\npipeline p(u: uint8[R, C], f: float32[R, C], n: int32) -> out: " + out +
                                  "[R, C] { " + body + " }");
    EXPECT_EQ(result.diags.error_count(), 0U) << render_text(result.diags, sources);
    return result;
}

Type type_of_s(const std::string& body) {
    const testing::Compiled result = compiled(body + " out(y, x) = int64(s(y, x))");
    for (const ir::Stage& stage : result.pipelines.at(0).stages) {
        if (stage.name == "s") return stage.type;
    }
    ADD_FAILURE() << body;
    return Type::Bool;
}

TEST(NarrowStages, IntegersHaveTheNarrowestTypeThatHoldsThem) {
    EXPECT_EQ(type_of_s("s(y, x) = u(y, x) / 2 + 3"), Type::UInt8);
    EXPECT_EQ(type_of_s("s(y, x) = sign(u(y, x) - 3)"), Type::Int8);
    EXPECT_EQ(type_of_s("s(y, x) = u(y, x) * 257"), Type::UInt16);
    EXPECT_EQ(type_of_s("s(y, x) = u(y, x) - 255"), Type::Int16);
    EXPECT_EQ(type_of_s("s(y, x) = int64(u(y, x)) * 16843009"), Type::UInt32);
    EXPECT_EQ(type_of_s("s(y, x) = if f(y, x) > 0 then 1 else if f(y, x) < -1 then 2 else 0"), Type::UInt8);
    EXPECT_EQ(type_of_s("s(y, x) = argmin(k in 0..9) abs(f(y, x) - k)"), Type::UInt8);
    EXPECT_EQ(type_of_s("s(y, x) = clamp(n, -128, 127)"), Type::Int8);
    // Bounds of domains are exact integers, though 3 * C may wrap.
    EXPECT_EQ(type_of_s("part(x in 0..(3 * C + 7) / 8): int64 = x / 4096 s(y, x) = part(x / 4)"), Type::UInt32);
    // Through stages, whose ranges are those of what they are made of.
    EXPECT_EQ(type_of_s("a(y, x) = u(y, x) % 16 b(y, x) = a(y, x) * 4 s(y, x) = a(y, x) + b(y, x) + 180"), Type::UInt8);
}

TEST(NarrowStages, OthersStay) {
    EXPECT_EQ(type_of_s("s(y, x) = u(y, x) * n"), Type::Int32);  // it wraps
    EXPECT_EQ(type_of_s("s(y, x) = int32(f(y, x))"), Type::Int32);
    EXPECT_EQ(type_of_s("s(y, x) = float32(u(y, x))"), Type::Float32);
    EXPECT_EQ(type_of_s("s(y in 0..R, x in 0..C): int32 = if x == 0 then 1 else min(s(y, x - 1), u(y, x))"),
              Type::Int32);
    EXPECT_EQ(type_of_s("accumulate s(y in 0..R, x in 0..C): int32 = 0 { for y in 0..R, x in 0..C { s(y, x) += 1 } }"),
              Type::Int32);
    const testing::Compiled result = compiled("out(y, x) = u(y, x) / 2");
    EXPECT_EQ(result.pipelines.at(0).stages.at(0).type, Type::Int64);
}

TEST(NarrowStages, WhatIsInlinedHasNoCasts) {
    const testing::Compiled result =
        compiled("a(y, x) = u(y, x) % 16 b(y, x) = a(y, x) * 4 out(y, x) = a(y, x) + b(y, x)", "int32");
    ASSERT_EQ(result.pipelines.at(0).stages.size(), 3U);
    const fusion::Inlined all = fusion::inline_stages(result.pipelines.at(0), result.models.at(0), {0, 1});
    ir::for_each_node(std::get<ir::Pure>(all.pipeline.stages.at(0).definition).value, [](const ir::Expr& e) {
        const auto* cast = ir::as<ir::Cast>(e);
        EXPECT_TRUE(cast == nullptr || !cast->exact);
    });
}

}  // namespace
}  // namespace pipec::narrow_stages_test
