// Orders of straight-line statements that take few registers: what must stay as it is, and what is gained.
#include "codegen/strategies/register/register_order.h"

#include <gtest/gtest.h>

#include <map>

#include "codegen/kernel/kernel_flow.h"
#include "codegen/strategies/register/register_pressure.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen::register_order_test {
namespace {

using ir::Source;
using ir::Type;
using kernel::Body;

constexpr Source kImg{Source::Kind::Input, 0}, kCells{Source::Kind::Local, 0}, kOut{Source::Kind::Stage, 0};

class RegisterOrder : public ::testing::Test {
protected:
    ir::VarId variable(const std::string& name) { return ir::new_variable(pipeline_, name, Type::Float32); }
    static ir::Expr use(ir::VarId var) { return ir::variable(var, Type::Float32); }
    static ir::Expr place(std::int64_t at) { return ir::int_constant(Type::Int32, at); }

    ir::VarId load(Body& body, Source array, std::int64_t at) {
        const ir::VarId var = variable("v");
        body.push_back({kernel::Load{{var}, array, {place(at)}}});
        return var;
    }
    ir::VarId define(Body& body, const ir::Expr& value) {
        const ir::VarId var = variable("d");
        body.push_back({kernel::Define{var, value}});
        return var;
    }
    static void store(Body& body, Source array, std::int64_t at, const ir::Expr& value) {
        body.push_back({kernel::Store{array, {place(at)}, {value}, nullptr}});
    }

    /// Two sums of `rows` weighted rows, one a row below the other, as stages after each other are written.
    std::vector<ir::VarId> column_sums(Body& body, int rows) {
        std::vector<ir::VarId> loaded;
        for (int y = 0; y <= rows; ++y) loaded.push_back(load(body, kImg, y));
        std::vector<ir::VarId> sums;
        for (int first = 0; first < 2; ++first) {
            ir::Expr sum;
            for (int y = 0; y < rows; ++y) {
                const ir::Expr term = ir::binary(ir::BinaryOp::Mul, ir::float_constant(Type::Float32, y + 1),
                                                 use(loaded[static_cast<std::size_t>(first + y)]));
                sum = sum ? ir::binary(y % 3 == 2 ? ir::BinaryOp::Sub : ir::BinaryOp::Add, sum, term) : term;
            }
            sums.push_back(define(body, sum));
        }
        for (int i = 0; i < 2; ++i) store(body, kOut, i, use(sums[static_cast<std::size_t>(i)]));
        return sums;
    }

    /// What a variable is, in terms of what is loaded.
    static ir::Expr whole(const Body& body, ir::VarId var) {
        std::map<ir::VarId, ir::Expr> values;
        for (const kernel::Stmt& stmt : body) {
            if (const auto* n = std::get_if<kernel::Define>(&stmt.value))
                values[n->var] = ir::substitute(n->value, values);
        }
        return values.at(var);
    }

    ir::Pipeline pipeline_;
};

TEST_F(RegisterOrder, RowsGoIntoAllSumsAsTheyCome) {
    Body body;
    const std::vector<ir::VarId> sums = column_sums(body, 11);
    ASSERT_EQ(registers_at_once(pipeline_, body), 12);
    const std::size_t variables = pipeline_.variables.size();
    const auto better = with_fewer_registers(pipeline_, body);
    ASSERT_TRUE(better);
    EXPECT_LE(registers_at_once(pipeline_, *better), 5);
    EXPECT_GT(pipeline_.variables.size(), variables);
    for (const ir::VarId sum : sums) EXPECT_TRUE(ir::structurally_equal(whole(*better, sum), whole(body, sum)));
}

TEST_F(RegisterOrder, IsTheSameWhereNothingIsGained) {
    Body body;
    const ir::VarId a = load(body, kImg, 0);
    store(body, kOut, 0, use(a));
    const std::size_t variables = pipeline_.variables.size();
    EXPECT_FALSE(with_fewer_registers(pipeline_, body));
    EXPECT_EQ(pipeline_.variables.size(), variables);
}

/// The number of the statement that loads `var`, and of the store to the cells.
std::pair<std::size_t, std::size_t> load_and_store(const Body& body, ir::VarId var) {
    std::pair<std::size_t, std::size_t> result{body.size(), body.size()};
    for (std::size_t i = 0; i < body.size(); ++i) {
        const auto* load = std::get_if<kernel::Load>(&body[i].value);
        const auto* store = std::get_if<kernel::Store>(&body[i].value);
        if (load != nullptr && load->vars.front() == var) result.first = i;
        if (store != nullptr && store->array == kCells) result.second = i;
    }
    return result;
}

TEST_F(RegisterOrder, ReadsOfAnArrayStayOnTheirSideOfItsStore) {
    Body body;
    const ir::VarId before = load(body, kCells, 0);
    store(body, kCells, 0, ir::float_constant(Type::Float32, 1));
    const ir::VarId after = load(body, kCells, 0);
    column_sums(body, 9);
    store(body, kOut, 2, use(before));
    store(body, kOut, 3, use(after));
    const auto better = with_fewer_registers(pipeline_, body);
    ASSERT_TRUE(better);
    const auto [first, stored] = load_and_store(*better, before);
    EXPECT_LT(first, stored);
    EXPECT_GT(load_and_store(*better, after).first, stored);
}

TEST_F(RegisterOrder, NothingMovesPastABarrier) {
    Body body;
    column_sums(body, 9);
    const std::size_t half = body.size();
    body.push_back({kernel::kBlockBarrier});
    column_sums(body, 9);
    const auto better = with_fewer_registers(pipeline_, body);
    ASSERT_TRUE(better);
    std::size_t stores = 0;
    for (const kernel::Stmt& stmt : *better) {
        if (std::holds_alternative<kernel::Barrier>(stmt.value)) break;
        stores += std::holds_alternative<kernel::Store>(stmt.value);
    }
    EXPECT_EQ(stores, 2U);
    EXPECT_GE(better->size(), 2 * half + 1);
}

}  // namespace
}  // namespace pipec::codegen::register_order_test
