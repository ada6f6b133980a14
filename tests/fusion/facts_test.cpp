// The facts that cost models judge by, against numbers counted by hand and by enumeration.
#include "fusion/group_facts.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cost/patch_work.h"
#include "cost/tile_cuts.h"
#include "cost/tile_facts.h"
#include "programs.h"

namespace pipec::fusion::facts_test {
namespace {

using namespace cost;
using testing::Grouped;
using testing::kBlur;

TEST(Facts, OfStages) {
    const Grouped blur(kBlur, {});
    const StageFacts& rows = blur.stages.at(0);
    EXPECT_TRUE(rows.pure);
    EXPECT_EQ(rows.bytes, 4);
    EXPECT_EQ(rows.points, 3584 * 3586);
    EXPECT_EQ(rows.reads, 3);
    EXPECT_EQ(rows.operations, 2 + 5);  // sums and the division; indices are places
    ASSERT_EQ(rows.loads.size(), 1u);
    const Load& load = rows.loads[0];
    EXPECT_EQ(load.reads, 3);
    EXPECT_EQ(load.extents, (std::vector<std::int64_t>{3586, 3586}));
    EXPECT_EQ(load.indices[0]->dim, 1);  // columns are innermost
    EXPECT_EQ(load.indices[0]->hi, 0);
    EXPECT_EQ(load.indices[1]->dim, 0);
    EXPECT_EQ(load.indices[1]->lo, 0);
    EXPECT_EQ(load.indices[1]->hi, 2);
}

/// The sizes that costs are counted for, of a pipeline of this header.
std::vector<std::int64_t> sizes_of(const std::string& ports) {
    SourceManager sources;
    const testing::Compiled compiled =
        testing::compile_text(sources, "p.pipe", "pipeline p(" + ports + " {\n" + "    out(i, j) = 0\n}\n");
    EXPECT_EQ(compiled.pipelines.size(), 1u);
    return usual_sizes(compiled.pipelines.at(0));
}

TEST(UsualSizes, AreThoseOfAPhotograph) {
    using Sizes = std::vector<std::int64_t>;
    EXPECT_EQ(sizes_of("img: uint8[3, R + 2, C + 2]) -> out: uint8[R, C]"), (Sizes{3584, 3584}));
    EXPECT_EQ(sizes_of("img: uint8[8 * H + 1, 16 * W]) -> out: uint8[H, W]"), (Sizes{448, 224}));
    EXPECT_EQ(sizes_of("img: uint8[R, C]) -> out: uint8[4 * R, (C + 1) / 2]"), (Sizes{896, 3584}));
    EXPECT_EQ(sizes_of("vol: uint8[D, R, C]) -> out: uint8[D, C]"), (Sizes{448, 64, 448}));
    EXPECT_EQ(sizes_of("cube: uint8[R, C, N]) -> out: uint8[R, C]"), (Sizes{448, 448, 64}));
    EXPECT_EQ(sizes_of("vol: uint8[D, R, C]) -> out: uint8[1, 1]"), (Sizes{64, 448, 448}));
    EXPECT_EQ(sizes_of("films: uint8[N, T, R, C]) -> out: uint8[R, C]"), (Sizes{8, 8, 448, 448}));
    EXPECT_EQ(sizes_of("vol: uint8[D, R, C]) -> out: uint8[R, C] where D <= 20"), (Sizes{20, 1603, 1603}));
    EXPECT_EQ(sizes_of("volume: float32[8, 48, R, C]) -> out: float16[R, C]"), (Sizes{366, 366}));
    EXPECT_EQ(sizes_of("table: float32[N, 1024]) -> out: float32[N, 1]"), (Sizes{3584}));
}

TEST(UsualSizes, OfWhatSlidesOverAnImageAreThoseOfAWindow) {
    using Sizes = std::vector<std::int64_t>;
    EXPECT_EQ(sizes_of("img: uint8[R, C], t: uint8[N, M]) -> out: uint8[R - N + 1, C - M + 1]"),
              (Sizes{3584, 3584, 32, 32}));
    EXPECT_EQ(sizes_of("img: uint8[R, C], t: uint8[N, M]) -> out: int32[1, 1] where R >= N, C > M"),
              (Sizes{3584, 3584, 32, 32}));
    EXPECT_EQ(sizes_of("img: uint8[R + N - 1, C + M - 1], t: uint8[N, M]) -> out: uint8[R, C]"),
              (Sizes{3584, 32, 3584, 32}));
    EXPECT_EQ(sizes_of("img: uint8[R, C], t: uint8[N, M]) -> out: int32[R, C] where N <= 20 and M <= 20"),
              (Sizes{3584, 3584, 20, 20}));
    // What an output grows with is an image.
    EXPECT_EQ(sizes_of("img: uint8[R, C]) -> out: uint8[H, W] where H <= R, W <= C"), (Sizes{3584, 3584, 3584, 3584}));
}

/// Loops of an unknown length read, for the usual sizes, what those of constant ones read.
TEST(Facts, LoopsReadAsMuchWhoeverSaysHowLongTheyAre) {
    const auto facts = [](const std::string& channels) {
        const Grouped convolution("pipeline p(f: float32[" + channels + ", R + 2, C + 2], w: float32[" + channels +
                                      ", 3, 3]) -> out: float32[R, C] {\n" + "out(y, x) = sum(c in 0.." + channels +
                                      ", i in 0..3, j in 0..3) w(c, i, j) * f(c, y + i, 2 + x - j)\n}",
                                  {});
        return convolution.stages.at(0);
    };
    const StageFacts constant = facts("64"), given = facts("K");
    ASSERT_EQ(constant.loads.size(), given.loads.size());
    for (std::size_t i = 0; i < given.loads.size(); ++i) {
        const Load &a = constant.loads[i], &b = given.loads[i];
        EXPECT_EQ(a.source, b.source);
        EXPECT_EQ(a.reads, b.reads);
        EXPECT_EQ(a.indices, b.indices);
        EXPECT_EQ(a.spread, b.spread);
    }
    const Grouped mixed(R"(
pipeline p(f: float32[N], place: int32[N]) -> out: float32[R, C] where N >= R + C {
    out(y, x) = sum(i in 0..C) f(y + i) + sum(i in 0..C) f(clamp(place(i), 0, N - 1))
})",
                        {});
    for (const Load& load : mixed.stages.at(0).loads) EXPECT_EQ(load.indices.at(0).has_value(), load.source.index == 1);
}

TEST(Facts, LoopsCountTheirRounds) {
    const Grouped sum(R"(
pipeline p(img: float32[R + 9, C + 18]) -> out: float32[R, C] {
    out(y, x) = sum(i in 0..10, j in 0..10) img(y + i, x + 2 * j)
})",
                      {});
    EXPECT_EQ(sum.stages.at(0).reads, 100);
    EXPECT_EQ(sum.stages.at(0).operations, 110);  // an addition for each term and for each column
}

