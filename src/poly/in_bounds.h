// Proofs about stages that passes make.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::poly {

/// Whether the stages with these numbers can be evaluated at all points of their domains: each read is in bounds, no
/// index wraps, every `if` without `else` holds. False also where that is too expensive to find out. The others are
/// those of a successful analysis.
bool are_in_bounds(const ir::Pipeline& pipeline, const Model& model, const std::vector<std::size_t>& stages,
                   const Options& options = {});

}  // namespace pipec::poly
