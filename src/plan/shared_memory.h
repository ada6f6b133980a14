// What thread groups keep in shared memory, and where.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/group_shape.h"
#include "plan/plan.h"

namespace pipec::plan {

/// What a kernel has without asking; more is for a launch to ask for (dynamic shared memory).
inline constexpr std::int64_t kStaticSharedBytes = 48 * 1024;
/// Where arrays in the scratch memory begin is a multiple of this: the widest access.
inline constexpr std::int64_t kSharedAlignment = 16;

/// Rounded up to where the next array may begin.
constexpr std::int64_t align_shared(std::int64_t bytes) {
    return (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
}

/// The steps in which an array is alive, both inclusive, and its size.
struct Lifetime {
    std::size_t first = 0, last = 0;
    std::int64_t bytes = 0;
};
/// Offsets (multiples of kSharedAlignment) such that arrays that are alive in the same step do not overlap: in the
/// order of the list, each at the lowest place that is free in all of its steps.
std::vector<std::int64_t> place_arrays(const std::vector<Lifetime>& arrays);

/// The arrays of Otptb and Otpw: a tile's part of each stage that is read in the group or accumulates; and where the
/// thread group waits for its threads.
SharedMemory tile_arrays(const fusion::GroupShape& shape, const Tiles& tiles);

/// The windows of Stream: of stages with rows the latest ones, of the others the strip's part.
SharedMemory stream_windows(const fusion::GroupShape& shape, const Tiles& tiles, const March& march);

}  // namespace pipec::plan