TEST(Facts, APlaceThatSizesSayIsOnePlace) {
    const Grouped last(R"(
pipeline p(img: float32[R, C]) -> out: float32[R] {
    out(y) = img(y, C - 1) + img(R - 1, (C - 1) / 2)
})",
                       {});
    ASSERT_EQ(last.stages.at(0).loads.size(), 2u);
    for (const Load& load : last.stages.at(0).loads) {
        ASSERT_TRUE(load.indices.at(0));  // columns are innermost
        EXPECT_EQ(load.indices.at(0)->dim, -1);
        EXPECT_EQ(load.spread.at(0), 0);
    }
}

TEST(Facts, ABoundaryConditionReadsThePlaceItselfMostly) {
    const Grouped shifted(R"(
pipeline p(img: float32[R, C]) -> out: float32[R, C] where R >= 9, C >= 9 {
    f(y, x) = img(clamp(y, 0, R - 1), if x < 0 then -x else if x >= C then 2 * C - 2 - x else x)
    out(y, x) = f(y - 2, x - 3) + f(y + 3, x + 4) + (if x > 0 then img(y, x - 1) else img(y, x + 1))
})",
                          {});
    const auto ends = [&](std::size_t stage, std::size_t load, std::size_t index) {
        const poly::IndexRelation& r = *shifted.stages.at(stage).loads.at(load).indices.at(index);
        return std::pair{r.lo, r.hi};
    };
    using Ends = std::pair<std::int64_t, std::int64_t>;
    EXPECT_EQ(ends(0, 0, 0), (Ends{0, 0}));  // columns, mirrored
    EXPECT_EQ(ends(0, 0, 1), (Ends{0, 0}));  // rows
    EXPECT_TRUE(shifted.stages.at(0).loads.at(0).constant.at(0));
    for (const Load& load : shifted.stages.at(1).loads) {
        if (load.source.kind != ir::Source::Kind::Input) continue;
        EXPECT_EQ(load.indices.at(0)->lo, -1);  // no place is the usual one: both are read
        EXPECT_EQ(load.indices.at(0)->hi, 1);
    }
}

