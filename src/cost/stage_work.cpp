// What a stage by itself asks of a GPU: a thread has a few columns, loaded and stored in wide accesses where arrays are
// aligned for them, and all points of the short dimensions inside of the lanes (plan/stage_tile.h).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "cost/group_counts.h"
#include "cost/tile_cuts.h"
#include "plan/stage_tile.h"

namespace pipec::cost {

using fusion::Operations;
using fusion::StageFacts;

namespace {

/// Extents beyond it are taken for sizes that code does not know.
constexpr std::int64_t kLongestConstant = 1024;
/// By which the lanes of a warp fold what each has found: a shuffle and an operation for each lane.
constexpr double kLaneInstructions = 2.0 * kWarp;
/// Registers for what a thread has loaded and not used yet, at most.
constexpr double kMostLoaded = 16;

/// What a thread computes: adjacent columns, and points along each dimension of the stage, columns among them.
struct ThreadPoints {
    std::int64_t columns = 1;
    std::vector<double> along;
    [[nodiscard]] double all() const { return std::accumulate(along.begin(), along.end(), 1.0, std::multiplies<>()); }
};

bool is_regular(const Load& load) {
    return std::ranges::all_of(load.indices, [](const auto& r) { return r.has_value(); });
}

/// Each lane reads a row of adjacent elements of its own.
bool own_row(const Load& load, std::size_t lane) {
    if (load.indices.empty() || !load.indices.front()) return false;
    const poly::IndexRelation& r = *load.indices.front();
    return r.dim == static_cast<int>(lane) && r.num * load.bytes >= plan::kAccessBytes * r.den;
}

/// As code generation sees them (StageKernel::arrange). The threads of a scan go along its lines.
std::vector<plan::ReadDims> read_dims(const StageFacts& stage) {
    std::vector<plan::ReadDims> result;
    if (stage.scan) return result;
    for (const Load& load : stage.loads) {
        plan::ReadDims& dims = result.emplace_back();
        for (std::size_t i = 0; i < load.indices.size(); ++i) {
            const auto& r = load.indices[i];
            dims.push_back(r ? r->dim : load.against[i] >= 0 ? load.against[i] : plan::kAnyPlace);
        }
    }
    return result;
}

/// Bytes to which rows of an array are aligned; of what lies inside of the lanes, all belongs to the row.
std::int64_t alignment_of(const Load& load, const StageFacts& stage, const plan::StageAxes& axes) {
    std::int64_t row = load.bytes;
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
        row *= load.extents[i];
        const auto& r = load.indices[i];
        const bool inner = r && (r->dim < 0 || axes.roles[static_cast<std::size_t>(r->dim)] == plan::StageRole::Inner);
        if (!inner || load.extents[i] > stage.bytes * plan::kAccessBytes) break;
    }
    return row_alignment(row, load.source.kind == ir::Source::Kind::Stage);
}

/// As code generation chooses them: one, where a point has loops or arrays are not aligned.
std::int64_t columns_of(const StageFacts& stage, const plan::StageAxes& axes,
                        const std::vector<std::optional<std::int64_t>>& extents) {
    if (!stage.pure || stage.scan) return 1;
    std::int64_t widest = stage.bytes, row = stage.bytes;
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (d == *axes.lane || axes.roles[d] == plan::StageRole::Inner) row *= stage.hi[d] - stage.lo[d];
    }
    std::int64_t alignment = row_alignment(row, !stage.is_output);
    for (const Load& load : stage.loads) {
        if (load.in_loops > 0) return 1;
        if (!is_regular(load)) continue;
        if (own_row(load, *axes.lane)) return 1;
        const bool follows =
            std::ranges::any_of(load.indices, [&](const auto& r) { return r->dim == static_cast<int>(*axes.lane); });
        if (!follows) continue;
        widest = std::max<std::int64_t>(widest, load.bytes);
        alignment = std::min(alignment, alignment_of(load, stage, axes));
    }
    if (alignment < plan::kAccessBytes) return 1;
    return plan::stage_columns(axes, extents, widest, static_cast<std::int64_t>(stage.operations + stage.reads));
}

/// What a thread loads of one array.
struct ThreadReads {
    double elements = 0, accesses = 0, wavefronts = 0;
};

