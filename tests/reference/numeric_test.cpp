// Every scalar operation on edge values. Expectations come from 128-bit arithmetic, from C++'s own conversions to the
// types, and from the compiler's _Float16: from nothing that the interpreter uses.
#include "reference/numeric.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "number_types.h"

namespace pipec::reference {
namespace {

using ir::BinaryOp;
using ir::Builtin;
using ir::ReduceOp;
using ir::Type;
using ir::UnaryOp;
__extension__ using Wide = __int128;
__extension__ using Half = _Float16;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Wide least(Type t) {
    return ir::is_signed_int(t) ? -(Wide{1} << (ir::bits(t) - 1)) : Wide{0};
}
Wide greatest(Type t) {
    return (Wide{1} << (ir::is_signed_int(t) ? ir::bits(t) - 1 : ir::bits(t))) - 1;
}

/// The value that is congruent to `v` and in the type's range.
Wide wrapped(Type t, Wide v) {
    const Wide modulus = Wide{1} << ir::bits(t);
    v %= modulus;
    if (v < least(t)) v += modulus;
    if (v > greatest(t)) v -= modulus;
    return v;
}

Wide wide(const Value& v) {
    return v.type == Type::UInt64 ? Wide{static_cast<std::uint64_t>(v.i)} : Wide{v.i};
}
Value narrow(Type t, Wide v) {
    return {t, static_cast<std::int64_t>(static_cast<std::uint64_t>(v)), 0};
}

/// The ends of the range, and around 0 and the powers of two.
std::vector<Wide> edge_values(Type t) {
    std::vector<Wide> all;
    for (const Wide center : {least(t), Wide{0}, greatest(t), greatest(t) / 2, Wide{1} << (ir::bits(t) / 2)}) {
        for (int d = -3; d <= 3; ++d) {
            if (center + d >= least(t) && center + d <= greatest(t)) all.push_back(center + d);
        }
    }
    return all;
}

Wide floor_quotient(Wide a, Wide b) {
    Wide q = a / b;
    while (q * b > a && b > 0) --q;
    while (q * b < a && b < 0) --q;
    return q;
}

/// What the operator must give, in unbounded integers, before wrapping.
Wide expected(BinaryOp op, Type t, Wide a, Wide b) {
    const int width = ir::bits(t);
    const Wide count = ((b % width) + width) % width;
    switch (op) {
        case BinaryOp::Add: return a + b;
        case BinaryOp::Sub: return a - b;
        case BinaryOp::Mul: return wrapped(t, a) * wrapped(t, b);
        case BinaryOp::Div: return b == 0 ? Wide{0} : floor_quotient(a, b);
        case BinaryOp::Mod: return b == 0 ? Wide{0} : a - floor_quotient(a, b) * b;
        case BinaryOp::Min: return a < b ? a : b;
        case BinaryOp::Max: return a < b ? b : a;
        case BinaryOp::BitAnd: return a & b;
        case BinaryOp::BitOr: return a | b;
        case BinaryOp::BitXor: return a ^ b;
        case BinaryOp::Shl: return wrapped(t, a) * (Wide{1} << static_cast<int>(count)) % (Wide{1} << width);
        case BinaryOp::Shr: return floor_quotient(a, Wide{1} << static_cast<int>(count));
        default: ADD_FAILURE(); return 0;
    }
}

void check_integers(Type t, Wide a, Wide b) {
    const Value va = narrow(t, a);
    const Value vb = narrow(t, b);
    for (const BinaryOp op :
         {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Mod, BinaryOp::Min, BinaryOp::Max,
          BinaryOp::BitAnd, BinaryOp::BitOr, BinaryOp::BitXor, BinaryOp::Shl, BinaryOp::Shr}) {
        const Value result = evaluate(op, va, vb);
        ASSERT_EQ(result.type, t);
        ASSERT_TRUE(wide(result) == wrapped(t, expected(op, t, a, b)))
            << ir::name(t) << ": " << static_cast<double>(a) << ' ' << ir::name(op) << ' ' << static_cast<double>(b)
            << " gives " << static_cast<double>(wide(result));
    }
    ASSERT_EQ(evaluate(BinaryOp::Eq, va, vb).i, a == b);
    ASSERT_EQ(evaluate(BinaryOp::Ne, va, vb).i, a != b);
    ASSERT_EQ(evaluate(BinaryOp::Lt, va, vb).i, a < b);
    ASSERT_EQ(evaluate(BinaryOp::Le, va, vb).i, a <= b);
    ASSERT_EQ(evaluate(BinaryOp::Gt, va, vb).i, a > b);
    ASSERT_EQ(evaluate(BinaryOp::Ge, va, vb).i, a >= b);
}

TEST(Numeric, EveryPairOfBytes) {
    for (const Type t : {Type::Int8, Type::UInt8}) {
        for (Wide a = least(t); a <= greatest(t); ++a) {
            for (Wide b = least(t); b <= greatest(t); ++b) ASSERT_NO_FATAL_FAILURE(check_integers(t, a, b));
        }
    }
}

TEST(Numeric, EdgesOfEveryIntegerType) {
    for (const Type t : kIntegers) {
        for (const Wide a : edge_values(t)) {
            for (const Wide b : edge_values(t)) ASSERT_NO_FATAL_FAILURE(check_integers(t, a, b));
            EXPECT_TRUE(wide(evaluate(UnaryOp::Neg, narrow(t, a))) == wrapped(t, -a));
            EXPECT_TRUE(wide(evaluate(UnaryOp::BitNot, narrow(t, a))) == wrapped(t, -1 - a));
            const Value argument = narrow(t, a);
            EXPECT_TRUE(wide(evaluate(Builtin::Abs, {&argument, 1})) == wrapped(t, a < 0 ? -a : a));
        }
    }
}

TEST(Numeric, IntegerCastsWrapOrSaturate) {
    for (const Type from : kIntegers) {
        for (const Type to : kIntegers) {
            for (const Wide a : edge_values(from)) {
                EXPECT_TRUE(wide(cast(to, narrow(from, a))) == wrapped(to, a));
                const Wide clamped = a < least(to) ? least(to) : a > greatest(to) ? greatest(to) : a;
                EXPECT_TRUE(wide(cast(to, narrow(from, a), true)) == clamped)
                    << ir::name(from) << " to " << ir::name(to) << ": " << static_cast<double>(a);
            }
        }
    }
    EXPECT_EQ(cast(Type::Int32, boolean(true)).i, 1);
    EXPECT_EQ(cast(Type::Float32, boolean(true)).f, 1);
}

TEST(Numeric, IntegersToFloatsRoundOnce) {
    // 2^24 + 1 and its like lie half way between two floats; 2^60 + 2^36 + 1 does so after rounding to double.
    const std::int64_t tricky = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
    EXPECT_EQ(cast(Type::Float32, {Type::Int64, tricky, 0}).f, std::ldexp(1.0, 60) + std::ldexp(1.0, 37));
    EXPECT_EQ(cast(Type::Float32, {Type::UInt64, tricky, 0}).f, std::ldexp(1.0, 60) + std::ldexp(1.0, 37));
    EXPECT_EQ(cast(Type::Float32, {Type::Int32, 16777217, 0}).f, 16777216);
    EXPECT_EQ(cast(Type::Float32, {Type::UInt64, -1, 0}).f, std::ldexp(1.0, 64));
    EXPECT_EQ(cast(Type::Float64, {Type::UInt64, -1, 0}).f, std::ldexp(1.0, 64));
    EXPECT_EQ(cast(Type::Float16, {Type::Int32, 2049, 0}).f, 2048);
    EXPECT_EQ(cast(Type::Float16, {Type::Int32, 2051, 0}).f, 2052);
    EXPECT_EQ(cast(Type::Float16, {Type::Int32, 65519, 0}).f, 65504);
    EXPECT_EQ(cast(Type::Float16, {Type::Int32, 65520, 0}).f, kInf);
    EXPECT_EQ(cast(Type::Float16, {Type::Int64, INT64_MIN, 0}).f, -kInf);
}

TEST(Numeric, FloatsToIntegersTruncateAndSaturate) {
    for (const Type to : kIntegers) {
        const auto check = [&](double v, Wide result) {
            EXPECT_TRUE(wide(cast(to, {Type::Float64, 0, v})) == result) << ir::name(to) << '(' << v << ')';
            EXPECT_TRUE(wide(cast(to, {Type::Float64, 0, v}, true)) == result) << ir::name(to) << '(' << v << ')';
        };
        check(kNan, 0);
        check(kInf, greatest(to));
        check(-kInf, least(to));
        check(1e300, greatest(to));
        check(-1e300, least(to));
        check(2.9, 2);
        check(-0.9, 0);
        check(-2.9, ir::is_signed_int(to) ? -2 : 0);
        check(static_cast<double>(greatest(to)), greatest(to));  // of 64 bits: one more than the greatest
        check(static_cast<double>(least(to)), least(to));
        if (ir::bits(to) < 64) {
            check(static_cast<double>(greatest(to)) + 0.9, greatest(to));
            check(static_cast<double>(greatest(to)) + 1, greatest(to));
            check(static_cast<double>(greatest(to)) - 0.1, greatest(to) - 1);
        }
    }
    EXPECT_EQ(cast(Type::UInt64, {Type::Float64, 0, std::ldexp(1.0, 63)}).i, INT64_MIN);
    EXPECT_EQ(cast(Type::Int64, {Type::Float64, 0, -std::ldexp(1.0, 62)}).i, -(std::int64_t{1} << 62));
}

TEST(Numeric, HalfRoundsAsTheCompilersHalf) {
    const auto bits_of = [](Half h) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, &h, sizeof bits);
        return bits;
    };
    for (unsigned pattern = 0; pattern < 0x10000; ++pattern) {
        const auto bits = static_cast<std::uint16_t>(pattern);
        Half h;
        std::memcpy(&h, &bits, sizeof h);
        const double value = from_half(bits);
        if (std::isnan(static_cast<double>(h))) {
            ASSERT_TRUE(std::isnan(value));
            ASSERT_TRUE(std::isnan(from_half(to_half(value))));
            continue;
        }
        ASSERT_EQ(value, static_cast<double>(h));
        ASSERT_EQ(to_half(value), bits);
        // Half way to the next one, and a hair to both sides of that.
        const double next = from_half(static_cast<std::uint16_t>(pattern + 1));
        if (!std::isfinite(next) || !std::isfinite(value)) continue;
        const double middle = (value + next) / 2;
        for (const double v : {middle, std::nextafter(middle, kInf), std::nextafter(middle, -kInf)}) {
            ASSERT_EQ(to_half(v), bits_of(static_cast<Half>(v))) << v;
        }
    }
    for (const double v : {65519.999, 65520.0, 1e300, -1e300, kInf, 5e-324, 2.9e-8, -2.99e-8, 0.0, -0.0}) {
        EXPECT_EQ(to_half(v), bits_of(static_cast<Half>(v))) << v;
    }
}

