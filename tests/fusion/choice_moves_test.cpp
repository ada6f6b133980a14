// Other choices for the kernels of a schedule: which ones are tried, and in what order.
#include "fusion/choice_moves.h"

#include <gtest/gtest.h>

#include <string>

#include "fusion/group_fields.h"
#include "fusion/target.h"

namespace pipec::fusion::choice_moves_test {
namespace {

const Gpu& gpu() {
    static const Target target = default_target();
    return target.gpu();
}

/// "b: min_blocks 0", ...
std::vector<std::string> words(const std::vector<ChoiceMove>& moves) {
    std::vector<std::string> result;
    for (const ChoiceMove& move : moves) {
        result.push_back(move.value.stages.back() + ": " + std::string(name(move.field)) + " " +
                         value_text(move.field, move.value));
    }
    return result;
}

Schedule two_groups() {
    GroupSchedule tile{.stages = {"a", "b"}, .strategy = Strategy::RegisterTile, .block = {64, 1, 1}};
    tile.choices.block_order = BlockOrder::Xyz;
    tile.choices.edge_tiles = EdgeTiles::First;
    tile.choices.direction = Direction::Forward;
    tile.choices.min_blocks = 10;
    tile.choices.packed = true;
    GroupSchedule stage{.stages = {"c"}};
    stage.choices.columns = 4;
    stage.choices.threads = {32, 8};
    return {{}, {tile, stage}};
}

TEST(ChoiceMoves, GroupsTakeTurns) {
    EXPECT_EQ(words(choice_moves(two_groups(), gpu(), 6)),
              (std::vector<std::string>{"b: packed false", "c: columns 8", "b: min_blocks 0", "c: columns 2",
                                        "b: min_blocks 12", "c: threads 32x4"}));
    EXPECT_EQ(words(choice_moves(two_groups(), gpu(), 100)).size(), 15U);
    EXPECT_TRUE(choice_moves(two_groups(), gpu(), 0).empty());
}

TEST(ChoiceMoves, WhatIsNotDecidedIsNotTried) {
    Schedule schedule = two_groups();
    for (GroupSchedule& group : schedule.groups) group.choices = {};
    EXPECT_TRUE(choice_moves(schedule, gpu(), 100).empty());
    schedule.groups.front().choices.min_blocks = 0;
    EXPECT_EQ(words(choice_moves(schedule, gpu(), 100)), (std::vector<std::string>{"b: min_blocks 8"}));
}

TEST(ChoiceMoves, ATableHasOtherCopiesAndBlocks) {
    Schedule schedule = two_groups();
    schedule.groups.erase(schedule.groups.begin());
    schedule.groups[0].choices.histogram = HistogramShape{{512, 1, 16, 4, 2, 1, 0, 0}};
    EXPECT_EQ(words(choice_moves(schedule, gpu(), 100)),
              (std::vector<std::string>{"c: histogram 512x1x32x4x2x1x0x0", "c: histogram 512x1x8x4x2x1x0x0",
                                        "c: histogram 512x2x16x4x2x1x0x0", "c: histogram 256x1x16x8x2x1x0x0",
                                        "c: histogram 1024x1x16x2x2x1x0x0", "c: histogram 512x1x16x4x1x1x0x0",
                                        "c: histogram 512x1x16x8x2x1x0x0", "c: histogram 512x1x16x2x2x1x0x0"}));
}

TEST(ChoiceMoves, AreDoneTogether) {
    const std::vector<ChoiceMove> moves = choice_moves(two_groups(), gpu(), 6);
    const Schedule changed = with_moves(two_groups(), {moves[2], moves[0], moves[1], moves[4]});
    Schedule expected = two_groups();
    expected.groups[0].choices.min_blocks = 0;  // the first of two moves
    expected.groups[0].choices.packed = false;
    expected.groups[1].choices.columns = 8;
    EXPECT_EQ(changed.groups, expected.groups);
}

}  // namespace
}  // namespace pipec::fusion::choice_moves_test
