// Scans over time, of which the last step is wanted: memory for a few slices, not for all.
#pragma once

#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen {

/// Says of the scans of the program which slices they keep; before kernels are made, some of which store fewer then.
void find_kept_slices(kernel::Program& program);

/// When all kernels are made: they access the slices that are kept in the places of all, and the model has the memory.
void fold_kept_slices(kernel::Program& program);

}  // namespace pipec::codegen
