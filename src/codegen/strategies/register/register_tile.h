// The strategy `register_tile`: one overlapped tile for each warp, held in registers only.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "codegen/kernel/kernel_ir.h"
#include "codegen/made_groups.h"
#include "fusion/group_shape.h"
#include "fusion/refused.h"
#include "fusion/schedule.h"
#include "plan/plan.h"
#include "poly/group.h"

namespace pipec::codegen {

/// The step that computes a group in one kernel, or why it cannot. tile[0] is the number of adjacent columns of a lane,
/// tile[1] and tile[2] the rows and planes of a tile; block is 32 times the warps in x, and those in y and z. "Columns"
/// run along the group's last dimension that is not short, rows along the one before. There is a kernel for each width
/// of accesses that arrays may allow; a width that needs too many registers is left out where it is not the widest one.
/// `begun`: what register_tile_code has made of it, for a program that has the variables for it.
std::variant<kernel::Step, std::string> register_tile_step(kernel::Program& program, const poly::Group& group,
                                                           const fusion::GroupSchedule& schedule,
                                                           const GroupCode* begun = nullptr);

/// The plans of its kernels, from the one for the widest accesses to global memory to the one for single elements, as
/// far as they are known before there is code. `asked`: what plan::make_plan makes of the schedule.
std::vector<plan::Plan> register_tile_plans(kernel::Program& program, const fusion::GroupShape& group,
                                            const plan::Plan& asked);

/// The kernels that the step needs in any case, or why it is impossible.
std::variant<GroupCode, fusion::Refused> register_tile_code(kernel::Program& program, const poly::Group& group,
                                                            const fusion::GroupSchedule& schedule);

}  // namespace pipec::codegen
