// Stages of which almost nothing is read.
//
// A stage has a value at each point of a box that has all points in it for which its readers ask. Where the indices of
// a read follow each other, as in `row(y / 64, x / 64, y, x)`, or step over many points, the box has hundreds of points
// for each one that is read: more memory than there is, and more work than to compute what is read where it is read,
// however long that takes.
#pragma once

#include "fusion/inline.h"

namespace pipec::fusion {

/// The pipeline with these stages inside of their readers. Where sizes decide, they are the usual ones.
Inlined inline_sparse_stages(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
