#include "fusion/automatic.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "fusion/inline.h"
#include "fusion/search_budget.h"
#include "fusion/variant.h"

namespace pipec::fusion {

namespace {

/// Rounds of asking code generation. Groups that are refused after the last one come apart.
constexpr int kMostRounds = 20;
/// Groups that are judged when a stage's storage is changed, and when groups that were found are joined.
constexpr std::size_t kMostMoved = 300, kMostJoined = 60;
/// Stages whose storage is changed, in one round, and rounds.
constexpr std::size_t kMostMoves = 12;
constexpr int kMostMoveRounds = 2;
/// Percent of the budget that the first search with some storage may take, and that changing one stage's storage may.
constexpr std::size_t kSearchPart = 35, kMovePart = 5;
/// What changing a stage's storage must gain at least, and how much worse a plan may be from which that is tried, too.
constexpr double kLeastGain = 0.005, kNear = 1.5;
/// A stage inside of its reader that takes values of so many arrays may be better off in memory: its reader then reads
/// one.
constexpr std::size_t kManySources = 3;

/// A way to run the pipeline.
struct Plan {
    Variant* variant = nullptr;
    Grouping grouping;
};

class Fusion {
public:
    Fusion(const ir::Pipeline& pipeline, const poly::Model& model, const CostModel& cost, const FusionOptions& options)
        : pipeline_(pipeline), model_(model), cost_(cost), options_(options) {}

    FusionResult run(const IsLegal& legal) {
        const std::vector<std::string> cheap = stage_schedule(pipeline_, model_).inlined;
        Plan best = searched(variant({cheap.begin(), cheap.end()}));
        if (!options_.chooses_storage) return checked(best, legal);
        std::vector<Plan> others;
        if (!cheap.empty()) {
            others.push_back(searched(variant({})));
            if (others[0].grouping.cost < best.grouping.cost) std::swap(others[0], best);
        }
        const Plan before = best;
        move_all(best);
        if (best.variant != before.variant) others.push_back(before);
        // Where one stage more or less decides, the worse of two storages may be the better one to begin with.
        if (!cheap.empty() && others[0].grouping.cost <= best.grouping.cost * kNear) {
            Plan other = others[0];
            move_all(other);
            if (other.grouping.cost < best.grouping.cost) std::swap(other, best);
            if (other.variant != others[0].variant) others.push_back(other);
        }
        std::ranges::stable_sort(others, {}, [](const Plan& plan) { return plan.grouping.cost; });
        FusionResult result = checked(best, legal);
        // Code generation may have refused what made this plan better than the others.
        for (Plan& other : others) {
            if (result.grouping.cost <= other.grouping.cost) continue;
            FusionResult next = checked(other, legal);
            if (next.grouping.cost >= result.grouping.cost) continue;
            result = std::move(next);
            best = std::move(other);
        }
        if (Plan apart = with_siblings_apart(best, legal); apart.grouping.cost < result.grouping.cost)
            result = checked(apart, legal);
        return result;
    }

private:
    Variant& variant(const std::set<std::string>& inside) {
        std::unique_ptr<Variant>& known = variants_[inside];
        if (!known) known = std::make_unique<Variant>(pipeline_, model_, inside, dependences_, cost_, options_);
        return *known;
    }

    /// The best grouping of a variant.
    Plan searched(Variant& variant) {
        SearchOptions search = options_.search;
        search.most_work = budget_.part(kSearchPart);
        return found(variant, search, {});
    }

    /// The first search does not join siblings: stages that share a kernel though neither reads the other. A group that
    /// it found with siblings in it costs less than its stages apart, but perhaps more than the siblings in kernels of
    /// their own.
    Plan with_siblings_apart(Plan plan, const IsLegal& legal) {
        if (!options_.refined) return plan;
        SearchOptions search = options_.search;
        search.siblings = plan.variant->siblings();
        search.most_groups = kMostMoved;
        const std::vector<std::vector<int>> groups = plan.grouping.groups;
        for (const std::vector<int>& group : groups) {
            const auto has = [&](int stage) { return std::ranges::binary_search(group, stage); };
            const bool any = std::ranges::any_of(search.siblings,
                                                 [&](const auto& pair) { return has(pair.first) && has(pair.second); });
            if (group.size() < 3 || !any || budget_.is_spent()) continue;
            std::vector<std::vector<int>> start;
            for (const std::vector<int>& other : plan.grouping.groups) {
                if (other != group) start.push_back(other);
                for (std::size_t i = 0; other == group && i < group.size(); ++i) start.push_back({group[i]});
            }
            search.most_work = budget_.part(kMovePart);
            Plan apart = found(*plan.variant, search, start);
            apart.grouping.asked += plan.grouping.asked;
            const auto is_legal = [&](const std::vector<int>& stages) { return plan.variant->is_legal(stages, legal); };
            if (apart.grouping.cost < plan.grouping.cost && std::ranges::all_of(apart.grouping.groups, is_legal))
                plan = std::move(apart);
        }
        return plan;
    }

