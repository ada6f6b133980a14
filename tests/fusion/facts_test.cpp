// The facts that cost models judge by, against numbers counted by hand and by enumeration.
#include "fusion/group_facts.h"

#include <gtest/gtest.h>

#include <set>

#include "programs.h"

namespace pipec::fusion {
namespace {

using testing::Grouped;

constexpr const char* kBlur = R"(
pipeline blur(img: float32[R + 2, C + 2]) -> out: float32[R, C] {
    rows(x, y) = (img(x, y) + img(x + 1, y) + img(x + 2, y)) / 3
    out(x, y) = (rows(x, y) + rows(x, y + 1) + rows(x, y + 2)) / 3
})";

TEST(Facts, OfStages) {
    const Grouped blur(kBlur, {});
    const StageFacts& rows = blur.stages.at(0);
    EXPECT_TRUE(rows.pure);
    EXPECT_EQ(rows.bytes, 4);
    EXPECT_EQ(rows.points, 2048 * 2050);
    EXPECT_EQ(rows.reads, 3);
    EXPECT_EQ(rows.operations, 2 + 8);  // sums and the division; indices are places
    ASSERT_EQ(rows.loads.size(), 1u);
    const Load& load = rows.loads[0];
    EXPECT_EQ(load.reads, 3);
    EXPECT_EQ(load.extents, (std::vector<std::int64_t>{2050, 2050}));
    EXPECT_EQ(load.indices[0]->dim, 1);  // columns are innermost
    EXPECT_EQ(load.indices[0]->hi, 0);
    EXPECT_EQ(load.indices[1]->dim, 0);
    EXPECT_EQ(load.indices[1]->lo, 0);
    EXPECT_EQ(load.indices[1]->hi, 2);
}

TEST(Facts, LoopsCountTheirRounds) {
    const Grouped sum(R"(
pipeline p(img: float32[R + 9, C + 9]) -> out: float32[R, C] {
    out(x, y) = sum(i in 0..10, j in 0..10) img(x + i, y + j)
})",
                      {});
    EXPECT_EQ(sum.stages.at(0).reads, 100);
    EXPECT_EQ(sum.stages.at(0).operations, 100);  // an addition each
}

TEST(Facts, RegistersGrowWithWhatIsHeldAtOnce) {
    const auto registers = [](const char* value) {
        const std::string text = std::string(
                                     "pipeline p(a: float32[R, C], b: float32[R, C]) -> out: float32[R, C] {\n"
                                     "    out(x, y) = ") +
                                 value + "\n}";
        return Grouped(text, {}).stages.at(0).registers;
    };
    // A sum from left to right holds one value and the next; a balanced tree one more for each level.
    EXPECT_EQ(registers("x + 1 + 2 + 3"), registers("x"));
    EXPECT_EQ(registers("x * 2 + x / 3"), registers("x") + 1);
    EXPECT_EQ(registers("(x * 2 + x / 3) * (x * 4 + x / 5)"), registers("x") + 2);
    EXPECT_EQ(registers("a(x, y) + a(x, y) * 2"), registers("a(x, y)") + 1);  // loads come first
    EXPECT_EQ(registers("a(x, y) + b(x, y)"), registers("a(x, y)") + 1 + 2);  // and another address
}

TEST(Facts, OfATile) {
    const Grouped blur(kBlur, {"rows", "out"});
    const TileFacts tile = tile_facts(*blur.facts, {{32, 1, 1}, {1, 4, 1}});
    EXPECT_EQ(tile.size, (std::vector<std::int64_t>{4, 32}));
    EXPECT_EQ(tile.tiles, 512 * 64);
    EXPECT_EQ(tile.computed, (std::vector<std::int64_t>{4 * 34, 4 * 32}));
    EXPECT_EQ(tile.owned, (std::vector<double>{4 * 32, 4 * 32}));
    EXPECT_DOUBLE_EQ(tile.redundant(), 8.0 / 256);
    EXPECT_EQ(tile.scratch_bytes, 4 * 34 * 4);
    // The overlap of two columns stays, or the one row that is not in registers.
    EXPECT_EQ(scratch_beside_registers(*blur.facts, tile, 1, 32), 4 * 2 * 4);
    EXPECT_EQ(scratch_beside_registers(*blur.facts, tile, 0, 3), 1 * 34 * 4);
    EXPECT_EQ(blur.facts->live, (std::vector<bool>{false, true}));
    EXPECT_EQ(blur.facts->kept, (std::vector<bool>{true, false}));
}

