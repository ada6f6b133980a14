// Groups grown without a cost model: what is in them, and that they can run.
#include "fusion/grow_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "fusion/strategy.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::fusion::grow_groups_test {
namespace {

/// The groups' stages, "rows out, other"; groups of more than `limit` stages are not possible.
/// `work`: the stages of all groups that something was to be proposed for.
std::string grown(const std::string& text, std::size_t limit = 100, std::size_t* work = nullptr) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "p.pipe", text);
    EXPECT_TRUE(compiled.ok()) << render_text(compiled.diags, sources);
    const ir::Pipeline& pipeline = compiled.pipelines.front();
    const Propose propose = [&](const poly::Group& group) -> std::optional<GroupSchedule> {
        if (work != nullptr) *work += group.stages.size();
        if (group.stages.size() > limit) return std::nullopt;
        return default_group(Strategy::Otpw, group.rank);
    };
    Schedule schedule;
    schedule.groups = grow_groups(pipeline, compiled.models.front(),
                                  poly::find_dependences(pipeline, compiled.models.front()), propose);
    EXPECT_NO_THROW(order_groups(pipeline, schedule));
    std::vector<std::string> groups;
    for (const GroupSchedule& group : schedule.groups) {
        EXPECT_EQ(group.strategy, Strategy::Otpw);
        groups.push_back(fmt::format("{}", fmt::join(group.stages, " ")));
    }
    return fmt::format("{}", fmt::join(groups, ", "));
}

constexpr const char* kDiamond = R"(pipeline p(img: float32[R + 4, C]) -> out: float32[R, C] {
    a(y, x) = img(y, x) + img(y + 2, x)
    b(y, x) = a(y, x) - a(y + 1, x)
    c(y, x) = a(y, x) + a(y + 2, x)
    out(y, x) = b(y, x) * c(y, x)
})";

TEST(GrowGroups, OneGroupWhereThatIsPossible) {
    EXPECT_EQ(grown(kDiamond), "a b c out");
}

TEST(GrowGroups, JoinWhatComesTogetherLater) {
    EXPECT_EQ(grown(R"(pipeline p(img: float32[R + 2, C + 2]) -> out: float32[R, C] {
        dy(y, x) = img(y + 2, x) - img(y, x)
        dx(y, x) = img(y, x + 2) - img(y, x)
        out(y, x) = dy(y, x) * dx(y, x)
    })"),
              "dy dx out");
}

TEST(GrowGroups, AreCutWhereAGroupIsRefused) {
    EXPECT_EQ(grown(kDiamond, 3), "a b c, out");
    EXPECT_EQ(grown(kDiamond, 2), "a b, c out");
    EXPECT_EQ(grown(kDiamond, 1), "a, b, c, out");
    EXPECT_EQ(grown(kDiamond, 0), "");
}

// Each of the groups is asked about a few times, not once for each stage that it has.
TEST(GrowGroups, OfAChainAreFoundInFewSteps) {
    for (const std::size_t limit : {1U, 2U, 7U, 8U, 50U}) {
        constexpr std::size_t kStages = 200;
        std::string text = "pipeline p(img: float32[R, C + 200]) -> out: float32[R, C] {\n";
        std::vector<std::string> groups;
        for (std::size_t i = 0; i < kStages; ++i) {
            const std::string name = i + 1 < kStages ? fmt::format("s{}", i) : "out";
            const std::string from = i > 0 ? fmt::format("s{}", i - 1) : "img";
            text += fmt::format("    {0}(y, x) = {1}(y, x) + {1}(y, x + 1)\n", name, from);
            if (i % limit == 0) {
                groups.push_back(name);
            } else {
                groups.back() += " " + name;
            }
        }
        std::size_t work = 0;
        EXPECT_EQ(grown(text + "}", limit, &work), fmt::format("{}", fmt::join(groups, ", ")));
        EXPECT_LE(work, kStages * 8) << limit;
    }
}

// `out` cannot join the group of `a`: that would have to wait for the histogram, which reads it.
TEST(GrowGroups, DoNotWaitForEachOther) {
    EXPECT_EQ(grown(R"(pipeline p(img: uint8[R, C]) -> out: int32[R, C] {
        a(y, x) = uint8(img(y, x) / 2)
        accumulate h(b in 0..256): int32 = 0 { for y in 0..R, x in 0..C { h(a(y, x)) += 1 } }
        out(y, x) = h(a(y, x)) + int32(a(y, x))
    })"),
              "a, out");
}

// A transpose has no constant distance to what it reads.
TEST(GrowGroups, AreCutAtReadsOfOtherPlaces) {
    EXPECT_EQ(grown(R"(pipeline p(img: float32[R, R]) -> out: float32[R, R] {
        a(y, x) = img(y, x) * 2
        t(y, x) = a(x, y) + a(y, x)
        out(y, x) = t(y, x) + t(y, R - 1 - x)
    })"),
              "a, t, out");
}

TEST(GrowGroups, DefaultsFitEveryRank) {
    for (const StrategyInfo& one : strategies()) {
        if (one.owner == TileOwner::None) continue;
        const Strategy strategy = one.strategy;
        const GroupSchedule line = default_group(strategy, 1);
        EXPECT_EQ(line.block[1] * line.block[2] * line.tile[1] * line.tile[2], 1) << name(strategy);
        for (const int rank : {1, 2, 3, 4}) {
            const GroupSchedule group = default_group(strategy, rank);
            EXPECT_EQ(group.strategy, strategy);
            EXPECT_EQ(group.block[0] * group.block[1] * group.block[2] % 32, 0) << name(strategy);
        }
    }
}

}  // namespace
}  // namespace pipec::fusion::grow_groups_test
