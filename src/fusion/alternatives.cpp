#include "fusion/alternatives.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "fusion/inline.h"
#include "fusion/schedule_json.h"

namespace pipec::fusion {

namespace {

constexpr std::size_t kBestOfAll = 6;       ///< choices for a group, whatever their strategy
constexpr std::size_t kBestOfStrategy = 2;  ///< and with each strategy
constexpr std::size_t kMostSplit = 8;       ///< groups of the best grouping without which others are looked for
constexpr double kForbidden = 1e9;          ///< times a cost: no grouping has it that can do without

/// What a group's schedule says, as a key.
std::string key_of(const Schedule& schedule, const ir::Pipeline& pipeline) {
    return to_json({{pipeline.name, schedule}}, {pipeline});
}
std::string key_of(const GroupSchedule& group, const ir::Pipeline& pipeline) {
    return key_of(Schedule{{}, {group}}, pipeline);
}

/// Which stages are together, whatever their tiles.
std::string grouping_key(const Schedule& schedule, const ir::Pipeline& pipeline) {
    Schedule plain{schedule.inlined, {}};
    for (const GroupSchedule& group : schedule.groups) plain.groups.emplace_back().stages = group.stages;
    std::sort(plain.groups.begin(), plain.groups.end(),
              [](const GroupSchedule& a, const GroupSchedule& b) { return a.stages < b.stages; });
    return key_of(plain, pipeline);
}

using Answer = CostModel::result_type;

class Finder {
public:
    Finder(const ir::Pipeline& pipeline, const poly::Model& model, const CostModel& cost, const IsLegal& legal,
           const FusionOptions& options)
        : pipeline_(pipeline),
          model_(model),
          cost_(remembered(cost)),
          legal_(remembered(legal)),
          options_(remembered(options)) {}

    std::vector<Alternative> find(std::size_t count) {
        const FusionResult best = add_grouping(cost_, options_);
        for (const Strategy strategy : options_.strategies) {
            FusionOptions only = options_;
            only.strategies = {Strategy::Stage};
            if (strategy != Strategy::Stage) only.strategies.push_back(strategy);
            add_grouping(cost_, only);
        }
        std::size_t split = 0;
        for (const GroupSchedule& group : best.schedule.groups) {
            if (group.stages.size() < 2 || split++ >= kMostSplit) continue;
            FusionOptions apart = options_;
            apart.refined = without(group.stages, options_.refined);
            add_grouping(without(group.stages, cost_), apart);
        }
        return selected(count);
    }

private:
    /// The model, asked once for each group: groupings have most of their groups in common.
    static CostModel remembered(const CostModel& cost) {
        if (!cost) return cost;
        using Question = std::tuple<std::string, std::vector<int>, std::vector<Strategy>>;
        const auto answers = std::make_shared<std::map<Question, Answer>>();
        return [cost, answers](const ir::Pipeline& pipeline, const GroupFacts& facts,
                               const std::vector<Strategy>& allowed) {
            const Question question{stages_left(pipeline), facts.group.stages, allowed};
            const auto known = answers->find(question);
            if (known != answers->end()) return known->second;
            return answers->emplace(question, cost(pipeline, facts, allowed)).first->second;
        };
    }

    /// Code generation likewise.
    static IsLegal remembered(const IsLegal& legal) {
        if (!legal) return legal;
        const auto answers = std::make_shared<std::map<std::pair<std::string, std::string>, Verdict>>();
        return [legal, answers](const ir::Pipeline& pipeline, const poly::Model& model,
                                const std::vector<poly::Dependence>& dependences, const GroupSchedule& group) {
            const std::pair question{stages_left(pipeline), key_of(group, pipeline)};
            const auto known = answers->find(question);
            if (known != answers->end()) return known->second;
            return answers->emplace(question, legal(pipeline, model, dependences, group)).first->second;
        };
    }

    static FusionOptions remembered(FusionOptions options) {
        options.refined = remembered(options.refined);
        return options;
    }

    /// What is not inside of readers tells the forms of a pipeline apart, whose stages have other numbers in each.
    static std::string stages_left(const ir::Pipeline& pipeline) {
        std::string text;
        for (const ir::Stage& stage : pipeline.stages) text += stage.name + " ";
        return text;
    }

    /// The model where a certain group is no good.
    static CostModel without(const std::vector<std::string>& stages, const CostModel& cost) {
        if (!cost) return cost;
        const std::set<std::string> forbidden(stages.begin(), stages.end());
        return [cost, forbidden](const ir::Pipeline& pipeline, const GroupFacts& facts,
                                 const std::vector<Strategy>& allowed) {
            Answer answer = cost(pipeline, facts, allowed);
            std::set<std::string> names;
            for (const int s : facts.group.stages) names.insert(pipeline.stages[static_cast<std::size_t>(s)].name);
            if (names == forbidden) {
                for (GroupChoice& choice : answer) choice.cost *= kForbidden;
            }
            return answer;
        };
    }

    FusionResult add_grouping(const CostModel& cost, const FusionOptions& options) {
        FusionResult result = fuse(pipeline_, model_, cost, legal_, options);
        if (groupings_.emplace(grouping_key(result.schedule, pipeline_), groupings_.size()).second) {
            add_choices(result);
        }
        return result;
    }

