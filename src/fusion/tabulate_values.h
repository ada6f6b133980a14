// Functions of data that have few values, as tables: of an 8-bit pixel, pow(img(y, x) / 255, 2.2) has 256 values.
#pragma once

#include "fusion/inline.h"

namespace pipec::fusion {

/// The pipeline with a stored stage for each part of a stage's values that depends on one integer of at most 4096
/// values alone (besides constants, sizes and parameters), costs more than reading a table at a place that data tell,
/// and is evaluated much more often than that integer has values. Such a part reads nothing but the integer. Values
/// stay the same bit by bit.
[[nodiscard]] Inlined tabulate_values(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
