// Walking, rewriting and comparing expressions, small ones and ones as deep as an unrolled sum.
#include "ir/visit.h"

#include <gtest/gtest.h>

#include "constants.h"
#include "ir/build.h"
#include "ir/canonical.h"
#include "ir/print.h"
#include "ir/unique_nodes.h"

namespace pipec::ir::visit_test {
namespace {

Expr var(VarId id) {
    return variable(id, Type::Int32);
}
Expr add(Expr a, Expr b) {
    return binary(BinaryOp::Add, std::move(a), std::move(b));
}

/// One node of every kind with operands, its operands being variables 0, 1, ...
std::vector<Expr> one_of_each() {
    const Expr cond = variable(9, Type::Bool);
    const Expr f = variable(8, Type::Float32);
    return {unary(UnaryOp::Neg, var(0)),
            add(var(0), var(1)),
            cast(Type::Int8, var(0)),
            call(Builtin::Pow, {f, f}),
            select(cond, var(0), var(1)),
            select(cond, var(0), nullptr),
            read({Source::Kind::Input, 0}, Type::UInt8, {var(0), var(1)}),
            let(5, var(0), var(5)),
            reduce(ReduceOp::Sum, {{6, var(0), var(1)}, {7, var(6), var(2)}}, add(var(6), var(7)))};
}

TEST(Visit, ChildrenInEvaluationOrder) {
    const std::vector<std::size_t> counts = {1, 2, 1, 2, 3, 2, 2, 2, 5};
    const auto all = one_of_each();
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(children(all[i]).size(), counts[i]) << i;
    const auto sum = children(all.back());
    EXPECT_EQ(as<Variable>(sum[0])->id, 0);
    EXPECT_EQ(as<Variable>(sum[2])->id, 6);
    EXPECT_TRUE(as<Binary>(sum[4]));
    EXPECT_TRUE(children(i32(3)).empty());
}

TEST(Visit, MapChildrenKeepsWhatDoesNotChange) {
    for (const Expr& e : one_of_each()) {
        EXPECT_EQ(map_children(e, [](const Expr& child) { return child; }), e);
        std::size_t seen = 0;
        const Expr copy = map_children(e, [&](const Expr& child) {
            ++seen;
            return std::make_shared<const Node>(*child);
        });
        EXPECT_EQ(seen, children(e).size());
        EXPECT_NE(copy, e);
        EXPECT_TRUE(structurally_equal(copy, e));
    }
}

TEST(Visit, StructuralEqualitySeesEveryDifference) {
    const auto all = one_of_each();
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = 0; j < all.size(); ++j) EXPECT_EQ(structurally_equal(all[i], all[j]), i == j);
    }
    EXPECT_FALSE(structurally_equal(i32(1), i32(2)));
    EXPECT_FALSE(structurally_equal(i32(1), int_constant(Type::Int8, 1)));
    EXPECT_FALSE(structurally_equal(float_constant(Type::Float32, 0.0), float_constant(Type::Float32, -0.0)));
    EXPECT_FALSE(structurally_equal(read({Source::Kind::Input, 0}, Type::Int32, {}),
                                    read({Source::Kind::Stage, 0}, Type::Int32, {})));
    EXPECT_FALSE(structurally_equal(cast(Type::Int8, var(0), {}, true), cast(Type::Int8, var(0))));
    EXPECT_FALSE(structurally_equal(size_ref(0), size_ref(1)));
    EXPECT_FALSE(structurally_equal(param_ref(0, Type::Int32), param_ref(1, Type::Int32)));
    EXPECT_FALSE(structurally_equal(reduce(ReduceOp::Sum, {{1, i32(0), i32(3)}}, var(1)),
                                    reduce(ReduceOp::Sum, {{1, i32(0), i32(4)}}, var(1))));
    EXPECT_FALSE(structurally_equal(reduce(ReduceOp::Sum, {{1, i32(0), i32(3)}}, var(1)),
                                    reduce(ReduceOp::Prod, {{1, i32(0), i32(3)}}, var(1))));
    EXPECT_FALSE(structurally_equal(nullptr, i32(1)));
    EXPECT_TRUE(structurally_equal(nullptr, nullptr));
    EXPECT_TRUE(structurally_equal(int_constant(Type::Int32, 1, {0, 1, 2}), i32(1)));  // positions do not count
}

