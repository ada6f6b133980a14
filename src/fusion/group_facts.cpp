#include "fusion/group_facts.h"

#include <algorithm>

namespace pipec::fusion {

namespace {

/// Where readers find a member's elements at places that depend on data: a whole dimension of 2 or 4 points, of which
/// they know the index (TileArrays::read_together).
int read_together(const GroupFacts& facts, std::size_t member) {
    const StageFacts& stage = facts.stages[member];
    const std::size_t rank = stage.hi.size();
    bool by_data = false;
    std::vector<bool> constant(rank, true);
    for (const StageFacts& reader : facts.stages) {
        for (const Load& load : reader.loads) {
            if (load.source != ir::Source{ir::Source::Kind::Stage, facts.group.stages[member]}) continue;
            by_data = by_data || load.by_data();
            for (std::size_t d = 0; d < rank; ++d) {
                const auto& r = load.indices[rank - 1 - d];
                constant[d] = constant[d] && r && r->dim < 0 && load.spread[rank - 1 - d] == 0;
            }
        }
    }
    for (std::size_t d = 0; by_data && !facts.live[member] && d < rank; ++d) {
        const std::int64_t count = stage.hi[d] - stage.lo[d];
        if (facts.group.alignment[member][d].dim < 0 && constant[d] && (count == 2 || count == 4))
            return static_cast<int>(d);
    }
    return -1;
}

}  // namespace

int GroupFacts::member(const Load& load) const {
    const std::vector<int>& members = group.stages;
    if (load.source.kind != ir::Source::Kind::Stage) return -1;
    const auto found = std::lower_bound(members.begin(), members.end(), load.source.index);
    return found != members.end() && *found == load.source.index ? static_cast<int>(found - members.begin()) : -1;
}

bool Load::by_data() const {
    for (std::size_t i = 0; i < indices.size(); ++i) {
        if (!indices[i] || spread[i] > 0) return true;
    }
    return false;
}

GroupFacts group_facts(poly::Group group, const std::vector<StageFacts>& stages) {
    GroupFacts facts;
    const auto rank = static_cast<std::size_t>(group.rank);
    std::vector<std::int64_t> lo(rank, INT64_MAX), hi(rank, INT64_MIN);
    for (std::size_t m = 0; m < group.stages.size(); ++m) {
        const int s = group.stages[m];
        facts.stages.push_back(stages.at(static_cast<std::size_t>(s)));
        const StageFacts& stage = facts.stages.back();
        const bool live = std::find(group.live_outs.begin(), group.live_outs.end(), s) != group.live_outs.end();
        facts.live.push_back(live);
        facts.kept.push_back(std::any_of(group.edges.begin(), group.edges.end(),
                                         [&](const poly::GroupEdge& edge) { return edge.producer == s; }));
        for (std::size_t d = 0; live && d < group.alignment[m].size(); ++d) {
            const poly::Alignment& a = group.alignment[m][d];
            if (a.dim < 0) continue;
            const auto g = static_cast<std::size_t>(a.dim);
            lo[g] = std::min(lo[g], a.scale * stage.lo[d]);
            hi[g] = std::max(hi[g], a.scale * stage.hi[d]);
        }
    }
    for (std::size_t g = 0; g < rank; ++g) {
        facts.extents.push_back(hi[g] > lo[g] ? hi[g] - lo[g] : 1);
        facts.firsts.push_back(hi[g] > lo[g] ? lo[g] : 0);
        facts.units.push_back(poly::tile_unit(group, static_cast<int>(g)));
    }
    facts.group = std::move(group);
    for (std::size_t m = 0; m < facts.stages.size(); ++m) facts.together.push_back(read_together(facts, m));
    return facts;
}

std::vector<const Load*> global_loads(const GroupFacts& facts, std::size_t member) {
    std::vector<const Load*> result;
    for (const Load& load : facts.stages[member].loads) {
        if (facts.member(load) < 0) result.push_back(&load);
    }
    return result;
}

}  // namespace pipec::fusion
