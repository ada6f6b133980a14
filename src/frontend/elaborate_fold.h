// Building typed expressions with constants folded, floats included: IEEE operators are exact to the last bit at
// compile time; of math functions the value is the double's, rounded.
#pragma once

#include <optional>

#include "ir/build.h"

namespace pipec::elab {

/// ir::binary, folded where both operands are float constants.
ir::Expr fold_binary(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b, SourceRange range);
/// ir::cast, folded for a float constant that becomes an integer.
ir::Expr fold_cast(ir::Type to, const ir::Expr& a, bool saturate, SourceRange range);
/// ir::call, folded where all arguments are constants.
ir::Expr fold_call(ir::Builtin fn, std::vector<ir::Expr> args, SourceRange range);
/// A math function of doubles; IsNan has no float value and gives none.
std::optional<double> math(ir::Builtin fn, const std::vector<double>& args);

}  // namespace pipec::elab
