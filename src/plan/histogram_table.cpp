#include "plan/histogram_table.h"

#include <algorithm>
#include <bit>

namespace pipec::plan {

using Shape = fusion::HistogramShape;
using Table = HistogramTable::Table;

namespace {

constexpr std::int64_t kThreadsOfTable = 512, kThreadsInMemory = 256;
/// Threads of a multiprocessor that leave each of them 32, 40 and 64 registers, where a thread loads at most so many
/// bytes.
constexpr std::int64_t kFewBytes = 16, kMoreBytes = 32;
/// Of the shared memory of a multiprocessor, the rest being its L1 cache.
constexpr std::int64_t kSharedOfSm = 128 * 1024;
/// The least that a table which fits as a whole leaves to each of a few blocks.
constexpr std::int64_t kWholeBytes = 96 * 1024;

std::int64_t power_below(std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, n))));
}

void choose_blocks(const TableFacts& facts, const fusion::Gpu& gpu, const Shape& asked, HistogramTable& t) {
    t.threads = asked[Shape::Threads] > 0 ? asked[Shape::Threads] : kThreadsOfTable;
    const std::int64_t at_once = facts.loaded <= kFewBytes ? 2048 : facts.loaded <= kMoreBytes ? 1536 : 1024;
    t.blocks = std::max<std::int64_t>(1, std::min<std::int64_t>(at_once, gpu.threads_per_sm) / t.threads);
    if (asked[Shape::Blocks] > 0)
        t.blocks =
            std::min<std::int64_t>(asked[Shape::Blocks], std::max<std::int64_t>(1, gpu.threads_per_sm / t.threads));
}

void choose_part(const TableFacts& facts, const fusion::Gpu& gpu, const Shape& asked, HistogramTable& t) {
    const std::int64_t most = table_room(gpu);
    const std::optional<std::int64_t>& cells = facts.cells;
    if (cells && *cells < 1) return;
    const bool whole = cells && *cells * facts.bytes <= std::min(most, kWholeBytes);
    if (facts.region_cells && (!whole || 4 * *facts.region_cells <= *cells) && asked[Shape::Parts] == 0) {
        t.table = Table::Region;
        t.cells = *facts.region_cells;
        return;
    }
    if (!cells) {
        const std::int64_t rows = facts.row_cells && *facts.row_cells > 0 && asked[Shape::Parts] <= 1
                                      ? kFirstRowsBytes / (*facts.row_cells * facts.bytes)
                                      : 0;
        if (rows < kLeastFirstRows) return;
        t.table = Table::Whole;
        t.first_rows = rows;
        t.cells = rows * *facts.row_cells;
        return;
    }
    const std::int64_t parts = asked[Shape::Parts] > 0 ? asked[Shape::Parts] : (*cells * facts.bytes + most - 1) / most;
    const std::int64_t of_part = (*cells + parts - 1) / parts;
    // Each part has all points read once more.
    if (of_part * facts.bytes > most || (asked[Shape::Parts] == 0 && parts > kMostTableParts)) return;
    t.table = Table::Whole;
    t.parts = parts;
    t.cells = of_part;
}

void choose_copies(const TableFacts& facts, const fusion::Gpu& gpu, const Shape& asked, HistogramTable& t) {
    const std::int64_t bytes = t.cells * facts.bytes;
    const std::int64_t most = std::min<std::int64_t>(gpu.shared_per_block, gpu.shared_per_sm - 8 * 1024) - 1024;
    const std::int64_t of_sm = std::min(kSharedOfSm, most);
    t.blocks = std::clamp<std::int64_t>(most / bytes, 1, t.blocks);
    t.copies = power_below(std::min(kMostCopies, of_sm / t.blocks / bytes));
    if (asked[Shape::Copies] > 0) t.copies = std::min<std::int64_t>(asked[Shape::Copies], power_below(most / bytes));
    t.copies = std::min(t.copies, power_below(t.threads));
}

}  // namespace

HistogramTable make_histogram_table(const TableFacts& facts, const fusion::Gpu& gpu, const Shape& asked) {
    HistogramTable t;
    choose_blocks(facts, gpu, asked, t);
    choose_part(facts, gpu, asked, t);
    if (t.table != Table::Global) choose_copies(facts, gpu, asked, t);
    if (t.table == Table::Global && asked[Shape::Threads] == 0) t.threads = kThreadsInMemory;
    return t;
}

}  // namespace pipec::plan
