#include "poly/range_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/build.h"

namespace pipec::poly {

using ir::BinaryOp;
using ir::Builtin;
using ir::Type;

namespace {

IntRange unbounded_where_far(const IntRange& range) {
    return range.lo < -kFarEnd || range.hi > kFarEnd ? kAnyInteger : range;
}

/// Of two numbers within the far ends; beyond them where the true product is.
Wide product(Wide a, Wide b) {
    const long double estimate = static_cast<long double>(a) * static_cast<long double>(b);
    constexpr auto kLimit = static_cast<long double>(kFarEnd);
    if (estimate > kLimit) return kFarEnd + 1;
    if (estimate < -kLimit) return -kFarEnd - 1;
    return a * b;
}

Wide floor_div(Wide a, Wide b) {
    const Wide quotient = a / b;
    return a % b != 0 && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

template <class F>
IntRange over_corners(const IntRange& a, const IntRange& b, F f) {
    const Wide corners[] = {f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
    return {*std::min_element(std::begin(corners), std::end(corners)),
            *std::max_element(std::begin(corners), std::end(corners))};
}

/// The least 2^k - 1 that is not below `value`.
Wide mask_above(Wide value) {
    Wide mask = 0;
    while (mask < value) mask = mask * 2 + 1;
    return mask;
}

/// Floor division of ranges; a divisor that may be 0 gives 0 there.
IntRange divide(const IntRange& a, const IntRange& b) {
    if (b.lo == b.hi && b.lo == 0) return {0, 0};
    // Between divisors -1 and 1 the quotient is largest: they, and the ends, are the corners.
    IntRange result{0, 0};
    bool first = true;
    for (const Wide d : {b.lo, b.hi, static_cast<Wide>(-1), static_cast<Wide>(1)}) {
        if (d == 0 || d < b.lo || d > b.hi) continue;
        const IntRange part = over_corners(a, {d, d}, floor_div);
        result = first ? part : hull(result, part);
        first = false;
    }
    return b.lo <= 0 && b.hi >= 0 ? hull(result, {0, 0}) : result;
}

IntRange modulo(const IntRange& a, const IntRange& b) {
    if (b.lo > 0 && a.lo >= 0 && a.hi < b.lo) return a;
    return {std::min<Wide>(b.lo < 0 ? b.lo + 1 : 0, 0), std::max<Wide>(b.hi > 0 ? b.hi - 1 : 0, 0)};
}

}  // namespace

IntRange type_range(Type type) {
    return {ir::int_min(type), static_cast<Wide>(ir::int_max(type))};
}

ValueRange type_range_of(Type type) {
    if (ir::is_float(type)) return kAnyFloat;
    return type_range(type);
}

bool fits(const IntRange& range, Type type) {
    const IntRange bounds = type_range(type);
    return range.lo >= bounds.lo && range.hi <= bounds.hi;
}

IntRange hull(const IntRange& a, const IntRange& b) {
    return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

FloatRange hull(const FloatRange& a, const FloatRange& b) {
    return {std::min(a.lo, b.lo), std::max(a.hi, b.hi), a.nan || b.nan};
}

ValueRange hull(const ValueRange& a, const ValueRange& b) {
    if (const auto* i = std::get_if<IntRange>(&a)) return hull(*i, std::get<IntRange>(b));
    return hull(std::get<FloatRange>(a), std::get<FloatRange>(b));
}

IntRange exact_sum(const IntRange& a, const IntRange& b) {
    return unbounded_where_far({a.lo + b.lo, a.hi + b.hi});
}

IntRange exact_negation(const IntRange& a) {
    return {-a.hi, -a.lo};
}

IntRange exact_product(const IntRange& a, const IntRange& b) {
    return unbounded_where_far(over_corners(a, b, product));
}

bool has_zero(const FloatRange& a) {
    return a.lo <= 0 && a.hi >= 0;
}

bool has_infinity(const FloatRange& a) {
    return std::isinf(a.lo) || std::isinf(a.hi);
}

FloatRange float_binary(BinaryOp op, Type type, const FloatRange& a, const FloatRange& b) {
    const auto apply = [&](double x, double y) {
        switch (op) {
            case BinaryOp::Add: return ir::round_to(type, x + y);
            case BinaryOp::Sub: return ir::round_to(type, x - y);
            case BinaryOp::Mul: return ir::round_to(type, x * y);
            default: return ir::round_to(type, x / y);
        }
    };
    switch (op) {
        case BinaryOp::Min:
            // The other operand when one is NaN: an operand that may be NaN does not bound the result from above.
            return {std::min(a.lo, b.lo),
                    a.nan ? (b.nan ? std::max(a.hi, b.hi) : b.hi) : (b.nan ? a.hi : std::min(a.hi, b.hi)),
                    a.nan && b.nan};
        case BinaryOp::Max:
            return {a.nan ? (b.nan ? std::min(a.lo, b.lo) : b.lo) : (b.nan ? a.lo : std::max(a.lo, b.lo)),
                    std::max(a.hi, b.hi), a.nan && b.nan};
        case BinaryOp::Div:
        case BinaryOp::Mul:
            if (op == BinaryOp::Div && has_zero(b)) return kAnyFloat;
            // 0 * infinity is NaN, also where the 0 is no end of its range.
            if (op == BinaryOp::Mul && ((has_zero(a) && has_infinity(b)) || (has_infinity(a) && has_zero(b)))) {
                return kAnyFloat;
            }
            [[fallthrough]];
        case BinaryOp::Add:
        case BinaryOp::Sub: {
            // infinity - infinity and infinity / infinity are NaN: infinities are ends, so these are corners.
            const double corners[] = {apply(a.lo, b.lo), apply(a.lo, b.hi), apply(a.hi, b.lo), apply(a.hi, b.hi)};
            FloatRange result{kInfinity, -kInfinity, a.nan || b.nan};
            for (const double c : corners) {
                if (std::isnan(c)) return kAnyFloat;
                result.lo = std::min(result.lo, c);
                result.hi = std::max(result.hi, c);
            }
            return result;
        }
        default: return kAnyFloat;
    }
}

IntRange int_binary(BinaryOp op, const IntRange& a, const IntRange& b, Type type) {
    switch (op) {
        case BinaryOp::Min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
        case BinaryOp::Max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
        case BinaryOp::Div: return divide(a, b);
        case BinaryOp::Mod: return modulo(a, b);
        case BinaryOp::BitAnd:
            if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
            if (a.lo >= 0) return {0, a.hi};
            if (b.lo >= 0) return {0, b.hi};
            return type_range(type);
        case BinaryOp::BitOr:
            if (a.lo >= 0 && b.lo >= 0) return {std::max(a.lo, b.lo), mask_above(std::max(a.hi, b.hi))};
            return type_range(type);
        case BinaryOp::BitXor:
            if (a.lo >= 0 && b.lo >= 0) return {0, mask_above(std::max(a.hi, b.hi))};
            return type_range(type);
        case BinaryOp::Shr:
            if (b.lo >= 0 && b.hi < ir::bits(type)) {
                return over_corners(a, b, [](Wide x, Wide s) { return floor_div(x, static_cast<Wide>(1) << s); });
            }
            return hull(a, {0, 0}).lo < 0 ? IntRange{a.lo, std::max<Wide>(a.hi, 0)} : IntRange{0, a.hi};
        case BinaryOp::Shl:
            if (b.lo >= 0 && b.hi < ir::bits(type)) {
                const IntRange r =
                    over_corners(a, b, [](Wide x, Wide s) { return product(x, static_cast<Wide>(1) << s); });
                if (fits(r, type)) return r;
            }
            return type_range(type);
        default: return type_range(type);
    }
}

IntRange comparison(BinaryOp op, const IntRange& a, const IntRange& b) {
    constexpr IntRange kTrue{1, 1}, kFalse{0, 0}, kEither{0, 1};
    switch (op) {
        case BinaryOp::Lt: return a.hi < b.lo ? kTrue : a.lo >= b.hi ? kFalse : kEither;
        case BinaryOp::Le: return a.hi <= b.lo ? kTrue : a.lo > b.hi ? kFalse : kEither;
        case BinaryOp::Gt: return comparison(BinaryOp::Lt, b, a);
        case BinaryOp::Ge: return comparison(BinaryOp::Le, b, a);
        default: return kEither;
    }
}

IntRange cast_to_int(Type to, const FloatRange& a) {
    const IntRange bounds = type_range(to);
    const auto truncate = [&](double v) -> Wide {
        if (v <= static_cast<double>(bounds.lo)) return bounds.lo;
        if (v >= static_cast<double>(bounds.hi)) return bounds.hi;
        return static_cast<Wide>(std::trunc(v));
    };
    const IntRange result{truncate(a.lo), truncate(a.hi)};
    return a.nan ? hull(result, {0, 0}) : result;
}

double to_float(Type to, Wide value) {
    return to == Type::Float32 ? static_cast<double>(static_cast<float>(value))
                               : ir::round_to(to, static_cast<double>(value));
}

/// Of a power whose value is known to be near what it should be.
constexpr double kMostExponent = 64;

FloatRange float_call(Builtin fn, Type type, const FloatRange& a, const FloatRange& b) {
    // A little farther than any implementation is off.
    const auto between = [&](double least, double most, bool nan) {
        const double off = type == Type::Float16 ? 0x1p-8 : 0x1p-20;
        return FloatRange{least - (least == 0 ? 0 : off), most + off, nan};
    };
    // From 0 on. No implementation is a 512th off, as long as exponents are small.
    const auto at_most = [&](double most, bool nan) {
        const double off = type == Type::Float16 ? 0x1p-7 : 0x1p-9;
        const double end = most * (1 + off) + std::numeric_limits<float>::min();
        return FloatRange{0, end < 0x1p120 ? ir::round_to(type, end) : kInfinity, nan};
    };
    const auto monotone = [&](auto f) {
        return FloatRange{ir::round_to(type, f(a.lo)), ir::round_to(type, f(a.hi)), a.nan};
    };
    switch (fn) {
        case Builtin::Floor: return monotone([](double v) { return std::floor(v); });
        case Builtin::Ceil: return monotone([](double v) { return std::ceil(v); });
        case Builtin::Trunc: return monotone([](double v) { return std::trunc(v); });
        case Builtin::Round: return monotone([](double v) { return std::nearbyint(v); });
        case Builtin::Abs: {
            const double hi = std::max(std::fabs(a.lo), std::fabs(a.hi));
            return {a.lo <= 0 && a.hi >= 0 ? 0.0 : std::min(std::fabs(a.lo), std::fabs(a.hi)), hi, a.nan};
        }
        case Builtin::Sqrt: return at_most(std::sqrt(std::max(0.0, a.hi)), a.nan || a.lo < 0);
        // Of -0 they may be -infinity.
        case Builtin::Rsqrt: return a.lo > 0 ? FloatRange{0, kInfinity, a.nan} : kAnyFloat;
        case Builtin::Pow:
            // It grows with the base, and from power to power it grows or falls. With fast math it is 2^(b * log2 a),
            // where b multiplies the error of the logarithm.
            if (a.lo >= 0 && b.lo >= 0 && b.hi <= kMostExponent) {
                return at_most(std::max(std::pow(a.hi, b.lo), std::pow(a.hi, b.hi)), a.nan || b.nan);
            }
            return a.lo > 0 || (a.lo == 0 && b.lo >= 0) ? FloatRange{0, kInfinity, a.nan || b.nan} : kAnyFloat;
        case Builtin::Exp: return at_most(std::exp(a.hi), a.nan);
        case Builtin::Exp2: return at_most(std::exp2(a.hi), a.nan);
        case Builtin::Log:
        case Builtin::Log2: {
            if (a.hi <= 0) return kAnyFloat;
            const bool half = type == Type::Float16;
            const auto to_spare = [&](double v) {
                return std::fabs(v) * (half ? 0x1p-7 : 0x1p-9) + (half ? 0x1p-8 : 0x1p-20);
            };
            const auto log = [&](double v, int side) {
                const double value = fn == Builtin::Log ? std::log(v) : std::log2(v);
                return std::isinf(value) ? value : ir::round_to(type, value + side * to_spare(value));
            };
            // Fast math takes a number that is not normal for 0.
            const bool normal = a.lo >= std::numeric_limits<float>::min();
            return {normal ? log(a.lo, -1) : -kInfinity, log(a.hi, 1), a.nan || a.lo < 0};
        }
        case Builtin::Cosh: return {0, kInfinity, a.nan};
        case Builtin::Hypot:
            return at_most(
                std::hypot(std::max(std::fabs(a.lo), std::fabs(a.hi)), std::max(std::fabs(b.lo), std::fabs(b.hi))),
                a.nan || b.nan);
        case Builtin::Sin:
        case Builtin::Cos: return between(-1, 1, a.nan || has_infinity(a));
        case Builtin::Tanh: return between(-1, 1, a.nan);
        case Builtin::Asin:
        case Builtin::Atan: return between(-std::numbers::pi / 2, std::numbers::pi / 2, a.nan || a.lo < -1 || a.hi > 1);
        case Builtin::Acos: return between(0, std::numbers::pi, a.nan || a.lo < -1 || a.hi > 1);
        case Builtin::Atan2: return between(-std::numbers::pi, std::numbers::pi, a.nan || b.nan);
        default: return kAnyFloat;
    }
}

FloatRange square(Type type, const FloatRange& a) {
    const double low = ir::round_to(type, a.lo * a.lo), high = ir::round_to(type, a.hi * a.hi);
    return {has_zero(a) ? 0 : std::min(low, high), std::max(low, high), a.nan};
}

IntRange square(const IntRange& a) {
    const IntRange ends = hull(exact_product({a.lo, a.lo}, {a.lo, a.lo}), exact_product({a.hi, a.hi}, {a.hi, a.hi}));
    return {a.lo < 0 && a.hi > 0 ? 0 : ends.lo, ends.hi};
}

}  // namespace pipec::poly
