// Types narrower than those that a program keeps its values in.
#pragma once

#include <optional>
#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::compiler {

/// For each stage the narrowest type that holds all of its values exactly, where that takes fewer bits than its own and
/// can be told from the program: by the ranges of integers, and of floats that are another type's values.
std::vector<std::optional<ir::Type>> narrowest_types(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::compiler
