// Conditions of `where`, extents and explicit ranges are computed in exact integers, not modulo 2^n. This is the form
// of them that says so.
#pragma once

#include "ir/expr.h"

namespace pipec::ir {

/// `e`, which reads nothing, with all its integers as Int64 (those of UInt64 stay). An operation whose result leaves
/// its 64 bits has no value: a launch that comes to one is refused, and what the analysis concludes about `e` need not
/// hold for it. Shifts count modulo the width that they had, and casts that can change a value still do.
Expr widened(const Expr& e);

}  // namespace pipec::ir
