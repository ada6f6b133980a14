// Windows that end at the edges of an image, sum(i in max(y - 2, 0)..min(y + 3, R)) f(i), as loops of constant length
// whose terms count inside of the image: sum(k in 0..5) if 0 <= y - 2 + k < R then f(y - 2 + k) else 0. They are
// stencils then, of which tilings know the reach, and away from the edges nothing is asked.
#pragma once

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::fusion {

/// The pipeline with such loops, of at most 256 turns each, and 64 where the order of terms tells; their number may
/// depend on parameters. Values stay the same bit by bit: a sum is never -0, and what is left out adds 0 to it. Minima
/// and maxima of floats, beside which the identity could have NaN, and places of extremes have their first or last term
/// once more there, where no window is empty. Domains stay as they are, too.
[[nodiscard]] ir::Pipeline clipped_ranges(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
