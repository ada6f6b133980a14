#include "fusion/group_facts.h"

#include <algorithm>

namespace pipec::fusion {

namespace {

FoundBy found_by(const GroupFacts& facts, std::size_t member) {
    const std::size_t rank = facts.group.alignment[member].size();
    FoundBy found{false, std::vector<bool>(rank, true)};
    for (const StageFacts& reader : facts.stages) {
        for (const Load& load : reader.loads) {
            if (load.source != ir::Source{ir::Source::Kind::Stage, facts.group.stages[member]}) continue;
            found.data = found.data || load.by_data();
            for (std::size_t d = 0; d < rank; ++d) {
                const auto& r = load.indices[rank - 1 - d];
                found.constant[d] = found.constant[d] && r && r->dim < 0 && load.spread[rank - 1 - d] == 0;
            }
        }
    }
    return found;
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
    std::vector<StageShape> shapes;
    for (const int s : group.stages) {
        facts.stages.push_back(stages.at(static_cast<std::size_t>(s)));
        shapes.push_back(facts.stages.back().shape);
    }
    static_cast<GroupShape&>(facts) = group_shape(std::move(group), std::move(shapes));
    const auto rank = static_cast<std::size_t>(facts.group.rank);
    std::vector<std::int64_t> lo(rank, INT64_MAX), hi(rank, INT64_MIN);
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const StageFacts& stage = facts.stages[m];
        for (std::size_t d = 0; facts.live[m] && d < facts.group.alignment[m].size(); ++d) {
            const poly::Alignment& a = facts.group.alignment[m][d];
            if (a.dim < 0) continue;
            const auto g = static_cast<std::size_t>(a.dim);
            lo[g] = std::min(lo[g], a.scale * stage.lo[d]);
            hi[g] = std::max(hi[g], a.scale * stage.hi[d]);
        }
    }
    for (std::size_t g = 0; g < rank; ++g) {
        facts.extents.push_back(hi[g] > lo[g] ? hi[g] - lo[g] : 1);
        facts.firsts.push_back(hi[g] > lo[g] ? lo[g] : 0);
    }
    for (std::size_t m = 0; m < facts.stages.size(); ++m)
        facts.together.push_back(read_together(facts, m, found_by(facts, m)));
    return facts;
}

double own_part(const GroupFacts& facts, std::size_t member) {
    const bool follows = member > 0 && facts.group.stages[member] == facts.group.stages[member - 1] + 1 &&
                         facts.group.alignment[member] == facts.group.alignment[member - 1];
    return follows ? facts.stages[member].own_part : 1;
}

std::vector<const Load*> global_loads(const GroupFacts& facts, std::size_t member) {
    std::vector<const Load*> result;
    for (const Load& load : facts.stages[member].loads) {
        if (facts.member(load) < 0) result.push_back(&load);
    }
    return result;
}

}  // namespace pipec::fusion