TEST(Numeric, FloatArithmeticRoundsToItsType) {
    const auto run = [](BinaryOp op, Type t, double a, double b) { return evaluate(op, real(t, a), real(t, b)).f; };
    const std::vector<double> values = {0.1,    0.3,   1.0 / 3, -7.7, 1e-7, 1e4, 65504,
                                        3.1e38, 1e-45, 6.1e-5,  0,    -0.0, kInf};
    for (const double a : values) {
        for (const double b : values) {
            const auto same = [](double x, double y) { return std::isnan(x) ? std::isnan(y) : x == y; };
            const auto fa = static_cast<float>(a), fb = static_cast<float>(b);
            const auto ha = static_cast<Half>(a), hb = static_cast<Half>(b);
            EXPECT_TRUE(same(run(BinaryOp::Add, Type::Float64, a, b), a + b));
            EXPECT_TRUE(same(run(BinaryOp::Div, Type::Float64, a, b), a / b));
            EXPECT_TRUE(same(run(BinaryOp::Add, Type::Float32, a, b), fa + fb));
            EXPECT_TRUE(same(run(BinaryOp::Sub, Type::Float32, a, b), fa - fb));
            EXPECT_TRUE(same(run(BinaryOp::Mul, Type::Float32, a, b), fa * fb));
            EXPECT_TRUE(same(run(BinaryOp::Div, Type::Float32, a, b), fa / fb));
            EXPECT_TRUE(same(run(BinaryOp::Add, Type::Float16, a, b), static_cast<double>(ha + hb)));
            EXPECT_TRUE(same(run(BinaryOp::Sub, Type::Float16, a, b), static_cast<double>(ha - hb)));
            EXPECT_TRUE(same(run(BinaryOp::Mul, Type::Float16, a, b), static_cast<double>(ha * hb))) << a << ' ' << b;
            EXPECT_TRUE(same(run(BinaryOp::Div, Type::Float16, a, b), static_cast<double>(ha / hb))) << a << ' ' << b;
        }
    }
}

