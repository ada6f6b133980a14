// Scans that read themselves at other lines, with the slices that are read again in shared memory.
#pragma once

#include <optional>
#include <vector>

#include "codegen/kernel/kernel_ir.h"
#include "plan/scan_tile.h"

namespace pipec::codegen {

/// The kernels that the stage can have of this kind: one for slices of a constant length, for others some for shorter
/// and longer ones. None where shared memory has no room.
std::vector<plan::SharedSliceTile> shared_slice_tiles(kernel::Program& program, int stage);

/// A block for each line. For slices of at most `tile.slice` points.
kernel::Kernel shared_slice_kernel(kernel::Program& program, int stage, const plan::SharedSliceTile& tile);

/// The stage's slices can be shared out among blocks.
std::optional<plan::SliceStrip> slice_strip(kernel::Program& program, int stage);

/// A launch for each few slices.
kernel::Kernel slice_strip_kernel(kernel::Program& program, int stage, const plan::SliceStrip& strip);

/// The same of slices in two dimensions.
std::optional<plan::SlicePatch> slice_patch(kernel::Program& program, int stage);
kernel::Kernel slice_patch_kernel(kernel::Program& program, int stage, const plan::SlicePatch& patch);

}  // namespace pipec::codegen
