#include "cost/tile_work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "cost/group_counts.h"
#include "cost/tile_cuts.h"
#include "fusion/group_fields.h"
#include "fusion/strategy.h"
#include "plan/lane_patches.h"
#include "plan/make_plan.h"
#include "plan/tiles.h"
#include "support/integers.h"

namespace pipec::cost {

using fusion::Load;
using fusion::StageFacts;
using fusion::Strategy;

namespace {

/// Instructions and accesses of the load/store units for what facts count of them: expressions that code shares, and
/// what is simpler than it looks. `edges`: how much more a tile at the edges of the image executes for the same points;
/// `place`: instructions of a warp for the place of a tile, its limits, and the choice of its code. Means over measured
/// kernels (docs/cost-model.md).
struct Simplified {
    double instructions, wavefronts, place, edges;
    double half_rate;  ///< the same factor as `instructions`, for those of the unit for integers
};
constexpr Simplified kStage{1, 0.813, 60, 1, 1}, kShared{0.539, 0.728, 48, 4.3, 0.74},
    kHybrid{0.323, 0.728, 54.2, 1, 0.74}, kRegisters{0.741, 0.536, 118, 3.7, 0.74};

TileWork simplified(TileWork work, const Simplified& by) {
    const double place = by.place * work.warps_per_tile;
    work.wavefronts = work.wavefronts * by.wavefronts + work.apart;
    const double inside = (work.instructions - work.as_written) * by.instructions + work.as_written + place;
    work.at_edges =
        (work.at_edges - work.as_written_at_edges) * by.instructions * by.edges + work.as_written_at_edges + place;
    work.instructions = inside * (1 - work.edges) + work.at_edges * work.edges;
    work.half_rate *= by.half_rate;
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
    schedule.block = plan::gather_block(bytes, facts.group.rank);
    return schedule;
}

/// One stage that stands for the members that a kernel computes at the same points: a scan and what reads it, or stages
/// that do not read each other. A point loads, computes and stores what all members do. What several members load at
/// the same place is loaded once.
GroupFacts as_one_stage(const GroupFacts& facts) {
    StageFacts one = facts.stages.front();
    one.bytes = 0;
    double half_rate = 0;
    one.operations = one.reads = 0;
    one.shares.clear(), one.loads.clear();
    const auto same_place = [](const Load& a, const Load& b) {
        const auto same = [](const std::optional<poly::IndexRelation>& x, const std::optional<poly::IndexRelation>& y) {
            return x && y && *x == *y;
        };
        return a.source == b.source && std::ranges::equal(a.indices, b.indices, same);
    };
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const StageFacts& member = facts.stages[m];
        if (facts.live[m]) one.bytes += member.bytes;
        const double part = fusion::own_part(facts, m);
        half_rate += part * member.operations * member.half_rate;
        one.operations += part * member.operations;
        for (fusion::Operations share : member.shares) {
            share.count *= part;
            one.shares.push_back(share);
        }
        // Each further member keeps its result in registers.
        one.registers = m == 0 ? member.registers : std::max(one.registers, member.registers) + (member.bytes + 3) / 4;
        for (const Load* load : global_loads(facts, m)) {
            const auto known =
                std::ranges::find_if(one.loads, [&](const Load& other) { return same_place(*load, other); });
            if (known != one.loads.end()) {
                known->reads = std::max(known->reads, load->reads);
                continue;
            }
            one.loads.push_back(*load);
        }
    }
    for (const Load& load : one.loads) one.reads += load.reads;
    one.half_rate = one.operations > 0 ? half_rate / one.operations : 0;
    one.block_reads = 1;
    one.block_operations = one.operations;
    const int index = facts.group.stages.front();
    poly::Group group{{index}, facts.group.rank, {facts.group.alignment.front()}, {}, {facts.group.reach.front()},
                      {index}};
    std::vector<StageFacts> stages(static_cast<std::size_t>(index) + 1, one);
    return fusion::group_facts(std::move(group), stages);
}

/// Stages that one kernel can compute at the same points (fusion::stage_kernels), as far as facts tell.
bool have_same_points(const GroupFacts& facts) {
    const StageFacts& first = facts.stages.front();
    return facts.group.edges.empty() && std::ranges::all_of(facts.stages, [&](const StageFacts& stage) {
               return stage.pure && !stage.scan && stage.lo == first.lo && stage.hi == first.hi &&
                      stage.shape.order == first.shape.order;
           });
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

/// Bytes of a tile's arrays.
double kept_bytes(const GroupFacts& facts, const Extents& extents) {
    double bytes = 0;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        double points = facts.kept[m] ? facts.stages[m].bytes : 0;
        for (std::size_t d = 0; points > 0 && d < facts.group.alignment[m].size(); ++d) points *= extents.of(m, d);
        bytes += points;
    }
    return bytes;
}

/// Of a tile in shared memory, or with a part of it in registers.
class ScratchWork {
public:
    /// `plan` lacks its memory.
    ScratchWork(GroupCounts& group, const GroupSchedule& schedule, plan::Plan& plan)
        : group_(group),
          facts_(group.facts),
          s_(schedule),
          plan_(plan),
          tiles_(plan.tiles),
          march_(plan.march),
          cuts_(plan.tiles.cuts),
          extents_(group, plan.tiles.cuts),
          warp_(plan::warp_shape(plan.tiles.lanes)),
          in_patches_(has(schedule.strategy, fusion::Field::Vector)),
          is_hybrid_(schedule.strategy == Strategy::Hybrid),
          in_registers_(schedule.strategy == Strategy::Hybrid ? schedule.frac_reg : 0),
          threads_(plan.tiles.threads_of_group()) {}