    /// The best grouping near one that is known.
    Plan near(Variant& variant, const std::vector<std::vector<int>>& start) {
        SearchOptions search = options_.search;
        search.most_groups = kMostMoved;
        search.most_work = budget_.part(kMovePart);
        return found(variant, search, start);
    }

    Plan found(Variant& variant, const SearchOptions& search, const std::vector<std::vector<int>>& start) {
        const GroupCost cost = [&](const std::vector<int>& stages) { return variant.cost(stages); };
        Plan plan{&variant, find_grouping(variant.graph(), cost, search, start)};
        budget_.spend(plan.grouping.work);
        return joined(std::move(plan));
    }

    /// The model that looks at more judges what was found, and what could be joined of it.
    Plan joined(Plan plan) {
        if (!options_.refined) return plan;
        const GroupCost cost = [&](const std::vector<int>& stages) {
            plan.variant->refine(stages);
            return plan.variant->cost(stages);
        };
        SearchOptions search = options_.search;
        search.siblings = plan.variant->siblings();
        search.most_groups = kMostJoined;
        search.most_work = budget_.part(kMovePart) / SearchBudget::kAllTiles;
        Grouping next = find_grouping(plan.variant->graph(), cost, search, plan.grouping.groups);
        budget_.spend(next.work * SearchBudget::kAllTiles);
        next.exact = false;
        next.asked += plan.grouping.asked;
        next.work += plan.grouping.work;
        next.passes += plan.grouping.passes;
        plan.grouping = std::move(next);
        return plan;
    }

    /// As often as that is of use, within limits.
    void move_all(Plan& best) {
        for (int round = 0; round < kMostMoveRounds && move_stages(best); ++round) {
        }
    }

    /// Puts single stages into memory or into their readers, as long as that is of use.
    bool move_stages(Plan& best) {
        bool any = false;
        for (const std::string& stage : movable(best)) {
            if (budget_.is_spent()) break;
            std::set<std::string> inside = best.variant->inside();
            if (inside.erase(stage) == 0) inside.insert(stage);
            Variant& other = variant(inside);
            Plan plan = near(other, around(best, other, stage));
            plan.grouping.asked += best.grouping.asked;
            if (plan.grouping.cost >= best.grouping.cost * (1 - kLeastGain)) continue;
            best = std::move(plan);
            any = true;
        }
        return any;
    }

    /// Stages that could be repeated instead: in memory, in shared memory, or read by several stages, which they keep
    /// in one group. And stages inside of their readers that are made of much.
    [[nodiscard]] std::vector<std::string> movable(const Plan& plan) const {
        const ir::Pipeline& left = plan.variant->pipeline();
        std::map<std::string, std::size_t> group_of;
        std::set<std::string> stored;
        std::map<std::string, int> readers;
        for (std::size_t g = 0; g < plan.grouping.groups.size(); ++g) {
            const std::vector<int>& group = plan.grouping.groups[g];
            const bool in_registers = plan.variant->best(group).strategy == Strategy::RegisterTile;
            for (const int s : group) {
                const std::string& name = left.stages[static_cast<std::size_t>(s)].name;
                group_of[name] = g;
                if (group.size() > 1 && !in_registers) stored.insert(name);
            }
        }
        for (std::size_t s = 0; s < left.stages.size(); ++s) {
            for (const int source : plan.variant->graph()[s]) {
                const std::string& name = left.stages[static_cast<std::size_t>(source)].name;
                if (group_of.at(name) != group_of.at(left.stages[s].name)) stored.insert(name);
                ++readers[name];
            }
        }
        std::vector<int> inside;
        for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) {
            if (plan.variant->inside().count(pipeline_.stages[s].name) > 0) inside.push_back(static_cast<int>(s));
        }
        const std::vector<int> repeatable = repeatable_stages(pipeline_, model_);
        const std::vector<StageSources> sources = stage_sources(pipeline_, inside);
        std::vector<std::string> result;
        for (std::size_t s = 0; s < pipeline_.stages.size() && result.size() < kMostMoves; ++s) {
            const std::string& name = pipeline_.stages[s].name;
            const bool is_inside = std::binary_search(inside.begin(), inside.end(), static_cast<int>(s));
            const bool may_repeat = std::binary_search(repeatable.begin(), repeatable.end(), static_cast<int>(s));
            const bool in_the_way = stored.count(name) > 0 || readers[name] > 1;
            if (is_inside ? sources[s].read.size() >= kManySources : may_repeat && in_the_way) result.push_back(name);
        }
        return result;
    }

