#include "fusion/tile_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "fusion/march.h"

namespace pipec::fusion {

namespace {

constexpr int kWarp = 32;
constexpr int kLineBytes = 128;  ///< that the load/store units move at once
constexpr int kSectorBytes = 32;
/// A dimension of the group with no more points lies in every lane of a register tile as a whole (register_shape.cpp).
constexpr std::int64_t kShortExtent = 8;
/// Registers of a thread of a register tile: for addresses, for what is loaded at the start (parts of it are used up
/// while others are on their way), for the rows that readers still need, and for sums that nvcc begins early. Least
/// squares over 93 measured kernels; a program that is left out is met within 22% (root of the mean square).
constexpr double kOwnRegisters = 23, kLoadedRegisters = 0.32, kWindowRegisters = 0.46, kValueRegisters = 0.13;
/// nvcc takes up to half as many again, and then spills.
constexpr double kMostRegisters = 125;
/// Instructions and accesses of the load/store units for what facts count of them: expressions that code shares, and
/// what is simpler than it looks. `place`: instructions of a warp for the place of a tile, its limits, and the choice
/// of its code. Means over measured kernels (docs/cost-model.md).
struct Simplified {
    double instructions, wavefronts, place;
};
constexpr Simplified kStage{0.74, 0.5, 60}, kShared{0.97, 0.65, 110}, kSharedColumns{1.47, 0.65, 110},
    kHybrid{0.73, 0.65, 110}, kRegisters{1.07, 1.63, 179};

TileWork simplified(TileWork work, const Simplified& by) {
    work.instructions = work.instructions * by.instructions + by.place * work.warps_per_tile;
    work.wavefronts *= by.wavefronts;
    return work;
}

double ceil_to(double a, double unit) {
    return std::ceil(a / unit) * unit;
}

/// What tiles of an accumulate read of an array, less what belongs to them alone.
constexpr double kGatherOverlap = 1.3;

/// How a dimension of the group is cut into tiles.
struct Cut {
    std::int64_t size = 1;     ///< of a tile, in group coordinates
    std::int64_t covered = 1;  ///< what its lanes compute of it, where that is more
    int lanes = 1;             ///< threads of the team in it
    int vector = 1;            ///< adjacent points of a lane
    int teams = 1;             ///< of a block
};

using Cuts = std::vector<Cut>;

/// Points of member `m` that a tile computes in its dimension `d`.
double extent(const GroupFacts& facts, const Cuts& cuts, std::size_t m, std::size_t d) {
    const poly::Alignment& a = facts.group.alignment[m][d];
    const StageFacts& stage = facts.stages[m];
    const auto all = static_cast<double>(stage.hi[d] - stage.lo[d]);
    if (a.dim < 0) return all;
    const auto g = static_cast<std::size_t>(a.dim);
    return static_cast<double>(poly::tile_extent(a, facts.group.reach[m][g], cuts[g].size).count);
}

/// Tiles that cover the group's outputs, and the part of the computed points that is redundant.
void count_tiles(const GroupFacts& facts, const Cuts& cuts, const std::vector<double>& computed, TileWork& work) {
    work.tiles = 1;
    std::vector<double> count;
    for (std::size_t g = 0; g < cuts.size(); ++g) {
        const double n = std::ceil(static_cast<double>(facts.extents[g]) / static_cast<double>(cuts[g].size));
        count.push_back(std::max(1.0, n));
        work.tiles *= count.back();
    }
    double once = 0, all = 0;
    for (std::size_t m = 0; m < computed.size(); ++m) {
        once += static_cast<double>(facts.stages[m].points);
        all += computed[m] * work.tiles;
    }
    work.redundant = once > 0 ? std::max(0.0, all / once - 1) : 0;
    work.tiles_a_block = 1;
    for (const Cut& cut : cuts) work.tiles_a_block *= cut.teams;
}

/// Elements of a source that `n` adjacent points of the reader touch in one dimension.
double touched(const poly::IndexRelation& r, double n, std::int64_t extent) {
    const double span =
        (static_cast<double>(r.num) * (n - 1) + static_cast<double>(r.hi - r.lo)) / static_cast<double>(r.den) + 1;
    return std::min(std::floor(span), static_cast<double>(extent));
}

/// What a tile reads of a source in global memory: the box that its readers touch.
struct Footprint {
    double elements = 1, bytes = 0;
    double rows = 1;  ///< runs of elements that lie one after the other
    bool known = true;
};

template <class PointsAlong>
Footprint footprint(const Load& load, const PointsAlong& points_along) {
    Footprint f;
    bool whole = true;  // up to here, the innermost dimensions are read as a whole: what lies around them goes on
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
        const auto& r = load.indices[i];
        const auto all = static_cast<double>(load.extents[i]);
        if (!r) {
            f.known = false;
            continue;
        }
        const double n = r->dim < 0 ? std::min(all, static_cast<double>(r->hi - r->lo + 1))
                                    : touched(*r, points_along(static_cast<std::size_t>(r->dim)), load.extents[i]);
        f.elements *= n;
        if (i > 0 && !whole) f.rows *= n;
        whole = whole && n >= all;
    }
    const double run = f.elements / f.rows * load.bytes;
    f.bytes = f.rows * (ceil_to(run, kSectorBytes) + kSectorBytes / 2.0);
    return f;
}

/// Bytes that a team loads from and stores to global memory for one tile.
double tile_bytes(const GroupFacts& facts, const Cuts& cuts, const std::vector<double>& computed) {
    std::map<ir::Source, double> loaded;
    double bytes = 0, owned = 1;  // owned: the tile's part of all points
    for (std::size_t g = 0; g < cuts.size(); ++g) {
        owned *= static_cast<double>(cuts[g].size) / static_cast<double>(std::max(cuts[g].size, facts.extents[g]));
    }
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const auto along = [&](std::size_t d) { return extent(facts, cuts, m, d); };
        for (const Load* load : global_loads(facts, m)) {
            // No more than what is read, however far apart (tables, mirrored borders).
            const Footprint f = footprint(*load, along);
            const double most = computed[m] * load->reads * load->bytes * 2;
            double asked = f.known ? std::min(f.bytes, most) : most;
            if (!facts.stages[m].pure) {  // what is gathered: each tile's part of the array, and a little around it
                double all = load->bytes * kGatherOverlap * owned;
                for (const std::int64_t n : load->extents) all *= static_cast<double>(n);
                asked = std::min(asked, all);
            }
            loaded[load->source] = std::max(loaded[load->source], asked);
        }
        if (facts.live[m]) bytes += static_cast<double>(facts.stages[m].points) * facts.stages[m].bytes * owned;
    }
    for (const auto& [source, asked] : loaded) bytes += asked;
    return bytes;
}