TEST(Facts, TermsShareNothingThatDataChoose) {
    const auto part = [](const std::string& term) {
        return Grouped(
                   "pipeline p(img: uint8[R + 14, C + 14], mask: uint8[15, 15]) -> out: int32[R, C] { out(y, x) = "
                   "sum(i in 0..15, j in 0..15) " +
                       term + " }",
                   {})
            .stages.at(0)
            .block_reads;
    };
    const double all = part("img(y + i, x + j) * mask(i, j)");
    EXPECT_LT(all, 0.5);
    EXPECT_GT(part("(if mask(i, j) > 9 then img(y + i, x + j) else 0)"), 1.2 * all);
}

/// Instructions that code has as they are counted.
double as_written(const StageFacts& stage) {
    double sum = 0;
    for (const Operations& share : stage.shares) sum += share.as_written ? share.count : 0;
    return sum;
}

TEST(Facts, NothingIsSimplerInLoopsAndFunctions) {
    const auto stage = [](const std::string& value) {
        return Grouped("pipeline p(img: float32[R + 19, C + 19]) -> out: float32[R, C] { out(y, x) = " + value + " }",
                       {})
            .stages.at(0);
    };
    // Terms that are written out share what they have in common with those of other points; a loop has all of them.
    const StageFacts written = stage("sum(i in 0..8) img(y + i, x) * 2"),
                     loop = stage("sum(i in 0..R / 8) img(y + i % 16, x) * 2");
    EXPECT_EQ(as_written(written), 0);
    EXPECT_EQ(written.loads.at(0).in_loops, 0);
    EXPECT_GE(as_written(loop), 2 * 3584 / 8);
    EXPECT_EQ(loop.loads.at(0).in_loops, 1);
    // Nor is a window of 20 x 20 written out; one of 3 x 3 is.
    const StageFacts window = stage("sum(i in 0..20, j in 0..20) (img(y + i, x + j) - i * j) * 2");
    EXPECT_GE(as_written(window), 2 * 400);
    EXPECT_EQ(window.loads.at(0).in_loops, 1);
    EXPECT_EQ(as_written(stage("sum(i in 0..3, j in 0..3) img(y + i, x + j) * 2")), 0);
    EXPECT_EQ(as_written(stage("exp(img(y, x)) + img(y, x)")), 8);
    // Of a thread's points in one loop, what depends on the loop alone is computed once.
    const StageFacts weighted =
        stage("sum(i in 0..11, j in 0..11) exp(-(i * i + j * j) * img(0, 0)) * img(y + i, x + j)");
    EXPECT_LT(weighted.block_operations, weighted.operations / 2);
    EXPECT_EQ(written.block_operations, written.operations);
}

TEST(Facts, OperationsSayWhichDimensionsTheyDependOn) {
    const Grouped p(R"(
pipeline p(img: float32[3, R, C], a: float32[R]) -> out: float32[3, R, C] {
    out(c, y, x) = let row = a(y) * 2 + 1, place = float32(x % 8) in img(c, y, x) * row + place * place
})",
                    {});
    std::map<unsigned, double> counts;
    for (const Operations& share : p.stages.at(0).shares) counts[share.dims] = share.count;
    EXPECT_EQ(counts, (std::map<unsigned, double>{{0b010, 2}, {0b100, 2}, {0b111, 2}}));
}