ThreadReads reads_of(const Load& load, const ThreadPoints& points) {
    ThreadReads result;
    const double each = load.reads * points.all();
    bool regular = is_regular(load);
    for (const std::int64_t spread : load.spread) regular = regular && spread == 0;
    if (!regular) {
        result.elements = result.accesses = each;
        result.wavefronts = each * (is_regular(load) ? std::max(1.0, load.bytes / 4.0) : kScattered);
        return result;
    }
    double box = 1, run = 1, windows = 1;
    bool goes_on = true;  // up to here, all of the array's inner dimensions are read
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
        const poly::IndexRelation& r = *load.indices[i];
        const double window = static_cast<double>(r.hi - r.lo) / static_cast<double>(r.den) + 1;
        const bool dense = side_by_side(load, r);
        const double along = r.dim >= 0 ? points.along[static_cast<std::size_t>(r.dim)] : 1;
        const double step = static_cast<double>(r.num) / static_cast<double>(r.den);
        const double n = std::floor(step * (along - 1) + (dense ? window : 1) + 1e-9);
        if (dense) windows *= window;
        box *= n;
        if (goes_on) run *= n;
        goes_on = goes_on && n >= static_cast<double>(load.extents[i]);
    }
    // Stencils with holes read less than their box, sums over tables more.
    const double often = std::max(1.0, load.reads / windows);
    result.elements = std::min(each, box * often);
    const auto bytes = static_cast<double>(plan::kAccessBytes);
    // A window's neighbours lie in accesses of their own.
    const double per_run = points.columns > 1 ? std::ceil(run * load.bytes / bytes) : run;
    result.accesses = std::min(result.elements, result.elements / run * per_run);
    const double wide = std::clamp(run / per_run * load.bytes, 4.0, bytes);
    result.wavefronts = result.accesses * wide / 4;
    return result;
}

double loaded_registers(const StageFacts& stage, const ThreadPoints& points) {
    double bytes = 0;
    for (const Load& load : stage.loads) bytes += reads_of(load, points).elements * load.bytes;
    return bytes / 4;
}

}  // namespace

std::optional<TileWork> stage_work(const GroupCounts& group) {
    const GroupFacts& facts = group.facts;
    if (facts.stages.size() != 1) return std::nullopt;
    const StageFacts& stage = facts.stages.front();
    const std::size_t rank = stage.lo.size();
    std::vector<std::optional<std::int64_t>> extents;
    for (std::size_t d = 0; d < rank; ++d) {
        const std::int64_t n = stage.hi[d] - stage.lo[d];
        extents.push_back(n <= kLongestConstant ? std::optional(n) : std::nullopt);
    }
    const bool loops = std::ranges::any_of(stage.loads, [](const Load& load) { return load.in_loops > 0; });
    const plan::StageAxes axes = plan::stage_axes(stage.shape.order, extents, loops, read_dims(stage));
    ThreadPoints thread{1, std::vector<double>(rank, 1)};
    std::array<std::int64_t, 3> block{1, 1, 1};
    for (std::size_t d = 0; d < rank; ++d) {
        if (axes.roles[d] == plan::StageRole::Inner)
            thread.along[d] = static_cast<double>(std::max<std::int64_t>(1, stage.hi[d] - stage.lo[d]));
    }
    if (axes.lane) {
        thread.columns = columns_of(stage, axes, extents);
        thread.along[*axes.lane] = static_cast<double>(thread.columns);
        while (thread.columns > 1 && loaded_registers(stage, thread) > plan::kMostStageLoaded) {
            thread.columns /= 2;
            thread.along[*axes.lane] = static_cast<double>(thread.columns);
        }
        block = plan::stage_block(axes, extents, thread.columns);
    }
    Cuts cuts(facts.extents.size());
    for (std::size_t d = 0; d < rank; ++d) {
        const int g = facts.group.alignment.front()[d].dim;
        if (g < 0) continue;
        const std::int64_t threads = axes.lane == d    ? block[0]
                                     : axes.row == d   ? block[1]
                                     : axes.layer == d ? block[2]
                                                       : 1;
        const auto points = static_cast<std::int64_t>(thread.along[d]) * threads;
        cuts[static_cast<std::size_t>(g)].size =
            std::max<std::int64_t>(1, std::min(points, facts.extents[static_cast<std::size_t>(g)]));
    }
    TileWork work;
    const std::int64_t threads = block[0] * block[1] * block[2];
    work.warps_per_tile = static_cast<int>((threads + kWarp - 1) / kWarp);
    work.threads_per_block = work.warps_per_tile * kWarp;
    const std::vector<double> computed{thread.all() * static_cast<double>(threads)};
    count_tiles(group, cuts, computed, work);
    work.redundant = 0;

    // In blocks of points that share a loop (fusion/loop_block.h), reads and operations are those of a point.
    const bool in_block = stage.block_reads < 1 || stage.block_operations < stage.operations;
    double operations = 0, as_written = 0, accesses = 0, wavefronts = 0, narrow = 0, loaded = 0;
    for (const Operations& share : stage.shares) {
        double times = 1;
        for (std::size_t d = 0; d < rank; ++d) times *= (share.dims >> d & 1U) != 0 ? thread.along[d] : 1;
        operations += share.count * times;
        if (share.as_written) as_written += share.count * times;
    }
    if (in_block && operations > 0) {
        const double shared = stage.block_operations * thread.all() / operations;
        operations *= shared, as_written *= shared;
    }
    for (const Load& load : stage.loads) {
        const ThreadReads reads = reads_of(load, thread);
        accesses += reads.accesses * stage.block_reads;
        as_written += 2 * reads.accesses * stage.block_reads * load.in_loops;
        // A block shares most of what its points read at the same place, such as weights: not known of each load.
        const double lines = in_block || !axes.lane
                                 ? 0
                                 : lines_apart(load, static_cast<int>(*axes.lane), static_cast<double>(thread.columns),
                                               axes.turned ? static_cast<double>(block[0]) : kWarp);
        if (reads.accesses * lines > reads.wavefronts) {
            work.apart += static_cast<double>(work.warps_per_tile) * reads.accesses * lines;
        } else {
            wavefronts += reads.wavefronts * stage.block_reads;
        }
        loaded += reads.elements * load.bytes / 4.0;
        if (load.bytes < 4 && thread.columns > 1) narrow += reads.elements;
    }
    const double stored = thread.all() * stage.bytes;
    const double stores =
        thread.columns > 1 ? std::ceil(stored / static_cast<double>(plan::kAccessBytes)) : thread.all();
    if (stage.bytes < 4 && thread.columns > 1) narrow += thread.all();
    wavefronts += std::max(stores, stored / 4);
    const auto warps = static_cast<double>(work.warps_per_tile);
    work.instructions = work.at_edges = warps * (operations + narrow + 2 * (accesses + stores));
    work.as_written = work.as_written_at_edges = warps * as_written;
    work.half_rate = warps * (operations * stage.half_rate + narrow);
    work.wavefronts = warps * wavefronts;
    work.loads = accesses;
    work.bytes = tile_bytes(group, cuts, Extents(group, cuts), computed, static_cast<double>(thread.columns), true);
    // What the points of a block share is loaded once.
    const double stored_bytes = std::min(work.bytes, computed.front() * stage.bytes);
    work.bytes = stored_bytes + (work.bytes - stored_bytes) * stage.block_reads;
    work.registers = std::max(24, stage.registers + static_cast<int>(std::min(kMostLoaded, loaded)));
    work.serial = stage.serial;
    work.serial_loads = stage.serial_loads;
    work.access_bytes = static_cast<int>(std::min<std::int64_t>(plan::kAccessBytes, thread.columns * stage.bytes));
    return work;
}