/// Bytes to which rows of all arrays in global memory are aligned, at most 16: wider accesses are impossible.
int row_alignment(const GroupFacts& facts) {
    std::int64_t bytes = 16;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const StageFacts& stage = facts.stages[m];
        if (facts.live[m] && !stage.lo.empty())
            bytes = std::gcd(bytes, (stage.hi.back() - stage.lo.back()) * stage.bytes);
        for (const Load* load : global_loads(facts, m)) {
            if (!load->extents.empty()) bytes = std::gcd(bytes, load->extents.front() * load->bytes);
        }
    }
    return static_cast<int>(std::max<std::int64_t>(1, bytes));
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
    work.instructions = warps * (stage.operations + 2 * stage.reads + 2);
    double waves = warps * stage.bytes * kWarp / kLineBytes;
    for (const Load& load : stage.loads) {
        bool regular = true;
        for (const auto& r : load.indices) regular = regular && r;
        waves += warps * load.reads * (regular ? std::max(1.0, load.bytes / 4.0) : 4);
    }
    work.wavefronts = waves;
    work.bytes = tile_bytes(facts, cuts, computed);
    work.registers = std::max(24, stage.registers);
    work.serial = stage.serial;
    work.access_bytes = vector * stage.bytes;
    return work;
}

// ----------------------------------------------------------------------------------------------- tiles in shared
// memory

