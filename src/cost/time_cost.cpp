#include "cost/time_cost.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cost/group_counts.h"
#include "cost/histogram_cost.h"
#include "cost/roofline.h"
#include "cost/tile_cuts.h"
#include "cost/tile_work.h"
#include "plan/scan_tile.h"
#include "plan/stage_tile.h"

namespace pipec::cost {

using fusion::Load;
using fusion::StageFacts;

namespace {

/// Accesses of a thread to global memory that keep it busy until they all have come.
constexpr double kMany = 4;
/// Instructions of 16 bytes that fit into the 128 KB of a multiprocessor's instruction cache (Z. Jia et al.,
/// "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, section 3.3.2). nvcc also spills when
/// there are more.
constexpr double kMostStraightCode = 8192;
/// Registers are given to warps in portions.
constexpr int kRegisterPortion = 8;

/// Tiles in shared memory of interleaved channels take this multiple of what is counted: measured 1.6 to 2.8 times on
/// five pipelines (docs/cost-model.md).
constexpr double kInterleaved = 2;

/// Elements that lie side by side in a tile are apart in the arrays that it writes.
bool stores_interleaved(const GroupFacts& facts) {
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        if (facts.live[m] && !facts.stages[m].inside.empty()) return true;
    }
    return false;
}

/// What nvcc uses, divided by what is counted: a quarter, a half and three quarters of the kernels are below these.
constexpr std::array<double, 3> kRegistersTimes{0.85, 1, 1.2};

/// Where a thread has so many registers.
int blocks_per_sm(const TileWork& work, double registers_of_thread, const Gpu& gpu) {
    const int warps = (work.threads_per_block + gpu.warp_size - 1) / gpu.warp_size;
    const int registers =
        (std::min(static_cast<int>(registers_of_thread), gpu.registers_per_thread) + kRegisterPortion - 1) /
        kRegisterPortion * kRegisterPortion;
    int blocks = std::min(
        {gpu.blocks_per_sm, gpu.warps_per_sm / warps, gpu.registers_per_sm / (registers * gpu.warp_size * warps)});
    if (work.shared_per_block > 0) {
        blocks = static_cast<int>(std::min<std::int64_t>(blocks, gpu.shared_per_sm / (work.shared_per_block + 1024)));
    }
    return blocks;
}

/// Nobody knows registers before nvcc has allotted them, and a large block more or less is a large part of what runs.
double expected_blocks_per_sm(const TileWork& work, const Gpu& gpu) {
    double sum = 0;
    for (const double times : kRegistersTimes) sum += blocks_per_sm(work, work.registers * times, gpu);
    return std::max(1.0, sum / kRegistersTimes.size());
}

}  // namespace

std::string_view bound_by(const TimePrediction& p) {
    const std::array<std::pair<double, std::string_view>, 6> all{{{p.dram, "dram"},
                                                                  {p.l2, "l2"},
                                                                  {p.issue, "issue"},
                                                                  {p.lsu, "lsu"},
                                                                  {p.latency, "latency"},
                                                                  {p.start, "start"}}};
    return std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; })
        ->second;
}

