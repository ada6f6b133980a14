// Where the arrays of a block lie in its shared memory.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/kernel_ir.h"

namespace pipec::codegen {

/// What a kernel has without asking; more is for a launch to ask for (dynamic shared memory).
inline constexpr std::int64_t kStaticSharedBytes = 48 * 1024;
/// Where arrays in the scratch memory begin is a multiple of this: the widest access.
inline constexpr std::int64_t kSharedAlignment = 16;

/// Rounded up to where the next array may begin.
constexpr std::int64_t align_shared(std::int64_t bytes) {
    return (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
}

/// By dimension, in elements.
std::vector<std::int64_t> strides_of(const kernel::SharedArray& array);

/// From the array's first byte to behind its last one.
std::int64_t bytes_of(const kernel::SharedArray& array);

/// The scratch memory that the arrays with an offset share, and that of the others together.
std::int64_t scratch_bytes(const kernel::Kernel& kernel);
std::int64_t own_bytes(const kernel::Kernel& kernel);

/// What the launch must ask for: the scratch, where it does not fit into what is there without asking.
std::int64_t dynamic_bytes(const kernel::Kernel& kernel);

/// The steps in which an array is alive, both inclusive, and its size.
struct Lifetime {
    std::size_t first = 0, last = 0;
    std::int64_t bytes = 0;
};
/// Offsets (multiples of kSharedAlignment) such that arrays that are alive in the same step do not overlap: in the
/// order of the list, each at the lowest place that is free in all of its steps.
std::vector<std::int64_t> place_arrays(const std::vector<Lifetime>& arrays);

}  // namespace pipec::codegen
