// Inlined stages: graphs as large as the chain of stages, whose copies of a definition share nothing that they bind.
#include "fusion/inline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "ir/verify.h"
#include "ir/visit.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::fusion::inline_test {
namespace {

/// The only stage of a pipeline with all but its last stage inlined.
ir::Pipeline inlined(const std::string& text) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "inline.pipe", text);
    EXPECT_EQ(render_text(compiled.diags, sources), "");
    if (!compiled.ok()) return {};
    const ir::Pipeline& pipeline = compiled.pipelines.at(0);
    std::vector<int> all(pipeline.stages.size() - 1);
    std::iota(all.begin(), all.end(), 0);
    ir::Pipeline result = inline_stages(pipeline, compiled.models.at(0), all).pipeline;
    EXPECT_EQ(ir::verify(result), std::vector<std::string>{});
    EXPECT_EQ(result.stages.size(), 1u);
    return result;
}

/// `sources` (stages a[0], ...) followed by `stages` of the definition of a[k], and the last one as output.
std::string chain(const std::string& definition, int stages) {
    return fmt::format(
        "pipeline p(img: float32[N + {0}]) -> out: float32[N] {{\n"
        "    a[0](x) = img(x)\n"
        "    for k in 1..{0} {{ a[k](x) = {1} }}\n"
        "    out(x) = a[{2}](x)\n}}\n",
        stages, definition, stages - 1);
}

std::size_t nodes(const ir::Pipeline& pipeline) {
    std::size_t count = 0;
    ir::for_each_node(std::get<ir::Pure>(pipeline.stages.at(0).definition).value, [&](const ir::Expr&) { ++count; });
    return count;
}

TEST(Inline, GraphsGrowAsChainsDo) {
    for (const std::string definition : {
             "a[k - 1](x) * a[k - 1](x)",
             "a[k - 1](x) + img(x + k) * a[k - 1](x)",
             "max(a[k - 1](x), 1.0) - min(a[k - 1](x), 2.0)",
             "if a[k - 1](x) > 0.5 then a[k - 1](x) * 0.5 else a[k - 1](x) + 1",
             "let v = a[k - 1](x), w = v + a[k - 1](x) in w * v",
             "(sum(r in 0..4) a[k - 1](x) * float32(r)) + a[k - 1](x)",
         }) {
        const std::size_t few = nodes(inlined(chain(definition, 25))), many = nodes(inlined(chain(definition, 50)));
        EXPECT_LT(few, 25u * 20) << definition;
        EXPECT_LT(many, 2 * few + 20) << definition;
    }
}

/// Names of the stages that are computed inside of their readers.
std::set<std::string> cheap(const std::string& text) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "inline.pipe", text);
    EXPECT_EQ(render_text(compiled.diags, sources), "");
    std::set<std::string> names;
    if (!compiled.ok()) return names;
    const ir::Pipeline& pipeline = compiled.pipelines.at(0);
    for (const int stage : cheap_stages(pipeline, compiled.models.at(0)))
        names.insert(pipeline.stages[static_cast<std::size_t>(stage)].name);
    return names;
}

TEST(Inline, UpdatesReadWhatConversionsAreMadeOf) {
    const auto counted = [](const std::string& type, const std::string& value, const std::string& bin) {
        return cheap("pipeline p(img: " + type + ") -> out: float32[R, C], h: int32[256] {\n    f(y, x) = " + value +
                     "\n    out(y, x) = f(y, x) * 0.5\n    accumulate h(b in 0..256): int32 = 0 {\n"
                     "        for y in 0..R, x in 0..C { h(clamp(int32(" +
                     bin + "), 0, 255)) += 1 }\n    }\n}\n");
    };
    EXPECT_EQ(counted("uint16[R, C]", "float32(img(y, x))", "f(y, x)"), std::set<std::string>{"f"});
    EXPECT_EQ(counted("uint8[R, C, 3]", "0.3 * img(y, x, 0) + 0.7 * img(y, x, 1)", "f(y, x)"),
              std::set<std::string>{"f"});
    // More bytes than those of the stage, or much to compute, would be read and computed again.
    EXPECT_EQ(counted("float32[R, C, 2]", "img(y, x, 0) + img(y, x, 1)", "f(y, x)"), std::set<std::string>{});
    EXPECT_EQ(counted("uint8[R, C]", "pow(img(y, x) * 0.1, 2.2)", "f(y, x)"), std::set<std::string>{});
    // Updates that read each point several times read the stage.
    EXPECT_EQ(counted("uint16[R, C]", "float32(img(y, x))", "f(y, x) - f(y, (x + 1) % C)"), std::set<std::string>{});
}

TEST(Inline, BordersAreReadThroughWhereDataTellThePlace) {
    const auto of = [](const std::string& border, const std::string& place) {
        return cheap(
            "pipeline p(img: float32[N], at: int32[9], r: int32 = 4) -> out: float32[N] where 0 <= r <= 50 {\n"
            "    e(x) = " +
            border + "\n    out(x) = sum(k in 0..2 * r + 1) e(x + " + place + ") * at(0)\n}\n");
    };
    const std::string place = "clamp(at(k % 9), -40, 40)", clamped = "img(clamp(x, 0, N - 1))";
    EXPECT_TRUE(of(clamped, place).contains("e"));
    // What takes longer is computed once, and what a window reads again and again lies beside each other.
    EXPECT_FALSE(of("exp(" + clamped + ") * sin(" + clamped + ")", place).contains("e"));
    EXPECT_FALSE(of(clamped, "k - r").contains("e"));
}

TEST(Inline, OtherPointsHaveOtherBinders) {
    const ir::Pipeline pipeline = inlined(
        "pipeline p(img: float32[N + 1]) -> out: float32[N] {\n"
        "    a(x) = sum(r in 0..x + 1) img(r) * img(x)\n"
        "    out(x) = a(x) + a(x + 1) * a(x)\n}\n");
    std::set<ir::VarId> variables;
    std::size_t loops = 0;
    ir::for_each_node(std::get<ir::Pure>(pipeline.stages.at(0).definition).value, [&](const ir::Expr& e) {
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            ++loops;
            variables.insert(reduce->ranges.at(0).var);
        }
    });
    EXPECT_EQ(loops, 2u);
    EXPECT_EQ(variables.size(), 2u);
}

}  // namespace
}  // namespace pipec::fusion::inline_test
