// Long reductions at few points, each by itself.
//
// A matrix of moments is a table of few elements, each a sum over the whole image. Its elements ask for the same
// pixels:
//
//     a(i in 0..6, j in 0..6) = sum(y in 0..R, x in 0..C) basis(i, y, x) * basis(j, y, x) * img(y, x)
//
// As a stage for each element they are computed in one pass (one kernel has several stages of one domain), conditions
// such as `i == 2` are decided, and equal elements are one: a(1, 2) and a(2, 1) where the program multiplies alike.
#pragma once

#include "fusion/inline.h"

namespace pipec::fusion {

/// The pipeline with such stages, where points have a good part of their terms in common. What was the stage chooses
/// among them. No bit of any result changes.
Inlined separate_points(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
