#include "fusion/tile_work.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "fusion/lane_patches.h"
#include "fusion/march.h"
#include "fusion/patch_work.h"
#include "fusion/tile_cuts.h"

namespace pipec::fusion {

namespace {

/// Instructions and accesses of the load/store units for what facts count of them: expressions that code shares, and
/// what is simpler than it looks. `edges`: how much more a tile at the edges of the image executes for the same points;
/// `place`: instructions of a warp for the place of a tile, its limits, and the choice of its code. Means over measured
/// kernels (docs/cost-model.md).
struct Simplified {
    double instructions, wavefronts, place, edges;
};
constexpr Simplified kStage{1, 0.813, 60, 1}, kShared{0.539, 0.728, 48, 4.3}, kHybrid{0.323, 0.728, 54.2, 1},
    kRegisters{0.741, 0.536, 118, 3.7};

TileWork simplified(TileWork work, const Simplified& by) {
    const double place = by.place * work.warps_per_tile;
    work.wavefronts *= by.wavefronts;
    const double inside = work.instructions * by.instructions + place;
    work.at_edges = work.at_edges * by.instructions * by.edges + place;
    work.instructions = inside * (1 - work.edges) + work.at_edges * work.edges;
    return work;
}

// ------------------------------------------------------------------------------------------------- one stage by itself

/// As code generation makes it: four points a lane where accesses can be wide, else one.
std::optional<TileWork> stage_work(const GroupFacts& facts) {
    if (facts.stages.size() != 1) return std::nullopt;
    const StageFacts& stage = facts.stages.front();
    TileWork work;
    work.threads_per_block = 256;
    Cuts cuts(facts.extents.size());
    const std::size_t rank = cuts.size();
    const int vector = std::max(1, std::min(4, row_alignment(facts) / std::max(1, stage.bytes)));
    std::int64_t left = std::int64_t{work.threads_per_block} * vector;  // of the points of a block
    for (std::size_t g = rank; g-- > 0;) {
        const std::int64_t most = g + 1 == rank ? std::int64_t{kWarp} * vector : left;
        cuts[g].size = std::max<std::int64_t>(1, std::min({left, most, facts.extents[g]}));
        left /= cuts[g].size;
    }
    double points = 1;
    for (const Cut& cut : cuts) points *= static_cast<double>(cut.size);
    const std::vector<double> computed{points};
    count_tiles(facts, cuts, computed, work);
    work.redundant = 0;
    const double warps = points / kWarp;
    work.warps_per_tile = static_cast<int>(std::max(1.0, std::ceil(points / vector / kWarp)));
    work.threads_per_block = work.warps_per_tile * kWarp;
    work.instructions = work.at_edges = warps * (stage.operations + 2 * stage.reads + 2);
    double waves = warps * stage.bytes * kWarp / kLineBytes;
    for (const Load& load : stage.loads) {
        bool regular = true;
        for (const auto& r : load.indices) regular = regular && r;
        waves += warps * load.reads * (regular ? std::max(1.0, load.bytes / 4.0) : 4);
    }
    work.wavefronts = waves;
    work.bytes = tile_bytes(facts, cuts, computed, vector, false);
    work.registers = std::max(24, stage.registers);
    work.serial = stage.serial;
    work.access_bytes = vector * stage.bytes;
    return work;
}

/// An accumulate whose owners gather it is a tile of itself: a thread for each owner, all of its cells in shared
/// memory.
std::optional<GroupSchedule> gathering(const GroupFacts& facts) {
    if (facts.stages.size() != 1 || facts.stages.front().serial <= 1) return std::nullopt;
    const StageFacts& stage = facts.stages.front();
    std::int64_t bytes = stage.bytes;
    for (std::size_t d = 0; d < facts.group.alignment.front().size(); ++d) {
        if (facts.group.alignment.front()[d].dim < 0) bytes *= stage.hi[d] - stage.lo[d];
    }
    GroupSchedule schedule;
    schedule.strategy = Strategy::Otptb;
    schedule.block = gather_block(bytes, facts.group.rank);
    return schedule;
}

// -------------------------------------------------------------------------------------------- tiles in shared memory

/// More shared memory than any GPU has for a block: what such a tile asks for need not be counted.
constexpr double kMostShared = 256.0 * 1024;
/// Instructions for a patch's place in the tile.
constexpr double kPatch = 14;
/// However many patches of a tile load the same row, the L1 cache has it for the others.
constexpr double kMostTimes = 2;
/// Where each lane goes through the points of a cell of its own, that often has less than the whole line for it.
constexpr double kCellTimes = 1.6;

/// Rows of a patch that registers and the instruction cache have room for.
std::int64_t most_rows(PatchCounts& patches, std::size_t m, const PatchAxes& axes, std::int64_t columns) {
    std::int64_t rows = 1, beyond = axes.rows < 0 ? 2 : kPatchPoints / columns + 1;
    while (beyond - rows > 1) {
        const std::int64_t middle = (rows + beyond) / 2;
        const PatchWork& patch = patches.of(m, axes, columns, middle);
        const bool fits = patch.elements <= kPatchElements && patch.operations + patch.elements <= kPatchNodes;
        (fits ? rows : beyond) = middle;
    }
    return rows;
}

/// Bytes of a tile's arrays.
double kept_bytes(const GroupFacts& facts, const Cuts& cuts) {
    double bytes = 0;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        double points = facts.kept[m] ? facts.stages[m].bytes : 0;
        for (std::size_t d = 0; points > 0 && d < facts.group.alignment[m].size(); ++d)
            points *= extent(facts, cuts, m, d);
        bytes += points;
    }
    return bytes;
}

std::optional<TileWork> scratch_work(const GroupFacts& facts, const GroupSchedule& s, PatchCounts& counts) {
    const bool by_warp = s.strategy == Strategy::Otpw || s.strategy == Strategy::Hybrid;
    std::optional<March> march;
    if (s.strategy == Strategy::Stream) {
        auto made = make_march(facts.group, s.block, s.tile);
        if (std::holds_alternative<std::string>(made)) return std::nullopt;
        march = std::move(std::get<March>(made));
    }
    TileWork work;
    work.threads_per_block = s.block[0] * s.block[1] * s.block[2];
    std::array<int, 3> lanes = s.block;
    if (by_warp) {
        lanes[0] = std::min(s.block[0], kWarp);
        lanes[1] = std::min(s.block[1], kWarp / lanes[0]);
        lanes[2] = std::min(s.block[2], kWarp / (lanes[0] * lanes[1]));
    }
    const int threads = lanes[0] * lanes[1] * lanes[2];
    if (by_warp && threads != kWarp) return std::nullopt;
    work.warps_per_tile = std::max(1, threads / kWarp);
    const std::size_t rank = facts.extents.size();
    Cuts cuts(rank);
    for (std::size_t g = 0; g < rank; ++g) {
        const std::size_t axis = rank - 1 - g;
        cuts[g].size = facts.units[g];
        if (axis > 2) continue;
        const std::int64_t size = std::int64_t{s.tile[axis]} * lanes[axis];
        cuts[g].size = march ? march->size[g] : (size + cuts[g].size - 1) / cuts[g].size * cuts[g].size;
        cuts[g].lanes = lanes[axis];
        cuts[g].vector = axis == 0 ? s.vector : 1;
        cuts[g].teams = by_warp ? s.block[axis] / lanes[axis] : 1;
    }
    const double in_registers = s.strategy == Strategy::Hybrid ? s.frac_reg : 0;
    const auto warp_lanes = [&](std::size_t g) -> double {  // threads of one warp in a dimension
        const std::size_t axis = rank - 1 - g;
        if (axis > 2) return 1;
        if (axis == 0) return std::min(lanes[0], kWarp);
        const int x = std::min(lanes[0], kWarp);
        if (axis == 1) return std::min(lanes[1], kWarp / x);
        return std::max(1, kWarp / (x * std::min(lanes[1], kWarp / x)));
    };
    if (!march && in_registers == 0 && kept_bytes(facts, cuts) > kMostShared) return std::nullopt;
    std::vector<double> computed, patch_rows;
    double scratch = 0, deepest = 0;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const StageFacts& stage = facts.stages[m];
        double points = 1, turns = 1;  // turns: of warps, where points are not dealt out in patches; partial ones too
        const bool in_patches = s.strategy == Strategy::Otptb || s.strategy == Strategy::Otpw;
        const PatchAxes axes = in_patches ? patch_axes(facts, cuts, m) : lane_axes(facts, m);
        Patches single;
        for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
            const double n = extent(facts, cuts, m, d);
            points *= n;
            const int g = facts.group.alignment[m][d].dim;
            const double each =
                g < 0 ? 1 : warp_lanes(static_cast<std::size_t>(g)) * cuts[static_cast<std::size_t>(g)].vector;
            turns *= std::ceil(n / each);
            const int dim = static_cast<int>(d);
            (dim == axes.columns ? single.across
             : dim == axes.rows  ? single.down
                                 : single.others) *= static_cast<std::int64_t>(n);
        }
        computed.push_back(points);
        // Threads own what the aligned dimensions tell apart.
        double owners = 1;
        for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
            if (facts.group.alignment[m][d].dim >= 0) owners *= extent(facts, cuts, m, d);
        }
        work.serial += stage.serial * std::ceil(owners / threads);
        // A patch, by how many warps are taken up with one at a time.
        std::int64_t columns = axes.columns >= 0 ? s.vector : 1, rows = 1;
        double at_edges = turns;
        if (in_patches) {
            columns = stage.pure ? patch_columns(facts, cuts, m, axes, s.vector) : 1;
            const Patches row = alike_patches(single, columns, threads, 1);
            at_edges = std::ceil(static_cast<double>(row.count()) / kWarp);
            const bool single_rows = !stage.pure || in_blocks(row, columns_of_cell(facts, m) / columns).block_down > 1;
            const std::int64_t most = single_rows ? 1 : most_rows(counts, m, axes, columns);
            const Patches patches = alike_patches(single, columns, threads, most);
            rows = patches.rows;
            turns = std::ceil(static_cast<double>(patches.count()) / kWarp);
        }
        patch_rows.push_back(static_cast<double>(rows));
        const double registers = facts.stages.size() > 1 ? in_registers : 0;
        const double stored = facts.kept[m] ? 1 - registers : 0;
        const auto instructions = [&](const PatchWork& patch, std::int64_t of_rows) {
            // A value in a register comes by a shuffle, or is the lane's own; indices of shared memory are constants.
            const auto cells = static_cast<double>(columns * of_rows);
            const double accesses = static_cast<double>(of_rows) * std::ceil(static_cast<double>(columns) / 4);
            return patch.operations + patch.inner * (1 + registers) + 2 * patch.outer + 3 * patch.narrow +
                   (stage.bytes < 4 ? stored * cells : 0) + stored * accesses + (facts.live[m] ? 2 * accesses : 0) +
                   kPatch;
        };
        const PatchWork& patch = counts.of(m, axes, columns, rows);
        work.instructions += turns * instructions(patch, rows);
        work.at_edges +=
            at_edges * (rows > 1 ? instructions(counts.of(m, axes, columns, 1), 1) : instructions(patch, 1));
        const auto cells = static_cast<double>(columns * rows);
        work.wavefronts += turns * (patch.wavefronts + stored * cells * std::max(1.0, stage.bytes / 4.0) +
                                    (facts.live[m] ? cells * stage.bytes / 4.0 : 0));
        const bool in_window = march && march->members[m].rows;
        const double kept = in_window ? points * static_cast<double>(march->members[m].window) /
                                            static_cast<double>(march->members[m].count)
                                      : points;
        if (facts.kept[m]) scratch += kept * stage.bytes * (1 - 0.75 * registers);
        if (facts.kept[m] && !in_window) ++work.barriers;
        if (patch.outer > 0) work.waits += m > 0 ? 1 : 0;
        deepest = std::max(deepest, static_cast<double>(stage.registers) + stage.bytes / 4.0 * s.vector);
        if (patch.outer > 0) work.access_bytes = std::max(work.access_bytes, std::min(16, s.vector * stage.bytes));
    }
    if (march && scratch > 0) work.barriers += static_cast<double>(march->steps);
    count_tiles(facts, cuts, computed, work);
    // Patches below each other load what both read: too far apart in time for the L1 cache.
    const auto times = [&](std::size_t m, const Load& load) {
        if (facts.stages[m].serial > 1) return kCellTimes;
        if (load.indices.size() < 2 || !load.indices[1] || load.indices[1]->dim < 0) return 1.0;
        const poly::IndexRelation& r = *load.indices[1];
        const double rows = extent(facts, cuts, m, static_cast<std::size_t>(r.dim)), step = static_cast<double>(r.num);
        const double window = std::max(0.0, static_cast<double>(r.hi - r.lo + 1) - step);
        const double patch = std::clamp(patch_rows[m], 1.0, std::max(1.0, rows));
        return std::min(kMostTimes, std::ceil(rows / patch) * (patch * step + window) / (rows * step + window));
    };
    work.bytes = tile_bytes(facts, cuts, computed, s.vector, false, times);
    work.shared_per_block = static_cast<std::int64_t>(scratch * work.tiles_a_block);
    work.in_phases = true;
    work.registers = static_cast<int>(std::max(32.0, deepest + 8));
    if (in_registers > 0) work.registers += static_cast<int>(in_registers * scratch / 4 / kWarp);
    return work;
}

}  // namespace

