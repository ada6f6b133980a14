// What the blocks of a kernel of updates that share targets keep of the table in shared memory, and how many there are:
// for its code (codegen/strategies/reduce), for what it costs, and for warnings.
#pragma once

#include <cstdint>
#include <optional>

#include "fusion/gpu.h"
#include "fusion/schedule.h"

namespace pipec::plan {

/// A table in more parts, each of which has all points read once more, is updated in global memory.
inline constexpr std::int64_t kMostTableParts = 2;

/// By neighbouring threads, of what is in shared memory: with so many no two lanes of a warp meet in a bank.
inline constexpr std::int64_t kMostCopies = 32;

/// Bytes that a region of points reaches at most, before there are copies.
inline constexpr std::int64_t kRegionBytes = 24 * 1024;

/// Bytes of the first rows of a table whose number of rows depends on sizes, and the fewest rows that are worth it.
inline constexpr std::int64_t kFirstRowsBytes = 16 * 1024, kLeastFirstRows = 16;

/// Bytes of one access, which a thread asks for at once of each array.
inline constexpr std::int64_t kHistogramAccess = 16;

/// Bytes of a table, or of a part of one, in the shared memory of a block.
inline std::int64_t table_room(const fusion::Gpu& gpu) {
    return gpu.shared_per_block - 1024;
}

struct HistogramTable {
    enum class Table : std::uint8_t {
        Whole,   ///< a block has all of it, or one of `parts` equal parts
        Region,  ///< a block has the points of a region, and what most of them reach
        Global   ///< none of it is in shared memory
    };
    Table table = Table::Global;
    std::int64_t threads = 256;  ///< of a block
    std::int64_t blocks = 1;     ///< of a multiprocessor
    std::int64_t copies = 1, parts = 1;
    std::int64_t cells = 0;  ///< of what is in shared memory, in one copy; Whole: of one of the parts
    /// Whole, of a table with any number of rows: what is in shared memory, from the first one. Updates of the rows
    /// behind are made in global memory. 0: all rows are there.
    std::int64_t first_rows = 0;
};

/// What that follows from.
struct TableFacts {
    std::int64_t bytes = 4;                    ///< of a cell
    std::optional<std::int64_t> cells;         ///< of the table, where sizes do not change them
    std::optional<std::int64_t> row_cells;     ///< of a row, where sizes change the number of rows alone
    std::optional<std::int64_t> region_cells;  ///< what a region of points reaches, where that is worth it
    std::int64_t loaded = 0;                   ///< bytes that a thread loads at once
};

HistogramTable make_histogram_table(const TableFacts& facts, const fusion::Gpu& gpu,
                                    const fusion::HistogramShape& asked);

}  // namespace pipec::plan
