// Integers are computed as unsigned 64-bit, where wrapping is defined, and cut to their width afterwards; float32 in
// float, float64 in double, float16 in float and then rounded (float has more than twice the digits of float16, so that
// rounding twice gives the same as rounding once for + - * / and sqrt).
#include "reference/numeric.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace pipec::reference {

using ir::BinaryOp;
using ir::Builtin;
using ir::ReduceOp;
using ir::Type;
using ir::UnaryOp;

namespace {

std::int64_t wrap(Type type, std::uint64_t bits) {
    if (type == Type::Bool) return bits != 0 ? 1 : 0;
    const int unused = 64 - ir::bits(type);
    const std::uint64_t high = bits << unused;
    return ir::is_signed_int(type) ? static_cast<std::int64_t>(high) >> unused
                                   : static_cast<std::int64_t>(high >> unused);
}

double round_float(Type type, double value) {
    switch (type) {
        case Type::Float16: return from_half(to_half(value));
        case Type::Float32: return static_cast<float>(value);
        default: return value;
    }
}

/// Integers of 64 bits need care: their magnitude does not fit the other signedness.
bool less(const Value& a, const Value& b) {
    if (ir::is_float(a.type)) return a.f < b.f;
    if (a.type == Type::UInt64) return static_cast<std::uint64_t>(a.i) < static_cast<std::uint64_t>(b.i);
    return a.i < b.i;
}

bool equal(const Value& a, const Value& b) {
    return ir::is_float(a.type) ? a.f == b.f : a.i == b.i;
}

/// The smaller one; of a number and a NaN the number.
Value minimum(const Value& a, const Value& b) {
    if (ir::is_float(a.type)) {
        if (std::isnan(a.f)) return b;
        if (std::isnan(b.f)) return a;
    }
    return less(b, a) ? b : a;
}

Value maximum(const Value& a, const Value& b) {
    if (ir::is_float(a.type)) {
        if (std::isnan(a.f)) return b;
        if (std::isnan(b.f)) return a;
    }
    return less(a, b) ? b : a;
}

struct Quotient {
    std::int64_t quotient, remainder;
};

/// Floor division; both parts 0 where the divisor is 0.
Quotient floor_divide(Type type, std::int64_t a, std::int64_t b) {
    if (b == 0) return {0, 0};
    if (type == Type::UInt64) {
        const auto ua = static_cast<std::uint64_t>(a);
        const auto ub = static_cast<std::uint64_t>(b);
        return {static_cast<std::int64_t>(ua / ub), static_cast<std::int64_t>(ua % ub)};
    }
    if (b == -1) return {wrap(type, 0 - static_cast<std::uint64_t>(a)), 0};  // the least int64 / -1 traps otherwise
    const std::int64_t quotient = a / b;
    const std::int64_t remainder = a % b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) return {quotient - 1, remainder + b};
    return {quotient, remainder};
}

std::int64_t integer_operation(BinaryOp op, Type type, std::int64_t a, std::int64_t b) {
    const auto ua = static_cast<std::uint64_t>(a);
    const auto ub = static_cast<std::uint64_t>(b);
    const auto count = static_cast<int>(ub % static_cast<std::uint64_t>(ir::bits(type)));
    switch (op) {
        case BinaryOp::Add: return wrap(type, ua + ub);
        case BinaryOp::Sub: return wrap(type, ua - ub);
        case BinaryOp::Mul: return wrap(type, ua * ub);
        case BinaryOp::Div: return floor_divide(type, a, b).quotient;
        case BinaryOp::Mod: return floor_divide(type, a, b).remainder;
        case BinaryOp::BitAnd: return wrap(type, ua & ub);
        case BinaryOp::BitOr: return wrap(type, ua | ub);
        case BinaryOp::BitXor: return wrap(type, ua ^ ub);
        case BinaryOp::Shl: return wrap(type, ua << count);
        case BinaryOp::Shr: return ir::is_signed_int(type) ? a >> count : static_cast<std::int64_t>(ua >> count);
        default: throw std::logic_error("not an operator of integers");
    }
}

template <class Float>
Float float_operation(BinaryOp op, Float a, Float b) {
    switch (op) {
        case BinaryOp::Add: return a + b;
        case BinaryOp::Sub: return a - b;
        case BinaryOp::Mul: return a * b;
        case BinaryOp::Div: return a / b;
        default: throw std::logic_error("not an operator of floats");
    }
}

/// To nearest, ties to even, whatever the thread's rounding mode is.
template <class Float>
Float round_even(Float a) {
    const Float down = std::floor(a);
    const Float distance = a - down;
    if (distance < Float{0.5}) return std::copysign(down, a);
    if (distance > Float{0.5}) return std::copysign(down + 1, a);
    if (distance != Float{0.5}) return a;  // NaN and infinities
    return std::copysign(std::fmod(down, Float{2}) == 0 ? down : down + 1, a);
}

