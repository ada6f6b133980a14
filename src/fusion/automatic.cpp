#include "fusion/automatic.h"

#include <algorithm>
#include <map>
#include <set>

#include "fusion/cost_paper.h"
#include "fusion/inline.h"

namespace pipec::fusion {

namespace {

/// Searches of one pipeline. Groups that are refused after the last one run stage by stage.
constexpr int kMostRounds = 20;

StageGraph stage_graph(const ir::Pipeline& pipeline, const std::vector<poly::Dependence>& dependences) {
    StageGraph graph(pipeline.stages.size());
    for (const poly::Dependence& d : dependences) {
        if (d.source.kind != ir::Source::Kind::Stage) continue;
        std::vector<int>& reads = graph[static_cast<std::size_t>(d.reader)];
        if (std::find(reads.begin(), reads.end(), d.source.index) == reads.end()) reads.push_back(d.source.index);
    }
    return graph;
}

/// The best choice for each group that was asked about, of strategies that code generation has not refused.
class Choices {
public:
    Choices(const Inlined& inlined, const std::vector<poly::Dependence>& dependences, const CostModel& model,
            const FusionOptions& options)
        : inlined_(inlined),
          dependences_(dependences),
          model_(model),
          options_(options),
          stages_(stage_facts(inlined.pipeline, inlined.model, dependences,
                              options.sizes.empty() ? usual_sizes(inlined.pipeline) : options.sizes)) {}

    const std::optional<GroupChoice>& of(const std::vector<int>& stages) {
        const auto [place, is_new] = known_.try_emplace(stages);
        if (is_new) place->second = judge(stages);
        return place->second;
    }

    /// Code generation refused the choice for a group: the next best strategy is what is left.
    void refuse(const std::vector<int>& stages) {
        std::vector<Strategy>& refused = refused_[stages];
        refused.push_back(known_.at(stages)->schedule.strategy);
        known_.erase(stages);
    }

private:
    std::optional<GroupChoice> judge(const std::vector<int>& stages) const {
        const bool alone = stages.size() == 1;
        const bool pure =
            std::all_of(stages.begin(), stages.end(), [&](int s) { return stages_[static_cast<std::size_t>(s)].pure; });
        if (pure) {
            auto group = poly::make_group(inlined_.pipeline, inlined_.model, dependences_, stages);
            if (auto* legal = std::get_if<poly::Group>(&group)) {
                const GroupFacts facts = group_facts(std::move(*legal), stages_);
                if (auto choice = model_(inlined_.pipeline, facts, allowed(stages))) return choice;
            }
        }
        if (!alone) return std::nullopt;
        GroupSchedule by_itself;
        by_itself.stages = {inlined_.pipeline.stages[static_cast<std::size_t>(stages.front())].name};
        return GroupChoice{0, by_itself};  // it is in every grouping
    }

    [[nodiscard]] std::vector<Strategy> allowed(const std::vector<int>& stages) const {
        std::vector<Strategy> result = options_.strategies;
        if (const auto refused = refused_.find(stages); refused != refused_.end()) {
            for (const Strategy strategy : refused->second) std::erase(result, strategy);
        }
        return result;
    }

    const Inlined& inlined_;
    const std::vector<poly::Dependence>& dependences_;
    const CostModel& model_;
    const FusionOptions& options_;
    std::vector<StageFacts> stages_;
    std::map<std::vector<int>, std::optional<GroupChoice>> known_;
    std::map<std::vector<int>, std::vector<Strategy>> refused_;
};

}  // namespace

FusionResult fuse(const ir::Pipeline& pipeline, const poly::Model& model, const CostModel& cost, const IsLegal& legal,
                  const FusionOptions& options) {
    FusionResult result;
    result.schedule = stage_schedule(pipeline);
    const Inlined inlined = inline_stages(pipeline, model, inlined_stages(pipeline, result.schedule));
    const std::vector<poly::Dependence> dependences = poly::find_dependences(inlined.pipeline, inlined.model);
    const StageGraph graph = stage_graph(inlined.pipeline, dependences);
    Choices choices(inlined, dependences, cost, options);
    const GroupCost cost_of = [&](const std::vector<int>& stages) -> std::optional<double> {
        const auto& choice = choices.of(stages);
        return choice ? std::optional(choice->cost) : std::nullopt;
    };
    // Generating code for every group that is judged would take too long; so groups are checked once they are chosen,
    // and the search is repeated without those that were refused.
    bool refused = true;
    for (int round = 0; refused; ++round) {
        refused = false;
        result.schedule.groups.clear();
        result.grouping = find_grouping(graph, cost_of, options.search);
        for (const std::vector<int>& stages : result.grouping.groups) {
            const GroupSchedule schedule = choices.of(stages)->schedule;
            if (schedule.strategy == Strategy::Stage) continue;
            if (!legal || legal(inlined.pipeline, inlined.model, dependences, schedule)) {
                result.schedule.groups.push_back(schedule);
            } else if (round < kMostRounds) {
                choices.refuse(stages);
                refused = true;
            }
        }
    }
    return result;
}

CostModel paper_cost_model(const Gpu& gpu) {
    return [gpu](const ir::Pipeline& pipeline, const GroupFacts& facts,
                 const std::vector<Strategy>& allowed) -> std::optional<GroupChoice> {
        const auto may = [&](Strategy strategy) {
            return std::find(allowed.begin(), allowed.end(), strategy) != allowed.end();
        };
        if (facts.group.stages.size() == 1) {
            // With one stage there is nothing to keep in a tile; `stage` is the same kernel with wider accesses.
            const auto best = paper_minimum(facts, gpu, {.otpw = true, .hybrid = false, .largest_tile = 1});
            if (!best) return std::nullopt;
            GroupSchedule by_itself;
            by_itself.stages = paper_schedule(pipeline, facts, best->point).stages;
            return GroupChoice{best->cost.cost, by_itself};
        }
        const auto best = paper_minimum(facts, gpu, {.otpw = may(Strategy::Otpw), .hybrid = may(Strategy::Hybrid)});
        if (!best) return std::nullopt;
        return GroupChoice{best->cost.cost, paper_schedule(pipeline, facts, best->point)};
    };
}

}  // namespace pipec::fusion
