// What a register tile asks of a GPU.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "cost/lane_reads.h"
#include "cost/tile_cuts.h"
#include "plan/make_plan.h"
#include "support/integers.h"

namespace pipec::cost {

using fusion::kShortExtent;
using fusion::Operations;
using fusion::StageFacts;

namespace {

/// Registers of a thread of a register tile: for addresses, for what is loaded at the start (parts of it are used up
/// while others are on their way), for the rows that readers still need, and for sums that nvcc begins early. Least
/// squares over 93 measured kernels; a program that is left out is met within 22% (root of the mean square).
constexpr double kOwnRegisters = 23, kLoadedRegisters = 0.32, kWindowRegisters = 0.46, kValueRegisters = 0.13;
/// nvcc takes up to half as many again, and then spills.
constexpr double kMostRegisters = 125;
/// Of an element that all lanes read, in instructions of a lane and in accesses that it waits for: its address is known
/// when the kernel is compiled, or is one for a row of them, and its line is in the L1 cache after the first tile.
/// Some wait in registers for their turn: nvcc loads them long before.
constexpr double kWeightInstructions = 1, kWeightWait = 0.25, kWeightRegisters = 0.1;
/// Points of a lane, at most (codegen/strategies/register/register_values.cpp).
constexpr double kMostValues = 4096;

/// Columns of an array, in group coordinates, or of a producer.
struct Columns {
    double lo = 0, hi = 0;
};

void extend(std::optional<Columns>& all, double lo, double hi) {
    all = all ? Columns{std::min(all->lo, lo), std::max(all->hi, hi)} : Columns{lo, hi};
}

class RegisterWork {
public:
    RegisterWork(const GroupCounts& group, plan::Plan& plan)
        : group_(group),
          facts_(group.facts),
          plan_(plan),
          cuts_(plan.tiles.cuts),
          extents_(group, cuts_),
          lane_dim_(plan.registers->lane_dim),
          columns_(static_cast<double>(plan.registers->columns)),
          read_across_(group.arrays.size()),
          loaded_(group.arrays.size()) {
        work_.threads_per_block = plan.tiles.threads();
    }

    std::optional<TileWork> counted() {
        if (picks_members()) return std::nullopt;
        for (std::size_t m = 0; m < facts_.stages.size(); ++m) add_member(m);
        if (values_ > kMostValues) return std::nullopt;
        const double loaded = add_loads();
        add_shuffles();
        work_.registers = static_cast<int>(kOwnRegisters + kLoadedRegisters * loaded + kWeightRegisters * weights_ +
                                           kWindowRegisters * windows_ + kValueRegisters * values_ + in_turn_);
        if (work_.registers > kMostRegisters) return std::nullopt;
        // What a lane does is the same however many lanes serve their neighbours.
        if (!leave_serving_lanes(group_, plan_)) return std::nullopt;
        work_.at_edges = work_.instructions;
        work_.as_written_at_edges = work_.as_written;
        count_tiles(group_, cuts_, computed_, work_);
        // Halo lanes load too.
        std::int64_t& across = cuts_[lane_dim_].size;
        across = std::max(across, std::int64_t{1});
        const Extents extents(group_, cuts_);
        work_.bytes = tile_bytes(group_, cuts_, extents, computed_, columns_, true);
        work_.streamed = std::min(work_.bytes, streamed(extents));
        return work_;
    }

private:
    [[nodiscard]] bool is_lane(std::size_t m, int dim) const {
        return dim >= 0 && facts_.group.alignment[m][static_cast<std::size_t>(dim)].dim == static_cast<int>(lane_dim_);
    }
    /// Data say which point of a member is read, and registers have no index. (Loops may be written out, and what
    /// depends on a short dimension, as `c % 2` does, may be a number.)
    [[nodiscard]] bool picks_members() const {
        for (std::size_t m = 0; m < group_.members.size(); ++m) {
            const auto& ranges = facts_.shapes[m].ranges;
            if (std::any_of(ranges.begin(), ranges.end(), [](const auto& range) { return range.has_value(); }))
                continue;
            for (const MemberLoad& one : group_.members[m].loads) {
                if (one.member >= 0 && one.load->by_data() && one.load->in_loops == 0) return true;
            }
        }
        return false;
    }
    /// Of loops over channels, whose number nobody knows: each turn reads another plane, and what one tile has read is
    /// not in the L1 cache any more when the next one asks for it.
    [[nodiscard]] double streamed(const Extents& extents) const {
        double bytes = 0;
        for (std::size_t m = 0; m < facts_.stages.size(); ++m) {
            for (const MemberLoad& one : group_.members[m].loads) {
                const Load& load = *one.load;
                bool planes = false;
                for (std::size_t i = 1; i < load.indices.size(); ++i) {
                    const auto& r = load.indices[i];
                    planes = planes || ((load.looped >> i & 1U) != 0 && r && r->dim < 0 && side_by_side(load, *r));
                }
                if (one.member >= 0 || !planes) continue;
                bytes += footprint(load, [&](std::size_t d) { return extents.of(m, d); }).bytes;
            }
        }
        return bytes;
    }
    [[nodiscard]] std::size_t dims(std::size_t m) const { return facts_.group.alignment[m].size(); }

