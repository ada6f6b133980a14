// Strips that blocks march along: narrow and wide ones, marches of a step and of many, several rows and planes a step.
#include <gtest/gtest.h>

#include <filesystem>

#include "cases.h"
#include "grouping.h"

namespace pipec::testing::stream_test {
namespace {

using fusion::GroupSchedule;
using fusion::Strategy;

const std::array<int, 3> kBlocks[] = {{32, 1, 1}, {64, 4, 1}, {128, 2, 1}, {32, 8, 1}, {16, 4, 1}, {16, 2, 2}};

GroupSchedule choose(std::mt19937_64& rng) {
    GroupSchedule group;
    group.strategy = Strategy::Stream;
    group.block = kBlocks[rng() % std::size(kBlocks)];
    group.tile = {1 + static_cast<int>(rng() % 3), 1 + static_cast<int>(rng() % 9), 1 + static_cast<int>(rng() % 2)};
    return group;
}

class Stream : public ::testing::TestWithParam<std::string> {};

TEST_P(Stream, RandomGroupsEqualReference) {
    check_random_groups(GetParam(), choose);
}

/// Windows of 59 KB, which the launch asks for.
TEST(LargeWindows, EqualReference) {
    check_random_groups(PIPEC_SOURCE_DIR "/examples/blur.pipe", [](std::mt19937_64&) {
        GroupSchedule group{{}, Strategy::Stream, {64, 16, 1}, {4, 3, 1}};
        return group;
    });
}

INSTANTIATE_TEST_SUITE_P(All, Stream, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::testing::stream_test
