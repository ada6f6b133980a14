// Weights of a window that its offsets decide, as tables: in sum(i in -6..=6, j in -6..=6) exp(-(i * i + j * j) / s) *
// f(y + i, x + j) the exponential has 169 values, and every point asks for all of them.
#pragma once

#include "fusion/inline.h"

namespace pipec::fusion {

/// The pipeline with a stored stage for each part of a reduction's terms that costs more than reading it, whose value
/// depends on variables of few values alone (of loops, and of dimensions such as the filters of a bank), and that is
/// evaluated much more often than it has values. Such a part reads nothing. Values stay the same bit by bit.
[[nodiscard]] Inlined tabulate_terms(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