namespace {

/// A stage by itself is always possible: values beyond a thread's registers are written and read back.
void spill(TileWork& work, const Gpu& gpu) {
    const int spilled = work.registers - gpu.registers_per_thread;
    if (spilled <= 0) return;
    const double accesses = 2.0 * spilled * work.warps_per_tile;
    work.registers = gpu.registers_per_thread;
    work.instructions += accesses;
    work.at_edges += accesses;
    work.wavefronts += accesses;
    work.bytes += accesses * kLineBytes;
}

/// Clocks between an operation and one that needs its result, on all GPUs since Volta, and what a point of a scan takes
/// besides: it comes from shared memory and goes back, and each access is an instruction.
constexpr double kDependentClocks = 4, kPointClocks = 6;
/// From the address in shared memory to the value.
constexpr double kSharedClocks = 30;
/// Of a warp that has a scheduler to itself, for an instruction: some wait for the one before.
constexpr double kAloneClocks = 2, kSchedulers = 4;
/// Until global memory answers, where nothing else is to be done meanwhile.
constexpr double kMemorySeconds = 0.8e-6;
/// Terms of a loop that are loaded at once, and what a thread waits for them: single threads and blocks of sums over
/// histograms on an H100 (by ncu twice as long, at half of the clock that it runs at).
constexpr double kTermsAtOnce = 16, kRoundSeconds = 0.2e-6;

/// Of a point that is combined with its neighbours in a warp: a shuffle and two operations for each of five steps.
constexpr double kShuffleSteps = 5, kShuffleClocks = 24, kStepInstructions = 3;

struct ScanShape {
    std::vector<int> order;
    std::vector<std::optional<std::int64_t>> extents;
};

/// As code knows it: sizes may be others.
ScanShape shape_of_scan(const StageFacts& stage) {
    ScanShape shape{stage.shape.order, {}};
    for (const auto& range : stage.shape.ranges) {
        shape.extents.push_back(range ? std::optional(range->hi - range->lo) : std::nullopt);
    }
    return shape;
}

/// What a block of a scan holds of each point: its value and, about, what it reads.
plan::ScanTile tile_of_scan(const StageFacts& stage, const Gpu& gpu) {
    const auto [order, extents] = shape_of_scan(stage);
    std::int64_t bytes = stage.bytes;
    for (const Load& load : stage.loads) bytes += load.bytes;
    return plan::make_scan_tile(order, stage.scan->dim, extents, bytes,
                                static_cast<std::int64_t>(stage.loads.size()) + 1, gpu.shared_per_block);
}

/// How the blocks of a scan go along its lines.
struct ScanMarch {
    double lines = 0;  ///< of a block
    int warps = 0;     ///< of a block
    std::int64_t shared_bytes = 0;
    double batches = 0, batch = 0;  ///< how many, and what one takes in seconds
};

/// Each batch of points takes the time of their chain of operations, or that of the accesses for the next batch where
/// these take longer.
ScanMarch serial_march(const StageFacts& stage, const Gpu& gpu) {
    const plan::ScanTile tile = tile_of_scan(stage, gpu);
    const double chain = static_cast<double>(tile.points) * (stage.scan->operations * kDependentClocks + kPointClocks);
    return {static_cast<double>(tile.lines), static_cast<int>(plan::kScanWarps) + 1, tile.shared_bytes,
            std::ceil(static_cast<double>(stage.scan->length) / static_cast<double>(tile.points)) + 2,
            std::max(kMemorySeconds, chain / gpu.clock_hz) + gpu.rates.barrier};
}

/// The same without anything shared: a thread has a line.
ScanMarch direct_march(const StageFacts& stage, const Gpu& gpu) {
    const auto points = static_cast<double>(plan::kDirectPoints);
    const double chain = points * (stage.scan->operations * kDependentClocks + kPointClocks);
    return {static_cast<double>(plan::kDirectThreads), static_cast<int>(plan::kDirectThreads / kWarp), 0,
            std::ceil(static_cast<double>(stage.scan->length) / points) + 1,
            std::max(kMemorySeconds, chain / gpu.clock_hz)};
}

/// Each batch waits for memory, then for the points of a thread, those of its warp, and the ends of all warps.
ScanMarch shared_march(const StageFacts& stage, const plan::SharedScanTile& tile, const Gpu& gpu) {
    const double operation = stage.scan->operations * kDependentClocks;
    const double points = static_cast<double>(tile.points) * operation;
    const double across = tile.along_memory ? kShuffleSteps * (kShuffleClocks + operation) : 0;
    const double ends = static_cast<double>(tile.warps) * (operation + kPointClocks);
    return {static_cast<double>(tile.lines), static_cast<int>(tile.warps),
            tile.warps * (2 * tile.lines + tile.exchanged()) * stage.bytes,
            std::ceil(static_cast<double>(stage.scan->length) / static_cast<double>(tile.chunk())),
            kMemorySeconds + (points + across + ends) / gpu.clock_hz + gpu.rates.barrier};
}

/// The kernel of a scan that goes slice by slice which runs for slices of this length; none where values pass through
/// global memory.
std::optional<plan::SharedSliceTile> slice_tile(const StageFacts& stage, const Gpu& gpu) {
    const auto [order, extents] = shape_of_scan(stage);
    std::optional<std::int64_t> known = 1;
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (!stage.scan->is_across(d)) continue;
        known = known && extents[d] ? std::optional(*known * *extents[d]) : std::nullopt;
    }
    std::int64_t term_bytes = 0;
    for (const Load& load : stage.loads) term_bytes += load.bytes;
    const plan::SlicePoint point{stage.scan->distance, stage.bytes, term_bytes,
                                 static_cast<std::int64_t>(stage.loads.size()) + 1};
    for (const plan::SharedSliceTile& tile : plan::make_shared_slice_tiles(known, point, gpu.shared_per_block)) {
        if (stage.scan->slice <= static_cast<double>(tile.slice)) return tile;
    }
    return std::nullopt;
}