std::optional<TileWork> tile_work(const GroupFacts& facts, const GroupSchedule& schedule) {
    PatchCounts counts(facts);
    return tile_work(facts, schedule, counts);
}

std::optional<TileWork> tile_work(const GroupFacts& facts, const GroupSchedule& schedule, PatchCounts& counts) {
    const bool pure_only = schedule.strategy == Strategy::Hybrid || schedule.strategy == Strategy::RegisterTile ||
                           schedule.strategy == Strategy::Stream;
    const auto is_pure = [](const StageFacts& stage) { return stage.pure; };
    if (pure_only && !std::all_of(facts.stages.begin(), facts.stages.end(), is_pure)) return std::nullopt;
    std::optional<TileWork> work;
    Simplified by = kShared;
    switch (schedule.strategy) {
        case Strategy::Stage:
            if (const auto tile = gathering(facts)) {
                work = scratch_work(facts, *tile, counts);
            } else {
                work = stage_work(facts), by = kStage;
            }
            break;
        case Strategy::Otptb:
        case Strategy::Otpw: work = scratch_work(facts, schedule, counts); break;
        case Strategy::Hybrid: work = scratch_work(facts, schedule, counts), by = kHybrid; break;
        case Strategy::RegisterTile: work = register_work(facts, schedule), by = kRegisters; break;
        case Strategy::Stream: work = scratch_work(facts, schedule, counts); break;
    }
    return work ? std::optional(simplified(*work, by)) : std::nullopt;
}

Traffic traffic(const GroupFacts& facts) {
    Traffic result;
    std::map<ir::Source, double> read;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const StageFacts& stage = facts.stages[m];
        if (facts.live[m]) result.outputs += static_cast<double>(stage.points) * stage.bytes;
        for (const Load* load : global_loads(facts, m)) {
            const Footprint f =
                footprint(*load, [&](std::size_t d) { return static_cast<double>(stage.hi[d] - stage.lo[d]); });
            double all = load->bytes;
            for (const std::int64_t n : load->extents) all *= static_cast<double>(n);
            const double bytes = f.known ? std::min(all, f.elements * load->bytes) : all;
            read[load->source] = std::max(read[load->source], bytes);
        }
    }
    for (const auto& [source, bytes] : read) {
        (source.kind == ir::Source::Kind::Input ? result.inputs : result.stages) += bytes;
    }
    return result;
}

}  // namespace pipec::fusion
