#include "cost/paper_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "cost/tile_facts.h"
#include "plan/tiles.h"

namespace pipec::cost {

using fusion::Load;
using fusion::LoadCache;
using fusion::StageFacts;
using fusion::Strategy;

namespace {

/// Weights of GPUs for which the paper has none: those of its newer one, V100 (tab:weights).
constexpr std::array<double, 7> kWeights{50, 0.5, 60, 10, 2, 100, 1};
constexpr std::array<int, 2> kTransactions{32, 128};
constexpr int kMostWarps = 32;  ///< of a block

/// Clocks that one thread waits for an arithmetic result, and more for the first result of shared memory: one thread by
/// itself hides neither (Z. Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018).
constexpr double kResultClocks = 4;
constexpr double kTileReadClocks = 19;

/// TimePerIter: seconds that a single thread takes for a point whose loads come from shared memory.
double time_per_iteration(const StageFacts& stage, const Gpu& gpu) {
    if (stage.seconds) return *stage.seconds;
    const double clocks =
        kResultClocks * std::max(1.0, stage.operations + stage.reads) + (stage.reads > 0 ? kTileReadClocks : 0);
    return clocks / gpu.clock_hz;
}

/// What depends on neither tile nor block: TimePerIter and RegUsage of all members, and warpBW.
struct GroupPart {
    GroupPart(const GroupFacts& facts, const Gpu& gpu) : weights(gpu.paper_weights.value_or(kWeights)) {
        for (const StageFacts& stage : facts.stages) {
            time += time_per_iteration(stage, gpu);
            registers += stage.registers;
        }
        // Bandwidth shared out equally among the warps that execute at the same time.
        warp_bandwidth = gpu.dram_bandwidth * gpu.warp_size / (static_cast<double>(gpu.sms) * gpu.cores_per_sm);
    }
    std::array<double, 7> weights;
    double time = 0;
    int registers = 0;
    double warp_bandwidth = 0;
};

/// Sum over GetGlobalMemLoads of MinGLTxs: transactions of a warp for one iteration of its tile.
double loads_of_iteration(const GroupFacts& facts, const std::array<int, 3>& lanes, int transaction) {
    double sum = 0;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        for (const Load* load : global_loads(facts, m)) sum += transactions(facts, m, *load, lanes, transaction);
    }
    return sum;
}

/// What depends on the tile and the shape of a warp, but not on the number of warps.
struct TilePart {
    TileFacts tile;
    double volume = 1;   ///< tileVol: iterations of a lane
    double overlap = 0;  ///< fracOverlap
    /// By divide_scratch: bytes of a warp's scratch, by tenths of the split dimension's iterations that are in
    /// registers.
    std::array<std::int64_t, 11> scratch{};
};

TilePart tile_part(const GroupFacts& facts, const TileShape& shape) {
    TilePart part;
    part.tile = tile_facts(facts, shape);
    const int rank = facts.group.rank;
    for (int g = 0; g < rank; ++g) {
        const int axis = rank - 1 - g;
        const double size = static_cast<double>(part.tile.size[static_cast<std::size_t>(g)]);
        part.volume *= axis > 2 ? size : size / shape.lanes[static_cast<std::size_t>(axis)];
    }
    part.overlap = part.tile.redundant();
    return part;
}

void divide_scratch(TilePart& part, const GroupFacts& facts, const TileShape& shape) {
    part.scratch.fill(part.tile.scratch_bytes);
    const int split = paper_split(shape.tile);
    const auto axis = static_cast<std::size_t>(split);
    std::int64_t before = 0;
    for (std::size_t tenths = 1; tenths <= 10 && part.tile.scratch_bytes > 0; ++tenths) {
        // R_i = T_i x fracReg (Algorithm 1); what overlaps stays in shared memory.
        const std::int64_t rounds = std::lround(shape.tile[axis] * static_cast<double>(tenths) / 10);
        part.scratch[tenths] =
            rounds == before
                ? part.scratch[tenths - 1]
                : scratch_beside_registers(facts, part.tile, facts.group.rank - 1 - split, rounds * shape.lanes[axis]);
        before = rounds;
    }
}

/// The lines of Algorithm 2 from the check of shared memory on. `loads` is loads_of_iteration.
std::optional<PaperCost> finish(const GroupPart& group, const TilePart& part, const Gpu& gpu, double loads, int warps,
                                int tenths, int transaction) {
    const std::array<double, 7>& w = group.weights;
    const double threads = static_cast<double>(warps) * gpu.warp_size;
    const double blocks_per_sm_total = std::ceil(std::ceil(part.tile.tiles / warps) / gpu.sms);  // tbPerSM

    PaperCost c;
    const auto full = static_cast<double>(part.tile.scratch_bytes);
    const auto shared = static_cast<double>(part.scratch[static_cast<std::size_t>(tenths)]);
    c.shared_per_block = shared * warps;
    if (c.shared_per_block > static_cast<double>(gpu.shared_per_block)) return std::nullopt;
    const double register_tile = (full - shared) * warps / threads / 4;  // registers are of four bytes

    c.transactions = loads * part.volume;

    const double shared_per_sm = static_cast<double>(gpu.shared_per_sm);
    const double blocks_per_sm =  // maxTBPerSM
        c.shared_per_block > 0 ? std::min<double>(std::floor(shared_per_sm / c.shared_per_block), gpu.blocks_per_sm)
                               : gpu.blocks_per_sm;
    const double shared_warps = std::min<double>(blocks_per_sm * warps, gpu.warps_per_sm);  // shMemOcc

    c.registers_per_thread = register_tile + group.registers;
    if (c.registers_per_thread > gpu.registers_per_thread) return std::nullopt;
    const double threads_per_sm = std::min<double>(gpu.registers_per_sm / c.registers_per_thread, gpu.threads_per_sm);
    const double register_warps = std::floor(threads_per_sm / gpu.warp_size);  // regOcc
    c.occupancy = std::min(shared_warps, register_warps) / gpu.warps_per_sm;

    c.mem_time = transaction * c.transactions / group.warp_bandwidth;
    c.compute_time = group.time * part.volume;

    c.unallocated_shared = 1 - c.shared_per_block * blocks_per_sm / shared_per_sm;
    const double registers_used = c.registers_per_thread * gpu.warps_per_sm * gpu.warp_size;  // regPerSM
    c.unused_registers = 1 - registers_used * c.occupancy / gpu.registers_per_sm;
    c.overlap = part.overlap;
    c.extra_blocks = std::fmod(blocks_per_sm_total, blocks_per_sm);

    c.cost = w[0] * c.transactions + w[1] * (1 - c.occupancy) + w[2] * c.mem_time / c.compute_time +
             w[3] * c.unallocated_shared + w[4] * c.unused_registers + w[5] * c.overlap + w[6] * c.extra_blocks;
    return c;
}

/// Shapes of a warp that a group of this rank can use.
std::vector<std::array<int, 3>> warp_shapes(int rank, int warp) {
    std::vector<std::array<int, 3>> result;
    for (int x = warp; x >= 1; x /= 2) {
        for (int y = warp / x; y >= 1; y /= 2) {
            const int z = warp / (x * y);
            if ((y == 1 || rank > 1) && (z == 1 || rank > 2)) result.push_back({x, y, z});
        }
    }
    return result;
}

/// A block of so many warps of this shape, by code generation's rules: its extents are powers of two or, in x,
/// multiples of a warp. To the cost function all of them are the same.
std::optional<std::array<int, 3>> block_of(const std::array<int, 3>& shape, int warps, int rank) {
    const bool power = std::has_single_bit(static_cast<unsigned>(warps));
    if (shape[1] == 1 && shape[2] == 1) {
        if (power && rank > 1) return std::array{shape[0], warps, 1};
        return std::array{shape[0] * warps, 1, 1};
    }
    if (!power) return std::nullopt;
    if (shape[2] == 1) return std::array{shape[0], shape[1] * warps, 1};
    return std::array{shape[0], shape[1], shape[2] * warps};
}

/// The argmin expression of the paper, over all tiles, blocks, parts in registers and sizes of transactions. No term is
/// below zero, so that some of the terms bound the cost from below; of blocks only the number of warps and the shape of
/// a warp matter. What is left out costs no less than what is found.
class Minimum {
public:
    Minimum(const GroupFacts& facts, const Gpu& gpu, const PaperOptions& options)
        : facts_(facts),
          gpu_(gpu),
          options_(options),
          group_(facts, gpu),
          largest_scratch_(gpu.shared_per_block + std::int64_t{4} * gpu.registers_per_thread * gpu.warp_size) {}