/// Memory and units have as much to do at once as there are threads: `p` is for as many multiprocessors as blocks were
/// counted before (`before`), the L2 cache and units' part of it, and for all of them, the global memory's.
void have_fewer_blocks(const Gpu& gpu, double before, double more_work, bool units, TimePrediction& p) {
    const auto multiprocessors = [&](double blocks) { return std::clamp<double>(blocks, 1, gpu.sms); };
    const double few = multiprocessors(before) / multiprocessors(p.blocks);
    p.dram *= static_cast<double>(gpu.sms) / multiprocessors(p.blocks);
    p.l2 *= few;
    if (units) p.issue *= few * more_work, p.lsu *= few * more_work;
}

/// Launch after launch, each of which waits for what the one before has written, then goes through its slices.
void add_strips(const StageFacts& stage, const plan::SliceStrip& strip, const Gpu& gpu, TimePrediction& p) {
    const auto& scan = *stage.scan;
    const auto threads = static_cast<double>(strip.threads()), slices = static_cast<double>(strip.slices);
    const double before = p.blocks;
    p.blocks = scan.lines * std::ceil(scan.slice / static_cast<double>(strip.points));
    const int warps = static_cast<int>(threads) / kWarp;
    p.blocks_per_sm = std::min(gpu.blocks_per_sm, gpu.warps_per_sm / warps);
    p.waves = p.blocks / (static_cast<double>(gpu.sms) * p.blocks_per_sm);
    p.occupancy = std::min<double>(p.blocks / gpu.sms, p.blocks_per_sm) * warps / gpu.warps_per_sm;
    const double launches = std::ceil(static_cast<double>(scan.length) / slices);
    const double step = (scan.operations * kDependentClocks + kSharedClocks) / gpu.clock_hz + gpu.rates.barrier;
    // What a warp executes of a slice, with nobody else to fill its gaps.
    const double points = scan.lines * scan.slice * static_cast<double>(scan.length);
    const double alone = kAloneClocks * p.issue * std::clamp<double>(before, 1, gpu.sms) * kSchedulers * kWarp / points;
    p.latency = std::max(1.0, std::ceil(p.waves)) * launches * (kMemorySeconds + slices * (step + alone));
    have_fewer_blocks(gpu, before, threads / static_cast<double>(strip.points), true, p);
    p.ends = 0;
    p.start = launches * p.blocks / gpu.sms * gpu.rates.block_start;
    p.launch = launches * gpu.rates.launch;
    p.seconds = norm({p.dram, p.l2, p.issue, p.lsu, p.latency, p.start}, gpu.rates.overlap) + p.launch;
}

/// Launch after launch, each of which loads the slices before, then goes through its own.
void add_patches(const StageFacts& stage, const plan::SlicePatch& patch, const Gpu& gpu, TimePrediction& p) {
    const auto& scan = *stage.scan;
    const double before = p.blocks;
    const auto slices = static_cast<double>(patch.slices);
    const auto all = static_cast<double>(patch.rows * patch.columns * patch.whole);
    const auto own = static_cast<double>(patch.own_rows() * patch.own_columns() * patch.whole);
    const double launches = std::ceil(static_cast<double>(scan.length) / slices);
    p.blocks = std::ceil(scan.lines * scan.slice / own);
    p.shared_per_block = static_cast<int>(patch.shared_bytes);
    const int warps = static_cast<int>(plan::kPatchThreads / kWarp);
    p.blocks_per_sm = std::max(1, std::min({gpu.blocks_per_sm, gpu.warps_per_sm / warps,
                                            static_cast<int>(gpu.shared_per_sm / (patch.shared_bytes + 1024))}));
    p.waves = p.blocks / (static_cast<double>(gpu.sms) * p.blocks_per_sm);
    p.occupancy = std::min<double>(p.blocks / gpu.sms, p.blocks_per_sm) * warps / gpu.warps_per_sm;
    const double step = (scan.operations * kDependentClocks + kSharedClocks) / gpu.clock_hz + gpu.rates.barrier;
    p.latency = std::max(1.0, std::ceil(p.waves)) * launches * (kMemorySeconds + slices * step);
    if (scan.last) {
        const double stored = static_cast<double>(std::max<std::int64_t>(*scan.last, scan.distance)) / slices;
        p.dram *= std::min(stored, 1.0), p.l2 *= std::min(stored, 1.0);
    }
    // The patches of the first slices are wider than those of the last one.
    have_fewer_blocks(gpu, before, (all + own) / (2 * own), true, p);
    p.ends = 0;
    p.start = launches * p.blocks / gpu.sms * gpu.rates.block_start;
    p.launch = launches * gpu.rates.launch;
    p.seconds = norm({p.dram, p.l2, p.issue, p.lsu, p.latency, p.start}, gpu.rates.overlap) + p.launch;
}

