// The kernel of a scan of many lines that lie beside each other in memory, or of lines of a few points.
#pragma once

#include <optional>

#include "codegen/kernel/kernel_ir.h"
#include "codegen/strategies/scan/scan_code.h"

namespace pipec::codegen {

/// The kernel of a scan with short lines (plan::is_short_line); none for other scans.
std::optional<kernel::Kernel> short_scan_kernel(kernel::Program& program, const ScanMembers& members);

/// `some` is the kernel that takes few lines. Where lines may be enough for a thread each (plan::direct_scan_lines),
/// returns the kernel for that, and lets the size of the grids choose: one of the two is empty in every launch. None
/// where lines run along memory, or are known to be few.
std::optional<kernel::Kernel> direct_scan_kernel(kernel::Program& program, const ScanMembers& members,
                                                 kernel::Kernel& some);

}  // namespace pipec::codegen
