// Choices between reads at places that data tell, as reads at places that are chosen. The interpolation of a colour
// table in tetrahedra is written as six cases, each with two corners of its own, and each lane of a warp has another
// case: a GPU then goes through all of them, with a few lanes in each. Two reads at chosen corners are made by all
// lanes.
#pragma once

#include "ir/pipeline.h"

namespace pipec::fusion {

/// The pipeline with `if c then f(T(p)) else g(T(q))` as `let v = T(if c then p else q) in if c then f(v) else g(v)`,
/// for nested choices, too, where all cases read as many elements of T. Values stay the same bit by bit, and what is
/// read in a case stays what is read.
[[nodiscard]] ir::Pipeline chosen_reads(ir::Pipeline pipeline);

}  // namespace pipec::fusion