/// Slice by slice: each waits for the one before, in a block behind a barrier or from launch to launch.
void add_slices(const StageFacts& stage, const Gpu& gpu, TimePrediction& p) {
    const auto& scan = *stage.scan;
    if (const auto strip = plan::slice_strip(scan, gpu)) return add_strips(stage, *strip, gpu, p);
    if (const auto patch = plan::slice_patch(stage, gpu)) return add_patches(stage, *patch, gpu, p);
    const auto tile = slice_tile(stage, gpu);
    const bool blocks = tile || scan.slice <= static_cast<double>(plan::kLargestBlockSlice) || scan.lines >= gpu.sms;
    const auto threads = static_cast<double>(tile     ? tile->threads
                                             : blocks ? plan::slice_threads(static_cast<std::int64_t>(scan.slice))
                                                      : plan::kLaunchedSliceThreads);
    const double before = p.blocks;
    p.blocks = blocks ? scan.lines : std::ceil(scan.lines * scan.slice / threads);
    const int warps = static_cast<int>(threads) / kWarp;
    p.blocks_per_sm = std::max(1, std::min(gpu.blocks_per_sm, gpu.warps_per_sm / warps));
    if (tile) {
        p.shared_per_block = static_cast<int>(tile->shared_bytes);
        p.blocks_per_sm =
            std::max(1, std::min(p.blocks_per_sm, static_cast<int>(gpu.shared_per_sm / (tile->shared_bytes + 1024))));
    }
    p.waves = p.blocks / (static_cast<double>(gpu.sms) * p.blocks_per_sm);
    p.occupancy = std::min<double>(p.blocks / gpu.sms, p.blocks_per_sm) * warps / gpu.warps_per_sm;
    const double rounds = blocks ? std::ceil(scan.slice / threads) : 1;
    const double chain = rounds * (scan.operations * kDependentClocks + kSharedClocks) / gpu.clock_hz;
    const double step = tile     ? kMemorySeconds / static_cast<double>(tile->slices) + chain + gpu.rates.barrier
                        : blocks ? rounds * kMemorySeconds + gpu.rates.barrier
                                 : kMemorySeconds + gpu.rates.launch;
    p.latency = std::max(1.0, std::ceil(p.waves)) * static_cast<double>(scan.length) * step;
    have_fewer_blocks(gpu, before, 1, true, p);
    p.ends = 0;
    p.start = p.blocks / gpu.sms * gpu.rates.block_start;
    p.seconds = norm({p.dram, p.l2, p.issue, p.lsu, p.latency, p.start}, gpu.rates.overlap) + p.launch;
}

