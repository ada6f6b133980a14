// Arguments for pipelines, made from a seed, and the comparison of results.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "ir/pipeline.h"
#include "reference/interpreter.h"

namespace pipec::testing {

/// What the elements of a random array are drawn from.
enum class Fill {
    Smooth,    ///< floats in [0, 1), integers over their whole range: what images hold
    Extreme,   ///< the ends of integer ranges and around 0; floats up to the greatest, infinities, NaN, -0, subnormals
    Constant,  ///< one value everywhere
};

/// The same on every platform for the same generator state.
reference::Array random_array(ir::Type type, const std::vector<std::int64_t>& extents, Fill fill, std::mt19937_64& rng);

/// Every input of the extents that follow from `sizes`. Parameters without a default get a random value.
reference::Arguments random_arguments(const ir::Pipeline& pipeline, const std::map<std::string, std::int64_t>& sizes,
                                      Fill fill, std::mt19937_64& rng);

/// True when every extent is at least 1 and small enough for a test, and every condition of `where` over sizes alone
/// holds.
bool sizes_are_legal(const ir::Pipeline& pipeline, const std::map<std::string, std::int64_t>& sizes);

/// The first difference, "at (1, 2): 3 and 4", or nothing. Floats must have equal bits, but every NaN equals every NaN.
std::string difference(const reference::Array& expected, const reference::Array& actual);

/// A value as a person reads it.
std::string to_text(const reference::Value& value);

}  // namespace pipec::testing
