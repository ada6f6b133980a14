// Hybrid tiles: every dimension split, with every part of it in registers, blocks of many shapes.
#include <gtest/gtest.h>

#include <filesystem>

#include "cases.h"
#include "grouping.h"

namespace pipec::testing {
namespace {

using fusion::GroupSchedule;
using fusion::Strategy;

const std::array<int, 3> kBlocks[] = {{32, 4, 1}, {64, 2, 1}, {32, 1, 1}, {16, 2, 1}, {16, 4, 1},
                                      {8, 4, 1},  {8, 8, 1},  {4, 8, 1},  {8, 4, 2},  {4, 4, 2}};
const std::array<int, 3> kTiles[] = {{4, 2, 1}, {3, 1, 1}, {2, 3, 1}, {1, 4, 2}, {2, 5, 1}, {5, 1, 2}};
const double kFractions[] = {0, 0.3, 0.5, 1};

GroupSchedule choose(std::mt19937_64& rng) {
    GroupSchedule group;
    group.strategy = Strategy::Hybrid;
    group.block = kBlocks[rng() % std::size(kBlocks)];
    group.tile = kTiles[rng() % std::size(kTiles)];
    group.split = static_cast<int>(rng() % 8) / 3;  // z is least often a dimension of a group
    group.frac_reg = kFractions[rng() % std::size(kFractions)];
    return group;
}

class Hybrid : public ::testing::TestWithParam<std::string> {};

TEST_P(Hybrid, RandomGroupsEqualReference) {
    check_random_groups(GetParam(), choose);
}

INSTANTIATE_TEST_SUITE_P(All, Hybrid, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::testing