    std::optional<PaperChoice> run() {
        if (group_.registers > gpu_.registers_per_thread || !(options_.otpw || options_.hybrid)) return std::nullopt;
        for (const std::array<int, 3>& lanes : warp_shapes(facts_.group.rank, gpu_.warp_size)) try_shape(lanes);
        return best_;
    }

private:
    /// A tile in one dimension, and how often a lane iterates over it.
    struct Size {
        int tile;
        double iterations;
    };

    /// The sizes of a tile along x, y or z that differ once they are multiples of what the group's scales ask for.
    [[nodiscard]] std::vector<Size> sizes(int axis, int lanes) const {
        const int dim = facts_.group.rank - 1 - axis;
        if (dim < 0) return {{1, 1}};
        const std::int64_t unit = facts_.units[static_cast<std::size_t>(dim)];
        std::vector<Size> result;
        std::int64_t before = 0;
        for (int tile = 1; tile <= options_.largest_tile; ++tile) {
            const std::int64_t units = (std::int64_t{tile} * lanes + unit - 1) / unit;
            if (units != before) result.push_back({tile, static_cast<double>(units * unit) / lanes});
            before = units;
        }
        return result;
    }

    void try_shape(const std::array<int, 3>& lanes) {
        for (std::size_t t = 0; t < kTransactions.size(); ++t) {
            loads_[t] = loads_of_iteration(facts_, lanes, kTransactions[t]);
            fixed_[t] = group_.weights[2] * kTransactions[t] * loads_[t] / group_.warp_bandwidth / group_.time;
        }
        const std::vector<Size> along_x = sizes(0, lanes[0]), along_y = sizes(1, lanes[1]),
                                along_z = sizes(2, lanes[2]);
        const auto is_too_dear = [&](double volume) {
            return bound(0, volume, 0) >= least_ && bound(1, volume, 0) >= least_;
        };
        for (const Size& z : along_z) {
            if (is_too_dear(z.iterations)) break;
            for (const Size& y : along_y) {
                if (is_too_dear(z.iterations * y.iterations)) break;
                for (const Size& x : along_x) {
                    if (is_too_dear(z.iterations * y.iterations * x.iterations)) break;
                    if (!try_tile({lanes, {x.tile, y.tile, z.tile}})) break;
                }
            }
        }
    }

