// Where reads in loops of an unknown length lie when sizes are the usual ones: a sum over all channels reads all of
// them, whether a constant says how many these are or the run.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/group_facts.h"
#include "ir/pipeline.h"

namespace pipec::fusion {

/// Gives indices of `facts`' loads that no relation for all launches holds for the one that holds for `sizes`, where
/// they are sums of a dimension of the stage, of its loops' variables and of what sizes alone tell. (Without loops, as
/// in `a(x - C)`, they stay as they are.)
void add_usual_places(StageFacts& facts, const ir::Pipeline& pipeline, const ir::Stage& stage, const ir::Expr& value,
                      const std::vector<std::int64_t>& sizes);

}  // namespace pipec::fusion
