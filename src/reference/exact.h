// Conditions of `where`, extents and explicit ranges: what the language computes in exact integers.
#pragma once

#include <functional>

#include "reference/interpreter.h"

namespace pipec::reference {

/// The value of `e`, which reads and reduces nothing, with integers that do not wrap. `leaf` gives the values of sizes
/// and parameters. Throws Error where a result leaves 64 bits. An integer comes as Int64, or UInt64 where its type is
/// that.
Value evaluate_exactly(const ir::Expr& e, const std::function<Value(const ir::Expr&)>& leaf);

}  // namespace pipec::reference