/// `readers`: of its values, which its blocks compute, however few they are.
void add_scan(const StageFacts& stage, bool readers, const Gpu& gpu, TimePrediction& p) {
    const auto [order, extents] = shape_of_scan(stage);
    const bool many = !plan::runs_along_memory(order, stage.scan->dim, extents) &&
                      stage.scan->lines >= static_cast<double>(plan::direct_scan_lines(gpu));
    std::optional<plan::SharedScanTile> shared;
    if (stage.scan->shared && !many) {
        const auto lines = static_cast<std::int64_t>(stage.scan->lines);
        shared = plan::make_shared_scan_tile(order, stage.scan->dim, extents, lines, {true, stage.bytes});
    }
    const bool direct = !shared && (many || plan::is_short_line(extents[static_cast<std::size_t>(stage.scan->dim)]));
    const ScanMarch march = shared   ? shared_march(stage, *shared, gpu)
                            : direct ? direct_march(stage, gpu)
                                     : serial_march(stage, gpu);
    const double before = p.blocks;
    p.blocks = std::ceil(stage.scan->lines / march.lines);
    p.blocks_per_sm = std::max(1, std::min({gpu.blocks_per_sm, gpu.warps_per_sm / march.warps,
                                            static_cast<int>(gpu.shared_per_sm / (march.shared_bytes + 1024))}));
    p.shared_per_block = static_cast<int>(march.shared_bytes);
    p.waves = p.blocks / (static_cast<double>(gpu.sms) * p.blocks_per_sm);
    p.occupancy = std::min<double>(p.blocks / gpu.sms, p.blocks_per_sm) * march.warps / gpu.warps_per_sm;
    p.latency = std::max(1.0, std::ceil(p.waves)) * march.batches * march.batch;
    if (shared && shared->along_memory) {
        const double sms = std::min<double>(gpu.sms, p.blocks);
        const double steps = static_cast<double>(stage.points) / gpu.warp_size * kShuffleSteps * kStepInstructions;
        p.instructions += steps;
        p.issue += steps / (sms * 4 * gpu.clock_hz * gpu.rates.issue_part);
    }
    have_fewer_blocks(gpu, before, 1, readers, p);
    p.ends = 0;
    p.start = p.blocks / gpu.sms * gpu.rates.block_start;
    p.seconds = norm({p.dram, p.l2, p.issue, p.lsu, p.latency, p.start}, gpu.rates.overlap) + p.launch;
}

/// So few points that a warp would have each of them in a kernel of the stage alone (plan/stage_tile.h).
bool has_few_points(const StageFacts& stage, const Gpu& gpu) {
    return stage.lane_terms.enough && plan::has_few_points(stage.points, gpu.sms, stage.lane_terms.along_memory);
}

/// A warp has each point of the stage, as code generation does it where that is left open.
bool shares_lanes(const GroupFacts& facts, const GroupSchedule& schedule, const Gpu& gpu) {
    return schedule.strategy == Strategy::Stage && schedule.choices.shared_lanes.value_or(true) &&
           has_few_points(facts.stages.front(), gpu);
}

/// How often a thread waits for the terms of loops of stages with few points: they are loaded several at once. (Points
/// that are many have what is loaded in common, or others load meanwhile.)
double loop_rounds(const GroupFacts& facts, const Gpu& gpu) {
    double terms = 0;
    for (const StageFacts& stage : facts.stages) terms += has_few_points(stage, gpu) ? stage.loop_terms : 0;
    return std::ceil(terms / kTermsAtOnce);
}