    std::optional<TileWork> counted() {
        if (!march_ && in_registers_ == 0 && kept_bytes(facts_, extents_) > kMostShared) return std::nullopt;
        work_.threads_per_block = tiles_.threads();
        work_.warps_per_tile = std::max(1, threads_ / kWarp);
        for (std::size_t m = 0; m < facts_.stages.size(); ++m) add_member(m);
        if (!is_hybrid_) {
            plan::plan_memory(facts_, s_, plan_);
            work_.barriers = static_cast<double>(plan_.shared.barriers);
        }
        count_tiles(group_, cuts_, computed_, work_);
        work_.bytes = tile_bytes(group_, cuts_, extents_, computed_, s_.vector, false,
                                 [this](std::size_t m, const Load& load) { return times_asked(m, load); });
        work_.shared_per_block = static_cast<std::int64_t>(scratch_ * work_.tiles_a_block);
        work_.in_phases = true;
        work_.registers = static_cast<int>(std::max(32.0, deepest_ + 8));
        if (in_registers_ > 0) work_.registers += static_cast<int>(in_registers_ * scratch_ / 4 / kWarp);
        return work_;
    }

private:
    /// Threads of one warp in a dimension of the group.
    [[nodiscard]] int warp_lanes(std::size_t g) const {
        const int axis = plan::axis_of(facts_.group.rank, g);
        return axis < 0 ? 1 : warp_[static_cast<std::size_t>(axis)];
    }

    /// Points of a member that a tile computes; `turns` of warps, where points are not dealt out in patches, partial
    /// ones too; `single`: patches of one point; `owners`: threads that own cells, which aligned dimensions tell apart.
    struct Points {
        double all = 1, turns = 1, owners = 1;
        plan::Patches single;
    };
    [[nodiscard]] Points points_of(std::size_t m, const PatchAxes& axes) const {
        Points points;
        for (std::size_t d = 0; d < facts_.group.alignment[m].size(); ++d) {
            const double n = extents_.of(m, d);
            points.all *= n;
            const int dim = static_cast<int>(d), g = facts_.group.alignment[m][d].dim;
            double each = 1;
            if (g >= 0) {
                points.owners *= n;
                each = warp_lanes(static_cast<std::size_t>(g)) * cuts_[static_cast<std::size_t>(g)].vector;
            }
            points.turns *= std::ceil(n / each);
            (dim == axes.columns ? points.single.across
             : dim == axes.rows  ? points.single.down
                                 : points.single.others) *= static_cast<std::int64_t>(n);
        }
        return points;
    }

