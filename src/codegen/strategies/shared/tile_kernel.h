// Overlapped tiles in shared memory: the strategies `otptb` (a tile for each thread block) and `otpw` (a tile for each
// warp; paper, section "Overlap Tile per Warp").
#pragma once

#include <string>
#include <variant>

#include "codegen/kernel/kernel_ir.h"
#include "fusion/schedule.h"
#include "poly/group.h"

namespace pipec::codegen {

/// The step that computes a group in one kernel, or why it cannot.
std::variant<kernel::Step, std::string> tile_step(kernel::Program& program, const poly::Group& group,
                                                  const fusion::GroupSchedule& schedule);

}  // namespace pipec::codegen
