// The kernel of a scan whose points can be combined in any grouping (ir/associative.h).
#pragma once

#include <optional>

#include "codegen/kernel/kernel_ir.h"
#include "codegen/strategies/scan/scan_code.h"

namespace pipec::codegen {

/// None where the stage is no such scan, or where its lines are too short to be shared out.
std::optional<kernel::Kernel> parallel_scan_kernel(kernel::Program& program, const ScanMembers& members);

}  // namespace pipec::codegen
