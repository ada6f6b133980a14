// Kernels of a scan whose points can be combined in any grouping (ir/associative.h).
#pragma once

#include <vector>

#include "codegen/kernel/kernel_ir.h"
#include "codegen/strategies/scan/scan_code.h"

namespace pipec::codegen {

/// Of these the launch's lines choose one: along memory there are large blocks for few lines. None where the stage is
/// no such scan, or where its lines are too short to be shared out.
std::vector<kernel::Kernel> parallel_scan_kernels(kernel::Program& program, const ScanMembers& members);

}  // namespace pipec::codegen