TEST(Numeric, NansInMinMaxAndComparisons) {
    for (const Type t : kFloats) {
        const Value nan = real(t, kNan);
        const Value one = real(t, 1);
        for (const BinaryOp op : {BinaryOp::Min, BinaryOp::Max}) {
            EXPECT_EQ(evaluate(op, nan, one).f, 1);
            EXPECT_EQ(evaluate(op, one, nan).f, 1);
            EXPECT_TRUE(std::isnan(evaluate(op, nan, nan).f));
        }
        EXPECT_EQ(evaluate(BinaryOp::Min, one, real(t, -kInf)).f, -kInf);
        EXPECT_EQ(evaluate(BinaryOp::Max, one, real(t, 2)).f, 2);
        for (const BinaryOp op : {BinaryOp::Eq, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge}) {
            EXPECT_EQ(evaluate(op, nan, one).i, 0);
            EXPECT_EQ(evaluate(op, nan, nan).i, 0);
        }
        EXPECT_EQ(evaluate(BinaryOp::Ne, nan, nan).i, 1);
        EXPECT_EQ(evaluate(BinaryOp::Eq, real(t, 0.0), real(t, -0.0)).i, 1);
        EXPECT_EQ(evaluate(Builtin::IsNan, {&nan, 1}).i, 1);
        EXPECT_EQ(evaluate(Builtin::IsNan, {&one, 1}).i, 0);
    }
}

