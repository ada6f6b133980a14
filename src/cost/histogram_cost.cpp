#include "cost/histogram_cost.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "cost/roofline.h"
#include "cost/tile_cuts.h"
#include "plan/histogram_table.h"

namespace pipec::cost {

using fusion::HistogramFacts;
using fusion::Load;
using fusion::StageFacts;

namespace {

/// Regions that reach a cell.
constexpr double kRegionsOfCell = 4;

/// Bytes of the arrays that are read, each once.
struct Read {
    double inputs = 0, stages = 0;
    int arrays = 0;
};
Read bytes_read(const StageFacts& stage) {
    Read result;
    std::set<ir::Source> seen;
    for (const Load& load : stage.loads) {
        if (!seen.insert(load.source).second) continue;
        double bytes = load.bytes;
        for (const std::int64_t extent : load.extents) bytes *= static_cast<double>(extent);
        ++result.arrays;
        (load.source.kind == ir::Source::Kind::Input ? result.inputs : result.stages) += bytes;
    }
    return result;
}

/// What facts know of it: a thread has an access of each array at once, and the largest region.
plan::HistogramTable table_of(const StageFacts& stage, int arrays, const Gpu& gpu,
                              const fusion::HistogramShape& asked) {
    const HistogramFacts& h = *stage.histogram;
    plan::TableFacts facts;
    facts.bytes = stage.bytes;
    if (h.is_constant) facts.cells = static_cast<std::int64_t>(h.table_bytes / stage.bytes);
    facts.row_cells = h.row_cells;
    if (h.follows) facts.region_cells = plan::kRegionBytes / stage.bytes;
    facts.loaded = plan::kHistogramAccess * arrays;
    return plan::make_histogram_table(facts, gpu, asked);
}

}  // namespace

std::optional<TimePrediction> predict_histogram(const StageFacts& stage, const Gpu& gpu,
                                                const fusion::HistogramShape& asked) {
    if (!stage.histogram) return std::nullopt;
    const HistogramFacts& h = *stage.histogram;
    using Table = plan::HistogramTable::Table;
    const Read read = bytes_read(stage);
    const plan::HistogramTable table = table_of(stage, read.arrays, gpu, asked);
    const bool whole = table.table == Table::Whole, in_memory = table.table == Table::Global;
    const auto parts = static_cast<double>(table.parts);
    const fusion::GpuRates& rates = gpu.rates;
    TimePrediction p;
    p.registers = stage.registers;
    p.blocks_per_sm = static_cast<int>(table.blocks);
    p.shared_per_block = in_memory ? 0 : table.cells * table.copies * stage.bytes;
    p.blocks = gpu.sms * p.blocks_per_sm;
    p.waves = 1;
    p.occupancy = static_cast<double>(table.blocks * table.threads) / gpu.threads_per_sm;

    const double loaded = parts * (read.inputs + read.stages);
    const double cells = h.table_bytes / stage.bytes;
    // What goes to the table, one sector for each cell, and for each update of rows that are not in shared memory.
    const double behind =
        table.first_rows > 0 ? std::max(0.0, 1 - static_cast<double>(table.cells) / std::max(1.0, cells)) : 0;
    const double brought =
        in_memory ? h.updates
        : whole ? behind * h.updates + std::min(h.updates, p.blocks * std::min(static_cast<double>(table.cells), cells))
                : std::min(h.updates, kRegionsOfCell * cells);
    p.instructions = parts * stage.operations * static_cast<double>(stage.points) / gpu.warp_size;
    p.wavefronts =
        loaded / kLineBytes + brought + (in_memory ? 0 : kUpdateWavefronts * parts * h.updates / gpu.warp_size);
    p.l2_bytes = loaded + h.table_bytes + brought * kSectorBytes;
    p.dram_bytes = read.inputs * (1 - in_l2(stage.pipeline_bytes, gpu)) +
                   (read.stages + h.table_bytes) * (1 - in_l2(read.stages + h.table_bytes, gpu));

    const double clocks = gpu.sms * gpu.clock_hz;
    p.issue = p.instructions / (4 * clocks * rates.issue_part);
    p.lsu = p.wavefronts / (clocks * rates.lsu_part);
    p.l2 = p.l2_bytes / (clocks * rates.l2_bytes_per_clock);
    p.dram = p.dram_bytes / (gpu.dram_bandwidth * rates.dram_part);
    p.latency = 2 * (rates.memory + rates.barrier);
    p.start = p.blocks_per_sm * rates.block_start;
    // The table's first values are a kernel, for which updates of a whole table need not wait.
    p.launch = (whole ? 1 : 2) * rates.launch;
    p.seconds = norm({p.dram, p.l2, p.issue, p.lsu, p.latency, p.start}, rates.overlap) + p.launch;
    return p;
}

}  // namespace pipec::cost
