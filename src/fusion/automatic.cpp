#include "fusion/automatic.h"

#include <algorithm>
#include <map>
#include <set>

#include "fusion/cost_paper.h"
#include "fusion/cost_time.h"
#include "fusion/inline.h"

namespace pipec::fusion {

namespace {

/// Searches of one pipeline. Groups that are refused after the last one run stage by stage.
constexpr int kMostRounds = 20;
/// Of a group, that are remembered in case that code generation refuses the best of them.
constexpr std::size_t kMostChoices = 16;

StageGraph stage_graph(const ir::Pipeline& pipeline, const std::vector<poly::Dependence>& dependences) {
    StageGraph graph(pipeline.stages.size());
    for (const poly::Dependence& d : dependences) {
        if (d.source.kind != ir::Source::Kind::Stage) continue;
        std::vector<int>& reads = graph[static_cast<std::size_t>(d.reader)];
        if (std::find(reads.begin(), reads.end(), d.source.index) == reads.end()) reads.push_back(d.source.index);
    }
    return graph;
}

/// The choices for each group that was asked about, the best first, less those that code generation has refused.
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

    const std::vector<GroupChoice>& of(const std::vector<int>& stages) {
        const auto [place, is_new] = known_.try_emplace(stages);
        if (is_new) place->second = judge(stages, model_);
        return place->second;
    }

    /// Of groups that were found: by the model that looks at more.
    void refine(const std::vector<int>& stages) {
        if (!options_.refined || !refined_.insert(stages).second) return;
        std::vector<GroupChoice> choices = judge(stages, options_.refined);
        if (!choices.empty()) known_[stages] = std::move(choices);
    }

    /// Code generation refused the first choice for a group. Where that was the last one, another strategy may do.
    void refuse(const std::vector<int>& stages) {
        std::vector<GroupChoice>& choices = known_.at(stages);
        const Strategy refused = choices.front().schedule.strategy;
        choices.erase(choices.begin());
        if (!choices.empty()) return;
        refused_[stages].push_back(refused);
        choices = judge(stages, model_);
    }

private:
    std::vector<GroupChoice> judge(const std::vector<int>& stages, const CostModel& model) const {
        const bool alone = stages.size() == 1;
        const bool possible = std::all_of(stages.begin(), stages.end(), [&](int s) {
            return options_.chooses_storage || stages_[static_cast<std::size_t>(s)].pure;
        });
        if (possible) {
            auto group = poly::make_group(inlined_.pipeline, inlined_.model, dependences_, stages);
            if (auto* legal = std::get_if<poly::Group>(&group)) {
                const GroupFacts facts = group_facts(std::move(*legal), stages_);
                std::vector<GroupChoice> choices = model(inlined_.pipeline, facts, allowed(stages));
                if (!choices.empty()) return choices;
            }
        }
        if (!alone) return {};
        return {{0, by_itself(stages)}};  // it is in every grouping
    }

    [[nodiscard]] std::vector<Strategy> allowed(const std::vector<int>& stages) const {
        std::vector<Strategy> result = options_.strategies;
        if (const auto refused = refused_.find(stages); refused != refused_.end()) {
            for (const Strategy strategy : refused->second) std::erase(result, strategy);
        }
        return result;
    }

    [[nodiscard]] GroupSchedule by_itself(const std::vector<int>& stages) const {
        GroupSchedule result;
        result.stages = {inlined_.pipeline.stages[static_cast<std::size_t>(stages.front())].name};
        return result;
    }

