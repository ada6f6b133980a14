// Proofs about stages that passes make.
#pragma once

#include <cstddef>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::poly {

/// Whether every stage from number `first` on can be evaluated at all points of its domain: each read is in bounds, no
/// index wraps, every `if` without `else` holds. False also where that is too expensive to find out. The stages before
/// are those of a successful analysis.
bool are_in_bounds(const ir::Pipeline& pipeline, const Model& model, std::size_t first, const Options& options = {});

}  // namespace pipec::poly