TEST(Facts, WhatAnInstructionDoesCountsOnce) {
    const auto operations = [](const char* value) {
        const std::string text =
            std::string("pipeline p(i: int32[R], f: float32[R]) -> out: float32[R] { out(x) = ") + value + " }";
        return Grouped(text, {}).stages.at(0).operations;
    };
    EXPECT_EQ(operations("round(f(x))"), 1);
    EXPECT_EQ(operations("floor(f(x)) + abs(f(x))"), 3);
    EXPECT_EQ(operations("i(x) / 8"), 2);  // a shift, and the number that comes out
    EXPECT_EQ(operations("i(x) / 7"), 5);
    EXPECT_EQ(operations("sqrt(f(x))"), 11);
    EXPECT_EQ(operations("f(x) / 8.0"), 1);  // a multiplication, which is exact
    EXPECT_EQ(operations("f(x) / 7.0"), 5);
    EXPECT_EQ(operations("7 / f(x)"), 15);
    EXPECT_EQ(operations("(2 * f(x)) / f(x) + 7 / f(x)"), 1 + 15 + 9 + 1);  // one reciprocal
    EXPECT_EQ(operations("(f(x) * 2 + 1) * (f(x) * 2 + 1)"), 3);            // what is written twice is computed once
    EXPECT_EQ(operations("let a = f(x) * 2, b = f(x) * 2 in a + b"), 2);
    // Conditions on places are known for whole columns: code for either side, and no choice.
    EXPECT_EQ(operations("if x < 3 then f(x) * 2 else f(x) * 2 + 1"), 2);
    EXPECT_EQ(operations("if f(x) < 3 then f(x) * 2 else f(x) * 2 + 1"), 4);
    EXPECT_EQ(operations("f(x) * (if x % 2 == 0 then 3.0 else 5.0)"), 1);
    EXPECT_EQ(operations("pow(f(x), f(x))"), 80);
}

TEST(Facts, ComponentsOfADefinitionHaveMostOfTheirOperationsInCommon) {
    const Grouped p(R"(
pipeline p(img: float32[R, C]) -> out: float32[R, C] {
    s(y, x) = let v = img(y, x), w = exp(-v * v) in [w * v, w]
    out(y, x) = s(y, x)[0] / s(y, x)[1] * exp(img(y, x))
})",
                    {});
    ASSERT_EQ(p.stages.size(), 3u);
    EXPECT_EQ(p.stages[0].own_part, 1);
    EXPECT_EQ(p.stages[1].own_part, 0);  // the product alone is the first one's
    EXPECT_EQ(p.stages[2].own_part, 1);  // reads them
}

// A cell of 8 x 8 pixels, which its owner gathers.
const char* const kCells = R"(
pipeline p(img: float32[R, C]) -> out: float32[R, C] {
    accumulate grid(k in 0..2, gy in 0..(R - 1) / 8 + 2, gx in 0..(C - 1) / 8 + 1, z in 0..12): float32 = 0 {
        for y in 0..R, x in 0..C {
            grid(0, y / 8, x / 8, int32(clamp(img(y, x), 0, 1) * 11)) += img(y, x)
            grid(1, y / 8, x / 8, int32(clamp(img(y, x), 0, 1) * 11)) += 1
        }
    }
    soft(k, gy, gx, z) = grid(k, gy, gx, z) + grid(k, gy + 1, gx, z)
    out(y, x) = let z = int32(clamp(img(y, x), 0, 1) * 11) in soft(0, y / 8, x / 8, z) / soft(1, y / 8, x / 8, z)
})";

TEST(Facts, UpdatesInTheSameLoopsShareWhatTheyCompute) {
    const Grouped p(kCells, {}, {4096, 4096});
    const StageFacts& grid = p.stages.at(0);
    EXPECT_EQ(grid.serial, 128);                                               // two updates for each of 64 pixels
    EXPECT_EQ(grid.serial_loads, 2);                                           // 8 x 8 pixels are loaded at once
    const double pixels = 4096.0 * 4096.0 / static_cast<double>(grid.points);  // for each element
    EXPECT_NEAR(grid.updates, 2 * pixels, 1e-9);
    EXPECT_NEAR(grid.reads, pixels, 1e-9);
    // Clamped between two numbers, multiplied, truncated; and each of two updates.
    EXPECT_NEAR(grid.operations, (4 + 2 * 4) * pixels, 1e-9);
}

TEST(Facts, AGatheredAccumulateIsATileOfItself) {
    const Grouped p(kCells, {"grid"}, {4096, 4096});
    GroupSchedule schedule;
    schedule.strategy = Strategy::Stage;
    const auto work = tile_work(*p.facts, schedule);
    ASSERT_TRUE(work);
    EXPECT_EQ(work->tiles, 129 * 16);  // of 4 x 32 owners, a row of them for each warp
    EXPECT_EQ(work->threads_per_block, 128);
    EXPECT_GT(work->instructions * work->tiles, 4096.0 * 4096.0 / 32 * 10);
}