std::optional<TimePrediction> predict(GroupCounts& group, const Gpu& gpu, const GroupSchedule& schedule) {
    const GroupFacts& facts = group.facts;
    if (schedule.strategy == Strategy::Stage && facts.stages.front().histogram)
        return predict_histogram(facts.stages.front(), gpu,
                                 schedule.choices.histogram.value_or(fusion::HistogramShape{}));
    std::optional<TileWork> work = tile_work(group, schedule);
    if (work && (schedule.strategy == Strategy::Stage || schedule.strategy == Strategy::Scan)) spill(*work, gpu);
    double loop_waits = loop_rounds(facts, gpu);
    if (work && shares_lanes(facts, schedule, gpu)) {
        share_lanes(facts.stages.front(), *work);
        loop_waits = std::ceil(loop_waits / gpu.warp_size);
    } else if (work && schedule.strategy == Strategy::Stage) {
        take_own_blocks(facts, *work);
    }
    if (!work || work->registers > gpu.registers_per_thread || work->shared_per_block > gpu.shared_per_block) {
        return std::nullopt;
    }
    // All points that a lane has of a hybrid tile are straight-line code.
    if (schedule.strategy == Strategy::Hybrid && work->instructions / work->warps_per_tile > kMostStraightCode)
        return std::nullopt;
    const fusion::GpuRates& rates = gpu.rates;
    TimePrediction p;
    p.registers = work->registers;
    p.shared_per_block = work->shared_per_block;
    p.redundant = work->redundant;
    p.blocks_per_sm = blocks_per_sm(*work, work->registers, gpu);
    if (p.blocks_per_sm < 1) return std::nullopt;
    const double resident = expected_blocks_per_sm(*work, gpu);
    const int warps_per_block = (work->threads_per_block + gpu.warp_size - 1) / gpu.warp_size;
    p.occupancy = resident * warps_per_block / gpu.warps_per_sm;
    p.blocks = std::ceil(work->tiles / work->tiles_a_block);
    const double places = gpu.sms * resident;
    p.waves = p.blocks / places;

    p.instructions = work->instructions * work->tiles;
    p.wavefronts = work->wavefronts * work->tiles;
    p.l2_bytes = work->bytes * work->tiles;
    const Traffic& t = group.traffic;
    // Inputs come from outside of the pipeline, what other kernels have written from just before.
    p.dram_bytes = t.inputs * (1 - in_l2(facts.stages.front().pipeline_bytes, gpu)) +
                   (t.stages + t.outputs) * (1 - in_l2(t.bytes(), gpu));

    const bool at_once = schedule.strategy == Strategy::RegisterTile;
    // Multiprocessors that have a block at all.
    const double sms = std::min<double>(gpu.sms, p.blocks);
    const double clock = gpu.clock_hz;
    const double per_warp = work->instructions / work->warps_per_tile;
    const double slower =
        at_once ? 1 + rates.uncached_slowdown * std::max(0.0, 1 - rates.cached_instructions / per_warp) : 1;
    // Two of four schedulers' instructions a clock can be those of the unit of half the rate.
    const double half_rate = work->half_rate * work->tiles;
    p.issue = slower * std::max(p.instructions / (4 * rates.issue_part), half_rate / (2 * rates.half_rate_part)) /
              (sms * clock);
    if (at_once) p.issue *= std::max(1.0, rates.register_tile_issuing_warps / (resident * warps_per_block));
    p.lsu = p.wavefronts / (sms * clock * rates.lsu_part);
    if (work->in_phases) {
        const double idle = std::max(1.0, rates.issuing_warps / (resident * warps_per_block));
        const double apart = stores_interleaved(facts) ? kInterleaved : 1;
        p.issue *= idle * apart;
        p.lsu *= idle * apart;
    }
    const double again = !work->in_phases       ? 1
                         : schedule.tile[2] > 1 ? rates.read_again * rates.planes_read_again
                                                : rates.read_again;
    // Few warps, and narrow accesses, ask for less at once than memory could deliver.
    // (Owners of cells, which many updates reach, ask for all of a cell's rows at once.)
    const auto too_few = [&](double multiprocessors) {
        const double warps = p.blocks * warps_per_block / (multiprocessors * gpu.warps_per_sm);
        return work->serial > 1 ? 0 : std::max(0.0, rates.enough_warps - std::min(p.occupancy, warps));
    };
    const double few = too_few(gpu.sms);
    const double shape = (1 - rates.narrow_loss * std::log2(16.0 / std::clamp(work->access_bytes, 1, 16))) /
                         std::pow(work->gaps, rates.gap_exponent);
    // Threads of a stage with several columns ask for all that they read at once, too.
    const bool wide = schedule.strategy == Strategy::Stage && work->access_bytes >= 8;
    const bool many_at_once = at_once || (wide && work->loads >= kMany);
    const double l2_loss = many_at_once ? rates.register_tile_few_warps_l2_loss : rates.few_warps_l2_loss;
    // What a multiprocessor asks of the L2 cache is up to its own warps.
    const double found_again = at_once ? rates.register_tile_l2_factor : 1;
    const double l2_part = found_again * (1 - l2_loss * too_few(sms));
    const double dram_part =
        1 - (many_at_once ? rates.register_tile_few_warps_dram_loss : rates.few_warps_dram_loss) * few;
    const double asked = p.l2_bytes + (found_again - 1) * work->streamed * work->tiles;
    p.l2 = asked * again * (work->in_phases && stores_interleaved(facts) ? kInterleaved : 1) /
           (sms * clock * rates.l2_bytes_per_clock * l2_part * shape);
    const double rounds = schedule.strategy == Strategy::Stage && work->loads < kMany ? rates.one_round_dram_part : 1;
    p.dram = p.dram_bytes / (gpu.dram_bandwidth * rates.dram_part * dram_part * shape * rounds);
    // A tile by itself: it waits for memory and at barriers, and its instructions for each other, or for their turn.
    // In the first rounds of blocks others wait for the tiles at the edges.
    const double first = std::min(1.0, 1 / p.waves);
    const double slowest =
        work->edges > 0 ? std::max(0.0, work->at_edges - work->instructions) * rates.edge_wait_part * first : 0;
    const double instructions = work->instructions + slowest;
    const double clocks = slower * std::max(instructions / work->warps_per_tile * rates.clocks_per_instruction,
                                            instructions / (4 * rates.issue_part));
    const double waits = at_once ? std::max(1.0, work->loads / rates.loads_at_once) : work->waits;
    // (Updates of which each loads for itself wait for memory each.)
    const double updates = std::max(rates.update * work->serial, kMemorySeconds * work->serial_loads);
    const double alone = rates.memory * waits + rates.barrier * work->barriers + updates + clocks / clock;
    p.latency = std::max(1.0, p.waves) * alone;
    // Where blocks come in waves, others load meanwhile.
    p.latency += loop_waits * kRoundSeconds * std::min(1.0, 1 / p.waves);
    p.ends = std::min(1.0, p.waves) * alone * rates.ends;
    p.start = p.blocks / gpu.sms * rates.block_start;
    p.launch = rates.launch;
    p.seconds = norm({p.dram, p.l2, p.issue, p.lsu, p.latency, p.start},
                     work->in_phases ? rates.overlap_with_barriers : rates.overlap) +
                p.ends + p.launch;
    const auto& scan = facts.stages.front();
    if (scan.scan && !scan.scan->across.empty())
        add_slices(scan, gpu, p);
    else if (scan.scan)
        add_scan(scan, facts.stages.size() > 1, gpu, p);
    return p;
}

