// The strategy `stream`: a strip of the image for each block, which marches along it row by row and keeps windows of
// rows in shared memory (plan/march.h).
#pragma once

#include <string>
#include <variant>

#include "codegen/kernel/kernel_ir.h"
#include "fusion/schedule.h"
#include "poly/group.h"

namespace pipec::codegen {

/// The step that computes a group in one kernel, or why it cannot.
std::variant<kernel::Step, std::string> stream_step(kernel::Program& program, const poly::Group& group,
                                                    const fusion::GroupSchedule& schedule);

}  // namespace pipec::codegen
