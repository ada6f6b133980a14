// How the threads of a stage by itself divide its points.
#include "plan/stage_tile.h"

#include <gtest/gtest.h>

namespace pipec::testing::stage_tile_test {
namespace {

using plan::kAnyPlace;
using plan::stage_axes;
using plan::stage_block;
using plan::StageAxes;

using Extents = std::vector<std::optional<std::int64_t>>;
using Block = std::array<std::int64_t, 3>;

constexpr std::nullopt_t kUnknown = std::nullopt;

TEST(StageTile, RowsGoAlongWhatReadsHaveSideBySide) {
    const Extents image{kUnknown, kUnknown};
    // out(y, x) = img(y, x), img(x, y), and img(x, y) * weight(y) with both.
    EXPECT_FALSE(stage_axes({0, 1}, image, false, {{1, 0}}).turned);
    const StageAxes turned = stage_axes({0, 1}, image, false, {{0, 1}});
    EXPECT_TRUE(turned.turned);
    EXPECT_EQ(stage_block(turned, image, 4), (Block{8, 32, 1}));
    EXPECT_TRUE(stage_axes({0, 1}, image, false, {{0}, {0, 1}}).turned);
    // No transposition: a value that all lanes share, and a place found in data. Points with loops keep their blocks.
    EXPECT_FALSE(stage_axes({0, 1}, image, false, {{0}}).turned);
    EXPECT_FALSE(stage_axes({0, 1}, image, false, {{kAnyPlace, 0, 1}}).turned);
    EXPECT_FALSE(stage_axes({0, 1}, image, true, {{0, 1}}).turned);
}

TEST(StageTile, ChannelsAreNoRows) {
    // planes(c, y, x) = img(y, x, c) of three channels, and of 32.
    EXPECT_FALSE(stage_axes({0, 1, 2}, {3, kUnknown, kUnknown}, false, {{0, 2, 1}}).turned);
    const StageAxes many = stage_axes({0, 1, 2}, {32, kUnknown, kUnknown}, false, {{0, 2, 1}});
    EXPECT_TRUE(many.turned);
    EXPECT_EQ(many.row, 0u);
    EXPECT_EQ(many.layer, 1u);
    EXPECT_EQ(stage_block(many, {32, kUnknown, kUnknown}, 4), (Block{8, 32, 1}));
    // right(y, x, c) = img(x, y, c): channels are a thread's.
    const StageAxes pixels = stage_axes({0, 1, 2}, {kUnknown, kUnknown, 3}, false, {{2, 0, 1}});
    EXPECT_TRUE(pixels.turned);
    EXPECT_EQ(pixels.lane, 1u);
    EXPECT_EQ(pixels.row, 0u);
}

}  // namespace
}  // namespace pipec::testing::stage_tile_test
