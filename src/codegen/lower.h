// From a checked pipeline to kernel IR.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/kernel/kernel_ir.h"
#include "codegen/made_groups.h"
#include "fusion/schedule.h"
#include "poly/group.h"

namespace pipec::codegen {

/// The steps of a launch, verified. Stages that cost less to compute again than to keep are computed inside of their
/// readers. Throws fusion::ScheduleError for a schedule that is impossible.
kernel::Program lower(const Unit& unit, const SourceManager& sources, const CudaOptions& options = {});

/// The schedule that `program` was lowered with, in which choices are what its kernels are like, where all kernels of a
/// group agree: compiled with it, the code is the same, whatever a later compiler chooses.
fusion::Schedule pinned(const kernel::Program& program, const fusion::Schedule& schedule);

/// The step that computes `value` at every point of a stage's domain (its definition, or what an `accumulate` starts
/// from). Adds variables to the program's pipeline.
kernel::Step stage_step(kernel::Program& program, int stage, const ir::Expr& value, const SourceManager& sources);
struct StageValue {
    int stage;
    ir::Expr value;
};
/// The same of several stages, which can share a kernel (fusion::stage_kernels), with the threads and columns that a
/// schedule asks for, or why that is impossible.
std::variant<kernel::Step, std::string> stage_step(kernel::Program& program, const std::vector<StageValue>& stages,
                                                   const SourceManager& sources, const fusion::Choices& choices);

/// The steps of a stage that reads itself, the first of `members`, together with the others, which read its values at
/// their own points: a launch chooses one of the steps. The members `stored` go to memory. Or why that, or what a
/// schedule asks for, is impossible.
std::variant<std::vector<kernel::Step>, std::string> scan_steps(kernel::Program& program,
                                                                const std::vector<int>& members,
                                                                const std::vector<int>& stored,
                                                                const SourceManager& sources,
                                                                const fusion::Choices& choices);

/// The step that computes a group of stages in one kernel, as `schedule` says (its stages are not looked at), or why
/// that is impossible. Adds variables to the program's pipeline. `begun`: what group_code has made of it, for a program
/// that has the variables for it; null where nothing was.
std::variant<kernel::Step, std::string> group_step(kernel::Program& program, const poly::Group& group,
                                                   const fusion::GroupSchedule& schedule, const SourceManager& sources,
                                                   const GroupCode* begun = nullptr);

/// Why kernels of so many threads a block cannot have what a schedule says of blocks at once; none where they can.
std::optional<std::string> blocks_refusal(const fusion::Target& target, const fusion::Choices& choices, int threads);

/// As much of the code as it takes to know that group_step does not refuse, or why it does: none where the plan says
/// that. Adds variables to the program's pipeline where it does not refuse.
std::variant<GroupCode, fusion::Refused> group_code(kernel::Program& program, const poly::Group& group,
                                                    const fusion::GroupSchedule& schedule,
                                                    const SourceManager& sources);

/// The steps of an `accumulate`: what it starts from, then its updates; or one step, where it is gathered.
/// `histogram`: what a schedule says of updates that share targets.
std::vector<kernel::Step> accumulate_steps(kernel::Program& program, int stage, const SourceManager& sources,
                                           const CudaOptions& options, const fusion::HistogramShape& histogram = {});

/// No atomic operation works on 8 or 16 bits (of integers): an `accumulate` of such a type, whose points share targets,
/// becomes one of 32 bits in the workspace, and the stage is what that is in its own type. To be done before stages are
/// computed inside of others.
void widen_narrow_accumulates(ir::Pipeline& pipeline, poly::Model& model);

/// An update whose result depends on the order of its points: of a float sum or product, where points share targets.
struct OrderDependent {
    int stage = -1;
    SourceRange range;
};
std::vector<OrderDependent> order_dependent_updates(const ir::Pipeline& pipeline);

/// The comment lines of a stage: where and how the program defines it, and what is computed inside of it.
std::vector<std::string> stage_comments(const ir::Stage& stage, const SourceManager& sources);

}  // namespace pipec::codegen
