#include "cost/cost_models.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include "cost/facts_key.h"
#include "cost/paper_cost.h"
#include "cost/time_cost.h"
#include "fusion/search_budget.h"

namespace pipec::cost {

using fusion::CostModel;
using fusion::FusionOptions;
using fusion::GroupChoice;
using fusion::SearchBudget;

namespace {

/// Schedules of a group that are kept in case code generation refuses the best of them.
constexpr std::size_t kMostChoices = 16;

}  // namespace

namespace {

bool is_alone(const GroupFacts& facts) {
    return std::ranges::any_of(facts.stages, [](const fusion::StageFacts& stage) { return stage.alone; });
}
/// Others like it may be computed beside what has a kernel of its own, but nothing from it.
bool shares_what_is_alone(const GroupFacts& facts) {
    if (facts.stages.size() == 1 || !is_alone(facts)) return false;
    return !facts.group.edges.empty() ||
           !std::ranges::all_of(facts.stages, [](const fusion::StageFacts& stage) { return stage.alone; });
}
bool is_scan(const GroupFacts& facts) {
    return facts.stages.front().scan.has_value();
}

/// Those of the strategies that are `allowed` which a group may have.
std::vector<Strategy> strategies_of(const GroupFacts& facts, const std::vector<Strategy>& allowed) {
    if (is_alone(facts)) return {Strategy::Stage};
    if (!is_scan(facts)) return allowed;
    if (facts.stages.size() == 1) return {Strategy::Stage};
    const bool possible = std::find(allowed.begin(), allowed.end(), Strategy::Scan) != allowed.end();
    return possible ? std::vector{Strategy::Scan} : std::vector<Strategy>{};
}

}  // namespace

CostModel paper_cost_model(const Gpu& gpu) {
    return [gpu](const ir::Pipeline& pipeline, const GroupFacts& facts,
                 const std::vector<Strategy>& allowed) -> std::vector<GroupChoice> {
        if (shares_what_is_alone(facts) || (facts.stages.size() > 1 && is_scan(facts))) return {};
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

/// The choices of groups, worked out once for those with equal facts.
class TimeChoices {
public:
    TimeChoices(const Gpu& gpu, Effort effort) : gpu_(gpu), effort_(effort) {}

    /// Their schedules name no stages.
    std::vector<GroupChoice> of(const GroupFacts& facts, const std::vector<Strategy>& strategies) {
        std::optional<FactsKey> key = facts_key(facts);
        if (!key) return counted(facts, strategies);
        const auto [place, is_new] = known_[strategies].try_emplace(std::move(*key));
        if (is_new) place->second = counted(facts, strategies);
        return place->second;
    }

private:
    [[nodiscard]] std::vector<GroupChoice> counted(const GroupFacts& facts,
                                                   const std::vector<Strategy>& strategies) const {
        std::vector<GroupChoice> result;
        for (TimeChoice& choice : time_choices(facts, gpu_, strategies, kMostChoices, effort_))
            result.push_back({choice.time.seconds, std::move(choice.schedule)});
        return result;
    }

    const Gpu gpu_;
    const Effort effort_;
    std::map<std::vector<Strategy>, std::unordered_map<FactsKey, std::vector<GroupChoice>, FactsKeyHash>> known_;
};

CostModel time_cost_model(const Gpu& gpu, Effort effort) {
    const auto choices = std::make_shared<TimeChoices>(gpu, effort);
    return [choices](const ir::Pipeline& pipeline, const GroupFacts& facts,
                     const std::vector<Strategy>& allowed) -> std::vector<GroupChoice> {
        if (shares_what_is_alone(facts)) return {};
        std::vector<GroupChoice> result = choices->of(facts, strategies_of(facts, allowed));
        for (GroupChoice& choice : result) {
            for (const int s : facts.group.stages)
                choice.schedule.stages.push_back(pipeline.stages[static_cast<std::size_t>(s)].name);
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
    options.strategies = {Strategy::RegisterTile, Strategy::Stage,  Strategy::Otptb,
                          Strategy::Otpw,         Strategy::Hybrid, Strategy::Scan};
    options.chooses_storage = true;
    options.steps = SearchBudget::kSteps;
    options.search.most_groups = 1500;
    options.search.most_joined = 150;
    options.search.most_states = 100;
    options.refined = time_cost_model(gpu, Effort::All);
    return options;
}

}  // namespace pipec::cost
