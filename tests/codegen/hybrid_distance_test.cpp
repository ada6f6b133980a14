// Distances between lanes against counting.
#include "codegen/strategies/hybrid/hybrid_distance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace pipec::codegen::hybrid_distance_test {
namespace {

TEST(HybridDistance, EveryLaneFindsItsElement) {
    for (std::int64_t lanes = 1; lanes <= 32; ++lanes) {
        for (std::int64_t offset = -80; offset <= 80; ++offset) {
            SCOPED_TRACE(fmt::format("{} lanes, offset {}", lanes, offset));
            const LanePlace place = lane_place(offset, lanes);
            ASSERT_GE(place.shift, 0);
            ASSERT_LT(place.shift, lanes);
            for (std::int64_t lane = 0; lane < lanes; ++lane) {
                const std::int64_t source = (lane + place.shift) % lanes;
                EXPECT_EQ(published_iteration(place, source) * lanes + source, offset + lane);
            }
        }
    }
}

TEST(HybridDistance, TypesOfLoads) {
    for (std::int64_t lanes = 4; lanes <= 32; ++lanes) {
        for (std::int64_t iteration = 0; iteration < 3; ++iteration) {
            for (std::int64_t distance = -80; distance <= 0; ++distance) {
                SCOPED_TRACE(fmt::format("{} lanes, iteration {}, distance {}", lanes, iteration, distance));
                const LanePlace place = lane_place(iteration * lanes + distance, lanes);
                std::int64_t in_shared = 0, own = 0;  // lanes
                for (std::int64_t lane = 0; lane < lanes; ++lane) {
                    const std::int64_t number = iteration * lanes + lane + distance;
                    if (number < 0)
                        ++in_shared;
                    else if (number % lanes == lane)
                        ++own;
                }
                EXPECT_EQ(place.own(), own == lanes);
                EXPECT_EQ(place.shared(), in_shared == lanes);
                EXPECT_EQ(place.partly_shared(), in_shared > 0 && in_shared < lanes);
                if (place.partly_shared()) {
                    EXPECT_EQ(in_shared, lanes - place.shift);
                }
            }
        }
    }
}

}  // namespace
}  // namespace pipec::codegen::hybrid_distance_test
