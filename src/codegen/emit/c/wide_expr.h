// Integer expressions over sizes and index variables in 64-bit arithmetic. All of these are below 2^30, so that hardly
// anything can overflow and the result is the true integer: what extents, bounds and affine indices mean. Whether one
// can, `may_overflow` tells of its widened form (exact_expr.h).
#pragma once

#include <functional>

#include "codegen/emit/c/c_text.h"
#include "codegen/emit/c/helpers.h"
#include "ir/expr.h"

namespace pipec::codegen {

/// How a Variable or SizeRef is written, as an expression of type int64_t.
using WideLeaf = std::function<Text(const ir::Expr& leaf)>;

/// Handles + - * floor division, modulo, min, max, comparisons, logic and `if` over constants and leaves: what
/// poly::Model's bounds and the extents of buffers are made of. Throws std::logic_error on anything else.
Text wide_text(const ir::Expr& e, const WideLeaf& leaf, Helpers& helpers);

/// True for what wide_text handles.
bool is_wide(const ir::Expr& e);

/// True for sums of variables and sizes with constant factors, and floor divisions and modulos of those by positive
/// constants: the indices whose range the polyhedral analysis has proved as integers that do not wrap.
bool is_quasi_affine(const ir::Expr& e, const std::function<bool(ir::VarId)>& is_index_variable);

}  // namespace pipec::codegen
