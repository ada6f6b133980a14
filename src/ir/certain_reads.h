// The reads and reductions that are made whenever an expression is evaluated.
#pragma once

#include <vector>

#include "ir/expr.h"

namespace pipec::ir {

/// Each read once that is evaluated whenever one of `roots` is: no read of one case of a choice alone, of the right
/// side of `and` and `or`, or of the terms of a loop, which may have none.
[[nodiscard]] std::vector<Expr> certain_reads(const std::vector<Expr>& roots);

/// The same of reductions.
[[nodiscard]] std::vector<Expr> certain_reductions(const std::vector<Expr>& roots);

}  // namespace pipec::ir
