#include "cost/lane_reads.h"

#include <algorithm>
#include <optional>

#include "cost/tile_cuts.h"
#include "plan/register_tile.h"
#include "support/integers.h"

namespace pipec::cost {

namespace {

/// The index of a load that follows the reader's columns, where no other one does and all are known.
std::optional<std::size_t> along_columns(const GroupFacts& facts, std::size_t m, const Load& load, std::size_t lanes) {
    std::optional<std::size_t> along;
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
        const auto& r = load.indices[i];
        if (!r) return std::nullopt;
        if (r->dim < 0) continue;
        if (facts.group.alignment[m][static_cast<std::size_t>(r->dim)].dim != static_cast<int>(lanes)) continue;
        if (along) return std::nullopt;
        along = i;
    }
    return along;
}

}  // namespace

std::vector<plan::LaneRead> lane_reads(const GroupCounts& group, const plan::RegisterTile& tile) {
    const GroupFacts& facts = group.facts;
    std::vector<plan::LaneRead> reads;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        for (const MemberLoad& one : group.members[m].loads) {
            if (one.member >= 0) continue;
            const Load* load = one.load;
            const auto along = along_columns(facts, m, *load, tile.lane_dim);
            if (!along) continue;
            const poly::IndexRelation& r = *load->indices[*along];
            const std::int64_t scale = facts.group.alignment[m][static_cast<std::size_t>(r.dim)].scale;
            const std::int64_t columns = tile.columns / scale;
            if (r.num * columns % r.den != 0) continue;
            const plan::ColumnsOf array{load->source, *along, r.num * columns / r.den};
            // Boundary conditions make a window wider than there are reads; inside they read the place itself.
            const bool dense = load->constant[*along] || side_by_side(*load, r);
            const std::int64_t lo = dense ? r.lo : std::clamp<std::int64_t>(0, r.lo, r.hi), hi = dense ? r.hi : lo;
            for (std::int64_t column = 0; column < columns; ++column) {
                const std::int64_t at = r.num * (tile.shift[m] + column);
                for (std::int64_t i = ceil_quotient(at + lo, r.den); i <= floor_quotient(at + hi, r.den); ++i)
                    reads.push_back({m, column, array, i});
            }
        }
    }
    return reads;
}

bool leave_serving_lanes(const GroupCounts& group, plan::Plan& plan) {
    const GroupFacts& facts = group.facts;
    const auto serving = plan::divide_lanes(facts, *plan.registers, lane_reads(group, *plan.registers));
    if (!serving) return false;
    // The kernel for arrays that lie anywhere has to be possible, too: lanes with fewer columns reach further, but not
    // so much further that it always needs to be counted.
    plan::RegisterTile narrow = *plan.registers;
    narrow.columns = plan::fewer_columns(facts, narrow, plan::part_for_elements(facts));
    const std::int64_t times = plan.registers->columns / narrow.columns;
    const bool may_be_too_many = times > 1 && (serving->left + serving->right) * times + 2 > plan::kMostServing;
    if (may_be_too_many && !plan::divide_lanes(facts, narrow, lane_reads(group, narrow))) return false;
    plan::cut_lanes(facts, plan, serving->left, serving->right);
    return true;
}

}  // namespace pipec::cost
