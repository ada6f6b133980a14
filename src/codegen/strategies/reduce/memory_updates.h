// Which updates of accumulates are single operations on global memory, and why: for -Wperf.
#pragma once

#include <string>
#include <vector>

#include "fusion/target.h"
#include "ir/pipeline.h"
#include "poly/model.h"
#include "support/source.h"

namespace pipec::codegen {

struct MemoryUpdate {
    int stage = -1;
    SourceRange range;
    std::vector<ir::Range> domain;
    std::string reason;  ///< a clause
};

/// Updates that share targets of which a block keeps nothing in shared memory, where the compiler decides that.
/// Accumulates must have been widened (widen_narrow_accumulates).
std::vector<MemoryUpdate> memory_updates(const ir::Pipeline& pipeline, const poly::Model& model,
                                         const fusion::Gpu& gpu);

}  // namespace pipec::codegen
