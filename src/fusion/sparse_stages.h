// Stages of which almost nothing is read.
//
// A stage has a value at each point of a box that has all points in it for which its readers ask. Where several indices
// of a read follow one variable, as in `row(y / 64, x / 64, y, x)`, or step over many points, the box can have hundreds
// of points for each one that is read. To store it would take more memory than there is, and more work than to compute
// what is read where it is read, however long that takes.
#pragma once

#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::fusion {

/// These stages, by index in order, for the usual sizes. Some may be read by others of them alone.
std::vector<int> sparse_stages(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