TEST(Facts, TilesAreMultiplesOfWhatScalesAskFor) {
    const Grouped half(R"(
pipeline p(img: float32[2 * R, 2 * C]) -> out: float32[2 * R, 2 * C] {
    half(x in 0..R, y in 0..C) = img(2 * x, 2 * y)
    out(x, y) = half(x / 2, y / 2)
})",
                       {"half", "out"});
    EXPECT_EQ(half.facts->units, (std::vector<std::int64_t>{2, 2}));
    const TileFacts tile = tile_facts(*half.facts, {{32, 1, 1}, {1, 1, 1}});
    EXPECT_EQ(tile.size, (std::vector<std::int64_t>{2, 32}));
    EXPECT_EQ(tile.computed, (std::vector<std::int64_t>{16, 64}));
    EXPECT_EQ(tile.redundant(), 0);
}

TEST(Facts, WhatHasFewerDimensionsIsComputedByEveryTile) {
    const Grouped mask(R"(
pipeline p(img: float32[4, R, C], m: float32[R, C]) -> out: float32[4, R, C] {
    soft(x, y) = m(x, y) * m(x, y) / 2
    out(c, x, y) = img(c, x, y) * soft(x, y) + soft(x, y)
})",
                       {"soft", "out"});
    const TileFacts tile = tile_facts(*mask.facts, {{32, 1, 1}, {1, 1, 1}});
    EXPECT_EQ(tile.computed, (std::vector<std::int64_t>{32, 32}));
    EXPECT_EQ(tile.owned, (std::vector<double>{8, 32}));
    EXPECT_DOUBLE_EQ(tile.redundant(), 64.0 / 40 - 1);
}

/// Segments of `transaction` bytes in which the elements at these places lie.
std::size_t segments(const std::vector<std::int64_t>& places, int bytes, int transaction) {
    std::set<std::int64_t> result;
    for (const std::int64_t place : places) result.insert(place * bytes / transaction);
    return result.size();
}

TEST(Facts, TransactionsAreThoseOfTheLanesAddresses) {
    const Grouped p(R"(
pipeline p(img: float32[3, R + 4, C + 4], rgb: uint8[3, R, C] order(1, 2, 0)) -> out: float32[R, C] {
    out(x, y) = img(0, 2 * x / 2, y) + img(1, x + 1, y) + img(1, x, y) + img(2, x, y + 1) + img(2, x, y)
              + rgb(0, x, y) + rgb(1, x, y) + rgb(2, x, y)
})",
                    {"out"}, {1000, 1020});
    for (const std::array<int, 3>& lanes : {std::array{32, 1, 1}, {8, 4, 1}, {1, 32, 1}}) {
        for (const int transaction : {32, 128}) {
            std::vector<std::int64_t> of_img[3], of_rgb;
            for (int lane = 0; lane < 32; ++lane) {
                const int y = lane % lanes[0], x = lane / lanes[0];
                for (const auto& [c, dx, dy] : {std::array{0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {2, 0, 1}, {2, 0, 0}}) {
                    of_img[c].push_back((x + dx) * 1024 + y + dy);
                }
                for (int c = 0; c < 3; ++c) of_rgb.push_back((x * 1020 + y) * 3 + c);
            }
            double img = 0, rgb = 0;
            for (const Load* load : global_loads(*p.facts, 0)) {
                (load->source.index == 0 ? img : rgb) += transactions(*p.facts, 0, *load, lanes, transaction);
            }
            const auto expected = segments(of_img[0], 4, transaction) + segments(of_img[1], 4, transaction) +
                                  segments(of_img[2], 4, transaction);
            // Reads of one array at different channels are taken together, as if those lay one after the other.
            EXPECT_NEAR(img, static_cast<double>(expected), static_cast<double>(expected) * 0.5);
            if (lanes[1] == 1) {
                EXPECT_EQ(rgb, static_cast<double>(segments(of_rgb, 1, transaction)));
            }
        }
    }
}

TEST(Facts, ATableIsReadAnywhere) {
    const Grouped p(R"(
pipeline p(img: uint8[R, C], table: uint8[256]) -> out: uint8[R, C] {
    out(x, y) = table(int32(img(x, y)))
})",
                    {"out"});
    const std::vector<const Load*> loads = global_loads(*p.facts, 0);
    ASSERT_EQ(loads.size(), 2u);
    const Load& table = loads[0]->source.index == 1 ? *loads[0] : *loads[1];
    EXPECT_EQ(transactions(*p.facts, 0, table, {32, 1, 1}, 32), 8);
    EXPECT_EQ(transactions(*p.facts, 0, table, {32, 1, 1}, 128), 2);
}

}  // namespace
}  // namespace pipec::fusion
