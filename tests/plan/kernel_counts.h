// What a kernel does for tiles in the interior of an image, counted by following the threads of one block.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "codegen/kernel/kernel_ir.h"

namespace pipec::testing {

/// Of a block whose tiles all lie in the interior. Elements are counted as often as they are written.
struct KernelCounts {
    std::map<int, std::int64_t> shared_elements;         ///< written, by shared array of the kernel; not by updates
    std::map<int, std::int64_t> stage_elements;          ///< written to global memory, by stage
    std::int64_t block_barriers = 0, warp_barriers = 0;  ///< to which thread 0 comes
    std::int64_t shuffles = 0;                           ///< in which thread 0 takes part
    /// Loops, branches or writes depend on data: then elements and barriers are not known.
    bool by_data = false;
};

/// Of a launch for `sizes` (by index), of so many blocks the one that writes most to global memory: tiles that were
/// moved inward leave points to others. None where no block that is tried has all its tiles in the interior.
std::optional<KernelCounts> count_interior(const codegen::kernel::Kernel& kernel,
                                           const std::vector<std::int64_t>& sizes, int most_blocks);

}  // namespace pipec::testing
