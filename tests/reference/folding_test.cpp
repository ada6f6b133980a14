// What ir/build.h makes of constants is what the interpreter computes, for every operator and cast on edge values.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ir/build.h"
#include "number_types.h"
#include "reference/numeric.h"

namespace pipec::reference {
namespace {

using ir::BinaryOp;
using ir::Type;
using ir::UnaryOp;

/// The ends, 0, around powers of two, and around the middles of powers of two and the next floats.
std::vector<Value> edges(Type type) {
    std::vector<Value> result{integer(type, ir::int_min(type)),
                              integer(type, static_cast<std::int64_t>(ir::int_max(type)))};
    for (const int power : {0, 1, 2, 5, 7, 8, 11, 15, 16, 24, 25, 31, 32, 53, 54, 62, 63}) {
        const std::uint64_t v = std::uint64_t{1} << power;
        for (const std::uint64_t half_place : {std::uint64_t{0}, v >> 24, v >> 53}) {
            for (const std::uint64_t d : {UINT64_MAX, std::uint64_t{0}, std::uint64_t{1}}) {
                result.push_back(integer(type, static_cast<std::int64_t>(v + half_place + d)));
                result.push_back(integer(type, -static_cast<std::int64_t>(v + half_place + d)));
            }
        }
    }
    return result;
}

/// A folded constant is the expected value; what is left unfolded is right by definition.
void expect_value(const ir::Expr& e, const Value& expected) {
    ASSERT_EQ(e->type, expected.type);
    if (const auto value = ir::as_int(e)) {
        EXPECT_EQ(integer(e->type, *value).i, expected.i);
    } else if (const auto* real = ir::as<ir::FloatConstant>(e)) {
        EXPECT_TRUE(real->value == expected.f || (std::isnan(real->value) && std::isnan(expected.f)))
            << real->value << " " << expected.f;
    }
}

TEST(Folding, OfIntegersIsTheInterpretersArithmetic) {
    for (const Type type : kIntegers) {
        const std::vector<Value> values = edges(type);
        for (const Value& a : values) {
            const ir::Expr ea = ir::int_constant(type, a.i);
            for (const UnaryOp op : {UnaryOp::Neg, UnaryOp::BitNot}) expect_value(ir::unary(op, ea), evaluate(op, a));
            for (const Value& b : values) {
                const ir::Expr eb = ir::int_constant(type, b.i);
                for (int op = 0; op < static_cast<int>(BinaryOp::And); ++op) {
                    const auto binary = static_cast<BinaryOp>(op);
                    expect_value(ir::binary(binary, ea, eb), evaluate(binary, a, b));
                }
            }
            if (HasFatalFailure() || HasFailure()) {
                ADD_FAILURE() << ir::name(type) << " " << a.i;
                return;
            }
        }
    }
}

TEST(Folding, OfCastsRoundsAndWrapsAsTheInterpreter) {
    for (const Type from : kIntegers) {
        for (const Value& a : edges(from)) {
            const ir::Expr e = ir::int_constant(from, a.i);
            for (const Type to : kIntegers) {
                for (const bool saturate : {false, true}) {
                    expect_value(ir::cast(to, e, {}, saturate), cast(to, a, saturate));
                }
            }
            for (const Type to : kFloats) expect_value(ir::cast(to, e), cast(to, a));
            ASSERT_FALSE(HasFailure()) << ir::name(from) << " " << a.i;
        }
    }
    for (const Type from : kFloats) {
        for (const double v :
             {0.0, -0.0, 1.0, 0.1, 65504.0, 65519.9, 65520.0, 1e-8, 0x1p-25, 0x1.8p-25, 1e39, 1e300, 0x1.002002p0,
              0x1.0020000000001p0, std::nan(""), std::numeric_limits<double>::infinity()}) {
            const Value a = real(from, v);
            for (const Type to : kFloats) {
                expect_value(ir::cast(to, ir::float_constant(from, v)), cast(to, a));
                ASSERT_FALSE(HasFailure()) << ir::name(from) << " " << v << " to " << ir::name(to);
            }
        }
    }
}

}  // namespace
}  // namespace pipec::reference
