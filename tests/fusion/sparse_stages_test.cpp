// Stages of which almost nothing is read are computed where they are read, with the same values.
#include <gtest/gtest.h>

#include <algorithm>

#include "fusion/inline.h"
#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/same_values.h"

namespace pipec::sparse_stages_test {
namespace {

testing::Compiled compiled(SourceManager& sources, const std::string& program) {
    testing::Compiled result = testing::compile_text(sources, "sparse.pipe", program);
    EXPECT_EQ(result.diags.error_count(), 0U) << render_text(result.diags, sources);
    return result;
}

/// With stages inside of their readers as schedules have them.
fusion::Inlined inlined(const testing::Compiled& result) {
    const ir::Pipeline& pipeline = result.pipelines.at(0);
    const poly::Model& model = result.models.at(0);
    return fusion::inline_stages(pipeline, model, fusion::cheap_stages(pipeline, model));
}

bool has_stage(const testing::Compiled& result, const std::string& name) {
    return std::ranges::any_of(inlined(result).pipeline.stages, [&](const ir::Stage& s) { return s.name == name; });
}

TEST(SparseStages, AreComputedWhereTheyAreRead) {
    // Reductions, in reductions; the second one is read by the first alone.
    SourceManager sources;
    const testing::Compiled result = compiled(sources, R"(
        pipeline p(img: uint8[R, C + 6], h: int8[(R + 63) / 64, (C + 63) / 64, 7]) -> out: float32[R, C] {
            taps(uy, ux, y, x, k) = float32(h(uy, ux, k)) * img(y, x + k)
            row(uy, ux, y, x) = sum(k in 0..7) taps(uy, ux, y, x, k)
            out(y, x) = (sum(k in 0..7) row(y / 64, x / 64, clamp(y + k - 3, 0, R - 1), x)) / row(0, 0, y, x)
        })");
    EXPECT_FALSE(has_stage(result, "row") || has_stage(result, "taps"));
    testing::expect_same_values(result, inlined(result).pipeline, sources,
                                {{{"R", 1}, {"C", 1}}, {{"R", 67}, {"C", 130}}});
}

TEST(SparseStages, ByUpdatesToo) {
    SourceManager sources;
    const testing::Compiled result = compiled(sources, R"(
        pipeline p(img: uint8[R, C]) -> hist: int32[256] {
            mean(y, x, n) = uint8((sum(i in 0..=n) int32(img(min(y + i, R - 1), x))) / (n + 1))
            accumulate hist(v in 0..256): int32 = 0 {
                for y in 0..R / 64, x in 0..C { hist(mean(64 * y, x, img(y, x))) += 1 }
            }
        })");
    EXPECT_FALSE(has_stage(result, "mean"));
    testing::expect_same_values(result, inlined(result).pipeline, sources, {{{"R", 130}, {"C", 5}}});
}

TEST(SparseStages, ByScansToo) {
    SourceManager sources;
    const testing::Compiled result = compiled(sources, R"(
        pipeline p(img: int16[R, C], shift: int8[R]) -> out: int32[R, C] {
            moved(y, x, s) = max(i in -1..=1) int32(img(y, clamp(x + s + i, 0, C - 1)))
            out(y, x): int32 = if x == 0 then 0 else max(out(y, x - 1) - 3, moved(y, x, shift(y)))
        })");
    EXPECT_FALSE(has_stage(result, "moved"));
    testing::expect_same_values(result, inlined(result).pipeline, sources,
                                {{{"R", 1}, {"C", 1}}, {{"R", 9}, {"C", 70}}});
}

TEST(SparseStages, OthersAreStored) {
    SourceManager sources;
    EXPECT_TRUE(has_stage(compiled(sources, R"(
        pipeline p(img: float32[2 * R + 4, 2 * C + 4]) -> out: float32[R, C] {
            smooth(y, x) = sum(i in 0..5, j in 0..5) img(y + i, x + j)
            out(y, x) = smooth(2 * y, 2 * x)
        })"),
                          "smooth"));
    // A table of which each value is read often.
    EXPECT_TRUE(has_stage(compiled(sources, R"(
        pipeline p(img: uint8[R, C], g: float32) -> out: float32[R, C] {
            table(v in 0..256) = sum(i in 0..9) pow(v / 255.0, g + i)
            out(y, x) = table(img(y, x))
        })"),
                          "table"));
}

}  // namespace
}  // namespace pipec::sparse_stages_test
