#include "fusion/variant.h"

#include <algorithm>

namespace pipec::fusion {

namespace {

/// Siblings that a stage is linked with: links to all of them would make far more groups than can be judged.
constexpr int kSiblings = 2;

StageGraph stage_graph(const ir::Pipeline& pipeline, const std::vector<poly::Dependence>& dependences) {
    StageGraph graph(pipeline.stages.size());
    for (const poly::Dependence& d : dependences) {
        if (d.source.kind != ir::Source::Kind::Stage) continue;
        std::vector<int>& reads = graph[static_cast<std::size_t>(d.reader)];
        if (std::find(reads.begin(), reads.end(), d.source.index) == reads.end()) reads.push_back(d.source.index);
    }
    return graph;
}

/// Stages that read the same array or have the same domain, of which neither waits for the other: each with the next
/// kSiblings of them. Groups of more grow from these.
std::vector<std::pair<int, int>> sibling_stages(const ir::Pipeline& pipeline, const poly::Model& model,
                                                const std::vector<poly::Dependence>& dependences,
                                                const StageGraph& graph) {
    const std::size_t count = graph.size();
    std::vector<std::vector<bool>> before(count, std::vector<bool>(count, false));
    for (std::size_t s = 0; s < count; ++s) {
        for (const int source : graph[s]) {
            const auto& further = before[static_cast<std::size_t>(source)];
            before[s][static_cast<std::size_t>(source)] = true;
            for (std::size_t i = 0; i < s; ++i) before[s][i] = before[s][i] || further[i];
        }
    }
    std::vector<std::set<ir::Source>> arrays(count);
    for (const poly::Dependence& d : dependences) {
        if (!d.indices.empty()) arrays[static_cast<std::size_t>(d.reader)].insert(d.source);
    }
    const auto may_share = [&](std::size_t s) {
        return !pipeline.stages[s].scan && std::holds_alternative<ir::Pure>(pipeline.stages[s].definition);
    };
    const auto meet = [&](std::size_t a, std::size_t b) {
        return std::ranges::any_of(arrays[a], [&](const ir::Source& source) { return arrays[b].contains(source); }) ||
               poly::have_same_domain(model, static_cast<int>(a), static_cast<int>(b));
    };
    std::vector<std::pair<int, int>> result;
    for (std::size_t a = 0; a < count; ++a) {
        if (!may_share(a)) continue;
        int found = 0;
        for (std::size_t b = a + 1; b < count && found < kSiblings; ++b) {
            if (before[b][a] || !may_share(b) || !meet(a, b)) continue;
            result.emplace_back(static_cast<int>(a), static_cast<int>(b));
            ++found;
        }
    }
    return result;
}

std::vector<int> numbers_of(const ir::Pipeline& pipeline, const std::set<std::string>& names) {
    std::vector<int> result;
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        if (names.count(pipeline.stages[s].name) > 0) result.push_back(static_cast<int>(s));
    }
    return result;
}

/// Of the stages that are left.
std::vector<std::set<int>> inside_of(const ir::Pipeline& pipeline, const std::vector<int>& inside) {
    std::vector<std::set<int>> result;
    const std::vector<StageSources> all = stage_sources(pipeline, inside);
    for (std::size_t s = 0; s < all.size(); ++s) {
        if (!std::binary_search(inside.begin(), inside.end(), static_cast<int>(s))) result.push_back(all[s].inside);
    }
    return result;
}

/// Code generation that refused `refused` refuses `other`, too. A lane's code is the same in all blocks of a register
/// tile, and with more rows it needs no fewer registers and as many neighbours.
bool refused_with(const GroupSchedule& refused, const GroupSchedule& other) {
    if (refused.strategy != Strategy::RegisterTile || other.strategy != refused.strategy) return refused == other;
    GroupSchedule shorter = other;
    shorter.block = refused.block;
    shorter.tile[1] = std::min(shorter.tile[1], refused.tile[1]);
    return shorter == refused;
}

bool has_both(const std::vector<int>& group, const std::pair<int, int>& stages) {
    return std::binary_search(group.begin(), group.end(), stages.first) &&
           std::binary_search(group.begin(), group.end(), stages.second);
}

}  // namespace

