// The walk over a definition: which conditions become sets, the expensive part of it.
#include "poly/isl_accesses.h"

#include <gtest/gtest.h>

#include "poly/isl_sizes.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::poly::accesses_test {
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

/// The messages of a whole analysis.
std::string messages_of(const std::string& text) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "test.pipe", text, {});
    return render_text(compiled.diags, sources);
}

// A guard is made when an access asks for it, and then loops inside of its condition have been entered: those of the
// access's own indices. They are other loops, whatever their variables are called.
TEST(Accesses, GuardsAreReadWithTheRangesOfTheirOwnLoops) {
    const std::string least = "fn least(f) = min(i in 0..2) f(i)\n";
    const std::string head = "pipeline p(a: int32[8], b: int32[16]) -> out: int32[N] {\n";
    const auto with = [&](const std::string& condition, const std::string& index) {
        return messages_of(least + head + "    out(x) = sum(i in 0..100) (if " + condition + " then a(" + index +
                           ") else x)\n}\n");
    };
    const std::string inner = "clamp(least(b), 0, 0)";
    EXPECT_EQ(with("i < 8", "i + " + inner), "");
    EXPECT_EQ(with("i < 8", inner + " + i"), "");
    EXPECT_EQ(with("least(b) > 3 and i < 8", "i + " + inner), "");
    EXPECT_EQ(with("i < 8 and least(b) > 3", "i + " + inner), "");
    EXPECT_EQ(with("92 <= i", "i - 92 + " + inner), "");
    // With 0 <= i < 2, the range of the loop inside, these conditions would never hold.
    EXPECT_NE(with("i > 5", "i + " + inner).find("[out-of-bounds]"), std::string::npos);
    EXPECT_NE(with("i > 5 and least(b) > 3", inner + " + i").find("[out-of-bounds]"), std::string::npos);
    EXPECT_NE(with("not (i < 8 or least(b) > 3)", "i + " + inner).find("[out-of-bounds]"), std::string::npos);
}

// The same with loops that come from one definition: a stage that is computed inside of itself has two of its loop.
TEST(Accesses, GuardsOfADefinitionInsideOfItself) {
    const auto with = [](const std::string& condition) {
        return messages_of("fn pick(f, n) = sum(i in 0..50) (if " + condition +
                           " then f(i) else n)\n"
                           "pipeline p(a: int32[8]) -> out: int32[N] {\n"
                           "    out(x) = pick(a, clamp(pick(a, x), 0, 7)) + pick(a, pick(a, pick(a, 3)))\n}\n");
    };
    EXPECT_EQ(with("i < 8"), "");
    EXPECT_NE(with("i < 9").find("[out-of-bounds]"), std::string::npos);
}

// Of more data than sets are worth, the affine part of a condition is left, wherever it stands.
TEST(Accesses, ConditionsOfManyDataKeepTheirAffinePart) {
    std::string many = "img(0) > 0.0";
    for (int i = 1; i < 60; ++i) many += " and img(" + std::to_string(i) + ") > " + std::to_string(i) + ".0";
    const auto with = [](const std::string& condition) {
        return messages_of(
            "pipeline p(img: float32[N]) -> out: float32[N] where N > 64 {\n"
            "    out(x) = if " +
            condition + " then img(x - 1) else 0\n}\n");
    };
    EXPECT_EQ(with("x > 0 and " + many), "");
    EXPECT_EQ(with(many + " and x > 0"), "");
    EXPECT_EQ(with("img(3) > 7.0 and x > 0 and " + many), "");
    EXPECT_NE(with(many).find("[out-of-bounds]"), std::string::npos);
    EXPECT_NE(with("x > 0 or " + many).find("[out-of-bounds]"), std::string::npos);
}

// Few terms have the range that they would have one after the other, also where they are too large to be unrolled.
TEST(Accesses, SumsOfFewTermsAreIndices) {
    const auto with = [](const std::string& length) {
        return messages_of(
            "pipeline p(f: uint8[N + 16], t: int32[" + length +
            "]) -> out: int32[N], bits: uint64[N] {\n"
            "    out(x) = t(sum(i in 0..7, j in 0..9) int32(f(x + i + j) * 3 + f(x) / 2 + f(x + j) % 7 > "
            "f(x + i) * (i + 5) - j * f(x + 1)))\n"
            "    bits(x) = sum(i in 0..7, j in 0..9) (uint64(f(x + i + j) * 3 + f(x) / 2 > f(x + i) * (i + 5)) << "
            "(9 * i + j))\n}\n");
    };
    EXPECT_EQ(with("64"), "");
    EXPECT_NE(with("63").find("[out-of-bounds]"), std::string::npos);
}

}  // namespace
}  // namespace pipec::poly::accesses_test
