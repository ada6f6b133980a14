// How much of an accumulate's table a block can have in shared memory (codegen/strategies/reduce): for its code, for
// what it costs, and for warnings.
#pragma once

#include <cstdint>

#include "fusion/gpu.h"

namespace pipec::plan {

/// A table in more parts, each of which has all points read once more, is updated in global memory.
inline constexpr std::int64_t kMostTableParts = 2;

/// Bytes of a table, or of a part of one, in the shared memory of a block.
inline std::int64_t table_room(const fusion::Gpu& gpu) {
    return gpu.shared_per_block - 1024;
}

}  // namespace pipec::plan