TEST(Visit, SubstituteReplacesAtOnce) {
    // x -> y and y -> x swap: what was put in is not replaced again.
    const Expr swapped = substitute(binary(BinaryOp::Sub, var(0), var(1)), {{0, var(1)}, {1, var(0)}});
    EXPECT_TRUE(structurally_equal(swapped, binary(BinaryOp::Sub, var(1), var(0))));
    const Expr sum = reduce(ReduceOp::Sum, {{6, i32(0), var(0)}}, add(var(6), var(0)));
    const Expr expected = reduce(ReduceOp::Sum, {{6, i32(0), i32(9)}}, add(var(6), i32(9)));
    EXPECT_TRUE(structurally_equal(substitute(sum, {{0, i32(9)}}), expected));
    EXPECT_EQ(substitute(sum, {{3, i32(9)}}), sum);
}

TEST(Visit, SharedNodesStaySharedAndAreVisitedOnce) {
    Expr e = var(0);
    for (int i = 0; i < 100; ++i) e = add(e, e);  // 2^100 paths
    int visited = 0;
    for_each_node(e, [&](const Expr&) { ++visited; });
    EXPECT_EQ(visited, 101);
    const Expr replaced = substitute(e, {{0, var(1)}});
    visited = 0;
    for_each_node(replaced, [&](const Expr&) { ++visited; });
    EXPECT_EQ(visited, 101);
}

TEST(Visit, SharedNodesAreComparedOnce) {
    Expr a = var(0), b = var(0), other = var(1);
    for (int i = 0; i < 100; ++i) {  // 2^100 paths
        a = add(a, a);
        b = add(b, b);
        other = add(other, other);
    }
    EXPECT_TRUE(structurally_equal(a, b));
    EXPECT_FALSE(structurally_equal(a, other));
    UniqueExpressions unique;
    EXPECT_EQ(unique.get(a), unique.get(b));
    EXPECT_NE(unique.get(a), unique.get(other));
}

