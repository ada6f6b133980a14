#include "driver/explain_tiles.h"

#include <algorithm>

#include "plan/make_plan.h"
#include "plan/tiles.h"
#include "support/integers.h"

namespace pipec::driver::explain {

namespace {

using fusion::GroupFacts;
using fusion::Strategy;

/// Points, in group coordinates, that reads of inputs and of other kernels reach beyond a tile in one dimension.
poly::Distance reach_of_reads(const GroupFacts& facts, std::size_t dim) {
    poly::Distance all;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const poly::Distance& own = facts.group.reach[m][dim];
        for (const fusion::Load* load : fusion::global_loads(facts, m)) {
            for (const auto& index : load->indices) {
                if (!index || index->dim < 0) continue;
                const poly::Alignment& a = facts.group.alignment[m][static_cast<std::size_t>(index->dim)];
                if (a.dim != static_cast<int>(dim)) continue;
                // den * index = num * v + offset, and g = scale * v: index k lies at scale / num * (den * k - offset).
                all.lo = std::min(all.lo, own.lo + floor_quotient(index->lo * a.scale, index->num));
                all.hi = std::max(all.hi, own.hi + ceil_quotient(index->hi * a.scale, index->num));
            }
        }
    }
    return all;
}

/// Lanes on both sides serve their neighbours only, so that the tile is narrower than its warp. Code generation may
/// leave out more of them, so that strips begin with sectors of memory.
void leave_lanes(const GroupFacts& facts, const plan::RegisterTile& registers, GroupReport& report) {
    report.warp_tile = report.tile;
    const std::size_t lanes = registers.lane_dim;
    const poly::Distance reach = reach_of_reads(facts, lanes);
    const std::int64_t idle = ceil_quotient(-reach.lo, registers.columns) + ceil_quotient(reach.hi, registers.columns);
    report.tile[lanes] = registers.columns * std::max<std::int64_t>(1, plan::kWarp - idle);
}

std::int64_t tiles_along(const GroupFacts& facts, const GroupReport& report, std::size_t dim) {
    return std::max<std::int64_t>(1, ceil_quotient(facts.extents[dim], report.tile[dim]));
}

void describe_part(const GroupFacts& facts, std::size_t member, const GroupReport& report, StageReport& stage) {
    stage.computed = stage.owned = 1;
    std::vector<bool> has(report.tile.size(), false);
    for (std::size_t d = 0; d < facts.group.alignment[member].size(); ++d) {
        const poly::Alignment& a = facts.group.alignment[member][d];
        TilePart part;
        part.dim = a.dim;
        if (a.dim < 0) {
            part.name = "all";
            part.computed = facts.stages[member].hi[d] - facts.stages[member].lo[d];
            part.owned = static_cast<double>(part.computed);
        } else {
            const auto g = static_cast<std::size_t>(a.dim);
            has[g] = true;
            part.name = report.dims[g];
            const std::int64_t own = std::max<std::int64_t>(1, report.tile[g] / a.scale);
            const poly::TileExtent extent = plan::part_along(facts, member, d, report.tile[g]);
            part.computed = part.needed = extent.count;
            part.first = extent.first;
            const plan::Halo halo = plan::halo(extent, own);
            part.before = halo.before;
            part.after = halo.after;
            part.owned = static_cast<double>(report.tile[g]) / static_cast<double>(a.scale);
            if (!report.warp_tile.empty() && report.warp_tile[g] != report.tile[g]) {
                part.computed = report.warp_tile[g] / a.scale;  // every lane computes
            }
        }
        stage.computed *= static_cast<double>(part.computed);
        stage.owned *= part.owned;
        stage.part.push_back(std::move(part));
    }
    // Where the stage lacks a dimension, all tiles along it compute the same points of the stage.
    for (std::size_t g = 0; g < has.size(); ++g) {
        if (!has[g]) stage.owned /= static_cast<double>(tiles_along(facts, report, g));
    }
}

}  // namespace

void describe_tiles(const GroupFacts& facts, GroupReport& report) {
    if (report.schedule.strategy == Strategy::Stage || facts.extents.empty()) return;
    const auto made = plan::make_plan(facts, report.schedule);
    const auto* plan = std::get_if<plan::Plan>(&made);
    if (plan == nullptr) return;
    for (const plan::Cut& cut : plan->tiles.cuts) report.tile.push_back(cut.size);
    if (plan->registers) leave_lanes(facts, *plan->registers, report);
    double computed = 0, owned = 0;
    for (std::size_t m = 0; m < report.stages.size(); ++m) {
        describe_part(facts, m, report, report.stages[m]);
        computed += report.stages[m].computed;
        owned += report.stages[m].owned;
    }
    report.redundant = owned > 0 ? std::max(0.0, computed / owned - 1) : 0;
}

}  // namespace pipec::driver::explain
