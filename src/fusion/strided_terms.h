// Sums of which a condition leaves every p-th term, as sums of these alone. A transposed convolution is written like
// that: of sum(i in 0..4) if (y - i) % 2 == 0 then w(i) * f((y - i) / 2) else 0, half the terms are 0, and which half
// depends on the place.
#pragma once

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::fusion {

/// The pipeline with a loop over i' in 0..n / p instead of each loop over i in 0..n whose terms are the reduction's
/// identity but where (a + i) % p == r or (a - i) % p == r, p being a constant; i is p * i' + (r - a) % p there. Values
/// stay the same bit by bit: what is left out adds 0 to a sum that is not -0, and blocks of terms stay blocks
/// (ir/reduction.h). Domains stay as they are, too.
[[nodiscard]] ir::Pipeline strided_terms(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
