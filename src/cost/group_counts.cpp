#include "cost/group_counts.h"

#include <algorithm>
#include <numeric>

#include "cost/tile_cuts.h"
#include "plan/tiles.h"
#include "support/integers.h"

namespace pipec::cost {

using fusion::Load;
using fusion::StageFacts;

void Places::cut(std::int64_t from, std::int64_t to) {
    first = std::max(first, from);
    last = std::min(last, to);
}

namespace {

Places inner_points(const StageFacts& stage, std::size_t d) {
    Places points{stage.lo[d], stage.hi[d] - 1};
    for (const Load& load : stage.loads) {
        for (std::size_t i = 0; i < load.indices.size(); ++i) {
            const auto& r = load.indices[i];
            if (!r || r->dim != static_cast<int>(d)) continue;
            // Otherwise mirrored or the like, which inside reads the place itself.
            const bool dense = side_by_side(load, *r);
            const std::int64_t lo = dense ? r->lo : std::clamp<std::int64_t>(0, r->lo, r->hi), hi = dense ? r->hi : lo;
            const std::int64_t first = load.firsts[i], end = first + load.extents[i];
            points.cut(ceil_quotient(first * r->den - lo, r->num), floor_quotient(end * r->den - 1 - hi, r->num));
        }
    }
    return points;
}

std::vector<ir::Source> arrays_of(const GroupFacts& facts) {
    std::vector<ir::Source> arrays;
    for (const StageFacts& stage : facts.stages) {
        for (const Load& load : stage.loads) arrays.push_back(load.source);
    }
    std::sort(arrays.begin(), arrays.end());
    arrays.erase(std::unique(arrays.begin(), arrays.end()), arrays.end());
    return arrays;
}

}  // namespace

GroupCounts::GroupCounts(const GroupFacts& of)
    : facts(of),
      members(of.stages.size()),
      arrays(arrays_of(of)),
      traffic(cost::traffic(of)),
      patches_(of.stages.size()),
      most_rows_(of.stages.size()) {
    std::int64_t alignment = row_alignment;
    const auto moves = [&](int bytes) {
        widths.least = std::min(widths.least, bytes);
        widths.widest = std::max(widths.widest, bytes);
    };
    std::size_t dims = 0;
    for (std::size_t m = 0; m < members.size(); ++m) {
        const StageFacts& stage = facts.stages[m];
        MemberCounts& member = members[m];
        if (facts.live[m]) {
            moves(stage.bytes);
            if (!stage.lo.empty())
                alignment = std::min(alignment, cost::row_alignment((stage.hi.back() - stage.lo.back()) * stage.bytes,
                                                                    !stage.is_output));
        }
        for (const Load& load : stage.loads) {
            const auto array = std::lower_bound(arrays.begin(), arrays.end(), load.source) - arrays.begin();
            member.loads.push_back({&load, facts.member(load), static_cast<std::size_t>(array)});
            if (member.loads.back().member >= 0) continue;
            moves(load.bytes);
            const bool is_own = load.source.kind == ir::Source::Kind::Stage;
            if (!load.extents.empty())
                alignment = std::min(alignment, cost::row_alignment(load.extents.front() * load.bytes, is_own));
        }
        for (std::size_t d = 0; d < stage.lo.size(); ++d) member.inner.push_back(inner_points(stage, d));
        member.reads = patch_reads(facts, m);
        member.lanes = plan::lane_axes(facts, m);
        member.patches = plan::patch_axes(facts, m, facts.together[m], member.reads);
        member.cell_columns = plan::columns_of_cell(facts, m, found_members(facts, m));
        member.first_extent = dims;
        dims += facts.group.alignment[m].size();
    }
    row_alignment = static_cast<int>(std::max<std::int64_t>(1, alignment));
}

const PatchWork& GroupCounts::patch(std::size_t m, const PatchAxes& axes, std::int64_t columns, std::int64_t rows) {
    // Dimensions, columns and rows are less than 256, 2^16 and 2^16.
    const auto key = static_cast<std::uint64_t>(axes.columns + 1) << 40U |
                     static_cast<std::uint64_t>(axes.rows + 1) << 32U | static_cast<std::uint64_t>(columns) << 16U |
                     static_cast<std::uint64_t>(rows);
    std::deque<KnownPatch>& known = patches_[m];
    for (const KnownPatch& one : known) {
        if (one.key == key) return one.work;
    }
    return known.emplace_back(KnownPatch{key, patch_work(facts, m, axes, columns, rows)}).work;
}

std::int64_t GroupCounts::most_rows(std::size_t m, std::int64_t columns) {
    for (const auto& [of_columns, rows] : most_rows_[m]) {
        if (of_columns == columns) return rows;
    }
    const PatchAxes& axes = members[m].patches;
    std::int64_t rows = 1, beyond = axes.rows < 0 ? 2 : plan::kPatchPoints / columns + 1;
    while (beyond - rows > 1) {
        const std::int64_t middle = (rows + beyond) / 2;
        const PatchWork& work = patch(m, axes, columns, middle);
        const bool fits = work.elements <= plan::kPatchElements && work.operations + work.elements <= plan::kPatchNodes;
        (fits ? rows : beyond) = middle;
    }
    most_rows_[m].emplace_back(columns, rows);
    return rows;
}

Extents::Extents(const GroupCounts& group, const std::vector<plan::Cut>& cuts) : group_(group) {
    const GroupFacts& facts = group.facts;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
            const int g = facts.group.alignment[m][d].dim;
            const std::int64_t size = g < 0 ? 1 : cuts[static_cast<std::size_t>(g)].size;
            points_.push_back(static_cast<double>(plan::part_along(facts, m, d, size).count));
        }
    }
}

}  // namespace pipec::cost
