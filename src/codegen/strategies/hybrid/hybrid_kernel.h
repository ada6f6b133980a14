// The strategy `hybrid`: an overlapped tile for each warp, cut along one dimension into a part in shared memory and one
// in registers (paper, section "Hybrid Tiling", Algorithm 1, and its appendix).
#pragma once

#include <string>
#include <variant>

#include "codegen/kernel/kernel_ir.h"
#include "fusion/schedule.h"
#include "poly/group.h"

namespace pipec::codegen {

/// The step that computes a group in one kernel, or why it cannot.
std::variant<kernel::Step, std::string> hybrid_step(kernel::Program& program, const poly::Group& group,
                                                    const fusion::GroupSchedule& schedule);

}  // namespace pipec::codegen