    /// Points of a member that a lane computes in one of its dimensions.
    [[nodiscard]] double along(std::size_t m, std::size_t d) const {
        if (is_lane(m, static_cast<int>(d)))
            return std::max(1.0, columns_ / static_cast<double>(facts_.group.alignment[m][d].scale));
        return extents_.of(m, d);
    }

    /// What a lane computes of a member, and stores.
    void add_member(std::size_t m) {
        const StageFacts& stage = facts_.stages[m];
        double points = 1, in_lanes = 1;
        for (std::size_t d = 0; d < dims(m); ++d) {
            points *= along(m, d);
            in_lanes *= is_lane(m, static_cast<int>(d)) ? kWarp : 1;
        }
        computed_.push_back(points * in_lanes);
        values_ += points;
        double gathers = 0;
        for (const MemberLoad& load : group_.members[m].loads) gathers += add_load(m, load, points);
        const double part = fusion::own_part(facts_, m);
        double operations = 0;  // what is the same for several points of a lane, once
        for (const Operations& share : stage.shares) {
            double times = part;
            for (std::size_t d = 0; d < dims(m); ++d) {
                if ((share.dims >> d & 1U) != 0) times *= along(m, d);
            }
            operations += times * share.count;
            if (share.as_written) work_.as_written += times * share.count;
        }
        work_.instructions += operations + points * 3 * gathers;
        work_.half_rate += operations * stage.half_rate;
        if (facts_.live[m]) {
            const double bytes = points * stage.bytes;
            work_.instructions += 2 * std::ceil(bytes / 16) + (stage.bytes < 4 ? points : 0);
            work_.wavefronts += bytes * kWarp / kLineBytes;
        }
        const double window = facts_.kept[m] || facts_.live[m] ? columns_ : 0;
        windows_ += window * rows_kept(m) * std::max(1.0, stage.bytes / 4.0);
    }

