// Automatic fusion: the schedule of a pipeline that a cost model finds best (paper, section "Automatic Fusion for
// GPUs"). Cost models know nothing of the search, and the search nothing of GPUs.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "fusion/group_facts.h"
#include "fusion/refused.h"
#include "fusion/schedule.h"
#include "fusion/search.h"
#include "fusion/search_budget.h"
#include "ir/pipeline.h"
#include "poly/dependences.h"
#include "poly/model.h"

namespace pipec::fusion {

/// How a group is best run, and what that costs.
struct GroupChoice {
    double cost = 0;
    GroupSchedule schedule;
};

/// The ways to run a legal group with the strategies in `allowed`, the best first; empty where none of them is
/// possible. Costs of groups are added up. A group of one stage can always be run with Strategy::Stage. A group that is
/// impossible stays so with more stages.
using CostModel = std::function<std::vector<GroupChoice>(const ir::Pipeline& pipeline, const GroupFacts& facts,
                                                         const std::vector<Strategy>& allowed)>;

/// Whether code can be generated for a group of the pipeline that inlining left; asked for groups that are about to be
/// chosen.
using IsLegal = std::function<Verdict(const ir::Pipeline& inlined, const poly::Model& model,
                                      const std::vector<poly::Dependence>& dependences, const GroupSchedule& group)>;

struct FusionOptions {
    std::vector<std::int64_t> sizes;  ///< that are tuned for, by index; empty: usual_sizes
    std::vector<Strategy> strategies{Strategy::Stage, Strategy::Otpw, Strategy::Hybrid};
    /// The cost model also says which stages are computed inside of their readers, and whether accumulates are a part
    /// of groups. Without it cheap stages are, and accumulates run by themselves.
    bool chooses_storage = false;
    SearchOptions search{.impossible_stays_so = true};
    std::size_t steps = SearchBudget::kPaperSteps;  ///< that all searches may take together
    /// Judges the groups that the search has found once more, where the model that it asked looks at less.
    CostModel refined;
};

struct FusionResult {
    Schedule schedule;
    Grouping grouping;      ///< of the pipeline that inlining left
    bool is_spent = false;  ///< the budget of the search: more of it could have found a better schedule
};

/// Computes some stages inside of their readers, and groups the others. Stages that can be grouped with no other run by
/// themselves.
FusionResult fuse(const ir::Pipeline& pipeline, const poly::Model& model, const CostModel& cost, const IsLegal& legal,
                  const FusionOptions& options = {});

}  // namespace pipec::fusion