/// The tiles and blocks that are tried for one strategy: every block with every tile.
struct Grid {
    Strategy strategy;
    std::vector<std::array<int, 3>> blocks;
    std::vector<int> columns, rows;  ///< of a tile
    std::vector<int> vectors{1};
};

std::vector<Grid> grids(Strategy strategy, Effort effort) {
    const bool all = effort == Effort::All;
    using Blocks = std::vector<std::array<int, 3>>;
    using Sizes = std::vector<int>;
    switch (strategy) {
        case Strategy::Stage:
        case Strategy::Scan: return {{strategy, {{32, 8, 1}}, {1}, {1}}};
        case Strategy::RegisterTile:
            return {{strategy, all ? Blocks{{32, 4, 1}, {32, 8, 1}} : Blocks{{32, 4, 1}},
                     all ? Sizes{1, 2, 4, 8, 16} : Sizes{2, 4, 8}, all ? Sizes{1, 2, 4, 6, 8} : Sizes{2, 4, 8}}};
        case Strategy::Otptb:
            return {{strategy, all ? Blocks{{32, 8, 1}, {32, 16, 1}, {64, 4, 1}, {16, 16, 1}} : Blocks{{32, 16, 1}},
                     all ? Sizes{1, 2, 4} : Sizes{1, 2}, all ? Sizes{1, 2, 4, 8} : Sizes{1, 4}},
                    {strategy,
                     all ? Blocks{{32, 8, 1}, {32, 16, 1}, {16, 16, 1}} : Blocks{{32, 8, 1}},
                     {4},
                     all ? Sizes{1, 2, 4} : Sizes{2},
                     {4}}};
        case Strategy::Otpw:
            return {{strategy, all ? Blocks{{32, 4, 1}, {64, 1, 1}} : Blocks{{32, 4, 1}},
                     all ? Sizes{1, 2, 4} : Sizes{2}, all ? Sizes{4, 8, 16} : Sizes{8}},
                    {strategy, {{32, 4, 1}}, {4}, all ? Sizes{4, 8} : Sizes{4}, {4}}};
        case Strategy::Hybrid:
            return {{strategy, {{32, 4, 1}}, all ? Sizes{2, 4} : Sizes{4}, all ? Sizes{1, 2, 4} : Sizes{4}}};
        case Strategy::Stream: break;  // for comparisons, by hand: nothing is calibrated for it
    }
    return {};
}

/// Planes of a tile, at most: of a dimension that is in it as a whole, and of one that is not.
constexpr std::int64_t kMostPlanes = 4;
constexpr int kMostSharedPlanes = 8;

/// Some member is read at places that depend on data.
bool looks_up(const GroupFacts& facts) {
    for (const StageFacts& stage : facts.stages) {
        for (const Load& load : stage.loads) {
            if (facts.member(load) >= 0 && load.by_data()) return true;
        }
    }
    return false;
}

