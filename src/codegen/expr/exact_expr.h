// Conditions of `where`, extents and bounds as a launch computes them: in exact integers. Most cannot leave their types
// for any sizes below 2^30; others are computed in 64 bits, and what leaves those is detected.
#pragma once

#include "ir/pipeline.h"

namespace pipec::codegen {

struct ExactExpr {
    ir::Expr e;                 ///< as it stands, or with integers of 64 bits
    bool may_overflow = false;  ///< some operation may leave its type: the code has to look
};

/// For an expression over sizes and parameters, in a form that computes exact integers.
ExactExpr exact_expr(const ir::Pipeline& pipeline, const ir::Expr& e);

/// Some integer operation in `e` may leave its type.
bool may_overflow(const ir::Pipeline& pipeline, const ir::Expr& e);

}  // namespace pipec::codegen