std::optional<TileWork> scratch_work(const GroupFacts& facts, const GroupSchedule& s) {
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
    std::vector<double> computed;
    double scratch = 0, deepest = 0;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const StageFacts& stage = facts.stages[m];
        double points = 1, rounds = 1;  // rounds: of a warp, partial ones too
        for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
            const double n = extent(facts, cuts, m, d);
            points *= n;
            const int g = facts.group.alignment[m][d].dim;
            const double each =
                g < 0 ? 1 : warp_lanes(static_cast<std::size_t>(g)) * cuts[static_cast<std::size_t>(g)].vector;
            rounds *= std::ceil(n / each);
        }
        computed.push_back(points);
        // Threads own what the aligned dimensions tell apart.
        double owners = 1;
        for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
            if (facts.group.alignment[m][d].dim >= 0) owners *= extent(facts, cuts, m, d);
        }
        work.serial += stage.serial * std::ceil(owners / threads);
        const double v = s.vector;
        double inner = 0, outer = 0, wave = 0;
        for (const Load& load : stage.loads) {
            const bool global =
                load.source.kind == ir::Source::Kind::Input ||
                !std::binary_search(facts.group.stages.begin(), facts.group.stages.end(), load.source.index);
            if (load.reads <= 0) continue;
            // Of v adjacent columns, accesses of one row of a stencil are shared.
            double accesses = load.reads * v;
            const auto& along = load.indices.empty() ? std::optional<poly::IndexRelation>{} : load.indices.front();
            const bool regular =
                std::all_of(load.indices.begin(), load.indices.end(), [](const auto& r) { return r.has_value(); });
            if (v > 1 && along && along->dim >= 0) {
                const double width = static_cast<double>(along->hi - along->lo) / static_cast<double>(along->den) + 1;
                const double rows = load.reads / std::min(width, load.reads);
                accesses = std::min(accesses, rows * (std::ceil(v * load.bytes / 16) + std::min(2.0, width - 1)));
                wave += rows * (v + width - 1) * std::max(1.0, load.bytes / 4.0);
            } else {
                wave += accesses * (regular ? std::max(1.0, load.bytes / 4.0) : 4);
            }
            (global ? outer : inner) += accesses;
        }
        const double registers = facts.stages.size() > 1 ? in_registers : 0;
        const double stored = facts.kept[m] ? 1 - registers : 0;
        // A value in a register comes by a shuffle, or is the lane's own; indices of shared memory are constants.
        const double each = stage.operations * v + inner * (1 + registers) + 2 * outer + stored * std::ceil(v / 4) +
                            (facts.live[m] ? 1 : 0) + 4;
        work.instructions += rounds * each;
        work.wavefronts += rounds * (wave + stored * v * std::max(1.0, stage.bytes / 4.0) +
                                     (facts.live[m] ? v * stage.bytes / 4.0 : 0));
        const bool in_window = march && march->members[m].rows;
        const double kept = in_window ? points * static_cast<double>(march->members[m].window) /
                                            static_cast<double>(march->members[m].count)
                                      : points;
        if (facts.kept[m]) scratch += kept * stage.bytes * (1 - 0.75 * registers);
        if (facts.kept[m] && !in_window) ++work.barriers;
        if (outer > 0) work.waits += m > 0 ? 1 : 0;
        deepest = std::max(deepest, static_cast<double>(stage.registers) + stage.bytes / 4.0 * v);
        if (outer > 0) work.access_bytes = std::max(work.access_bytes, std::min(16, s.vector * stage.bytes));
    }
    if (march && scratch > 0) work.barriers += static_cast<double>(march->steps);
    count_tiles(facts, cuts, computed, work);
    work.bytes = tile_bytes(facts, cuts, computed);
    work.shared_per_block = static_cast<std::int64_t>(scratch * work.tiles_a_block);
    work.in_phases = true;
    work.registers = static_cast<int>(std::max(32.0, deepest + 8));
    if (in_registers > 0) work.registers += static_cast<int>(in_registers * scratch / 4 / kWarp);
    return work;
}

