#include "driver/explain/explain_tiles.h"

#include <algorithm>

#include "cost/lane_reads.h"
#include "plan/make_plan.h"
#include "plan/tiles.h"
#include "support/integers.h"

namespace pipec::driver::explain {

namespace {

using fusion::GroupFacts;
using fusion::Strategy;

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
    auto made = plan::make_plan(facts, report.schedule);
    auto* plan = std::get_if<plan::Plan>(&made);
    if (plan == nullptr) return;
    const auto sizes = [&] {
        std::vector<std::int64_t> result;
        for (const plan::Cut& cut : plan->tiles.cuts) result.push_back(cut.size);
        return result;
    };
    if (plan->registers) {
        // Lanes on both sides serve their neighbours only, so that the tile is narrower than its warp.
        report.warp_tile = sizes();
        cost::leave_serving_lanes(cost::GroupCounts(facts), *plan);
    }
    report.tile = sizes();
    double computed = 0, owned = 0;
    for (std::size_t m = 0; m < report.stages.size(); ++m) {
        describe_part(facts, m, report, report.stages[m]);
        computed += report.stages[m].computed;
        owned += report.stages[m].owned;
    }
    report.redundant = owned > 0 ? std::max(0.0, computed / owned - 1) : 0;
}

}  // namespace pipec::driver::explain
