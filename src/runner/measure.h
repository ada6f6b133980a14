// What `pipec tune` and `pipec profile` need of a run: values for inputs, and times and results that can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runner/array.h"

namespace pipec::runner {

/// The same values each time, as of an image of 16 bits: floats from 0 to 1, bools, integers from 0 to what their type
/// holds of 65535.
Array random_array(ir::Type type, const Extents& extents, std::uint64_t seed);

/// Milliseconds of a launch: the mean of each of several batches, after some launches that are not counted. `launch`
/// launches that many times and returns the milliseconds of all together.
std::vector<double> batch_means(const std::function<double(int times)>& launch);

/// How many elements differ from those expected (of the same type and extents) by more than `tolerance` times the
/// greatest magnitude among those; with a tolerance, integers may always differ by 1. NaN equals NaN, and 0 equals -0.
std::size_t count_different(Array array, Array expected, double tolerance);

}  // namespace pipec::runner
