// Groups grown without a cost model: what is in them, and that they can run.
#include "fusion/grow_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::fusion {
namespace {

/// The groups' stages, "rows out, other"; groups of more than `limit` stages are not possible.
std::string grown(const std::string& text, std::size_t limit = 100) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "p.pipe", text);
    EXPECT_TRUE(compiled.ok()) << render_text(compiled.diags, sources);
    const ir::Pipeline& pipeline = compiled.pipelines.front();
    const Propose propose = [&](const poly::Group& group) -> std::optional<GroupSchedule> {
        if (group.stages.size() > limit) return std::nullopt;
        return default_group(Strategy::Otpw, group.rank);
    };
    Schedule schedule;
    schedule.groups = grow_groups(pipeline, compiled.models.front(), propose);
    EXPECT_NO_THROW(order_groups(pipeline, schedule));
    std::vector<std::string> groups;
    for (const GroupSchedule& group : schedule.groups) {
        EXPECT_EQ(group.strategy, Strategy::Otpw);
        groups.push_back(fmt::format("{}", fmt::join(group.stages, " ")));
    }
    return fmt::format("{}", fmt::join(groups, ", "));
}

constexpr const char* kDiamond = R"(pipeline p(img: float32[R + 4, C]) -> out: float32[R, C] {
    a(x, y) = img(x, y) + img(x + 2, y)
    b(x, y) = a(x, y) - a(x + 1, y)
    c(x, y) = a(x, y) + a(x + 2, y)
    out(x, y) = b(x, y) * c(x, y)
})";

TEST(GrowGroups, OneGroupWhereThatIsPossible) {
    EXPECT_EQ(grown(kDiamond), "a b c out");
}

TEST(GrowGroups, JoinWhatComesTogetherLater) {
    EXPECT_EQ(grown(R"(pipeline p(img: float32[R + 2, C + 2]) -> out: float32[R, C] {
        dx(x, y) = img(x + 2, y) - img(x, y)
        dy(x, y) = img(x, y + 2) - img(x, y)
        out(x, y) = dx(x, y) * dy(x, y)
    })"),
              "dx dy out");
}

TEST(GrowGroups, AreCutWhereAGroupIsRefused) {
    EXPECT_EQ(grown(kDiamond, 3), "a b c, out");
    EXPECT_EQ(grown(kDiamond, 2), "a b, c out");
    EXPECT_EQ(grown(kDiamond, 1), "a, b, c, out");
    EXPECT_EQ(grown(kDiamond, 0), "");
}

// `out` cannot join the group of `a`: that would have to wait for the histogram, which reads it.
TEST(GrowGroups, DoNotWaitForEachOther) {
    EXPECT_EQ(grown(R"(pipeline p(img: uint8[R, C]) -> out: int32[R, C] {
        a(x, y) = uint8(img(x, y) / 2)
        accumulate h(b in 0..256): int32 = 0 { for x in 0..R, y in 0..C { h(a(x, y)) += 1 } }
        out(x, y) = h(a(x, y)) + int32(a(x, y))
    })"),
              "a, out");
}

// A transpose has no constant distance to what it reads.
TEST(GrowGroups, AreCutAtReadsOfOtherPlaces) {
    EXPECT_EQ(grown(R"(pipeline p(img: float32[R, R]) -> out: float32[R, R] {
        a(x, y) = img(x, y) * 2
        t(x, y) = a(y, x) + a(x, y)
        out(x, y) = t(x, y) + t(x, R - 1 - y)
    })"),
              "a, t, out");
}

TEST(GrowGroups, DefaultsFitEveryRank) {
    for (const Strategy strategy :
         {Strategy::Otptb, Strategy::Otpw, Strategy::Hybrid, Strategy::RegisterTile, Strategy::Stream}) {
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
}  // namespace pipec::fusion
