// The walk over a definition: which conditions become sets, the expensive part of it.
#include "poly/isl_accesses.h"

#include <gtest/gtest.h>

#include "poly/isl_sizes.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::poly {
namespace {

StageAccesses accesses_of(const std::string& text) {
    SourceManager sources;
    compiler::Settings settings;
    settings.last = compiler::Phase::Elaborate;
    const testing::Compiled compiled = testing::compile_text(sources, "test.pipe", text, settings);
    if (compiled.diags.has_errors()) throw std::runtime_error(render_text(compiled.diags, sources));
    const ir::Pipeline& pipeline = compiled.pipelines.front();
    // Sets live as long as their context.
    static std::vector<std::unique_ptr<IslContext>> contexts;
    const IslContext& isl = *contexts.emplace_back(std::make_unique<IslContext>(1'000'000));
    Diagnostics none;
    const auto sizes = size_context(isl, pipeline, none);
    ProgramValues values(isl, pipeline, sizes.value());
    const int last = static_cast<int>(pipeline.stages.size()) - 1;
    return find_accesses(isl, pipeline, last, values.affine, values.ranges);
}

TEST(Accesses, ConditionsOfConstantsAreNoSets) {
    const StageAccesses found = accesses_of(
        "pipeline p(img: uint8[R, C]) -> out: uint32[R, C] {\n"
        "    out(y, x) = let v = img(y, x) in sum(k in 0..16) if v > 3 * k and v % 7 != k then uint32(1) << k else 0\n"
        "}\n");
    EXPECT_EQ(found.accesses.size(), 1u);
    EXPECT_EQ(found.guards.size(), 1u);
}

// Each comparison is inside of all that come after its term, and only constants and known terms are behind it. With
// their sets, the nine neighbours of jump flooding took seconds for each round.
TEST(Accesses, PlacesOfLeastTermsAreNoSets) {
    const StageAccesses found = accesses_of(
        "pipeline p(img: int16[R, C]) -> out: int32[R, C] {\n"
        "    out(y, x) = argmin(i in 0..16) (let d = img(clamp(y + i, 0, R - 1), x) - y in d * d)\n"
        "}\n");
    EXPECT_EQ(found.accesses.size(), 16u);
    EXPECT_EQ(found.guards.size(), 1u);
}

TEST(Accesses, ConditionsOfReadsAreSets) {
    const StageAccesses found = accesses_of(
        "pipeline p(img: int16[R, C]) -> out: int16[R, C] {\n"
        "    out(y, x) = if y > 0 and img(y, x) > 3 then img(y - 1, x) else if y > 1 then 2 else 1\n"
        "}\n");
    ASSERT_EQ(found.accesses.size(), 2u);  // the first one under `y > 0`
    EXPECT_EQ(found.guards.size(), 3u);
    EXPECT_NE(found.accesses[0].guard, found.accesses[1].guard);
}

TEST(Accesses, AReadUnderTwoConditionsIsThereForBoth) {
    const StageAccesses found = accesses_of(
        "pipeline p(img: int16[R, C]) -> out: int16[R, C] {\n"
        "    out(y, x) = let v = img(max(y - 1, 0), x) in if y > 3 then (if x > 3 then v else 0) else if x < 3 then v "
        "else 1\n"
        "}\n");
    EXPECT_GE(found.accesses.size(), 1u);
    for (const Access& access : found.accesses) {
        EXPECT_LT(static_cast<std::size_t>(access.guard), found.guards.size());
    }
}

}  // namespace
}  // namespace pipec::poly