TEST(Numeric, RoundTiesToEven) {
    std::fesetround(FE_TONEAREST);
    for (const Type t : kFloats) {
        for (double v = -6; v <= 6; v += 0.125) {
            const Value argument = real(t, v);
            const double result = evaluate(Builtin::Round, {&argument, 1}).f;
            EXPECT_EQ(result, std::nearbyint(v)) << v;
            EXPECT_EQ(std::signbit(result), std::signbit(std::nearbyint(v))) << v;
        }
    }
    for (const double v : {0.49999999999999994, -0.49999999999999994, 4503599627370495.5, 4503599627370497.5, 1e300,
                           -1e-300, 9007199254740993.0, kInf, -kInf}) {
        const Value argument = real(Type::Float64, v);
        EXPECT_EQ(evaluate(Builtin::Round, {&argument, 1}).f, std::nearbyint(v)) << v;
    }
}

TEST(Numeric, MathFunctionsUseTheirTypesPrecision) {
    const auto call1 = [](Builtin fn, Type t, double a) {
        const Value argument = real(t, a);
        return evaluate(fn, {&argument, 1}).f;
    };
    EXPECT_EQ(call1(Builtin::Sqrt, Type::Float32, 2), std::sqrt(2.0f));
    EXPECT_EQ(call1(Builtin::Sqrt, Type::Float64, 2), std::sqrt(2.0));
    EXPECT_EQ(call1(Builtin::Rsqrt, Type::Float32, 3), 1.0f / std::sqrt(3.0f));
    EXPECT_EQ(call1(Builtin::Exp, Type::Float32, 1), std::exp(1.0f));
    EXPECT_EQ(call1(Builtin::Exp2, Type::Float64, 10), 1024);
    EXPECT_EQ(call1(Builtin::Log2, Type::Float64, 1024), 10);
    EXPECT_EQ(call1(Builtin::Floor, Type::Float32, -1.5), -2);
    EXPECT_EQ(call1(Builtin::Ceil, Type::Float32, -1.5), -1);
    EXPECT_EQ(call1(Builtin::Trunc, Type::Float32, -1.5), -1);
    EXPECT_EQ(call1(Builtin::Abs, Type::Float16, -1.5), 1.5);
    EXPECT_EQ(call1(Builtin::Sqrt, Type::Float16, 2), from_half(to_half(std::sqrt(2.0))));
    const Value two[] = {real(Type::Float32, 3), real(Type::Float32, 4)};
    EXPECT_EQ(evaluate(Builtin::Hypot, two).f, 5);
    EXPECT_EQ(evaluate(Builtin::Pow, two).f, 81);
    EXPECT_EQ(evaluate(Builtin::Atan2, two).f, std::atan2(3.0f, 4.0f));
}

