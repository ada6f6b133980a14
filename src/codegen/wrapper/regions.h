// Which stages share workspace: those that are never alive at the same time.
#pragma once

#include <vector>

#include "codegen/kernel/kernel_ir.h"
#include "ir/pipeline.h"

namespace pipec::codegen {

/// For each stage the number of its region, or -1 where it needs none: outputs live in the caller's buffers, and what a
/// kernel keeps to itself in no memory at all. A stage is alive from the turn that computes it to its last reader's,
/// inclusive. A free region that a stage of the same rank and type had is preferred: their sizes are the likeliest to
/// agree.
struct Regions {
    std::vector<int> of_stage;
    int count = 0;
    /// On the host: the stages that only tiles hold, in `scratch` bytes of each thread's own. Empty: none.
    std::vector<bool> in_tiles{};
    std::int64_t scratch = 0;
};
/// Stages run one after the other in the pipeline's order.
Regions assign_regions(const ir::Pipeline& pipeline);
/// Turns run one after the other, each with several stages; those that only tiles hold have no region.
Regions assign_regions(const ir::Pipeline& pipeline, const std::vector<std::vector<int>>& turns,
                       std::vector<bool> in_tiles, std::int64_t scratch);
/// Steps run one after the other.
Regions assign_regions(const kernel::Program& program);

/// The stages that a stage reads, of whose values its code makes use.
std::vector<int> stages_read(const ir::Stage& stage);

}  // namespace pipec::codegen