/// The overloads of <cmath> for the type itself, as generated host code calls them.
template <class Float>
Float math_function(Builtin fn, Float a, Float b) {
    switch (fn) {
        case Builtin::Abs: return std::fabs(a);
        case Builtin::Sqrt: return std::sqrt(a);
        case Builtin::Rsqrt: return Float{1} / std::sqrt(a);
        case Builtin::Exp: return std::exp(a);
        case Builtin::Exp2: return std::exp2(a);
        case Builtin::Log: return std::log(a);
        case Builtin::Log2: return std::log2(a);
        case Builtin::Pow: return std::pow(a, b);
        case Builtin::Sin: return std::sin(a);
        case Builtin::Cos: return std::cos(a);
        case Builtin::Tan: return std::tan(a);
        case Builtin::Asin: return std::asin(a);
        case Builtin::Acos: return std::acos(a);
        case Builtin::Atan: return std::atan(a);
        case Builtin::Atan2: return std::atan2(a, b);
        case Builtin::Sinh: return std::sinh(a);
        case Builtin::Cosh: return std::cosh(a);
        case Builtin::Tanh: return std::tanh(a);
        case Builtin::Hypot: return std::hypot(a, b);
        case Builtin::Floor: return std::floor(a);
        case Builtin::Ceil: return std::ceil(a);
        case Builtin::Round: return round_even(a);
        case Builtin::Trunc: return std::trunc(a);
        case Builtin::IsNan:
        case Builtin::MinHalves:
        case Builtin::MaxHalves: break;
    }
    throw std::logic_error("not a function from floats to a float");
}

/// Truncates; values outside of the type's range become its nearest end, NaN becomes 0.
std::int64_t float_to_integer(Type to, double value) {
    if (std::isnan(value)) return 0;
    const double whole = std::trunc(value);
    // 2^n - 1 is not a double for n = 63 and 64, 2^n is: the comparison is with one more than the greatest value.
    const double beyond = std::ldexp(1.0, ir::is_signed_int(to) ? ir::bits(to) - 1 : ir::bits(to));
    if (whole >= beyond) return static_cast<std::int64_t>(ir::int_max(to));
    if (whole <= static_cast<double>(ir::int_min(to))) return ir::int_min(to);
    return to == Type::UInt64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(whole))
                              : static_cast<std::int64_t>(whole);
}

std::int64_t clamp_integer(Type to, const Value& v) {
    const bool huge = v.type == Type::UInt64 && v.i < 0;  // above the greatest int64
    if (!huge && v.i < ir::int_min(to)) return ir::int_min(to);
    if ((huge || v.i >= 0) && static_cast<std::uint64_t>(v.i) > ir::int_max(to)) {
        return static_cast<std::int64_t>(ir::int_max(to));
    }
    return v.i;
}

double integer_to_float(Type to, const Value& v) {
    // One rounding only: through double first, int64 to float32 would round twice.
    const bool is_unsigned = v.type == Type::UInt64;
    const auto u = static_cast<std::uint64_t>(v.i);
    if (to == Type::Float32) return is_unsigned ? static_cast<float>(u) : static_cast<float>(v.i);
    const double d = is_unsigned ? static_cast<double>(u) : static_cast<double>(v.i);
    return round_float(to, d);  // to float16: whatever double cannot hold exactly is infinite anyway
}

}  // namespace

Value integer(Type type, std::int64_t value) {
    return {type, wrap(type, static_cast<std::uint64_t>(value)), 0};
}
Value real(Type type, double value) {
    return {type, 0, round_float(type, value)};
}
Value boolean(bool value) {
    return {Type::Bool, value ? 1 : 0, 0};
}

Value evaluate(UnaryOp op, const Value& a) {
    switch (op) {
        case UnaryOp::Neg:
            return ir::is_float(a.type) ? Value{a.type, 0, -a.f}
                                        : Value{a.type, wrap(a.type, 0 - static_cast<std::uint64_t>(a.i)), 0};
        case UnaryOp::BitNot: return {a.type, wrap(a.type, ~static_cast<std::uint64_t>(a.i)), 0};
        case UnaryOp::Not: return boolean(a.i == 0);
    }
    throw std::logic_error("unknown unary operator");
}

