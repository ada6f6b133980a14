// Overlapped tiles in shared memory: both strategies and many shapes of tiles.
#include <gtest/gtest.h>

#include <filesystem>

#include "cases.h"
#include "grouping.h"

namespace pipec::testing::tiles_test {
namespace {

using fusion::GroupSchedule;
using fusion::Strategy;

const std::array<int, 3> kBlocks[] = {{32, 8, 1}, {64, 2, 1}, {16, 16, 1}, {8, 8, 2},
                                      {32, 1, 1}, {4, 32, 1}, {2, 4, 8}};
const std::array<int, 3> kTiles[] = {{1, 1, 1}, {4, 2, 1}, {1, 3, 2}, {5, 1, 1}, {2, 4, 1}, {8, 5, 1}, {16, 1, 1}};

GroupSchedule choose(std::mt19937_64& rng) {
    GroupSchedule group;
    group.strategy = rng() % 2 == 0 ? Strategy::Otptb : Strategy::Otpw;
    group.block = kBlocks[rng() % std::size(kBlocks)];
    group.tile = kTiles[rng() % std::size(kTiles)];
    do group.vector = 1 << rng() % 5;
    while (group.tile[0] % group.vector != 0);
    return group;
}

class Tiles : public ::testing::TestWithParam<std::string> {};

TEST_P(Tiles, RandomGroupsEqualReference) {
    check_random_groups(GetParam(), choose);
}

/// 67 KB of shared memory, which the launch asks for.
TEST(LargeTiles, EqualReference) {
    check_random_groups(PIPEC_SOURCE_DIR "/examples/blur.pipe", [](std::mt19937_64&) {
        GroupSchedule group;
        group.strategy = Strategy::Otptb;
        group.block = {32, 8, 1};
        group.tile = {4, 16, 1};
        group.vector = 4;
        return group;
    });
}

INSTANTIATE_TEST_SUITE_P(All, Tiles, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::testing::tiles_test