    /// Notes what a member reads. Loads of a point that stand where they are needed: others come at the start.
    double add_load(std::size_t m, const MemberLoad& one, double points) {
        const Load& load = *one.load;
        bool regular = true, has_lane = false;
        int lane = -1;
        for (const auto& r : load.indices) {
            regular = regular && r;
            if (!r || !is_lane(m, r->dim)) continue;
            has_lane = true;
            lane = r->dim;
            extend(read_across_[one.array], static_cast<double>(r->lo) / static_cast<double>(r->den),
                   static_cast<double>(r->hi) / static_cast<double>(r->den));
        }
        if (one.member >= 0) return 0;
        if (regular && !has_lane && load.in_loops == 0) {
            // All lanes, and all columns of a lane, read the same element, of which the code knows the place: a weight.
            // It is read once for each place of the dimensions that it follows, and of a table.
            double times = load.reads;
            for (std::size_t i = 0; i < load.indices.size(); ++i) {
                const int dim = load.indices[i]->dim;
                times *= dim >= 0 ? along(m, static_cast<std::size_t>(dim)) : 1 + static_cast<double>(load.spread[i]);
            }
            times = std::min(times, points * load.reads);
            work_.instructions += kWeightInstructions * times;
            work_.loads += kWeightWait * times;
            work_.wavefronts += times;
            weights_ += times;
            return 0;
        }
        if (!regular || !has_lane) {
            for (std::size_t d = 0; d < dims(m) && lane < 0; ++d) {
                if (is_lane(m, static_cast<int>(d))) lane = static_cast<int>(d);
            }
            const double lines = regular ? 0 : lines_apart(load, lane, columns_);
            work_.loads += points * load.reads;
            (lines > 0 ? work_.apart : work_.wavefronts) += points * load.reads * (lines > 0 ? lines : regular ? 1 : 6);
            return load.reads;
        }
        if (const double lines = lines_apart(load, lane, columns_); lines > 0) {
            const double elements = footprint(load, [&](std::size_t d) { return along(m, d); }).elements;
            work_.loads += elements;
            work_.instructions += 2 * elements;
            work_.apart += elements * lines;
            return 0;
        }
        if (load.looped != 0) {
            add_looped(m, load, points);
            return 0;
        }
        Loaded& loaded = loaded_[one.array];
        loaded.touched.add(footprint(load, [&](std::size_t d) { return along(m, d); }));
        // Columns that are not adjacent in memory (one channel of interleaved ones): a warp reaches further.
        double apart = load.bytes;
        for (std::size_t i = 0; i < load.indices.size(); ++i) {
            if (is_lane(m, load.indices[i]->dim)) break;
            apart *= static_cast<double>(load.extents[i]);
        }
        loaded.lines = std::max(loaded.lines, apart * columns_ * kWarp / kLineBytes);
        loaded.element_bytes = load.bytes;
        return 0;
    }

    /// What loops read, in whose turns several terms of all points of a lane come together where registers hold what
    /// they read (fusion/point_terms.h).
    void add_looped(std::size_t m, const Load& load, double points) {
        double in_turn = 1, across = 1, windows = 1;
        for (std::size_t i = 0; i < load.indices.size(); ++i) {
            const poly::IndexRelation& r = *load.indices[i];
            const double all = static_cast<double>(r.hi - r.lo) / static_cast<double>(r.den) + 1;
            const double window = side_by_side(load, r) ? window_at_once(load, i, all) : 1;
            const double beside = r.dim < 0 ? 1 : along(m, static_cast<std::size_t>(r.dim));
            const double n = static_cast<double>(r.num) / static_cast<double>(r.den) * (beside - 1) + window;
            in_turn *= n, windows *= window;
            if (i == 0) across = n;
        }
        const double turns = std::max(1.0, load.reads / windows);
        const bool together = in_turn <= static_cast<double>(fusion::kMostReadInTurn);
        const double elements = together ? turns * in_turn : points * load.reads;
        const bool packed = together && (load.looped & 1U) == 0 && is_lane(m, load.indices[0]->dim);
        const double accesses =
            packed ? elements / across * std::ceil(across * load.bytes / plan::kAccessBytes) : elements;
        work_.loads += accesses;
        work_.instructions += 2 * accesses + (load.bytes < 4 ? elements : 0);
        const double apart = std::clamp(columns_ * load.bytes * kWarp / kLineBytes, 1.0, static_cast<double>(kWarp));
        work_.wavefronts += packed ? std::max(accesses, elements * load.bytes * kWarp / kLineBytes) : accesses * apart;
        in_turn_ = std::max(in_turn_, points + (together ? in_turn : 0));
    }

