// Scalar arithmetic of the language: what every operator, cast and math function does to its operands.
//
// Written for obviousness and shared with no other part of the compiler; ir/expr.h and docs/language.md say what must
// come out, tests/reference holds it on edge values.
#pragma once

#include <cstdint>
#include <span>

#include "ir/expr.h"
#include "reference/interpreter.h"

namespace pipec::reference {

/// An integer or Bool value, wrapped to `type`.
Value integer(ir::Type type, std::int64_t value);
/// A float value, rounded to `type`.
Value real(ir::Type type, double value);
Value boolean(bool value);

/// `a` of the operator's operand type; Not takes Bool.
Value evaluate(ir::UnaryOp op, const Value& a);
/// Both operands of one type. And and Or are here without their short circuit, which is a matter of evaluation.
Value evaluate(ir::BinaryOp op, const Value& a, const Value& b);
/// As many arguments as ir::arity(fn), of one type.
Value evaluate(ir::Builtin fn, std::span<const Value> args);
Value cast(ir::Type to, const Value& v, bool saturate = false);

/// What a reduction over no points gives.
Value identity(ir::ReduceOp op, ir::Type type);
/// One step of a reduction.
Value fold(ir::ReduceOp op, const Value& accumulated, const Value& next);

/// Nearest float16 (ties to even, overflow to infinity) as its bits, and back.
std::uint16_t to_half(double value);
double from_half(std::uint16_t bits);

}  // namespace pipec::reference
