// Making expressions. Each function checks (assert) that its operands have the types that ir/expr.h asks for; integer
// arithmetic on constants is folded, x + 0, x * 1 and the like only on integers.
#pragma once

#include <utility>

#include "ir/pipeline.h"

namespace pipec::ir {

Expr int_constant(Type type, std::int64_t value, SourceRange range = {});
Expr float_constant(Type type, double value, SourceRange range = {});
Expr bool_constant(bool value, SourceRange range = {});
/// 0 or 1 etc. of any numeric type.
Expr constant(Type type, std::int64_t value, SourceRange range = {});
Expr variable(VarId id, Type type, SourceRange range = {});
Expr size_ref(int index, SourceRange range = {});
Expr param_ref(int index, Type type, SourceRange range = {});
Expr unary(UnaryOp op, Expr a, SourceRange range = {});
Expr binary(BinaryOp op, Expr a, Expr b, SourceRange range = {});
Expr cast(Type to, Expr a, SourceRange range = {}, bool saturate = false);
/// Between integers, where it changes no value. That of one to the type of its operand is the operand.
Expr exact_cast(Type to, Expr a, SourceRange range = {});
Expr call(Builtin fn, std::vector<Expr> args, SourceRange range = {});
Expr select(Expr cond, Expr then, Expr otherwise, SourceRange range = {});
Expr read(Source source, Type type, std::vector<Expr> indices, SourceRange range = {});
Expr let(VarId var, Expr value, Expr body, SourceRange range = {});
Expr reduce(ReduceOp op, std::vector<Range> ranges, Expr body, SourceRange range = {}, int place = 0);
/// The same reduction of other terms.
Expr reduce_like(const Reduce& like, std::vector<Range> ranges, Expr body, SourceRange range = {});

/// A node as the functions above make it of its operands: with constants folded, where they have become constants.
Expr folded(const Expr& e);

/// The identity of a reduction: 0, 1, +inf or the greatest value, -inf or the least value, false, true.
Expr identity(ReduceOp op, Type type);

/// The binary operator that a reduction folds with.
BinaryOp fold_op(ReduceOp op);

/// The value of an integer (or Bool) constant.
std::optional<std::int64_t> as_int(const Expr& e);

/// An integer without the constant that is added to it, and that: x and -2 of x - 2.
std::pair<Expr, std::int64_t> with_offset(const Expr& e);

/// `value` rounded to a float type, as a double (float16 by rounding to nearest even).
double round_to(Type type, double value);
/// `value` wrapped to an integer type.
std::int64_t wrap_to(Type type, std::int64_t value);

/// Adds a variable to the pipeline's table.
VarId new_variable(Pipeline& pipeline, std::string name, Type type = Type::Int32, SourceRange range = {});

}  // namespace pipec::ir
