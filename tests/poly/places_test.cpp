// Places of shared nodes: as few as say where a node is evaluated, however many ways lead to it.
#include "poly/places.h"

#include <gtest/gtest.h>

#include "builder.h"
#include "ir/visit.h"

namespace pipec::poly::places_test {
namespace {

using test::E;

ir::Expr variable(ir::VarId id) {
    return ir::variable(id, ir::Type::Int32);
}

TEST(Places, BothSidesAreThePlaceAround) {
    const E x = variable(0), shared = E(variable(1)) + 1, then_only = E(variable(2)) + 1;
    const E c = x > 0;
    const ir::Expr root = test::when(c, shared + then_only, shared * 2).e;
    Places places(root);
    const int then = places.inside(c.e, true, 0), otherwise = places.inside(c.e, false, 0);
    EXPECT_NE(then, otherwise);
    EXPECT_EQ(places.of(shared.e, then), 0);
    EXPECT_EQ(places.of(shared.e, otherwise), 0);
    EXPECT_EQ(places.of(then_only.e, then), then);
    EXPECT_EQ(places.of(root, 0), 0);
}

TEST(Places, WhatAConditionEvaluatesIsThere) {
    const E shared = E(variable(1)) + 1, other = E(variable(2)) + 1;
    const E c = shared > 0;
    const ir::Expr root = test::when(c, shared * 2, other).e;
    Places places(root);
    EXPECT_EQ(places.of(shared.e, places.inside(c.e, true, 0)), 0);
    EXPECT_NE(places.of(other.e, places.inside(c.e, false, 0)), 0);
}

TEST(Places, TwoOfThreeCasesStayApart) {
    const E x = variable(0), shared = E(variable(1)) + 1;
    const E c = x < 1, d = x < 2;
    const E inner = test::when(d, E(7), shared * 3);
    Places places(test::when(c, shared * 2, inner).e);
    const int first = places.inside(c.e, true, 0);
    const int third = places.inside(d.e, false, places.inside(c.e, false, 0));
    EXPECT_EQ(places.of(shared.e, first), first);
    EXPECT_EQ(places.of(shared.e, third), third);
}

TEST(Places, AndOrAndLoops) {
    const E x = variable(0), guarded = E(variable(1)) > 5;
    const E c = x > 0;
    const E both = c && guarded;
    Places logical(both.e);
    EXPECT_EQ(logical.of(guarded.e, logical.inside(c.e, true, 0)), logical.inside(c.e, true, 0));

    const ir::Range loop{5, E(0).e, E(9).e};
    const E in_loop = E(variable(5)) + 1, outside = E(variable(1)) + 1;
    const ir::Expr sum = ir::reduce(ir::ReduceOp::Sum, {loop}, (in_loop * outside).e);
    Places loops((E(sum) + outside).e);
    const int body = loops.inside(ir::as<ir::Reduce>(sum)->ranges[0], 0);
    EXPECT_NE(body, 0);
    EXPECT_EQ(loops.of(in_loop.e, body), body);
    EXPECT_EQ(loops.of(outside.e, body), 0);
}

TEST(Places, NestedBranchesHaveFewPlaces) {
    E value = variable(1);
    std::vector<E> values{value}, conditions;
    for (int i = 0; i < 200; ++i) {  // 2^200 ways through it
        conditions.push_back(E(variable(0)) > i);
        value = test::when(conditions.back(), value + 1, value * 3);
        values.push_back(value);
    }
    Places places(value.e);
    int place = 0;
    for (int i = 200; i-- > 0;) {
        place = places.inside(conditions[static_cast<std::size_t>(i)].e, i % 2 == 0, place);
        place = places.of(values[static_cast<std::size_t>(i)].e, place);
        EXPECT_EQ(place, 0);
    }
}

}  // namespace
}  // namespace pipec::poly::places_test
