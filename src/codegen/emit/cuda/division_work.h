// How much a kernel computes for each division: whether a second way to the same points, for the few operands for which
// a fast division rounds otherwise, is worth its risk.
#pragma once

#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen {

/// Operations of a body's loops for each division or square root of float32 that it executes; 0 where it has none. Of
/// straight-line code nothing counts: with the branches of exact divisions between them, nvcc begins to load so much
/// ahead that registers are few.
[[nodiscard]] double work_per_division(const kernel::Body& body);

/// From so many operations on, the library's division, which branches for rare operands, costs a small part of them.
inline constexpr double kWorkOfSlowDivision = 512;

}  // namespace pipec::codegen
