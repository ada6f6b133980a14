// Which targets own which points of an accumulate's loops, against enumeration.
#include "poly/gather.h"

#include <gtest/gtest.h>

#include "builder.h"

namespace pipec::poly::gather_test {
namespace {

using test::E;

/// The value of an index over one variable.
std::int64_t evaluate(const ir::Expr& e, std::map<ir::VarId, std::int64_t>& at) {
    if (const auto number = ir::as_int(e)) return *number;
    if (const auto* var = ir::as<ir::Variable>(e)) return at.at(var->id);
    if (const auto* let = ir::as<ir::Let>(e)) {
        at[let->var] = evaluate(let->value, at);
        return evaluate(let->body, at);
    }
    const auto& n = std::get<ir::Binary>(e->value);
    const std::int64_t a = evaluate(n.a, at), b = evaluate(n.b, at);
    switch (n.op) {
        case ir::BinaryOp::Add: return a + b;
        case ir::BinaryOp::Sub: return a - b;
        case ir::BinaryOp::Mul: return a * b;
        case ir::BinaryOp::Div: return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
        default: throw std::runtime_error("an operator that the test does not have");
    }
}

class GatherTest : public ::testing::Test {
protected:
    ir::Update update(const std::vector<E>& indices) {
        return {{{test::Program::id(x), E(0).e, n.e}, {test::Program::id(y), E(-2).e, E(5).e}},
                nullptr,
                test::Program::exprs(indices),
                ir::ReduceOp::Sum,
                E(1).e,
                {}};
    }
    std::vector<std::optional<Owner>> owners(const std::vector<E>& indices) {
        return find_gather({E(0).e, {update(indices)}}).owners[0];
    }

    test::Program program;
    E n = program.size("N"), x = program.var("x"), y = program.var("y");
};

TEST_F(GatherTest, OwnersHaveTheirPointsAndNoOthers) {
    const E z = program.var("z");
    const std::vector<E> indices = {
        x,
        x + 3,
        E(3) + x - 5,
        x / 8,
        (x + 4) / 8,
        (x - 5) / 4 + 7,
        x / 2 / 3,
        ((x + 1) / 2 - 3) / 5,
        2 * x / 8,
        (x * 3 + 7) / 12 - 1,
        (6 * (x - 2) + 5) / 3 / 4,
        ir::let(test::Program::id(z), (x + 1).e, (E(z) / 6).e),
    };
    for (const E& index : indices) {
        const auto found = owners({index})[0];
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(found->range, 0u);
        for (std::int64_t r = -60; r < 60; ++r) {
            std::map<ir::VarId, std::int64_t> at{{test::Program::id(x), r}};
            const std::int64_t t = evaluate(index.e, at), first = found->width * t - found->shift;
            EXPECT_TRUE(first <= r && r < first + found->width) << r << " goes to " << t;
        }
    }
}

TEST_F(GatherTest, OthersHaveNoOwners) {
    const E data = program.read(program.input("u", {n}), {x}), s = n - 1;
    for (const E& index : {E(3), x + y, x * y, x % 8, s - x, -1 * x, x / 8 * 2, 2 * x, 3 * x / 2, data, x + data, x / n,
                           (x + (1 << 29)) / 2, x / 8 / 1000000, x + n}) {
        EXPECT_EQ(owners({index})[0], std::nullopt);
    }
}

TEST_F(GatherTest, AVariableOwnsOneDimension) {
    const auto found = owners({y / 2, x, y, 7});
    EXPECT_EQ(found[0], (Owner{1, 0, 2}));
    EXPECT_EQ(found[1], (Owner{0, 0, 1}));
    EXPECT_EQ(found[2], std::nullopt);
    EXPECT_EQ(found[3], std::nullopt);
}

TEST_F(GatherTest, AllUpdatesMustOwnADimension) {
    const ir::Accumulate accumulate{E(0).e, {update({x / 8, y, x}), update({y + 1, 3, x})}};
    const Gather gather = find_gather(accumulate);
    EXPECT_EQ(gather.owned, (std::vector<bool>{true, false, false}));
    EXPECT_EQ(gather.owners[0][0], (Owner{0, 0, 8}));
    EXPECT_EQ(gather.owners[0][1], std::nullopt);
    EXPECT_EQ(gather.owners[1][0], (Owner{1, 1, 1}));
    EXPECT_TRUE(gather.any());
    EXPECT_EQ(points_of_owner(accumulate, gather), std::nullopt);  // y + 1 has all x
}

TEST_F(GatherTest, PointsOfOwners) {
    const auto points = [&](const std::vector<E>& indices) {
        const ir::Accumulate accumulate{E(0).e, {update(indices), update(indices)}};
        return points_of_owner(accumulate, find_gather(accumulate));
    };
    EXPECT_EQ(points({x, y}), 2);
    EXPECT_EQ(points({x / 8, 1}), 2 * 8 * 7);
    EXPECT_EQ(points({x / 8, y / 100}), 2 * 8 * 7);
    EXPECT_EQ(points({y, y}), std::nullopt);
    EXPECT_FALSE(find_gather({E(0).e, {}}).any());
    EXPECT_FALSE(find_gather({E(0).e, {update({3, x + y})}}).any());
}

/// From the inside: up to 16 points of the innermost range, 64 of all.
TEST_F(GatherTest, LoopsOfFewPointsAreUnrolled) {
    const auto of = [&](int rows, int columns, const std::vector<E>& indices) {
        ir::Update u = update(indices);
        u.domain = {{test::Program::id(x), E(0).e, E(rows).e}, {test::Program::id(y), E(0).e, E(columns).e}};
        const ir::Accumulate accumulate{E(0).e, {u}};
        const Gather gather = find_gather(accumulate);
        return std::pair(first_unrolled(u, gather.owners[0]), unrolled_points(accumulate, gather));
    };
    EXPECT_EQ(of(100, 17, {x}), std::pair(std::size_t{2}, std::int64_t{1}));
    EXPECT_EQ(of(100, 16, {x}), std::pair(std::size_t{0}, std::int64_t{16}));  // an owner has one row
    EXPECT_EQ(of(100, 16, {x / 4}), std::pair(std::size_t{0}, std::int64_t{64}));
    EXPECT_EQ(of(100, 16, {x / 5}), std::pair(std::size_t{1}, std::int64_t{16}));
    EXPECT_EQ(of(100, 100, {x / 5, y / 10}), std::pair(std::size_t{0}, std::int64_t{50}));
    EXPECT_EQ(of(4, 100, {y / 20}), std::pair(std::size_t{2}, std::int64_t{1}));
    EXPECT_EQ(of(4, 0, {x}).second, 1);
}

}  // namespace
}  // namespace pipec::poly::gather_test
