// The arithmetic behind overlapped tiles: which arrays share memory, how points are dealt out, what one access covers.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "codegen/expr/pack.h"
#include "codegen/kernel/shared_memory.h"
#include "plan/lane_patches.h"

namespace pipec::codegen::tile_parts_test {
namespace {

using plan::in_blocks;
using plan::Patches;
using plan::patches_by_cost;

TEST(SharedMemory, PartsOfWarpsHaveAPitch) {
    kernel::Kernel kernel;
    kernel.shared.push_back({"a", ir::Type::Float32, {4, 3, 8}, 0, 256});
    kernel.shared.push_back({"b", ir::Type::UInt8, {4, 20}, 96, 256});
    kernel.shared.push_back({"own", ir::Type::UInt8, {20}});
    EXPECT_EQ(strides_of(kernel.shared[0]), (std::vector<std::int64_t>{64, 8, 1}));
    EXPECT_EQ(bytes_of(kernel.shared[0]), 3 * 256 + 96);
    EXPECT_EQ(scratch_bytes(kernel), 3 * 256 + 128);
    EXPECT_EQ(own_bytes(kernel), 32);
    EXPECT_EQ(dynamic_bytes(kernel), 0);
    kernel.shared[1].offset = kStaticSharedBytes;
    EXPECT_GT(dynamic_bytes(kernel), kStaticSharedBytes);
}

/// Every point is in a patch, and as a new one in one patch only.
TEST(Patches, CoverAllPoints) {
    for (const std::int64_t columns : {1, 2, 4}) {
        for (const std::int64_t across : {1, 5, 31, 33, 40, 70}) {
            for (const std::int64_t rows : {1, 7, 16, 34}) {
                const Patches points{1, 1, columns * across, rows, 3, 0};
                for (const auto& way : patches_by_cost(points, columns, 64, 8)) {
                    std::int64_t covered = 0;
                    for (const Patches& patches : way) {
                        EXPECT_EQ(patches.skipped, covered);
                        covered += patches.across * patches.columns;
                        EXPECT_GE(patches.down * patches.rows, rows);
                        EXPECT_LT((patches.down - 1) * patches.rows, rows);
                        EXPECT_LE(patches.rows, rows);
                        EXPECT_EQ(patches.others, 3);
                        EXPECT_GE(patches.turns(64) * 64, patches.count());
                    }
                    EXPECT_EQ(covered, columns * across);
                }
            }
        }
    }
}

TEST(Patches, AreInBlocksOfAWarpWhereTheyCanBe) {
    const auto block = [](std::int64_t across, std::int64_t down, std::int64_t most) {
        const Patches patches = in_blocks({1, 1, across, down, 3, 0}, most);
        EXPECT_EQ(patches.count(), across * down * 3);
        return std::pair(patches.block_across, patches.block_down);
    };
    EXPECT_EQ(block(64, 32, 8), (std::pair<std::int64_t, std::int64_t>{8, 4}));
    EXPECT_EQ(block(80, 32, 4), (std::pair<std::int64_t, std::int64_t>{4, 8}));
    EXPECT_EQ(block(64, 2, 4), (std::pair<std::int64_t, std::int64_t>{16, 2}));  // wider than asked for
    EXPECT_EQ(block(60, 32, 8), (std::pair<std::int64_t, std::int64_t>{1, 1}));
    EXPECT_EQ(block(64, 7, 8), (std::pair<std::int64_t, std::int64_t>{1, 1}));
    EXPECT_EQ(block(64, 32, 32), (std::pair<std::int64_t, std::int64_t>{1, 1}));
    EXPECT_EQ(block(64, 32, 1), (std::pair<std::int64_t, std::int64_t>{1, 1}));
}

TEST(Patches, ComeOutEven) {
    const auto best = [](const Patches& points, std::int64_t lanes) {
        return patches_by_cost(points, 4, lanes, 8).front();
    };
    // 32 vectors x 32 rows for 256 lanes: 4 rows each.
    ASSERT_EQ(best({1, 1, 128, 32, 1, 0}, 256).size(), 1u);
    EXPECT_EQ(best({1, 1, 128, 32, 1, 0}, 256)[0].rows, 4);
    // A warp that has 33 vectors x 8 rows: a turn for 32 of them, and one for the last column.
    const auto split = best({1, 1, 132, 8, 1, 0}, 32);
    ASSERT_EQ(split.size(), 2u);
    EXPECT_EQ(split[0].rows, 8);
    EXPECT_EQ(split[1].skipped, 128);
    EXPECT_EQ(split[1].turns(32), 1);
}

TEST(Accesses, WholeVectorsWhereThatSavesSome) {
    EXPECT_EQ(access_count({0, 1, 2, 3}, 4, false), 1);
    EXPECT_EQ(access_count({-1, 0, 1, 2, 3, 4}, 4, false), 3);
    EXPECT_EQ(access_count({1, 2, 3, 4, 5, 6}, 4, false), 4);
    EXPECT_EQ(access_count({1, 2, 3, 4, 5, 6}, 4, true), 2);
    EXPECT_EQ(access_count({2, 3}, 4, true), 1);
    EXPECT_EQ(access_count({-3, -2, 9}, 1, true), 3);
}

/// An array of 2 rows of 8 floats, read at columns 4 x + offset.
TEST(Accesses, FillersStayInTheRow) {
    ir::Pipeline pipeline;
    pipeline.variables.push_back({"x", ir::Type::Int32, {}});
    Rewriter rewriter(pipeline);
    rewriter.index(0);
    const auto element = [&](std::int64_t offset) {
        const Linear at{{{rewriter.unique(ir::variable(0, ir::Type::Int32)), 4}}, offset};
        return Element{{ir::Source::Kind::Local, 0}, {rewriter.unique(constant(1)), rewriter.expr(at)}};
    };
    const std::vector<Element> elements{element(1), element(2), element(3), element(4)};
    const auto find = [&](std::int64_t row, bool fill) {
        const std::vector<kernel::SharedArray> shared{{"a", ir::Type::Float32, {2, row}}};
        return find_packs(rewriter, pipeline, {}, elements, shared, 16, fill);
    };
    EXPECT_EQ(find(8, false), (std::vector<Pack>{{0}, {1, 2}, {3}}));
    EXPECT_EQ(find(8, true), (std::vector<Pack>{{3}, {kFiller, 0, 1, 2}}));
    EXPECT_EQ(find(6, true), (std::vector<Pack>{{0}, {1, 2}, {3}}));
}

}  // namespace
}  // namespace pipec::codegen::tile_parts_test