TEST(Facts, PatchesRunAlongWhatIsReadTogether) {
    const Grouped p(kCells, {"soft", "out"}, {4096, 4096});
    const GroupFacts& facts = *p.facts;
    EXPECT_EQ(facts.together, (std::vector<int>{0, -1}));  // `out` asks for both k at one place
    const plan::PatchReads of_soft = patch_reads(facts, 0), of_out = patch_reads(facts, 1);
    const PatchAxes soft = plan::patch_axes(facts, 0, 0, of_soft), out = plan::patch_axes(facts, 1, -1, of_out);
    EXPECT_TRUE(soft.whole);
    EXPECT_EQ(soft.columns, 0);
    EXPECT_EQ(soft.rows, 1);  // rows of `grid` that two points below each other read are fewer
    EXPECT_EQ(plan::patch_columns(facts, 0, soft, 4, 16, of_soft, 4096, 32), 2);
    EXPECT_FALSE(out.whole);
    EXPECT_EQ(out.columns, 1);
    EXPECT_EQ(plan::patch_columns(facts, 1, out, 4, 16, of_out, 4096, 32), 4);
    EXPECT_EQ(plan::columns_of_cell(facts, 1, found_members(facts, 1)), 8);
}

TEST(Facts, PointsOfAPatchShareNothingThatDataFind) {
    // Each channel by itself, and two points of a lane beside each other.
    const Grouped p(R"(
pipeline p(img: float32[R, C], table: float32[2, 12]) -> out: float32[2, R, C] {
    soft(k, z in 0..12) = table(k, z) * 2
    out(k, y, x) = soft(k, int32(clamp(img(y, x), 0, 1) * 11))
})",
                    {"soft", "out"}, {4096, 4096});
    const PatchAxes axes{2, 1, false};
    EXPECT_EQ(patch_work(*p.facts, 1, axes, 1, 1).inner, 1);
    EXPECT_EQ(patch_work(*p.facts, 1, axes, 4, 1).inner, 4);
    EXPECT_EQ(patch_work(*p.facts, 1, axes, 4, 2).inner, 8);
}

// A plane that all planes are multiplied with comes beside each of them, unless a tile has all planes.
TEST(Facts, APlaneThatAllReadIsLoadedBesideTheTilesOwn) {
    const Grouped p(R"(
pipeline p(img: float32[4, R, C]) -> out: float32[4, R, C] {
    out(c, y, x) = img(c, y, x) * img(3, y, x)
})",
                    {"out"});
    GroupSchedule schedule;
    schedule.stages = {"out"};
    schedule.strategy = Strategy::RegisterTile;
    schedule.block = {32, 4, 1};
    schedule.tile = {4, 2, 1};
    EXPECT_EQ(tile_work(*p.facts, schedule)->loads, 4);
    schedule.tile = {4, 2, 4};
    EXPECT_EQ(tile_work(*p.facts, schedule)->loads, 8);
}

TEST(Facts, RegistersGrowWithWhatIsHeldAtOnce) {
    const auto registers = [](const char* value) {
        const std::string text = std::string(
                                     "pipeline p(a: float32[R, C], b: float32[R, C]) -> out: float32[R, C] {\n"
                                     "    out(y, x) = ") +
                                 value + "\n}";
        return Grouped(text, {}).stages.at(0).registers;
    };
    // A sum from left to right holds one value and the next; a balanced tree one more for each level.
    EXPECT_EQ(registers("y + 1 + 2 + 3"), registers("y"));
    EXPECT_EQ(registers("y * 2 + y / 3"), registers("y") + 1);
    EXPECT_EQ(registers("(y * 2 + y / 3) * (y * 4 + y / 5)"), registers("y") + 2);
    EXPECT_EQ(registers("a(y, x) + a(y, x) * 2"), registers("a(y, x)") + 1);  // loads come first
    EXPECT_EQ(registers("a(y, x) + b(y, x)"), registers("a(y, x)") + 1 + 2);  // and another address
}

