// The plans of a group's kernels, before there is code.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/kernel/kernel_ir.h"
#include "fusion/group_shape.h"
#include "fusion/schedule.h"
#include "plan/plan.h"
#include "poly/group.h"

namespace pipec::codegen {

/// The plan of kernels of a group, and the group as they compute it: where lanes move vectors, a tile may compute more
/// points than its outputs need, so that vectors are aligned.
struct GroupPlan {
    fusion::GroupShape shape;
    plan::Plan plan;
};

/// The plans of a group's kernels: the one for the widest accesses to global memory, then those for narrower ones, as
/// far as they differ. Or why there are none. Leaves the program as it was.
std::variant<std::vector<GroupPlan>, plan::Refusal> group_plans(kernel::Program& program, const poly::Group& group,
                                                                const fusion::GroupSchedule& schedule);

/// Why a group is impossible with a strategy of which plans say so: Otptb, Otpw and Stream.
std::optional<plan::Refusal> plan_refusal(kernel::Program& program, const poly::Group& group,
                                          const fusion::GroupSchedule& schedule);

/// All plans of all pipelines, for `--emit plan`, with the choices of a schedule as its kernels have them. Throws
/// fusion::ScheduleError.
std::string plan_text(const std::vector<Unit>& units, const SourceManager& sources, const CudaOptions& options);

}  // namespace pipec::codegen
