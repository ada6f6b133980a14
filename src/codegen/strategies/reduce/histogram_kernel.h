// Updates whose targets are shared by points, in any order: histograms and the like. Threads have adjacent points,
// which they load in wide accesses; blocks keep copies of the table in shared memory, or of what their points reach of
// it (histogram_plan.h).
#pragma once

#include <optional>
#include <vector>

#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen {

/// None where points cannot be dealt out so. Of several updates all have the first one's domain and operator.
/// `follows`: the step before has begun this stage, so that updates, but nothing else, must wait for it. Adds variables
/// to the program's pipeline.
std::optional<kernel::Step> histogram_step(kernel::Program& program, int stage, const std::vector<ir::Update>& updates,
                                           const fusion::HistogramShape& asked, bool follows);

}  // namespace pipec::codegen
