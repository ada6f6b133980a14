// Scans that read themselves at other lines (ir::Scan::across): slice after slice.
#pragma once

#include <vector>

#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen {

/// The kernels of the stage, of which a launch runs one.
std::vector<kernel::Kernel> slice_scan_kernels(kernel::Program& program, int stage);

}  // namespace pipec::codegen