// --------------------------------------------------------------------------------------------------- tiles in
// registers

/// Bytes of the smallest element that the group loads or stores.
int least_element(const GroupFacts& facts) {
    int least = 16;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        if (facts.live[m]) least = std::min(least, facts.stages[m].bytes);
        for (const Load* load : global_loads(facts, m)) least = std::min(least, load->bytes);
    }
    return least;
}

std::optional<TileWork> register_work(const GroupFacts& facts, const GroupSchedule& s) {
    if (s.block[0] % kWarp != 0) return std::nullopt;
    TileWork work;
    work.threads_per_block = s.block[0] * s.block[1] * s.block[2];
    const std::size_t rank = facts.extents.size();
    if (rank == 0) return std::nullopt;
    Cuts cuts(rank);
    std::size_t lane_dim = 0;
    int axis = 0;
    bool has_lanes = false;
    for (std::size_t g = rank; g-- > 0;) {
        const std::int64_t unit = facts.units[g];
        Cut& cut = cuts[g];
        cut.size = unit;
        if (!has_lanes && g > 0 && facts.extents[g] <= kShortExtent) {
            cut.size = (facts.extents[g] + unit - 1) / unit * unit;
            continue;
        }
        if (axis > 2) continue;
        const int points = s.tile[static_cast<std::size_t>(axis)];
        cut.teams = axis == 0 ? s.block[0] / kWarp : s.block[static_cast<std::size_t>(axis)];
        if (axis == 0) {
            has_lanes = true;
            lane_dim = g;
            if (points % unit != 0) return std::nullopt;
            cut.size = points;
        } else {
            cut.size = (points + unit - 1) / unit * unit;
        }
        ++axis;
    }
    for (; axis < 3; ++axis) {
        if (s.block[static_cast<std::size_t>(axis)] > 1) return std::nullopt;
    }
    const double columns = static_cast<double>(cuts[lane_dim].size);
    // Lanes that serve their neighbours: what inputs are read beyond the tile's own columns.
    double left = 0, right = 0, least_bytes = kSectorBytes;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        double scale = 0;
        for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
            if (facts.group.alignment[m][d].dim != static_cast<int>(lane_dim)) continue;
            scale = static_cast<double>(facts.group.alignment[m][d].scale);
            if (facts.live[m]) least_bytes = std::min(least_bytes, columns / scale * facts.stages[m].bytes);
        }
        if (scale == 0) continue;
        const poly::Distance& reach = facts.group.reach[m][lane_dim];
        left = std::max(left, -static_cast<double>(reach.lo));
        right = std::max(right, static_cast<double>(reach.hi));
        struct Columns {
            double lo, hi;
        };
        std::map<ir::Source, Columns> columns_of;
        for (const Load* load : global_loads(facts, m)) {
            for (const auto& r : load->indices) {
                if (!r || r->dim < 0 ||
                    facts.group.alignment[m][static_cast<std::size_t>(r->dim)].dim != static_cast<int>(lane_dim))
                    continue;
                const double to_group = scale / static_cast<double>(r->num);
                const double lo = static_cast<double>(reach.lo) + static_cast<double>(r->lo) * to_group,
                             hi = static_cast<double>(reach.hi) + static_cast<double>(r->hi) * to_group;
                Columns& all = columns_of.try_emplace(load->source, Columns{lo, hi}).first->second;
                all = {std::min(all.lo, lo), std::max(all.hi, hi)};
            }
        }
        for (const auto& [source, all] : columns_of) {
            // Lanes load the columns that all ask for, where those are not at their own place (register_homes.h).
            const double home = all.lo > 0   ? std::floor(all.lo / columns) * columns
                                : all.hi < 0 ? std::ceil(all.hi / columns) * columns
                                             : 0;
            left = std::max(left, home - all.lo);
            right = std::max(right, all.hi - home);
        }
    }
    const double left_lanes = std::ceil(left / columns - 1e-9), right_lanes = std::ceil(right / columns - 1e-9);
    if (left_lanes + right_lanes > kWarp / 2.0) return std::nullopt;
    double lanes = kWarp - left_lanes - right_lanes;
    const double whole = std::max(1.0, kSectorBytes / std::max(1.0, least_bytes));
    if (const double rounded = std::floor(lanes / whole) * whole; rounded >= lanes * 7 / 8) lanes = rounded;
    cuts[lane_dim].size = static_cast<std::int64_t>(lanes * columns);
    cuts[lane_dim].lanes = kWarp;

    // Points of a lane, by member.
    const auto along = [&](std::size_t m, std::size_t d) {
        const poly::Alignment& a = facts.group.alignment[m][d];
        if (a.dim == static_cast<int>(lane_dim)) return std::max(1.0, columns / static_cast<double>(a.scale));
        return extent(facts, cuts, m, d);
    };
    struct Edge {
        double lo = 0, hi = 0;  // columns from the reader's, in the producer's
        bool any = false;
    };
    std::map<ir::Source, Edge> read_across;
    std::map<ir::Source, Footprint> loaded;
    std::map<ir::Source, int> element_bytes;
    std::vector<double> computed;
    double values = 0, widest = 0;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const StageFacts& stage = facts.stages[m];
        double points = 1, in_lanes = 1;
        for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
            points *= along(m, d);
            in_lanes *= facts.group.alignment[m][d].dim == static_cast<int>(lane_dim) ? kWarp : 1;
        }
        computed.push_back(points * in_lanes);
        values += points;
        double gathers = 0;
        for (const Load& load : stage.loads) {
            const bool inner =
                load.source.kind == ir::Source::Kind::Stage &&
                std::binary_search(facts.group.stages.begin(), facts.group.stages.end(), load.source.index);
            bool regular = true, has_lane = false;
            for (const auto& r : load.indices) {
                regular = regular && r;
                if (!r || r->dim < 0 ||
                    facts.group.alignment[m][static_cast<std::size_t>(r->dim)].dim != static_cast<int>(lane_dim))
                    continue;
                has_lane = true;
                Edge& edge = read_across[load.source];
                const double lo = static_cast<double>(r->lo) / static_cast<double>(r->den),
                             hi = static_cast<double>(r->hi) / static_cast<double>(r->den);
                edge.lo = edge.any ? std::min(edge.lo, lo) : lo;
                edge.hi = edge.any ? std::max(edge.hi, hi) : hi;
                edge.any = true;
            }
            if (inner) continue;
            if (!regular || !has_lane) {
                gathers += load.reads;  // each where it stands
                work.wavefronts += points * load.reads * (regular ? 1 : 6);
                continue;
            }
            const Footprint f = footprint(load, [&](std::size_t d) { return along(m, d); });
            Footprint& known = loaded[load.source];
            if (f.elements > known.elements || known.bytes == 0) known = f;
            element_bytes[load.source] = load.bytes;
        }
        work.instructions += points * (stage.operations + 3 * gathers);
        if (facts.live[m]) {
            const double bytes = points * stage.bytes;
            work.instructions += 2 * std::ceil(bytes / 16) + (stage.bytes < 4 ? points : 0);
            work.wavefronts += bytes * kWarp / kLineBytes;
        }
        // The window of a member: the rows that its readers still read.
        double window = facts.kept[m] || facts.live[m] ? columns : 0;
        double rows = 1;
        for (const poly::GroupEdge& edge : facts.group.edges) {
            if (edge.producer != facts.group.stages[m]) continue;
            double all = 1;
            for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
                const poly::Alignment& a = facts.group.alignment[m][d];
                if (a.dim < 0) {
                    all *= extent(facts, cuts, m, d);
                } else if (a.dim != static_cast<int>(lane_dim)) {
                    const auto g = static_cast<std::size_t>(a.dim);
                    const double whole_dim =
                        facts.extents[g] <= kShortExtent && g > lane_dim ? static_cast<double>(cuts[g].size) : 1;
                    all *= whole_dim + static_cast<double>(edge.distance[g].hi - edge.distance[g].lo) /
                                           static_cast<double>(a.scale);
                }
            }
            rows = std::max(rows, all);
        }
        widest += window * rows * std::max(1.0, stage.bytes / 4.0) * (stage.bytes < 4 ? 1 : 1);
    }
    if (values > 4096) return std::nullopt;  // register_values.cpp
    // Accesses of a lane that are longer than the widest one leave gaps between lanes.
    double longest = 0;
    for (const auto& [source, f] : loaded) longest = std::max(longest, f.elements / f.rows * element_bytes[source]);
    work.access_bytes = static_cast<int>(std::min(16.0, longest));
    work.gaps = std::max(1.0, columns * least_element(facts) / 16);
    // Input rows are loaded before anything else.
    double registers = 0;
    for (const auto& [source, f] : loaded) {
        const double bytes = f.elements * element_bytes[source];
        registers += bytes / 4;
        const double accesses = std::max(f.rows, std::ceil(bytes / 16));
        work.instructions += 2 * accesses + (element_bytes[source] < 4 ? f.elements : 0);
        work.wavefronts += std::max(accesses, bytes * kWarp / kLineBytes);
    }
    for (const auto& [source, edge] : read_across) {
        const double across = edge.hi - edge.lo;
        if (across <= 0) continue;
        double rows = 0;
        if (const auto found = loaded.find(source); found != loaded.end()) {
            rows = found->second.rows;
        } else if (source.kind == ir::Source::Kind::Stage) {
            const std::size_t p = facts.group.position(source.index);
            rows = 1;
            for (std::size_t d = 0; d < facts.group.alignment[p].size(); ++d) {
                if (facts.group.alignment[p][d].dim != static_cast<int>(lane_dim)) rows *= along(p, d);
            }
        }
        work.instructions += across * rows;
        work.wavefronts += across * rows;
    }
    work.registers = static_cast<int>(kOwnRegisters + kLoadedRegisters * registers + kWindowRegisters * widest +
                                      kValueRegisters * values);
    if (work.registers > kMostRegisters) return std::nullopt;
    count_tiles(facts, cuts, computed, work);
    // Halo lanes load too.
    Cuts loading = cuts;
    loading[lane_dim].size = std::max(loading[lane_dim].size, std::int64_t{1});
    work.bytes = tile_bytes(facts, loading, computed);
    return work;
}

}  // namespace

std::optional<TileWork> tile_work(const GroupFacts& facts, const GroupSchedule& schedule) {
    const bool pure_only = schedule.strategy == Strategy::Hybrid || schedule.strategy == Strategy::RegisterTile ||
                           schedule.strategy == Strategy::Stream;
    const auto is_pure = [](const StageFacts& stage) { return stage.pure; };
    if (pure_only && !std::all_of(facts.stages.begin(), facts.stages.end(), is_pure)) return std::nullopt;
    std::optional<TileWork> work;
    Simplified by = kShared;
    switch (schedule.strategy) {
        case Strategy::Stage: work = stage_work(facts), by = kStage; break;
        case Strategy::Otptb:
        case Strategy::Otpw:
            work = scratch_work(facts, schedule);
            if (schedule.vector == 1) by = kSharedColumns;  // no access serves several columns
            break;
        case Strategy::Hybrid: work = scratch_work(facts, schedule), by = kHybrid; break;
        case Strategy::RegisterTile: work = register_work(facts, schedule), by = kRegisters; break;
        case Strategy::Stream: work = scratch_work(facts, schedule), by = kSharedColumns; break;
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