    /// The rows of a member that its readers still read.
    [[nodiscard]] double rows_kept(std::size_t m) const {
        double rows = 1;
        for (const poly::GroupEdge& edge : facts_.group.edges) {
            if (edge.producer != facts_.group.stages[m]) continue;
            double all = 1;
            for (std::size_t d = 0; d < dims(m); ++d) {
                const poly::Alignment& a = facts_.group.alignment[m][d];
                if (a.dim < 0) {
                    all *= extents_.of(m, d);
                } else if (!is_lane(m, static_cast<int>(d))) {
                    const auto g = static_cast<std::size_t>(a.dim);
                    const bool whole = facts_.extents[g] <= kShortExtent && g > lane_dim_;
                    all *=
                        (whole ? static_cast<double>(cuts_[g].size) : 1) +
                        static_cast<double>(edge.distance[g].hi - edge.distance[g].lo) / static_cast<double>(a.scale);
                }
            }
            rows = std::max(rows, all);
        }
        return rows;
    }

    /// Input rows are loaded before anything else. Returns the registers that they take.
    double add_loads() {
        // Accesses of a lane that are longer than the widest one leave gaps between lanes.
        double longest = 0, registers = 0;
        for (const Loaded& array : loaded_) {
            for (const Footprint& f : array.touched.boxes()) {
                longest = std::max(longest, f.elements / f.rows * array.element_bytes);
                const double bytes = f.elements * array.element_bytes;
                registers += bytes / 4;
                const double accesses = std::max(f.rows, std::ceil(bytes / 16));
                work_.instructions += 2 * accesses + (array.element_bytes < 4 ? f.elements : 0);
                work_.loads += accesses;
                // Single elements, or whole words: then as many lines as there are bytes.
                const bool single = f.rows > accesses / 2 && bytes < accesses * 4;
                const double reach = std::clamp(array.lines, 1.0, static_cast<double>(kWarp));
                work_.wavefronts += single ? accesses * reach : std::max(accesses, bytes * kWarp / kLineBytes);
            }
        }
        work_.access_bytes = static_cast<int>(std::min(16.0, longest));
        work_.gaps = std::max(1.0, columns_ * group_.widths.least / 16);
        return registers;
    }

    /// Columns of other lanes are fetched from there, row by row.
    void add_shuffles() {
        for (std::size_t array = 0; array < read_across_.size(); ++array) {
            if (!read_across_[array]) continue;
            const double across = read_across_[array]->hi - read_across_[array]->lo;
            if (across <= 0) continue;
            double rows = 0;
            const ir::Source& source = group_.arrays[array];
            if (const std::vector<Footprint>& boxes = loaded_[array].touched.boxes(); !boxes.empty()) {
                for (const Footprint& f : boxes) rows += f.rows;
            } else if (source.kind == ir::Source::Kind::Stage) {
                const std::size_t p = facts_.group.position(source.index);
                rows = 1;
                for (std::size_t d = 0; d < dims(p); ++d) rows *= is_lane(p, static_cast<int>(d)) ? 1 : along(p, d);
            }
            work_.instructions += across * rows;
            work_.wavefronts += across * rows;
        }
    }

    /// What is loaded of an array at the start.
    struct Loaded {
        Touched touched;
        int element_bytes = 0;
        double lines = 0;  ///< that a warp's elements of a row spread over
    };

    const GroupCounts& group_;
    const GroupFacts& facts_;
    plan::Plan& plan_;
    Cuts& cuts_;       ///< the plan's
    Extents extents_;  ///< before lanes are left to their neighbours
    std::size_t lane_dim_;
    double columns_;  ///< of a lane, in group coordinates
    TileWork work_;
    std::vector<double> computed_;                     ///< points of a warp, by member
    double values_ = 0, windows_ = 0;                  ///< points of a lane, and those that readers still read
    double weights_ = 0;                               ///< elements that all lanes read
    double in_turn_ = 0;                               ///< totals of loops, and what a turn of them reads
    std::vector<std::optional<Columns>> read_across_;  ///< by array: from the reader's column, in the producer's
    std::vector<Loaded> loaded_;                       ///< by array
};

}  // namespace

std::optional<TileWork> register_work(const GroupCounts& group, const GroupSchedule& schedule) {
    auto made = plan::plan_tiles(group.facts, schedule);
    auto* plan = std::get_if<plan::Plan>(&made);
    return plan == nullptr ? std::nullopt : RegisterWork(group, *plan).counted();
}

}  // namespace pipec::cost
