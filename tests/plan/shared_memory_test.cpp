// Which arrays share memory, and how their rows and planes lie in it.
#include "plan/shared_memory.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "plan/tiles.h"
#include "support_lib/groups.h"

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

/// The extents of the arrays of a tile of 16 x 16 points, by member; all stages of a pipeline are one group.
std::vector<std::vector<std::int64_t>> extents_of(const std::string& text) {
    const auto [program, group] = testing::whole_group(text);
    const fusion::GroupShape shape = fusion::group_shape(program.pipeline, program.model, group);
    fusion::GroupSchedule schedule;
    schedule.strategy = fusion::Strategy::Otptb;
    schedule.block = {16, 16, 1};
    schedule.tile = {1, 1, 1};
    Tiles tiles = make_tiles(shape, schedule);
    complete(shape, tiles);
    std::vector<std::vector<std::int64_t>> result;
    for (const SharedArray& array : tile_arrays(shape, tiles).arrays) result.push_back(array.extents);
    return result;
}

TEST(TileArrays, RowsThatAreReadAtEverySecondPlaceAreEven) {
    EXPECT_EQ(extents_of(R"(pipeline p(img: float32[R, 2 * C + 2]) -> out: float32[R, C] {
                  a(y, x) = img(y, x) * 2
                  out(y, x) = a(y, 2 * x) + a(y, 2 * x + 1) + a(y, 2 * x + 2)
              })"),
              (std::vector<std::vector<std::int64_t>>{{16, 18}}));  // of 17
    EXPECT_EQ(extents_of(R"(pipeline p(img: float32[R, C + 1]) -> out: float32[R, C] {
                  a(y, x) = img(y, x) * 2
                  out(y, x) = a(y, x) + a(y, x + 1)
              })"),
              (std::vector<std::vector<std::int64_t>>{{16, 17}}));
}

TEST(TileArrays, PlanesThatDataChooseBeginInOneBank) {
    const std::string planes =
        "pipeline p(img: float32[R, C], n: uint8[R, C]) -> out: float32[R, C] {"
        " a(k, y, x) = img(y, x) * k ";
    EXPECT_EQ(extents_of(planes + "out(y, x) = a(n(y, x) & 3, y, x) + a(0, max(y - 1, 0), x) }"),
              (std::vector<std::vector<std::int64_t>>{{4, 18, 16}}));  // of 17
    EXPECT_EQ(extents_of(planes + "out(y, x) = a(0, y, x) + a(3, max(y - 1, 0), x) }"),
              (std::vector<std::vector<std::int64_t>>{{4, 17, 16}}));
}

}  // namespace
}  // namespace pipec::plan::shared_memory_test