    /// A grouping with its best choices, and with others for one group.
    void add_choices(const FusionResult& result) {
        const Inlined program = inline_stages(pipeline_, model_, inlined_stages(pipeline_, result.schedule));
        const std::vector<poly::Dependence> dependences = poly::find_dependences(program.pipeline, program.model);
        const std::vector<StageFacts> stages =
            stage_facts(program.pipeline, program.model, dependences,
                        options_.sizes.empty() ? usual_sizes(program.pipeline) : options_.sizes);
        Alternative base{result.schedule, 0, groupings_.size() - 1, -1};
        base.schedule.groups.clear();
        std::vector<std::vector<GroupChoice>> choices;
        for (const std::vector<int>& members : result.grouping.groups) {
            std::vector<GroupChoice> all = choices_of(program, dependences, stages, members);
            base.schedule.groups.push_back(all.front().schedule);
            base.cost += all.front().cost;
            choices.push_back(std::move(all));
        }
        add(base);
        for (std::size_t g = 0; g < choices.size(); ++g) {
            for (std::size_t c = 1; c < choices[g].size(); ++c) {
                Alternative other = base;
                other.schedule.groups[g] = choices[g][c].schedule;
                other.cost += choices[g][c].cost - choices[g].front().cost;
                other.changed = static_cast<int>(g);
                add(other);
            }
        }
    }

    /// Legal choices for a group, at least one, the cheapest first.
    std::vector<GroupChoice> choices_of(const Inlined& program, const std::vector<poly::Dependence>& dependences,
                                        const std::vector<StageFacts>& stages, const std::vector<int>& members) {
        std::vector<GroupChoice> result;
        std::set<std::string> known;
        const auto take = [&](const std::vector<GroupChoice>& choices, std::size_t most) {
            std::size_t taken = 0;
            for (const GroupChoice& choice : choices) {
                if (taken == most) return;
                const bool stage = choice.schedule.strategy == Strategy::Stage;
                if (!stage && legal_ && !legal_(program.pipeline, program.model, dependences, choice.schedule).possible)
                    continue;
                ++taken;
                if (known.insert(key_of(choice.schedule, program.pipeline)).second) result.push_back(choice);
            }
        };
        const bool possible = std::all_of(members.begin(), members.end(), [&](int s) {
            return options_.chooses_storage || stages[static_cast<std::size_t>(s)].pure;
        });
        auto group = poly::make_group(program.pipeline, program.model, dependences, members);
        if (auto* aligned = std::get_if<poly::Group>(&group); possible && aligned != nullptr) {
            const GroupFacts facts = group_facts(std::move(*aligned), stages);
            take(cost_(program.pipeline, facts, options_.strategies), kBestOfAll);
            for (const Strategy strategy : options_.strategies) {
                take(cost_(program.pipeline, facts, {strategy}), kBestOfStrategy);
            }
        }
        if (result.empty()) {  // it runs stage by stage in every schedule
            GroupSchedule& apart = result.emplace_back().schedule;
            for (const int s : members) {
                apart.stages.push_back(program.pipeline.stages[static_cast<std::size_t>(s)].name);
            }
        }
        const auto cheaper = [](const GroupChoice& a, const GroupChoice& b) { return a.cost < b.cost; };
        std::stable_sort(result.begin(), result.end(), cheaper);
        return result;
    }

    void add(const Alternative& alternative) {
        if (known_.insert(key_of(alternative.schedule, pipeline_)).second) found_.push_back(alternative);
    }

    /// The best of each kind before others of its kind, `count` in all; then by their cost.
    std::vector<Alternative> selected(std::size_t count) {
        const auto cheaper = [](const Alternative& a, const Alternative& b) { return a.cost < b.cost; };
        std::stable_sort(found_.begin(), found_.end(), cheaper);
        std::set<std::tuple<std::size_t, int, Strategy>> kinds;
        const auto is_repeated = [&](const Alternative& a) {
            const Strategy strategy =
                a.changed < 0 ? Strategy::Stage : a.schedule.groups[static_cast<std::size_t>(a.changed)].strategy;
            return !kinds.emplace(a.grouping, a.changed, strategy).second;
        };
        std::vector<Alternative> first, repeated;
        for (Alternative& a : found_) (is_repeated(a) ? repeated : first).push_back(std::move(a));
        first.insert(first.end(), repeated.begin(), repeated.end());
        if (first.size() > count) first.resize(count);
        std::stable_sort(first.begin(), first.end(), cheaper);
        return first;
    }

    const ir::Pipeline& pipeline_;
    const poly::Model& model_;
    const CostModel cost_;
    const IsLegal legal_;
    const FusionOptions options_;
    std::map<std::string, std::size_t> groupings_;
    std::set<std::string> known_;
    std::vector<Alternative> found_;
};

}  // namespace

std::vector<Alternative> alternatives(const ir::Pipeline& pipeline, const poly::Model& model, const CostModel& cost,
                                      const IsLegal& legal, const FusionOptions& options, std::size_t count) {
    return Finder(pipeline, model, cost, legal, options).find(count);
}

Schedule combined(const Alternative& base, const std::vector<const Alternative*>& others) {
    Schedule result = base.schedule;
    std::set<int> changed;
    for (const Alternative* other : others) {
        if (other->grouping != base.grouping || other->changed < 0 || !changed.insert(other->changed).second) continue;
        const auto g = static_cast<std::size_t>(other->changed);
        result.groups[g] = other->schedule.groups[g];
    }
    return result;
}

}  // namespace pipec::fusion
