// Copies of arrays in another order in memory, where stages would read them across memory again and again.
//
// In sum(k) x(n, k) * w(m, k) at a point (n, m), threads beside each other have different m: what they read of w lies a
// row apart, and an access of 32 threads touches 32 lines. Of w with its dimensions the other way round they read
// elements beside each other. The copy is worth it where each of its elements is read many times.
#pragma once

#include "fusion/inline.h"

namespace pipec::fusion {

/// The pipeline with a stage for each such copy, named for the stage that reads it: `lin.transposed`. No bit of any
/// result changes.
Inlined transpose_reads(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