    /// What a lane executes for one patch of a member, of which it computes and loads `part`.
    [[nodiscard]] double instructions(std::size_t m, const PatchWork& patch, std::int64_t columns, std::int64_t rows,
                                      double part) const {
        // A value in a register comes by a shuffle, or is the lane's own; indices of shared memory are constants.
        const StageFacts& stage = facts_.stages[m];
        const auto cells = static_cast<double>(columns * rows);
        const double accesses = static_cast<double>(rows) * std::ceil(static_cast<double>(columns) / 4);
        return part * (patch.operations + patch.inner * (1 + registers()) + 2 * patch.outer + 3 * patch.narrow) +
               (stage.bytes < 4 ? stored(m) * cells : 0) + stored(m) * accesses + (facts_.live[m] ? 2 * accesses : 0) +
               kPatch;
    }
    /// The parts of a member's points that are in registers, and that are stored in shared memory.
    [[nodiscard]] double registers() const { return facts_.stages.size() > 1 ? in_registers_ : 0; }
    [[nodiscard]] double stored(std::size_t m) const { return facts_.kept[m] ? 1 - registers() : 0; }

    void add_member(std::size_t m) {
        const StageFacts& stage = facts_.stages[m];
        const MemberCounts& member = group_.members[m];
        const PatchAxes& axes = in_patches_ ? member.patches : member.lanes;
        const Points points = points_of(m, axes);
        computed_.push_back(points.all);
        const double owners = std::ceil(points.owners / threads_);
        work_.serial += stage.serial * owners;
        work_.serial_loads += stage.serial_loads * owners;
        // A patch, by how many warps are taken up with one at a time.
        std::int64_t columns = axes.columns >= 0 ? s_.vector : 1, rows = 1;
        double turns = points.turns, at_edges = turns;
        if (in_patches_) {
            columns = stage.pure ? plan::patch_columns(facts_, m, axes, s_.vector, group_.row_alignment, member.reads,
                                                       points.single.count(), threads_)
                                 : 1;
            const plan::Patches rows_apart = plan::alike_patches(points.single, columns, threads_, 1);
            at_edges = std::ceil(static_cast<double>(rows_apart.count()) / kWarp);
            const bool single_rows =
                !stage.pure || plan::in_blocks(rows_apart, member.cell_columns / columns).block_down > 1;
            const std::int64_t most = single_rows ? 1 : group_.most_rows(m, columns);
            const plan::Patches patches = plan::alike_patches(points.single, columns, threads_, most);
            rows = patches.rows;
            turns = std::ceil(static_cast<double>(patches.count()) / kWarp);
        }
        patch_rows_.push_back(static_cast<double>(rows));
        const PatchWork& patch = group_.patch(m, axes, columns, rows);
        // Hybrid tiles compute member after member.
        const double part = is_hybrid_ ? 1 : fusion::own_part(facts_, m);
        work_.instructions += turns * instructions(m, patch, columns, rows, part);
        work_.half_rate += turns * part * (patch.operations * stage.half_rate + patch.narrow);
        work_.as_written += turns * part * patch.as_written;
        const PatchWork& row = rows > 1 ? group_.patch(m, axes, columns, 1) : patch;
        work_.at_edges += at_edges * instructions(m, row, columns, 1, part);
        work_.as_written_at_edges += at_edges * part * row.as_written;
        const auto cells = static_cast<double>(columns * rows);
        work_.wavefronts += turns * (part * patch.wavefronts + stored(m) * cells * std::max(1.0, stage.bytes / 4.0) +
                                     (facts_.live[m] ? cells * stage.bytes / 4.0 : 0));
        work_.apart += turns * part * patch.apart;
        if (facts_.kept[m]) add_scratch(m, points.all);
        deepest_ = std::max(deepest_, static_cast<double>(stage.registers) + stage.bytes / 4.0 * s_.vector);
        if (patch.outer > 0) {
            work_.waits += m > 0 ? 1 : 0;
            work_.access_bytes = std::max(work_.access_bytes, std::min(16, s_.vector * stage.bytes));
        }
    }

    /// What a member takes of shared memory and, hybrid, of registers. All arrays have memory of their own here: what
    /// the plan says of lifetimes would let groups grow whose many instructions cost more than is counted. Where the
    /// thread group waits in a hybrid tile is known with the code only.
    void add_scratch(std::size_t m, double points) {
        const bool in_window = march_ && march_->members[m].rows;
        if (in_window)
            points *= static_cast<double>(march_->members[m].window) / static_cast<double>(march_->members[m].count);
        if (is_hybrid_) ++work_.barriers;
        scratch_ += points * facts_.stages[m].bytes * (1 - 0.75 * registers());
    }

