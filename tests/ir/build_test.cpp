// Construction folds constants exactly as the interpreter evaluates, and nothing that could change a float.
#include "ir/build.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ir/visit.h"
#include "reference/numeric.h"

namespace pipec::ir::build_test {
namespace {

const std::vector<Type> kIntegers = {Type::Int8,  Type::Int16,  Type::Int32,  Type::Int64,
                                     Type::UInt8, Type::UInt16, Type::UInt32, Type::UInt64};
const std::vector<std::int64_t> kInteresting = {0,
                                                1,
                                                -1,
                                                2,
                                                -2,
                                                3,
                                                5,
                                                7,
                                                31,
                                                32,
                                                63,
                                                64,
                                                127,
                                                128,
                                                129,
                                                255,
                                                256,
                                                -128,
                                                -129,
                                                32767,
                                                32768,
                                                65535,
                                                65536,
                                                INT32_MAX,
                                                INT32_MIN,
                                                std::int64_t{1} << 31,
                                                (std::int64_t{1} << 32) - 1,
                                                (std::int64_t{1} << 53) + 1,
                                                (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1,
                                                INT64_MAX,
                                                INT64_MIN};

/// What is known of an unsigned constant: it is stored zero-extended, as expr.h says.
reference::Value value_of(const Expr& e) {
    if (const auto* c = as<IntConstant>(e)) return {e->type, c->value, 0};
    return {e->type, 0, as<FloatConstant>(e)->value};
}

TEST(Build, FoldsIntegerOperatorsAsTheInterpreterDoes) {
    for (const Type t : kIntegers) {
        for (const std::int64_t a : kInteresting) {
            for (const std::int64_t b : kInteresting) {
                const Expr ea = int_constant(t, a), eb = int_constant(t, b);
                for (int op = 0; op <= static_cast<int>(BinaryOp::Ge); ++op) {
                    const auto bop = static_cast<BinaryOp>(op);
                    const Expr e = binary(bop, ea, eb);
                    const reference::Value expected = evaluate(bop, reference::integer(t, a), reference::integer(t, b));
                    ASSERT_TRUE(as_int(e)) << "not folded";
                    ASSERT_EQ(e->type, expected.type);
                    ASSERT_EQ(as_int(e), expected.i) << name(t) << ": " << a << ' ' << name(bop) << ' ' << b;
                }
            }
        }
    }
}

TEST(Build, FoldsUnaryOperatorsAndCastsAsTheInterpreterDoes) {
    const std::vector<Type> targets = {Type::Int8,    Type::Int16,   Type::Int32,  Type::Int64,
                                       Type::UInt8,   Type::UInt16,  Type::UInt32, Type::UInt64,
                                       Type::Float16, Type::Float32, Type::Float64};
    for (const Type t : kIntegers) {
        for (const std::int64_t a : kInteresting) {
            const Expr e = int_constant(t, a);
            const reference::Value v = reference::integer(t, a);
            for (const UnaryOp op : {UnaryOp::Neg, UnaryOp::BitNot}) EXPECT_EQ(as_int(unary(op, e)), evaluate(op, v).i);
            for (const Type to : targets) {
                for (const bool saturate : {false, true}) {
                    const Expr c = cast(to, e, {}, saturate);
                    ASSERT_EQ(c->type, to);
                    if (as<Cast>(c)) continue;  // not folded: always right
                    const reference::Value got = value_of(c), want = reference::cast(to, v, saturate);
                    EXPECT_EQ(got.i, want.i) << name(t) << ' ' << a << " to " << name(to);
                    EXPECT_EQ(got.f, want.f) << name(t) << ' ' << a << " to " << name(to);
                }
            }
        }
    }
}

TEST(Build, FloatConstantsAreRounded) {
    EXPECT_EQ(as<FloatConstant>(float_constant(Type::Float32, 0.1))->value, 0.1f);
    EXPECT_EQ(as<FloatConstant>(float_constant(Type::Float64, 0.1))->value, 0.1);
    for (const double v : {0.1, 65504.0, 65519.9, 65520.0, -1e9, 6.1e-5, 5.97e-8, 2.98e-8, 2.99e-8, 1e-300, -0.0,
                           2049.0, 2051.0, std::numeric_limits<double>::infinity()}) {
        const double rounded = round_to(Type::Float16, v);
        EXPECT_EQ(rounded, reference::from_half(reference::to_half(v))) << v;
        EXPECT_EQ(std::signbit(rounded), std::signbit(v)) << v;
    }
    EXPECT_TRUE(std::isnan(round_to(Type::Float16, std::nan(""))));
    EXPECT_EQ(as<FloatConstant>(cast(Type::Float16, float_constant(Type::Float64, 0.1)))->value,
              reference::from_half(reference::to_half(0.1)));
}

TEST(Build, IntegerIdentities) {
    const Expr x = variable(0, Type::Int32);
    const Expr zero = int_constant(Type::Int32, 0), one = int_constant(Type::Int32, 1);
    EXPECT_EQ(binary(BinaryOp::Add, x, zero), x);
    EXPECT_EQ(binary(BinaryOp::Add, zero, x), x);
    EXPECT_EQ(binary(BinaryOp::Sub, x, zero), x);
    EXPECT_EQ(binary(BinaryOp::Mul, one, x), x);
    EXPECT_EQ(as_int(binary(BinaryOp::Mul, x, zero)), 0);
    EXPECT_EQ(binary(BinaryOp::Div, x, one), x);
    EXPECT_TRUE(as<Binary>(binary(BinaryOp::Sub, zero, x)));
    EXPECT_TRUE(as<Binary>(binary(BinaryOp::Div, zero, x)));  // or 0, but never x
    const Expr b = variable(1, Type::Bool);
    EXPECT_EQ(binary(BinaryOp::And, bool_constant(true), b), b);
    EXPECT_EQ(as_int(binary(BinaryOp::And, bool_constant(false), b)), 0);
    EXPECT_EQ(binary(BinaryOp::Or, b, bool_constant(false)), b);
    EXPECT_EQ(as_int(binary(BinaryOp::Or, bool_constant(true), b)), 1);
    // Not `b and false`: what is left of `and` stays, and here it decides nothing, so either is right.
}

TEST(Build, FloatsAreLeftAlone) {
    const Expr x = variable(0, Type::Float32);
    const Expr zero = float_constant(Type::Float32, 0), one = float_constant(Type::Float32, 1);
    for (const BinaryOp op : {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div}) {
        EXPECT_TRUE(as<Binary>(binary(op, x, zero)));  // -0.0 + 0.0 is 0.0; NaN * 0 is NaN
        EXPECT_TRUE(as<Binary>(binary(op, x, one)));
    }
}

TEST(Build, SelectOfAConstantTakesTheBranch) {
    const Expr a = variable(0, Type::Int32), b = variable(1, Type::Int32);
    EXPECT_EQ(select(bool_constant(true), a, b), a);
    EXPECT_EQ(select(bool_constant(false), a, b), b);
    EXPECT_EQ(select(bool_constant(true), a, nullptr), a);
    EXPECT_TRUE(as<Select>(select(bool_constant(false), a, nullptr)));  // an error that is still to be found
}

TEST(Build, TypesOfNodes) {
    const Expr f = variable(0, Type::Float64);
    EXPECT_EQ(binary(BinaryOp::Lt, f, f)->type, Type::Bool);
    EXPECT_EQ(call(Builtin::IsNan, {f})->type, Type::Bool);
    EXPECT_EQ(call(Builtin::Pow, {f, f})->type, Type::Float64);
    EXPECT_EQ(let(1, f, bool_constant(true))->type, Type::Bool);
    EXPECT_EQ(cast(Type::Float64, f), f);
    EXPECT_EQ(size_ref(0)->type, Type::Int32);
    EXPECT_EQ(as_int(identity(ReduceOp::Max, Type::UInt8)), 0);
    EXPECT_EQ(as_int(identity(ReduceOp::Min, Type::UInt64)), -1);  // its bits
    EXPECT_EQ(as<FloatConstant>(identity(ReduceOp::Min, Type::Float32))->value,
              std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace pipec::ir::build_test