TEST(Numeric, Reductions) {
    for (const Type t : kIntegers) {
        EXPECT_TRUE(wide(identity(ReduceOp::Min, t)) == greatest(t));
        EXPECT_TRUE(wide(identity(ReduceOp::Max, t)) == least(t));
        EXPECT_EQ(fold(ReduceOp::Sum, identity(ReduceOp::Sum, t), narrow(t, 7)).i, 7);
        EXPECT_EQ(fold(ReduceOp::Prod, identity(ReduceOp::Prod, t), narrow(t, 7)).i, 7);
    }
    for (const Type t : kFloats) {
        EXPECT_EQ(identity(ReduceOp::Min, t).f, kInf);
        EXPECT_EQ(identity(ReduceOp::Max, t).f, -kInf);
        EXPECT_EQ(fold(ReduceOp::Max, identity(ReduceOp::Max, t), real(t, kNan)).f, -kInf);
    }
    EXPECT_EQ(fold(ReduceOp::Any, identity(ReduceOp::Any, Type::Bool), boolean(true)).i, 1);
    EXPECT_EQ(fold(ReduceOp::All, identity(ReduceOp::All, Type::Bool), boolean(false)).i, 0);
}

TEST(Numeric, ArraysHoldMemoryForm) {
    for (const Type t : kIntegers) {
        Array array(t, {2, 3});
        for (const Wide v : edge_values(t)) {
            array.set(4, narrow(t, v));
            EXPECT_TRUE(wide(array.get(4)) == v);
            EXPECT_TRUE(wide(array.get(3)) == 0);
            EXPECT_TRUE(wide(array.get(5)) == 0);
        }
    }
    Array half(Type::Float16, {1});
    half.set(0, real(Type::Float16, 1.5));
    EXPECT_EQ(half.data, (std::vector<std::byte>{std::byte{0x00}, std::byte{0x3e}}));
    EXPECT_EQ(half.get(0).f, 1.5);
    EXPECT_EQ(Array(Type::Float64, {}).size(), 1u);  // rank 0: one element
}

}  // namespace
}  // namespace pipec::reference
