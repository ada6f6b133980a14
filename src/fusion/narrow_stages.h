// Types narrower than those that a program keeps its values in.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::fusion {

/// For each stage the narrowest type that holds all of its values exactly, where that takes fewer bits than its own and
/// can be told from the program: by the ranges of integers, and of floats that are another type's values.
std::vector<std::optional<ir::Type>> narrowest_types(const ir::Pipeline& pipeline, const poly::Model& model);

/// The program with the integers of stages that are no outputs in these types: memory holds and moves fewer bytes.
/// Readers get the type of the definition back, which costs a load nothing (ir::Cast::exact). Floats stay as they are:
/// there each read would be a conversion.
ir::Pipeline narrow_stages(const ir::Pipeline& pipeline, const poly::Model& model);

/// Of the values of a stage before they were narrowed.
ir::Type wide_type(const ir::Stage& stage);

/// A stage of a program that narrow_stages made, where other things than memory keep the stages in `wide` (by number),
/// each in its wide_type.
ir::Stage widened(const ir::Pipeline& pipeline, int number, const std::map<int, ir::Type>& wide);

}  // namespace pipec::fusion
