// What a register tile asks of a GPU.
#include <algorithm>
#include <cmath>
#include <map>

#include "fusion/tile_cuts.h"

namespace pipec::fusion {

namespace {

/// Registers of a thread of a register tile: for addresses, for what is loaded at the start (parts of it are used up
/// while others are on their way), for the rows that readers still need, and for sums that nvcc begins early. Least
/// squares over 93 measured kernels; a program that is left out is met within 22% (root of the mean square).
constexpr double kOwnRegisters = 23, kLoadedRegisters = 0.32, kWindowRegisters = 0.46, kValueRegisters = 0.13;
/// nvcc takes up to half as many again, and then spills.
constexpr double kMostRegisters = 125;

}  // namespace

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
    struct Columns {
        double lo, hi;
    };
    std::map<ir::Source, Columns> columns_of;  // of arrays in global memory, as far as a lane's tile reaches
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
    }
    for (const auto& [source, all] : columns_of) {
        // Lanes load the columns that all ask for, where those are not at their own place (register_homes.h).
        const double home = all.lo > 0   ? std::floor(all.lo / columns) * columns
                            : all.hi < 0 ? std::ceil(all.hi / columns) * columns
                                         : 0;
        left = std::max(left, home - all.lo);
        right = std::max(right, all.hi - home);
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
    std::map<ir::Source, Touched> loaded;
    std::map<ir::Source, int> element_bytes;
    std::map<ir::Source, double> lines;  // that a warp's elements of a row spread over
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
            const bool inner = facts.member(load) >= 0;
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
                work.loads += points * load.reads;
                work.wavefronts += points * load.reads * (regular ? 1 : 6);
                continue;
            }
            const Footprint f = footprint(load, [&](std::size_t d) { return along(m, d); });
            loaded[load.source].add(f);
            // Columns that are not adjacent in memory (one channel of interleaved ones): a warp reaches further.
            double apart = load.bytes;
            for (std::size_t i = 0; i < load.indices.size(); ++i) {
                if (load.indices[i]->dim >= 0 &&
                    facts.group.alignment[m][static_cast<std::size_t>(load.indices[i]->dim)].dim ==
                        static_cast<int>(lane_dim))
                    break;
                apart *= static_cast<double>(load.extents[i]);
            }
            lines[load.source] = std::max(lines[load.source], apart * columns * kWarp / kLineBytes);
            element_bytes[load.source] = load.bytes;
        }
        double operations = 0;  // what is the same for several points of a lane, once
        for (const Operations& share : stage.shares) {
            double times = 1;
            for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
                if ((share.dims >> d & 1U) != 0) times *= along(m, d);
            }
            operations += times * share.count;
        }
        work.instructions += operations + points * 3 * gathers;
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
        widest += window * rows * std::max(1.0, stage.bytes / 4.0);
    }
    if (values > 4096) return std::nullopt;  // register_values.cpp
    // Accesses of a lane that are longer than the widest one leave gaps between lanes.
    double longest = 0;
    for (const auto& [source, touched] : loaded) {
        for (const Footprint& f : touched.boxes())
            longest = std::max(longest, f.elements / f.rows * element_bytes[source]);
    }
    work.access_bytes = static_cast<int>(std::min(16.0, longest));
    work.gaps = std::max(1.0, columns * widths(facts).least / 16);
    // Input rows are loaded before anything else.
    double registers = 0;
    for (const auto& [source, touched] : loaded) {
        for (const Footprint& f : touched.boxes()) {
            const double bytes = f.elements * element_bytes[source];
            registers += bytes / 4;
            const double accesses = std::max(f.rows, std::ceil(bytes / 16));
            work.instructions += 2 * accesses + (element_bytes[source] < 4 ? f.elements : 0);
            work.loads += accesses;
            // Single elements, or whole words: then as many lines as there are bytes.
            const bool single = f.rows > accesses / 2 && bytes < accesses * 4;
            const double reach = std::clamp(lines[source], 1.0, static_cast<double>(kWarp));
            work.wavefronts += single ? accesses * reach : std::max(accesses, bytes * kWarp / kLineBytes);
        }
    }
    for (const auto& [source, edge] : read_across) {
        const double across = edge.hi - edge.lo;
        if (across <= 0) continue;
        double rows = 0;
        if (const auto found = loaded.find(source); found != loaded.end()) {
            for (const Footprint& f : found->second.boxes()) rows += f.rows;
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
    work.at_edges = work.instructions;
    count_tiles(facts, cuts, computed, work);
    // Halo lanes load too.
    Cuts loading = cuts;
    loading[lane_dim].size = std::max(loading[lane_dim].size, std::int64_t{1});
    work.bytes = tile_bytes(facts, loading, computed, columns, true);
    return work;
}

}  // namespace pipec::fusion