TEST(Facts, OfATile) {
    const Grouped blur(kBlur, {"rows", "out"});
    const TileFacts tile = tile_facts(*blur.facts, {{32, 1, 1}, {1, 4, 1}});
    EXPECT_EQ(tile.size, (std::vector<std::int64_t>{4, 32}));
    EXPECT_EQ(tile.tiles, 896 * 112);
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

/// Tiles of 10 x 100 points.
Cuts tiles_of_1000() {
    Cuts cuts(2);
    cuts[0].size = 10;
    cuts[1].size = 100;
    return cuts;
}

TEST(Facts, TilesAtTheEdgesAreThoseThatReachBeyondTheImage) {
    const Grouped inside(kBlur, {"rows", "out"}, {1000, 1000});
    EXPECT_DOUBLE_EQ(edge_tiles(GroupCounts(*inside.facts), tiles_of_1000()), 0);
    constexpr const char* kClamped = R"(
import "boundary"
pipeline p(img: float32[R, C]) -> out: float32[R, C] {
    edge = clamp_to_edge(img)
    out(y, x) = edge(y, x - 1) + edge(y, x) + edge(y, x + 1)
})";
    // The first and the last column of tiles, whether the last one is whole or not: it begins further inside then.
    const Grouped columns(kClamped, {"edge", "out"}, {1000, 1000}), partial(kClamped, {"edge", "out"}, {1000, 950});
    EXPECT_DOUBLE_EQ(edge_tiles(GroupCounts(*columns.facts), tiles_of_1000()), 2 / 10.0);
    EXPECT_DOUBLE_EQ(edge_tiles(GroupCounts(*partial.facts), tiles_of_1000()), 2 / 10.0);
    // One tile is all there is.
    const Grouped small(kClamped, {"edge", "out"}, {10, 90});
    EXPECT_DOUBLE_EQ(edge_tiles(GroupCounts(*small.facts), tiles_of_1000()), 1);
}

TEST(Facts, PointsOfAPatchShareWhatTheyRead) {
    const Grouped blur(kBlur, {"rows", "out"});
    // Of `out`: three columns of `rows`, which are in shared memory.
    const PatchAxes axes{1, 0};
    const PatchWork one = patch_work(*blur.facts, 1, axes, 1, 1), row = patch_work(*blur.facts, 1, axes, 4, 1),
                    block = patch_work(*blur.facts, 1, axes, 4, 2);
    EXPECT_EQ(one.inner, 3);
    EXPECT_EQ(row.inner, 3);  // six values beside each other, in accesses of four that may begin before them
    EXPECT_EQ(block.inner, 6);
    EXPECT_EQ(row.elements, 6 + 4);
    EXPECT_EQ(row.outer, 0);
    EXPECT_EQ(block.operations, 8 * one.operations);
    // Of `rows`: three rows of the image, of which a patch of two rows reads four.
    EXPECT_EQ(patch_work(*blur.facts, 0, axes, 4, 1).outer, 3);
    EXPECT_EQ(patch_work(*blur.facts, 0, axes, 4, 2).outer, 4);
}

TEST(Facts, TilesAreMultiplesOfWhatScalesAskFor) {
    const Grouped half(R"(
pipeline p(img: float32[2 * R, 2 * C]) -> out: float32[2 * R, 2 * C] {
    half(y in 0..R, x in 0..C) = img(2 * y, 2 * x)
    out(y, x) = half(y / 2, x / 2)
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
    soft(y, x) = m(y, x) * m(y, x) / 2
    out(c, y, x) = img(c, y, x) * soft(y, x) + soft(y, x)
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
    out(y, x) = img(0, 2 * y / 2, x) + img(1, y + 1, x) + img(1, y, x) + img(2, y, x + 1) + img(2, y, x)
              + rgb(0, y, x) + rgb(1, y, x) + rgb(2, y, x)
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
    out(y, x) = table(int32(img(y, x)))
})",
                    {"out"});
    const std::vector<const Load*> loads = global_loads(*p.facts, 0);
    ASSERT_EQ(loads.size(), 2u);
    const Load& table = loads[0]->source.index == 1 ? *loads[0] : *loads[1];
    EXPECT_EQ(transactions(*p.facts, 0, table, {32, 1, 1}, 32), 8);
    EXPECT_EQ(transactions(*p.facts, 0, table, {32, 1, 1}, 128), 2);
}

}  // namespace
}  // namespace pipec::fusion::facts_test
