// What conditions say of indices: the ends that they give to ranges, and what is left to be asked for.
#include "fusion/conditions.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion::conditions_test {
namespace {

using ir::binary;
using ir::BinaryOp;
using ir::Type;

ir::Expr number(std::int64_t value) {
    return ir::int_constant(Type::Int32, value);
}

const ir::Expr kT = ir::variable(0, Type::Int32);
const ir::Expr kSize = ir::size_ref(0);

/// 0 <= t < T after a condition, and whether that says all of it.
struct Narrowed {
    explicit Narrowed(const ir::Expr& condition, bool never_empty = true)
        : places{{0, number(0), kSize, never_empty}}, all(narrow(places, fixed, condition)) {}
    [[nodiscard]] bool is(const ir::Expr& lo, const ir::Expr& hi) const {
        return all && ir::structurally_equal(places.front().lo, lo) && ir::structurally_equal(places.front().hi, hi);
    }
    Places places;
    std::map<ir::VarId, ir::Expr> fixed;
    bool all;
};

TEST(Conditions, EndRanges) {
    const ir::Expr last = binary(BinaryOp::Sub, kSize, number(1));
    EXPECT_TRUE(Narrowed(binary(BinaryOp::Gt, kT, number(2))).is(number(3), kSize));
    EXPECT_TRUE(Narrowed(binary(BinaryOp::Le, number(2), kT)).is(number(2), kSize));
    EXPECT_TRUE(Narrowed(binary(BinaryOp::Ge, kT, number(-4))).is(number(0), kSize));
    EXPECT_TRUE(Narrowed(binary(BinaryOp::Lt, kT, last)).is(number(0), last));
    EXPECT_TRUE(Narrowed(binary(BinaryOp::Le, kT, last)).is(number(0), kSize));
    EXPECT_TRUE(Narrowed(binary(BinaryOp::Lt, binary(BinaryOp::Add, kT, number(1)), kSize)).is(number(0), last));
    EXPECT_TRUE(Narrowed(binary(BinaryOp::Ne, kT, number(0))).is(number(1), kSize));
    EXPECT_TRUE(Narrowed(binary(BinaryOp::Ne, last, kT)).is(number(0), last));
    EXPECT_FALSE(Narrowed(binary(BinaryOp::Ne, kT, number(5))).all);
    EXPECT_FALSE(Narrowed(binary(BinaryOp::Gt, binary(BinaryOp::Mul, kT, number(2)), number(2))).all);
    EXPECT_FALSE(Narrowed(binary(BinaryOp::Gt, kT, ir::param_ref(0, Type::Int32))).all);
}

TEST(Conditions, KnowWhetherPointsAreLeft) {
    EXPECT_TRUE(Narrowed(binary(BinaryOp::Ge, kT, number(0))).places.front().never_empty);
    EXPECT_FALSE(Narrowed(binary(BinaryOp::Gt, kT, number(0))).places.front().never_empty);
    EXPECT_FALSE(Narrowed(binary(BinaryOp::Ge, kT, number(0)), false).places.front().never_empty);
    const Narrowed first(binary(BinaryOp::Eq, kT, number(0)));
    EXPECT_TRUE(first.is(number(0), number(1)));
    EXPECT_TRUE(first.places.front().never_empty);
    EXPECT_EQ(ir::as_int(first.fixed.at(0)), 0);
    const Narrowed third(binary(BinaryOp::Eq, number(2), kT));
    EXPECT_TRUE(third.is(number(2), binary(BinaryOp::Min, kSize, number(3))));
    EXPECT_FALSE(third.places.front().never_empty);
    EXPECT_FALSE(Narrowed(binary(BinaryOp::Eq, kT, number(0)), false).places.front().never_empty);
}

TEST(Conditions, FallIntoParts) {
    const ir::Expr a = binary(BinaryOp::Lt, kT, number(1)), b = binary(BinaryOp::Eq, kT, kSize);
    const ir::Expr either = binary(BinaryOp::Or, a, ir::unary(ir::UnaryOp::Not, b));
    EXPECT_EQ(conjuncts(binary(BinaryOp::And, a, b), true).size(), 2U);
    EXPECT_EQ(conjuncts(either, true).size(), 1U);
    const std::vector<ir::Expr> neither = conjuncts(either, false);
    ASSERT_EQ(neither.size(), 2U);
    EXPECT_TRUE(ir::structurally_equal(neither[0], binary(BinaryOp::Ge, kT, number(1))));
    EXPECT_TRUE(ir::structurally_equal(neither[1], b));
    // NaN is not less, nor greater.
    const ir::Expr x = ir::param_ref(0, Type::Float32), less = binary(BinaryOp::Lt, x, x);
    EXPECT_TRUE(ir::structurally_equal(conjuncts(less, false).front(), ir::unary(ir::UnaryOp::Not, less)));
}

}  // namespace
}  // namespace pipec::fusion::conditions_test