Value evaluate(BinaryOp op, const Value& a, const Value& b) {
    if (a.type != b.type) throw std::logic_error("operands of different types");
    switch (op) {
        case BinaryOp::Min: return minimum(a, b);
        case BinaryOp::Max: return maximum(a, b);
        case BinaryOp::Eq: return boolean(equal(a, b));
        case BinaryOp::Ne: return boolean(!equal(a, b));
        case BinaryOp::Lt: return boolean(less(a, b));
        case BinaryOp::Le: return boolean(less(a, b) || equal(a, b));
        case BinaryOp::Gt: return boolean(less(b, a));
        case BinaryOp::Ge: return boolean(less(b, a) || equal(a, b));
        case BinaryOp::And: return boolean(a.i != 0 && b.i != 0);
        case BinaryOp::Or: return boolean(a.i != 0 || b.i != 0);
        default: break;
    }
    switch (a.type) {
        case Type::Float64: return {a.type, 0, float_operation(op, a.f, b.f)};
        case Type::Float16:
        case Type::Float32: return real(a.type, float_operation(op, static_cast<float>(a.f), static_cast<float>(b.f)));
        default: return {a.type, integer_operation(op, a.type, a.i, b.i), 0};
    }
}

Value evaluate(Builtin fn, std::span<const Value> args) {
    if (static_cast<int>(args.size()) != ir::arity(fn)) throw std::logic_error("wrong number of arguments");
    const Value& a = args.front();
    const Value& b = args.back();
    if (fn == Builtin::IsNan) return boolean(std::isnan(a.f));
    if (!ir::is_float(a.type)) {
        if (fn != Builtin::Abs) throw std::logic_error("not a function of integers");
        return ir::is_signed_int(a.type) && a.i < 0 ? evaluate(UnaryOp::Neg, a) : a;
    }
    if (a.type == Type::Float64) return {a.type, 0, math_function(fn, a.f, b.f)};
    return real(a.type, math_function(fn, static_cast<float>(a.f), static_cast<float>(b.f)));
}

Value cast(Type to, const Value& v, bool saturate) {
    if (ir::is_float(to)) return ir::is_float(v.type) ? real(to, v.f) : Value{to, 0, integer_to_float(to, v)};
    if (ir::is_float(v.type)) return {to, float_to_integer(to, v.f), 0};
    return saturate ? Value{to, clamp_integer(to, v), 0} : integer(to, v.i);
}

Value identity(ReduceOp op, Type type) {
    const double infinity = std::numeric_limits<double>::infinity();
    switch (op) {
        case ReduceOp::Sum: return ir::is_float(type) ? real(type, 0) : integer(type, 0);
        case ReduceOp::Prod: return ir::is_float(type) ? real(type, 1) : integer(type, 1);
        case ReduceOp::Min:
        case ReduceOp::ArgMin:  // of its terms
            return ir::is_float(type) ? real(type, infinity)
                                      : integer(type, static_cast<std::int64_t>(ir::int_max(type)));
        case ReduceOp::Max:
        case ReduceOp::ArgMax: return ir::is_float(type) ? real(type, -infinity) : integer(type, ir::int_min(type));
        case ReduceOp::Any: return boolean(false);
        case ReduceOp::All: return boolean(true);
    }
    throw std::logic_error("unknown reduction");
}

Value fold(ReduceOp op, const Value& accumulated, const Value& next) {
    switch (op) {
        case ReduceOp::Sum: return evaluate(BinaryOp::Add, accumulated, next);
        case ReduceOp::Prod: return evaluate(BinaryOp::Mul, accumulated, next);
        case ReduceOp::Min:
        case ReduceOp::ArgMin: return minimum(accumulated, next);
        case ReduceOp::Max:
        case ReduceOp::ArgMax: return maximum(accumulated, next);
        case ReduceOp::Any: return evaluate(BinaryOp::Or, accumulated, next);
        case ReduceOp::All: return evaluate(BinaryOp::And, accumulated, next);
    }
    throw std::logic_error("unknown reduction");
}

// float16: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits.

std::uint16_t to_half(double value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    if (std::isnan(value)) return sign | 0x7e00;
    const double magnitude = std::fabs(value);
    if (std::isinf(magnitude)) return sign | 0x7c00;
    if (magnitude == 0) return sign;
    // Count in units of the last place; below 2^-14 (subnormal) the unit stays the same.
    const int exponent = std::max(std::ilogb(magnitude), -14);
    const double units = round_even(std::ldexp(magnitude, 10 - exponent));  // at most 2048
    // A normal number has 1024 units and more; its leading one is the exponent field's, so that 2048 units carry into
    // it.
    const auto bits = static_cast<std::int64_t>(units) + (std::int64_t{exponent + 14} << 10);
    return sign | static_cast<std::uint16_t>(std::min<std::int64_t>(bits, 0x7c00));
}

double from_half(std::uint16_t bits) {
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    const int exponent = (bits >> 10) & 0x1f;
    const int fraction = bits & 0x3ff;
    if (exponent == 31) {
        return sign *
               (fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity());
    }
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace pipec::reference
