// Which arrays share memory.
#include "plan/shared_memory.h"

#include <gtest/gtest.h>

#include <random>

namespace pipec::plan::shared_memory_test {
namespace {

TEST(PlaceArrays, ThoseThatAreNeverAliveTogetherShareMemory) {
    // a -> b -> c -> d: two are alive at any time.
    const std::vector<Lifetime> chain{{0, 1, 100}, {1, 2, 100}, {2, 3, 100}, {3, 4, 100}};
    EXPECT_EQ(place_arrays(chain), (std::vector<std::int64_t>{0, 112, 0, 112}));
    // The third one fits into the gap that the first one left, the fourth one does not.
    const std::vector<Lifetime> gaps{{0, 1, 64}, {0, 4, 16}, {2, 4, 32}, {3, 4, 48}};
    EXPECT_EQ(place_arrays(gaps), (std::vector<std::int64_t>{0, 64, 0, 80}));
}

TEST(PlaceArrays, NoByteIsUsedTwiceInAnyStep) {
    std::mt19937 rng(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<Lifetime> arrays(1 + rng() % 8);
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            arrays[i] = {i, i + rng() % 4, 1 + static_cast<std::int64_t>(rng() % 100)};
        }
        const std::vector<std::int64_t> offsets = place_arrays(arrays);
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            EXPECT_EQ(offsets[i] % kSharedAlignment, 0);
            for (std::size_t j = 0; j < i; ++j) {
                if (arrays[i].first > arrays[j].last || arrays[j].first > arrays[i].last) continue;
                EXPECT_TRUE(offsets[i] + arrays[i].bytes <= offsets[j] || offsets[j] + arrays[j].bytes <= offsets[i]);
            }
        }
    }
}

}  // namespace
}  // namespace pipec::plan::shared_memory_test