    /// plan::Patches below each other load what both read: too far apart in time for the L1 cache.
    [[nodiscard]] double times_asked(std::size_t m, const Load& load) const {
        if (facts_.stages[m].serial > 1) return kCellTimes;
        if (load.indices.size() < 2 || !load.indices[1] || load.indices[1]->dim < 0) return 1.0;
        const poly::IndexRelation& r = *load.indices[1];
        const double rows = extents_.of(m, static_cast<std::size_t>(r.dim)), step = static_cast<double>(r.num);
        const double window = std::max(0.0, static_cast<double>(r.hi - r.lo + 1) - step);
        const double patch = std::clamp(patch_rows_[m], 1.0, std::max(1.0, rows));
        return std::min(kMostTimes, std::ceil(rows / patch) * (patch * step + window) / (rows * step + window));
    }

    GroupCounts& group_;
    const GroupFacts& facts_;
    const GroupSchedule& s_;
    plan::Plan& plan_;
    const plan::Tiles& tiles_;
    const std::optional<plan::March>& march_;
    const Cuts& cuts_;
    const Extents extents_;
    std::array<int, 3> warp_;  ///< lanes of a warp
    bool in_patches_;
    bool is_hybrid_;
    double in_registers_;
    int threads_;  ///< of a thread group
    TileWork work_;
    std::vector<double> computed_, patch_rows_;  ///< points of a tile, and rows of a lane's patch, by member
    double scratch_ = 0, deepest_ = 0;           ///< bytes of a tile; registers of the stage that has most
};

std::optional<TileWork> scratch_work(GroupCounts& group, const GroupSchedule& s) {
    auto plan = plan::plan_tiles(group.facts, s);
    if (std::holds_alternative<plan::Refusal>(plan)) return std::nullopt;
    return ScratchWork(group, s, std::get<plan::Plan>(plan)).counted();
}

}  // namespace

std::optional<TileWork> tile_work(const GroupFacts& facts, const GroupSchedule& schedule) {
    GroupCounts group(facts);
    return tile_work(group, schedule);
}

std::optional<TileWork> tile_work(GroupCounts& group, const GroupSchedule& schedule) {
    const GroupFacts& facts = group.facts;
    const bool pure_only = !fusion::info(schedule.strategy).missing_for_cells.empty();
    const auto is_pure = [](const StageFacts& stage) { return stage.pure; };
    if (pure_only && !std::all_of(facts.stages.begin(), facts.stages.end(), is_pure)) return std::nullopt;
    const bool lines = facts.stages.front().scan.has_value();
    const bool of_lines = schedule.strategy == Strategy::Scan || schedule.strategy == Strategy::Stage;
    if (lines ? !of_lines : schedule.strategy == Strategy::Scan) return std::nullopt;
    std::optional<TileWork> work;
    Simplified by = kShared;
    switch (schedule.strategy) {
        case Strategy::Stage:
            if (facts.stages.size() > 1) {
                if (!have_same_points(facts)) return std::nullopt;
                const GroupFacts one = as_one_stage(facts);
                work = stage_work(GroupCounts(one)), by = kStage;
            } else if (const auto tile = gathering(facts)) {
                work = scratch_work(group, *tile);
            } else {
                work = stage_work(group), by = kStage;
            }
            break;
        case Strategy::Otptb:
        case Strategy::Otpw: work = scratch_work(group, schedule); break;
        case Strategy::Hybrid: work = scratch_work(group, schedule), by = kHybrid; break;
        case Strategy::RegisterTile: work = register_work(group, schedule), by = kRegisters; break;
        case Strategy::Stream: work = scratch_work(group, schedule); break;
        case Strategy::Scan: {
            const GroupFacts one = as_one_stage(facts);
            work = stage_work(GroupCounts(one)), by = kStage;
            break;
        }
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
            // A read moves one sector at most, however far apart the places are.
            const double sectors = static_cast<double>(stage.points) * load->reads * kSectorBytes;
            const double bytes = std::min({all, sectors, f.known ? f.elements * load->bytes : all});
            read[load->source] = std::max(read[load->source], bytes);
        }
    }
    for (const auto& [source, bytes] : read) {
        (source.kind == ir::Source::Kind::Input ? result.inputs : result.stages) += bytes;
    }
    return result;
}

}  // namespace pipec::cost
