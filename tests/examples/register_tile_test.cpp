// Tiles in registers: columns, rows, planes and warps of many numbers.
#include <gtest/gtest.h>

#include <filesystem>

#include "cases.h"
#include "grouping.h"

namespace pipec::testing::register_tile_test {
namespace {

using fusion::GroupSchedule;
using fusion::Strategy;

const std::array<int, 3> kBlocks[] = {{32, 1, 1}, {32, 4, 1}, {64, 2, 1}, {32, 1, 2}};

GroupSchedule choose(std::mt19937_64& rng) {
    GroupSchedule group;
    group.strategy = Strategy::RegisterTile;
    group.block = kBlocks[rng() % std::size(kBlocks)];
    group.tile = {1 << rng() % 4, 1 + static_cast<int>(rng() % 5), 1 + static_cast<int>(rng() % 2)};
    if (rng() % 2 == 0) group.prefetch = 1 + static_cast<int>(rng() % 8);
    return group;
}

class RegisterTile : public ::testing::TestWithParam<std::string> {};

TEST_P(RegisterTile, RandomGroupsEqualReference) {
    check_random_groups(GetParam(), choose);
}

/// As many rows ahead that the launch has to ask for the memory.
TEST(RegisterTilePrefetch, MayTakeDynamicSharedMemory) {
    check_random_groups(PIPEC_SOURCE_DIR "/examples/blur.pipe", [](std::mt19937_64&) {
        GroupSchedule group{{}, Strategy::RegisterTile, {32, 32, 1}, {4, 3, 1}};
        group.prefetch = 5;
        return group;
    });
}

INSTANTIATE_TEST_SUITE_P(All, RegisterTile, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::testing::register_tile_test