TEST(Visit, BoundVariablesHaveCanonicalNames) {
    CanonicalVariables canonical;
    const auto equal = [&](const Expr& a, const Expr& b) {
        return structurally_equal(canonical.get(a), canonical.get(b));
    };
    const auto sum = [](std::vector<Range> ranges, Expr body) { return reduce(ReduceOp::Sum, ranges, body); };
    EXPECT_TRUE(equal(sum({{1, i32(0), i32(3)}}, var(1)), sum({{2, i32(0), i32(3)}}, var(2))));
    EXPECT_FALSE(equal(sum({{1, i32(0), i32(3)}}, var(1)), sum({{2, i32(0), i32(3)}}, var(1))));  // var(1) is free
    EXPECT_FALSE(equal(sum({{1, i32(0), i32(3)}}, var(1)), sum({{2, i32(0), i32(4)}}, var(2))));
    // Two in one, in both orders, and a bound that uses the first one.
    const Expr ab = sum({{1, i32(0), i32(3)}, {2, var(1), i32(9)}}, binary(BinaryOp::Sub, var(1), var(2)));
    const Expr cd = sum({{3, i32(0), i32(3)}, {4, var(3), i32(9)}}, binary(BinaryOp::Sub, var(3), var(4)));
    const Expr dc = sum({{3, i32(0), i32(3)}, {4, var(3), i32(9)}}, binary(BinaryOp::Sub, var(4), var(3)));
    EXPECT_TRUE(equal(ab, cd));
    EXPECT_FALSE(equal(ab, dc));
    // Within each other: the inner one is not taken for the outer one.
    const auto nested = [&](VarId outer, VarId inner, VarId used) {
        return sum({{outer, i32(0), i32(3)}}, add(var(outer), sum({{inner, i32(0), i32(3)}}, var(used))));
    };
    EXPECT_TRUE(equal(nested(1, 2, 2), nested(4, 3, 3)));
    EXPECT_FALSE(equal(nested(1, 2, 2), nested(1, 2, 1)));
    const auto let_in = [](VarId name, Expr body) {
        return std::make_shared<const Node>(Node{Type::Int32, {}, Let{name, var(0), std::move(body)}});
    };
    EXPECT_TRUE(equal(let_in(1, add(var(1), var(0))), let_in(2, add(var(2), var(0)))));
    EXPECT_FALSE(equal(let_in(1, add(var(1), var(0))), let_in(2, add(var(0), var(2)))));
    // A chain, in which the second value uses the first one.
    const auto two = [&](VarId first, VarId second, Expr body) {
        return std::make_shared<const Node>(
            Node{Type::Int32,
                 {},
                 Let{first, var(0),
                     std::make_shared<const Node>(Node{Type::Int32, {}, Let{second, var(first), std::move(body)}})}});
    };
    EXPECT_TRUE(
        equal(two(1, 2, binary(BinaryOp::Sub, var(1), var(2))), two(4, 3, binary(BinaryOp::Sub, var(4), var(3)))));
    EXPECT_FALSE(
        equal(two(1, 2, binary(BinaryOp::Sub, var(1), var(2))), two(1, 2, binary(BinaryOp::Sub, var(2), var(1)))));
    EXPECT_TRUE(equal(two(1, 2, let_in(5, add(var(5), var(1)))), two(3, 6, let_in(2, add(var(2), var(3))))));
    const Expr free = add(var(0), var(1));
    EXPECT_EQ(canonical.get(free), free);
    // 2^60 paths.
    Expr deep = sum({{1, i32(0), i32(3)}}, var(1));
    for (int i = 0; i < 60; ++i) deep = add(deep, deep);
    EXPECT_NE(canonical.get(deep), nullptr);
}

TEST(Visit, ParentsComeBeforeChildren) {
    const Expr inner = add(var(0), var(1));
    const Expr outer = binary(BinaryOp::Mul, inner, var(2));
    std::vector<Expr> order;
    for_each_node(outer, [&](const Expr& e) { order.push_back(e); });
    ASSERT_EQ(order.size(), 5u);
    EXPECT_EQ(order[0], outer);
    EXPECT_EQ(order[1], inner);
}

TEST(Visit, ExpressionsOfAStage) {
    Stage pure;
    pure.dims = {{0, i32(0), i32(5), {}}, {1, nullptr, nullptr, {}}};
    pure.definition = Pure{var(0)};
    EXPECT_EQ(expressions(pure).size(), 3u);
    Stage acc;
    acc.dims = {{0, i32(0), i32(5), {}}};
    acc.definition =
        Accumulate{i32(0), {{{{1, i32(0), i32(3)}}, bool_constant(true), {var(1)}, ReduceOp::Sum, i32(1), {}}}};
    EXPECT_EQ(expressions(acc).size(), 2u + 1 + 2 + 1 + 1 + 1);
}

TEST(Visit, DeepSums) {
    // The language unrolls at most 4096 terms.
    Pipeline p;
    p.variables.push_back({"x", Type::Int32, {}});
    p.variables.push_back({"y", Type::Int32, {}});
    Expr e = var(0);
    for (int i = 0; i < 5000; ++i) e = add(e, var(0));
    const Expr other = substitute(e, {{0, var(1)}});
    EXPECT_FALSE(structurally_equal(e, other));
    EXPECT_TRUE(structurally_equal(substitute(other, {{1, var(0)}}), e));
    EXPECT_EQ(to_string(p, other).size(), 5001u + 5000 * 3);
}

}  // namespace
}  // namespace pipec::ir::visit_test
