// Arithmetic of intervals: what operators and functions make of ranges of numbers.
#pragma once

#include "ir/expr.h"
#include "poly/value_ranges.h"

namespace pipec::poly {

inline constexpr FloatRange kAnyFloat{-kInfinity, kInfinity, true};

/// Ranges of unbounded integers end here. One that would reach further is `kAnyInteger`, at both ends: an end that was
/// merely cut off could come back below the limit and pass for the truth.
inline constexpr Wide kFarEnd = static_cast<Wide>(1) << 100;
inline constexpr IntRange kAnyInteger{-kFarEnd, kFarEnd};

/// The least range that has both. Of two ValueRanges: of one kind.
IntRange hull(const IntRange& a, const IntRange& b);
FloatRange hull(const FloatRange& a, const FloatRange& b);
ValueRange hull(const ValueRange& a, const ValueRange& b);

/// + - * and negation in unbounded integers.
IntRange exact_sum(const IntRange& a, const IntRange& b);
IntRange exact_negation(const IntRange& a);
IntRange exact_product(const IntRange& a, const IntRange& b);
/// Operators of `type` whose operands have not wrapped; + - * may wrap, and give all of the type.
IntRange int_binary(ir::BinaryOp op, const IntRange& a, const IntRange& b, ir::Type type);
/// Comparisons that the ranges decide are constant.
IntRange comparison(ir::BinaryOp op, const IntRange& a, const IntRange& b);

bool has_zero(const FloatRange& a);
bool has_infinity(const FloatRange& a);
FloatRange float_binary(ir::BinaryOp op, ir::Type type, const FloatRange& a, const FloatRange& b);
/// `b`: of the second argument, where the function has two.
FloatRange float_call(ir::Builtin fn, ir::Type type, const FloatRange& a, const FloatRange& b);

IntRange cast_to_int(ir::Type to, const FloatRange& a);
/// Rounded once, as the program does: by way of double, an int64 would be rounded twice.
double to_float(ir::Type to, Wide value);

/// A number times itself.
FloatRange square(ir::Type type, const FloatRange& a);
IntRange square(const IntRange& a);

}  // namespace pipec::poly
