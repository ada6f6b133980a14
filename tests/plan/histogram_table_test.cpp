// Where the table of a histogram lies, for sizes of tables, what regions reach, and what a schedule pins.
#include "plan/histogram_table.h"

#include <gtest/gtest.h>

namespace pipec::plan::histogram_table_test {
namespace {

using Table = HistogramTable::Table;
using Shape = fusion::HistogramShape;

HistogramTable table(std::optional<std::int64_t> cells, std::optional<std::int64_t> region = std::nullopt,
                     const Shape& asked = {}, std::int64_t loaded = 16) {
    TableFacts facts;
    facts.cells = cells;
    facts.region_cells = region;
    facts.loaded = loaded;
    return make_histogram_table(facts, fusion::known_gpu("h100").value(), asked);
}

TEST(HistogramTable, SmallOnesHaveACopyForEachLane) {
    const HistogramTable t = table(256);
    EXPECT_EQ(t.table, Table::Whole);
    EXPECT_EQ(t.threads, 512);
    EXPECT_EQ(t.blocks, 4);
    EXPECT_EQ(t.copies, 32);
    EXPECT_EQ(t.parts, 1);
    EXPECT_EQ(table(256, {}, {}, 64).blocks, 2);  // which leave threads the registers for what they load
    EXPECT_EQ(table(4096).copies, 2);
}

TEST(HistogramTable, LargeOnesHavePartsOrLieInMemory) {
    const HistogramTable parts = table(65536);
    EXPECT_EQ(parts.table, Table::Whole);
    EXPECT_EQ(parts.parts, 2);
    EXPECT_EQ(parts.cells, 32768);
    EXPECT_EQ(parts.blocks, 1);
    for (const auto& t : {table(262144), table(std::nullopt)}) {
        EXPECT_EQ(t.table, Table::Global);
        EXPECT_EQ(t.threads, 256);
    }
    EXPECT_EQ(table(0).table, Table::Global);
}

TEST(HistogramTable, RegionsWhereTheyReachMuchLess) {
    EXPECT_EQ(table(std::nullopt, 1024).table, Table::Region);
    EXPECT_EQ(table(65536, 1024).cells, 1024);
    EXPECT_EQ(table(4096, 1024).table, Table::Region);
    EXPECT_EQ(table(4096, 1025).table, Table::Whole);
    EXPECT_EQ(table(65536, 20000).table, Table::Region);  // the whole would not fit
}

TEST(HistogramTable, FirstRowsWhereSizesChangeTheNumberOfRows) {
    const auto of_rows = [](std::int64_t row_cells, const Shape& asked = {}) {
        TableFacts facts;
        facts.row_cells = row_cells;
        facts.loaded = 16;
        return make_histogram_table(facts, fusion::known_gpu("h100").value(), asked);
    };
    const HistogramTable t = of_rows(4);
    EXPECT_EQ(t.table, Table::Whole);
    EXPECT_EQ(t.first_rows, kFirstRowsBytes / 16);
    EXPECT_EQ(t.cells, t.first_rows * 4);
    EXPECT_EQ(t.parts, 1);
    EXPECT_EQ(of_rows(kFirstRowsBytes / 4 / kLeastFirstRows).first_rows, kLeastFirstRows);
    EXPECT_EQ(of_rows(kFirstRowsBytes / 4 / kLeastFirstRows + 1).table, Table::Global);  // too few of them fit
    EXPECT_EQ(of_rows(0).table, Table::Global);
    Shape parts;
    parts[Shape::Parts] = 2;
    EXPECT_EQ(of_rows(4, parts).table, Table::Global);  // rows behind the first ones have no parts
}

TEST(HistogramTable, WhatAScheduleSays) {
    Shape asked;
    asked[Shape::Threads] = 128;
    asked[Shape::Copies] = 4;
    asked[Shape::Blocks] = 3;
    asked[Shape::Parts] = 2;
    const HistogramTable t = table(1000, 100, asked);
    EXPECT_EQ(t.table, Table::Whole);
    EXPECT_EQ(t.threads, 128);
    EXPECT_EQ(t.copies, 4);
    EXPECT_EQ(t.blocks, 3);
    EXPECT_EQ(t.cells, 500);
}

}  // namespace
}  // namespace pipec::plan::histogram_table_test