    /// The plan's groups in a variant whose storage differs in one stage. Groups that have to do with it come apart.
    static std::vector<std::vector<int>> around(const Plan& plan, const Variant& other, const std::string& stage) {
        const Variant& before = *plan.variant;
        std::set<std::string> near{stage};
        for (const Variant* variant : {&before, &other}) {
            const auto name = [&](int s) { return variant->pipeline().stages[static_cast<std::size_t>(s)].name; };
            for (std::size_t s = 0; s < variant->graph().size(); ++s) {
                for (const int source : variant->graph()[s]) {
                    if (name(source) == stage) near.insert(name(static_cast<int>(s)));
                    if (name(static_cast<int>(s)) == stage) near.insert(name(source));
                }
            }
        }
        std::map<std::string, int> numbers;
        for (std::size_t s = 0; s < other.pipeline().stages.size(); ++s) {
            numbers[other.pipeline().stages[s].name] = static_cast<int>(s);
        }
        std::vector<std::vector<int>> result;
        if (numbers.count(stage) > 0 && before.inside().count(stage) > 0) result.push_back({numbers.at(stage)});
        for (const std::vector<int>& group : plan.grouping.groups) {
            std::vector<int> members;
            bool apart = false;
            for (const int s : group) {
                const std::string& name = before.pipeline().stages[static_cast<std::size_t>(s)].name;
                apart = apart || near.count(name) > 0;
                if (name != stage || numbers.count(name) > 0) members.push_back(numbers.at(name));
            }
            if (!apart) result.push_back(members);
            for (const int s : members) {
                if (apart) result.push_back({s});
            }
        }
        return result;
    }

    /// Generating code for every group that is judged would take too long; so groups are checked once they are chosen,
    /// and the search is repeated without those that were refused, also while another plan with the same stages in
    /// memory was checked.
    FusionResult checked(Plan& plan, const IsLegal& legal) {
        FusionResult result;
        for (const ir::Stage& stage : pipeline_.stages) {
            if (plan.variant->inside().count(stage.name) > 0) result.schedule.inlined.push_back(stage.name);
        }
        for (int round = 0;; ++round) {
            result.schedule.groups.clear();
            bool refused = false;
            for (const std::vector<int>& stages : plan.grouping.groups) {
                if (!plan.variant->cost(stages)) {
                    refused = true;
                    continue;
                }
                const GroupSchedule schedule = plan.variant->best(stages);
                if (!plan.variant->is_legal(stages, legal)) {
                    refused = true;
                } else if (schedule.strategy != Strategy::Stage || stages.size() > 1) {
                    result.schedule.groups.push_back(schedule);
                }
            }
            if (!refused) break;
            plan = round < kMostRounds ? again(plan) : settled(plan, legal);
        }
        result.grouping = plan.grouping;
        result.is_spent = budget_.is_spent();
        return result;
    }

    /// Groups that are refused in whatever way they are run come apart, so that code can be generated for all that is
    /// left.
    Plan settled(const Plan& plan, const IsLegal& legal) {
        Plan result = plan;
        result.grouping.groups.clear();
        result.grouping.cost = 0;
        const auto add = [&](const std::vector<int>& stages) {
            for (int asked = 0; asked < kMostRounds || stages.size() == 1; ++asked) {
                const auto cost = plan.variant->cost(stages);
                if (!cost) return false;
                if (!plan.variant->is_legal(stages, legal)) continue;
                result.grouping.groups.push_back(stages);
                result.grouping.cost += *cost;
                return true;
            }
            return false;
        };
        for (const std::vector<int>& stages : plan.grouping.groups) {
            if (add(stages)) continue;
            for (const int stage : stages) add({stage});
        }
        return result;
    }

    /// What was chosen may cost more now, or be impossible. Where another search would take too long, only the groups
    /// that are impossible come apart.
    Plan again(const Plan& plan) {
        const bool from_scratch = budget_.has(kSearchPart);
        Plan anew = from_scratch ? searched(*plan.variant) : near(*plan.variant, plan.grouping.groups);
        double cost = 0;
        for (const std::vector<int>& stages : plan.grouping.groups) {
            const auto one = plan.variant->cost(stages);
            if (!one) return anew;
            cost += *one;
        }
        if (anew.grouping.cost < cost) return anew;
        Plan same = plan;
        same.grouping.cost = cost;
        return same;
    }

    const ir::Pipeline& pipeline_;
    const poly::Model& model_;
    const CostModel& cost_;
    const FusionOptions& options_;
    SearchBudget budget_{options_.steps};
    poly::Dependences dependences_;
    std::map<std::set<std::string>, std::unique_ptr<Variant>> variants_;
};

}  // namespace

FusionResult fuse(const ir::Pipeline& pipeline, const poly::Model& model, const CostModel& cost, const IsLegal& legal,
                  const FusionOptions& options) {
    return Fusion(pipeline, model, cost, options).run(legal);
}

}  // namespace pipec::fusion
