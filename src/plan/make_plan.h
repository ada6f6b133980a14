// From a group and its schedule to a plan.
#pragma once

#include <optional>
#include <variant>

#include "fusion/group_shape.h"
#include "plan/plan.h"

namespace pipec::plan {

/// Why a schedule's parameters are of no use for groups of this rank; none where they are.
std::optional<Refusal> check_schedule(const fusion::GroupSchedule& schedule, int rank);

/// How `schedule` (not Strategy::Stage) computes a group, whose stages it does not look at, or why it cannot.
std::variant<Plan, Refusal> make_plan(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule);

/// Its two steps. How tiles are cut, with a march where there is one, or why there is no plan; and what follows from
/// the cuts: the points of members, the order of blocks, what is kept where.
std::variant<Plan, Refusal> plan_tiles(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule);
void plan_memory(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule, Plan& plan);

}  // namespace pipec::plan