    const Inlined& inlined_;
    const std::vector<poly::Dependence>& dependences_;
    const CostModel& model_;
    const FusionOptions& options_;
    std::vector<StageFacts> stages_;
    std::map<std::vector<int>, std::vector<GroupChoice>> known_;
    std::map<std::vector<int>, std::vector<Strategy>> refused_;
    std::set<std::vector<int>> refined_;
};

/// The best groups where these stages are computed inside of their readers.
FusionResult fuse_rest(const ir::Pipeline& pipeline, const poly::Model& model, std::vector<std::string> inside,
                       const CostModel& cost, const IsLegal& legal, const FusionOptions& options) {
    FusionResult result;
    result.schedule.inlined = std::move(inside);
    const Inlined inlined = inline_stages(pipeline, model, inlined_stages(pipeline, result.schedule));
    const std::vector<poly::Dependence> dependences = poly::find_dependences(inlined.pipeline, inlined.model);
    const StageGraph graph = stage_graph(inlined.pipeline, dependences);
    Choices choices(inlined, dependences, cost, options);
    const GroupCost cost_of = [&](const std::vector<int>& stages) -> std::optional<double> {
        const auto& all = choices.of(stages);
        return all.empty() ? std::nullopt : std::optional(all.front().cost);
    };
    // Generating code for every group that is judged would take too long; so groups are checked once they are chosen,
    // and the search is repeated without those that were refused.
    std::set<std::vector<int>> accepted;
    bool refused = true;
    for (int round = 0; refused; ++round) {
        refused = false;
        result.schedule.groups.clear();
        result.grouping = find_grouping(graph, cost_of, options.search);
        result.grouping.cost = 0;
        for (const std::vector<int>& stages : result.grouping.groups) {
            choices.refine(stages);
            result.grouping.cost += choices.of(stages).front().cost;
            const GroupSchedule schedule = choices.of(stages).front().schedule;
            if (schedule.strategy == Strategy::Stage) continue;
            if (!legal || accepted.count(stages) > 0 || legal(inlined.pipeline, inlined.model, dependences, schedule)) {
                accepted.insert(stages);
                result.schedule.groups.push_back(schedule);
            } else if (round < kMostRounds) {
                choices.refuse(stages);
                refused = true;
            }
        }
    }
    return result;
}

}  // namespace

FusionResult fuse(const ir::Pipeline& pipeline, const poly::Model& model, const CostModel& cost, const IsLegal& legal,
                  const FusionOptions& options) {
    const std::vector<std::string> cheap = stage_schedule(pipeline).inlined;
    FusionResult best = fuse_rest(pipeline, model, cheap, cost, legal, options);
    if (!options.chooses_storage || cheap.empty()) return best;
    FusionResult other = fuse_rest(pipeline, model, {}, cost, legal, options);
    return other.grouping.cost < best.grouping.cost ? other : best;
}

CostModel paper_cost_model(const Gpu& gpu) {
    return [gpu](const ir::Pipeline& pipeline, const GroupFacts& facts,
                 const std::vector<Strategy>& allowed) -> std::vector<GroupChoice> {
        const auto may = [&](Strategy strategy) {
            return std::find(allowed.begin(), allowed.end(), strategy) != allowed.end();
        };
        if (facts.group.stages.size() == 1) {
            // With one stage there is nothing to keep in a tile; `stage` is the same kernel with wider accesses.
            const auto best = paper_minimum(facts, gpu, {.otpw = true, .hybrid = false, .largest_tile = 1});
            if (!best) return {};
            GroupSchedule by_itself;
            by_itself.stages = paper_schedule(pipeline, facts, best->point).stages;
            return {{best->cost.cost, by_itself}};
        }
        const auto best = paper_minimum(facts, gpu, {.otpw = may(Strategy::Otpw), .hybrid = may(Strategy::Hybrid)});
        if (!best) return {};
        return {{best->cost.cost, paper_schedule(pipeline, facts, best->point)}};
    };
}

namespace {

CostModel time_cost_model(const Gpu& gpu, Effort effort) {
    return [gpu, effort](const ir::Pipeline& pipeline, const GroupFacts& facts,
                         const std::vector<Strategy>& allowed) -> std::vector<GroupChoice> {
        std::vector<GroupChoice> result;
        for (TimeChoice& choice : time_choices(facts, gpu, allowed, kMostChoices, effort)) {
            for (const int s : facts.group.stages) {
                choice.schedule.stages.push_back(pipeline.stages[static_cast<std::size_t>(s)].name);
            }
            result.push_back({choice.time.seconds, std::move(choice.schedule)});
        }
        return result;
    };
}

}  // namespace

CostModel time_cost_model(const Gpu& gpu) {
    return time_cost_model(gpu, Effort::Few);
}

FusionOptions time_fusion_options(const Gpu& gpu) {
    FusionOptions options;
    options.strategies = {Strategy::RegisterTile, Strategy::Stage, Strategy::Otptb, Strategy::Otpw, Strategy::Hybrid};
    options.chooses_storage = true;
    options.search.most_groups = 1500;
    options.search.most_states = 100;
    options.refined = time_cost_model(gpu, Effort::All);
    return options;
}

}  // namespace pipec::fusion