Variant::Variant(const ir::Pipeline& pipeline, const poly::Model& model, std::set<std::string> inside,
                 poly::Dependences& dependences, const CostModel& cost, const FusionOptions& options)
    : cost_(cost),
      options_(options),
      inside_(std::move(inside)),
      inlined_(inline_stages(pipeline, model, numbers_of(pipeline, inside_))),
      dependences_(
          dependences.of(inlined_.pipeline, inlined_.model, inside_of(pipeline, numbers_of(pipeline, inside_)))),
      graph_(stage_graph(inlined_.pipeline, dependences_)),
      siblings_(sibling_stages(inlined_.pipeline, inlined_.model, dependences_, graph_)),
      facts_(stage_facts(inlined_.pipeline, inlined_.model, dependences_,
                         options.sizes.empty() ? usual_sizes(inlined_.pipeline) : options.sizes)) {}

std::vector<GroupChoice>& Variant::choices(const std::vector<int>& stages) {
    const auto [place, is_new] = choices_.try_emplace(stages);
    if (is_new) place->second = judged(stages, cost_);
    return place->second;
}

std::optional<double> Variant::cost(const std::vector<int>& stages) {
    const std::vector<GroupChoice>& all = choices(stages);
    return all.empty() ? std::nullopt : std::optional(all.front().cost);
}

void Variant::refine(const std::vector<int>& stages) {
    if (!options_.refined || !refined_.insert(stages).second) return;
    std::vector<GroupChoice> more = judged(stages, options_.refined);
    if (!more.empty()) choices_[stages] = std::move(more);
}

bool Variant::is_legal(const std::vector<int>& stages, const IsLegal& legal) {
    const GroupSchedule& schedule = best(stages);
    if (!legal || schedule.strategy == Strategy::Stage || accepted_.count(stages) > 0) return true;
    const Verdict verdict = legal(inlined_.pipeline, inlined_.model, dependences_, schedule);
    if (verdict.possible) {
        accepted_.insert(stages);
    } else if (verdict.apart) {
        keep_apart(*verdict.apart);
    } else {
        const GroupSchedule refused = schedule;
        refuse(stages, refused.strategy, [&](const GroupSchedule& other) { return refused_with(refused, other); });
    }
    return verdict.possible;
}

void Variant::refuse(const std::vector<int>& stages, Strategy strategy,
                     const std::function<bool(const GroupSchedule&)>& is_refused) {
    std::vector<GroupChoice>& all = choices_.at(stages);
    std::erase_if(all, [&](const GroupChoice& choice) { return is_refused(choice.schedule); });
    if (!all.empty()) return;
    refused_[stages].push_back(strategy);
    all = judged(stages, cost_);
}

void Variant::keep_apart(const std::pair<int, int>& stages) {
    apart_.insert(stages);
    for (auto& [group, choices] : choices_) {
        if (!has_both(group, stages) || choices.empty()) continue;
        refuse(group, Strategy::RegisterTile,
               [](const GroupSchedule& schedule) { return schedule.strategy == Strategy::RegisterTile; });
    }
}

std::vector<GroupChoice> Variant::judged(const std::vector<int>& stages, const CostModel& model) const {
    const bool possible = std::all_of(stages.begin(), stages.end(), [&](int s) {
        return options_.chooses_storage || facts_[static_cast<std::size_t>(s)].pure;
    });
    if (possible) {
        auto group = poly::make_group(inlined_.pipeline, inlined_.model, dependences_, stages);
        if (auto* legal = std::get_if<poly::Group>(&group)) {
            std::vector<Strategy> allowed = options_.strategies;
            if (const auto refused = refused_.find(stages); refused != refused_.end()) {
                for (const Strategy strategy : refused->second) std::erase(allowed, strategy);
            }
            if (std::ranges::any_of(apart_, [&](const auto& pair) { return has_both(stages, pair); }))
                std::erase(allowed, Strategy::RegisterTile);
            std::vector<GroupChoice> choices =
                model(inlined_.pipeline, group_facts(std::move(*legal), facts_), allowed);
            if (!choices.empty()) return choices;
        }
    }
    if (stages.size() > 1) return {};
    GroupSchedule by_itself;  // it is in every grouping
    by_itself.stages = {inlined_.pipeline.stages[static_cast<std::size_t>(stages.front())].name};
    return {{0, by_itself}};
}

}  // namespace pipec::fusion
