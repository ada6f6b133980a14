// Automatic fusion: the schedule of a pipeline that a cost model finds best (paper, section "Automatic Fusion for
// GPUs"). Cost models know nothing of the search, and the search nothing of GPUs.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "fusion/gpu.h"
#include "fusion/group_facts.h"
#include "fusion/schedule.h"
#include "fusion/search.h"
#include "ir/pipeline.h"
#include "poly/dependences.h"
#include "poly/model.h"

namespace pipec::fusion {

/// How a group is best run, and what that costs.
struct GroupChoice {
    double cost = 0;
    GroupSchedule schedule;
};

/// Judges a legal group with one of the strategies in `allowed`; none where none of them is possible. Costs of groups
/// are added up. A group of one stage can always be run with Strategy::Stage. A group that is impossible stays so with
/// more stages.
using CostModel = std::function<std::optional<GroupChoice>(const ir::Pipeline& pipeline, const GroupFacts& facts,
                                                           const std::vector<Strategy>& allowed)>;

/// Whether code can be generated for a group of the pipeline that inlining left; asked for groups that are about to be
/// chosen.
using IsLegal = std::function<bool(const ir::Pipeline& inlined, const poly::Model& model,
                                   const std::vector<poly::Dependence>& dependences, const GroupSchedule& group)>;

struct FusionOptions {
    std::vector<std::int64_t> sizes;  ///< that are tuned for, by index; empty: usual_sizes
    std::vector<Strategy> strategies{Strategy::Stage, Strategy::Otpw, Strategy::Hybrid};
    SearchOptions search{.impossible_stays_so = true};
};

struct FusionResult {
    Schedule schedule;
    Grouping grouping;  ///< of the pipeline that inlining left
};

/// Computes cheap stages inside of their readers, and groups the others. Accumulates, and stages that can be grouped
/// with no other, run by themselves.
FusionResult fuse(const ir::Pipeline& pipeline, const poly::Model& model, const CostModel& cost, const IsLegal& legal,
                  const FusionOptions& options = {});

/// The paper's cost function on a GPU.
CostModel paper_cost_model(const Gpu& gpu);

}  // namespace pipec::fusion