/// How many planes of a third dimension (channels) a tile may have: what its points share is computed once. A short
/// dimension is in a tile as a whole. Of a longer one, whose planes read the same, a register tile has some: each value
/// that it loads then serves all of them. (Not in a loop: bench/suite's separable_block took 211 us with four planes
/// and 113 with one, sums of 64 written-out terms 168 for 424.)
std::vector<int> planes_of_tiles(const GroupFacts& facts, Strategy strategy) {
    if (facts.group.rank < 3 || strategy == Strategy::Stage || strategy == Strategy::Scan) return {1};
    const auto third = static_cast<std::size_t>(facts.group.rank) - 3;
    const std::int64_t n = facts.extents[third];
    if (n <= kMostPlanes) return n > 1 ? std::vector<int>{1, static_cast<int>(n)} : std::vector<int>{1};
    std::vector<int> planes{1};
    const bool loops = std::ranges::any_of(facts.stages, [](const StageFacts& s) { return s.loop_terms > 0; });
    if (strategy != Strategy::RegisterTile || !facts.planes_share[third] || loops) return planes;
    for (int some = 2; some <= kMostSharedPlanes && n % some == 0; some *= 2) planes.push_back(some);
    return planes;
}

/// The schedules that are tried for a group.
std::vector<GroupSchedule> candidates(const GroupCounts& group, Strategy strategy, Effort effort) {
    const GroupFacts& facts = group.facts;
    const bool line = facts.group.rank < 2;
    const std::vector<int> planes = planes_of_tiles(facts, strategy);
    const bool accumulates =
        std::any_of(facts.stages.begin(), facts.stages.end(), [](const StageFacts& stage) { return !stage.pure; });
    // A lane has a use for many columns where all that it loads and stores is narrower than a register.
    const bool tables = looks_up(facts), narrow = group.widths.widest < 4;
    std::vector<GroupSchedule> result;
    for (Grid& grid : grids(strategy, effort)) {
        if (strategy == Strategy::Otptb) {
            // Cells take long: with small blocks all multiprocessors have some. Tables serve many points.
            if (accumulates) grid.blocks.insert(grid.blocks.end(), {{32, 1, 1}, {64, 1, 1}});
            if (tables) grid.blocks.insert(grid.blocks.end(), {{16, 32, 1}});
            if (tables && grid.vectors.front() > 1) grid.columns.insert(grid.columns.end(), {8, 16});
        }
        for (std::array<int, 3> block : grid.blocks) {
            // A line of points has lines of threads.
            if (line) block = {block[0] * block[1], 1, 1};
            for (const int vector : grid.vectors) {
                for (const int x : grid.columns) {
                    if (strategy == Strategy::RegisterTile && x > 4 && !narrow) continue;
                    for (const int y : grid.rows) {
                        if (line && y > 1 && grid.rows.size() > 1) continue;
                        for (const int z : planes) {
                            GroupSchedule s;
                            s.strategy = strategy;
                            s.block = block;
                            s.tile = {x, line ? 1 : y, z};
                            s.vector = vector;
                            result.push_back(s);
                            if (strategy != Strategy::Hybrid) continue;
                            s.frac_reg = 0.5;
                            result.push_back(s);
                        }
                    }
                }
            }
        }
    }
    return result;
}

}  // namespace

std::optional<TimePrediction> predict_time(const GroupFacts& facts, const Gpu& gpu, const GroupSchedule& schedule) {
    GroupCounts group(facts);
    return predict(group, gpu, schedule);
}

std::vector<TimeChoice> time_choices(const GroupFacts& facts, const Gpu& gpu, const std::vector<Strategy>& allowed,
                                     std::size_t count, Effort effort) {
    std::vector<TimeChoice> result;
    GroupCounts group(facts);
    for (const Strategy strategy : allowed) {
        if (strategy == Strategy::Scan && facts.stages.size() < 2) continue;
        for (const GroupSchedule& schedule : candidates(group, strategy, effort)) {
            if (const auto time = predict(group, gpu, schedule)) result.push_back({schedule, *time});
        }
    }
    const auto faster = [](const TimeChoice& a, const TimeChoice& b) { return a.time.seconds < b.time.seconds; };
    std::stable_sort(result.begin(), result.end(), faster);
    if (result.size() > count) result.resize(count);
    return result;
}

}  // namespace pipec::cost