void share_lanes(const StageFacts& stage, TileWork& work) {
    const auto points = static_cast<double>(stage.points);
    const double warps = static_cast<double>(plan::stage_lane_warps(stage.points));
    const double lanes = kWarp, tiles = std::max(1.0, points / warps);
    // Of a warp that had a point in each lane.
    const double before = work.warps_per_tile, part = warps / before / lanes;
    work.instructions = work.instructions * part + warps * kLaneInstructions;
    work.at_edges = work.instructions;
    work.as_written = work.as_written * part + warps * kLaneInstructions, work.as_written_at_edges = work.as_written;
    work.half_rate *= part, work.wavefronts *= part, work.apart = 0;
    work.loads = std::ceil(work.loads / lanes);
    work.bytes *= work.tiles / tiles;
    work.tiles = tiles, work.tiles_a_block = 1;
    work.warps_per_tile = static_cast<int>(warps), work.threads_per_block = work.warps_per_tile * kWarp;
}

void take_own_blocks(const GroupFacts& facts, TileWork& work) {
    std::vector<std::set<ir::Source>> read;
    bool loops = true;
    for (const StageFacts& stage : facts.stages) {
        std::set<ir::Source>& sources = read.emplace_back();
        for (const Load& load : stage.loads) sources.insert(load.source);
        loops = loops && std::ranges::any_of(stage.loads, [](const Load& load) { return load.in_loops > 0; });
    }
    if (!plan::have_own_blocks(read, loops)) return;
    const auto parts = static_cast<double>(facts.stages.size());
    work.tiles *= parts;
    for (double* of : {&work.instructions, &work.at_edges, &work.as_written, &work.as_written_at_edges, &work.half_rate,
                       &work.wavefronts, &work.apart, &work.bytes, &work.loads}) {
        *of /= parts;
    }
}

}  // namespace pipec::cost