    /// What a tile costs at least.
    [[nodiscard]] double bound(std::size_t transaction, double volume, double overlap) const {
        return group_.weights[0] * loads_[transaction] * volume + fixed_[transaction] + group_.weights[5] * overlap;
    }

    /// False where the tile is too large, and larger ones are, too.
    bool try_tile(const TileShape& shape) {
        TilePart part = tile_part(facts_, shape);
        if (part.tile.scratch_bytes > largest_scratch_) return false;
        bool divided = false;
        for (std::size_t t = 0; t < kTransactions.size(); ++t) {
            if (bound(t, part.volume, part.overlap) >= least_) continue;
            if (!divided) divide_scratch(part, facts_, shape);
            divided = true;
            for (int warps = 1; warps <= kMostWarps; ++warps) {
                const auto block = block_of(shape.lanes, warps, facts_.group.rank);
                if (!block) continue;
                for (int tenths = options_.otpw ? 0 : 1; tenths <= (options_.hybrid ? 10 : 0); ++tenths) {
                    // As many iterations in registers as with a smaller part: the same code.
                    const auto now = static_cast<std::size_t>(tenths);
                    if (tenths > 0 && part.scratch[now] == part.scratch[now - 1]) continue;
                    const auto cost = finish(group_, part, gpu_, loads_[t], warps, tenths, kTransactions[t]);
                    if (!cost || cost->cost >= least_) continue;
                    least_ = cost->cost;
                    best_ = PaperChoice{{shape.tile, *block, tenths, kTransactions[t]}, *cost};
                }
            }
        }
        return true;
    }

    const GroupFacts& facts_;
    const Gpu& gpu_;
    const PaperOptions& options_;
    const GroupPart group_;
    const std::int64_t largest_scratch_;  ///< what a warp can hold in shared memory and registers together
    std::array<double, 2> loads_{};       ///< of the warp's shape, by size of transactions
    std::array<double, 2> fixed_{};       ///< the third term
    double least_ = std::numeric_limits<double>::infinity();
    std::optional<PaperChoice> best_;
};

}  // namespace

int paper_split(const std::array<int, 3>& tile) {
    return static_cast<int>(std::max_element(tile.begin(), tile.end()) - tile.begin());
}

std::optional<PaperCost> paper_cost(const GroupFacts& facts, const Gpu& gpu, const PaperPoint& point) {
    const std::array<int, 3> lanes = plan::warp_shape(point.block);  // WarpSizes
    const int warps = point.block[0] * point.block[1] * point.block[2] / gpu.warp_size;
    TilePart part = tile_part(facts, {lanes, point.tile});
    divide_scratch(part, facts, {lanes, point.tile});
    return finish(GroupPart(facts, gpu), part, gpu, loads_of_iteration(facts, lanes, point.transaction), warps,
                  point.tenths, point.transaction);
}

std::optional<PaperChoice> paper_minimum(const GroupFacts& facts, const Gpu& gpu, const PaperOptions& options) {
    return Minimum(facts, gpu, options).run();
}

GroupSchedule paper_schedule(const ir::Pipeline& pipeline, const GroupFacts& facts, const PaperPoint& point) {
    GroupSchedule schedule;
    for (const int s : facts.group.stages) {
        schedule.stages.push_back(pipeline.stages.at(static_cast<std::size_t>(s)).name);
    }
    schedule.block = point.block;
    schedule.tile = point.tile;
    schedule.load_cache = point.transaction == 128 ? LoadCache::Ca : LoadCache::Cg;
    schedule.strategy = point.tenths > 0 ? Strategy::Hybrid : Strategy::Otpw;
    if (point.tenths > 0) {
        schedule.split = paper_split(point.tile);
        schedule.frac_reg = point.tenths / 10.0;
    }
    return schedule;
}

}  // namespace pipec::cost
