// Long reductions as stages of their own, which many threads can share out; and what is the same at all points of a
// stage and takes long.
//
// A reduction in a stage's definition is computed anew at each of its points, by one thread. Two kinds of them are
// taken out:
//
// - one that is the same along some dimension of its stage, or of a loop around it: the stage that it becomes has only
//   the dimensions that it depends on;
// - one with many terms where few threads have work: blocks of its terms become the points of a stage, and what is left
//   is a reduction over these, which is treated the same way.
//
// What stands behind conditions is computed where they hold: what they say of indices narrows the domains of its
// stages, the others are asked for at each point of these. A condition over indices that the terms do not follow is
// left out where all reads are proved to be in bounds without it. The terms of a scan that use the scan stay where they
// are.
//
// What depends on parameters, sizes and single elements of other stages alone is computed once, in one thread, where it
// takes longer than to read it: the weights of a filter, normalised.
//
// No bit of any result changes: ir/reduction.h says why blocks may be computed apart.
#pragma once

#include "fusion/inline.h"

namespace pipec::fusion {

/// The pipeline with such stages. Their names are made of the stage's that they come from, and their domains are boxes
/// over the sizes.
Inlined share_reductions(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
