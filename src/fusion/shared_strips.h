// Windows that are as large for their neighbours: sum(i in -r..=r, j in -r..=r) f(y + i, x + j) is the sum of 2 r + 1
// strips sum(i in -r..=r) f(y + i, x + j), each of which the windows beside it have, too. As a stage of its own a strip
// is computed once, and a window of n * m terms takes n + m.
// Constant windows of up to 64 terms are written out when a program is read; fusion/written_columns.h finds the columns
// of those whose terms may come in any order. The minimum of 7 x 7 bytes of three channels took 176 us of an H200
// (2832 x 4256 pixels) as 49 terms, and takes 36; a sum of 7 x 7 absolute differences 116 us and 30.
//
// Windows may have a step. Blocks, sum(i in 0..16, j in 0..16) f(16 * y + i, 16 * x + j), have no strip in common; but
// a thread that has a block reads elements that are 16 apart from its neighbour's, and there are few threads. The sums
// of a block's columns lie side by side: means of blocks of 16 x 16 floats took 40 us of an H200 without, and 16 with.
#pragma once

#include "fusion/inline.h"

namespace pipec::fusion {

/// Makes stages of reductions inside of reductions that depend on the outer one's variable v and on a dimension x only
/// by their sum s * x + v, where that saves terms or makes accesses adjacent. Values stay the same bit by bit: floats
/// are combined along one variable inside of the next as it is (ir/reduction.h), and only what is combined in any order
/// is taken apart.
[[nodiscard]] Inlined shared_strips(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
