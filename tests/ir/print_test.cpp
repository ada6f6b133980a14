// The text form: the language's syntax with as few parentheses as precedence allows, and none too few.
#include "ir/print.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/build.h"

namespace pipec::ir::print_test {
namespace {

class Print : public ::testing::Test {
protected:
    Print() {
        for (const char* name : {"a", "b", "c"}) p.variables.push_back({name, Type::Int32, {}});
        for (const char* name : {"p", "q", "r"}) p.variables.push_back({name, Type::Bool, {}});
        p.variables.push_back({"f", Type::Float32, {}});
        p.sizes.push_back({"R", {}});
        p.params.push_back({"k", Type::Float32, nullptr, {}});
        p.inputs.push_back({"img", Type::UInt8, {size_ref(0), i32(3)}, {0, 1}, {}});
    }
    static Expr i32(std::int64_t value) { return int_constant(Type::Int32, value); }
    static Expr op(BinaryOp o, Expr x, Expr y) { return binary(o, std::move(x), std::move(y)); }
    [[nodiscard]] std::string text(const Expr& e) const { return to_string(p, e); }

    Pipeline p;
    Expr a = variable(0, Type::Int32), b = variable(1, Type::Int32), c = variable(2, Type::Int32);
    Expr u = variable(3, Type::Bool), v = variable(4, Type::Bool), w = variable(5, Type::Bool);
    Expr f = variable(6, Type::Float32);
};

TEST_F(Print, ArithmeticPrecedence) {
    using enum BinaryOp;
    EXPECT_EQ(text(op(Mul, op(Add, a, b), c)), "(a + b) * c");
    EXPECT_EQ(text(op(Add, op(Mul, a, b), c)), "a * b + c");
    EXPECT_EQ(text(op(Sub, op(Sub, a, b), c)), "a - b - c");
    EXPECT_EQ(text(op(Sub, a, op(Sub, b, c))), "a - (b - c)");
    EXPECT_EQ(text(op(Sub, a, op(Add, b, c))), "a - (b + c)");
    EXPECT_EQ(text(op(Div, a, op(Mul, b, c))), "a / (b * c)");
    EXPECT_EQ(text(op(Mod, op(Div, a, b), c)), "a / b % c");
    EXPECT_EQ(text(op(Shl, op(Add, a, b), c)), "a + b << c");
    EXPECT_EQ(text(op(Add, op(Shl, a, b), c)), "(a << b) + c");
    EXPECT_EQ(text(op(BitOr, op(BitXor, op(BitAnd, a, b), c), a)), "a & b ^ c | a");
    EXPECT_EQ(text(op(BitAnd, op(BitOr, a, b), c)), "(a | b) & c");
    EXPECT_EQ(text(op(Eq, op(BitAnd, a, b), c)), "a & b == c");
    EXPECT_EQ(text(op(Min, op(Add, a, b), op(Max, b, c))), "min(a + b, max(b, c))");
}

TEST_F(Print, Unary) {
    using enum BinaryOp;
    EXPECT_EQ(text(unary(UnaryOp::Neg, op(Add, a, b))), "-(a + b)");
    EXPECT_EQ(text(op(Mul, unary(UnaryOp::Neg, a), b)), "-a * b");
    EXPECT_EQ(text(unary(UnaryOp::Neg, op(Mul, a, b))), "-(a * b)");
    EXPECT_EQ(text(unary(UnaryOp::Neg, unary(UnaryOp::BitNot, a))), "-(~a)");
    EXPECT_EQ(text(op(Sub, a, unary(UnaryOp::Neg, b))), "a - -b");
    EXPECT_EQ(text(op(Sub, a, i32(-1))), "a - -1");
}

TEST_F(Print, Logic) {
    using enum BinaryOp;
    EXPECT_EQ(text(op(Or, op(And, u, v), w)), "p and q or r");
    EXPECT_EQ(text(op(And, op(Or, u, v), w)), "(p or q) and r");
    EXPECT_EQ(text(unary(UnaryOp::Not, op(And, u, v))), "not (p and q)");
    EXPECT_EQ(text(op(And, unary(UnaryOp::Not, u), v)), "not p and q");
    EXPECT_EQ(text(unary(UnaryOp::Not, op(Lt, a, b))), "not a < b");
    EXPECT_EQ(text(op(Eq, unary(UnaryOp::Not, u), v)), "(not p) == q");
    // A chain would mean something else.
    EXPECT_EQ(text(op(Eq, op(Lt, a, b), u)), "(a < b) == p");
    EXPECT_EQ(text(op(Eq, u, op(Lt, a, b))), "p == (a < b)");
}

TEST_F(Print, Literals) {
    EXPECT_EQ(text(i32(-2147483648)), "-2147483648");
    EXPECT_EQ(text(int_constant(Type::UInt64, -1)), "uint64(18446744073709551615)");
    EXPECT_EQ(text(int_constant(Type::Int8, -5)), "int8(-5)");
    EXPECT_EQ(text(bool_constant(true)), "true");
    EXPECT_EQ(text(float_constant(Type::Float32, 3)), "3.0");
    EXPECT_EQ(text(float_constant(Type::Float32, 0.1)), "0.1");
    EXPECT_EQ(text(float_constant(Type::Float64, 0.1)), "float64(0.1)");
    EXPECT_EQ(text(float_constant(Type::Float32, -0.0)), "-0.0");
    EXPECT_EQ(text(float_constant(Type::Float32, 1e30)), "1e+30");
}

TEST_F(Print, Reductions) {
    using enum BinaryOp;
    const auto sum = [&](const Expr& body) {
        return reduce(ReduceOp::Sum, {{0, i32(0), i32(3)}, {1, a, size_ref(0)}}, body);
    };
    EXPECT_EQ(text(sum(op(Mul, a, b))), "sum(a in 0..3, b in a..R) a * b");
    EXPECT_EQ(text(sum(op(Add, a, b))), "sum(a in 0..3, b in a..R) (a + b)");
    EXPECT_EQ(text(op(Add, sum(a), c)), "sum(a in 0..3, b in a..R) a + c");
    EXPECT_EQ(text(op(Add, c, sum(a))), "c + sum(a in 0..3, b in a..R) a");
    EXPECT_EQ(text(op(Mul, sum(a), c)), "(sum(a in 0..3, b in a..R) a) * c");
    EXPECT_EQ(text(op(Mul, c, sum(a))), "c * (sum(a in 0..3, b in a..R) a)");
    EXPECT_EQ(text(unary(UnaryOp::Neg, sum(a))), "-(sum(a in 0..3, b in a..R) a)");
    EXPECT_EQ(text(reduce(ReduceOp::Sum, {{0, op(Shl, c, c), op(Add, c, i32(1))}}, a)), "sum(a in (c << c)..c + 1) a");
}

TEST_F(Print, ConditionalsAndLets) {
    using enum BinaryOp;
    const Expr inner = select(v, b, nullptr);
    EXPECT_EQ(text(select(u, a, b)), "if p then a else b");
    EXPECT_EQ(text(select(u, a, inner)), "if p then a else if q then b");
    EXPECT_EQ(text(select(u, inner, c)), "if p then (if q then b) else c");  // else: the nearer `if` would take it
    EXPECT_EQ(text(select(u, inner, nullptr)), "if p then if q then b");
    EXPECT_EQ(text(select(u, let(2, a, inner), b)), "if p then (let c = a in if q then b) else b");
    EXPECT_EQ(text(op(Add, select(u, a, b), c)), "(if p then a else b) + c");
    EXPECT_EQ(text(op(Add, c, select(u, a, b))), "c + (if p then a else b)");
    EXPECT_EQ(text(op(Mul, let(2, a, c), b)), "(let c = a in c) * b");
}

TEST_F(Print, CallsCastsAndReads) {
    using enum BinaryOp;
    const Expr pixel = read({Source::Kind::Input, 0}, Type::UInt8, {op(Add, a, i32(1)), b});
    EXPECT_EQ(text(pixel), "img(a + 1, b)");
    EXPECT_EQ(text(cast(Type::Float32, pixel)), "float32(img(a + 1, b))");
    EXPECT_EQ(text(cast(Type::Int8, pixel, {}, true)), "saturate<int8>(img(a + 1, b))");
    EXPECT_EQ(text(call(Builtin::Pow, {f, param_ref(0, Type::Float32)})), "pow(f, k)");
    EXPECT_EQ(text(call(Builtin::IsNan, {f})), "isnan(f)");
}

TEST_F(Print, WhatIsSharedIsWrittenOnceWhereAllOfItWouldBeLong) {
    using enum BinaryOp;
    const auto squared = [&](int times) {
        Expr e = op(Add, a, b);
        for (int i = 0; i < times; ++i) e = op(Mul, e, e);
        return text(e);
    };
    EXPECT_EQ(squared(2), "(a + b) * (a + b) * ((a + b) * (a + b))");
    EXPECT_EQ(
        squared(10),
        "{1: {2: {3: {4: {5: {6: {7: {8: {9: {10: a + b} * {10}} * {9}} * {8}} * {7}} * {6}} * {5}} * {4}} * {3}} * "
        "{2}} * {1}");
    EXPECT_LT(squared(1000).size(), 20'000);
}

TEST_F(Print, WholePipeline) {
    using enum BinaryOp;
    p.name = "demo";
    p.params[0].default_value = float_constant(Type::Float32, 0.5);
    p.where.push_back(op(Ge, size_ref(0), i32(4)));
    p.outputs.push_back({{"out", Type::Int32, {i32(3), size_ref(0)}, {1, 0}, {}}, 1});
    Stage hist{"hist", Type::Int32, {{0, i32(0), i32(256), {}}}, Pure{}, -1, false, {}, {}};
    hist.definition = Accumulate{i32(0),
                                 {{{{1, i32(0), size_ref(0)}}, op(Gt, b, i32(2)), {b}, ReduceOp::Sum, i32(1), {}},
                                  {{}, nullptr, {i32(0)}, ReduceOp::Max, i32(7), {}}}};
    p.stages.push_back(hist);
    p.stages.push_back({"out",
                        Type::Int32,
                        {{1, i32(0), i32(3), {}}, {2, i32(0), size_ref(0), {}}},
                        Pure{read({Source::Kind::Stage, 0}, Type::Int32, {op(Add, b, c)})},
                        0,
                        false,
                        {},
                        {}});
    EXPECT_EQ(to_string(p),
              "pipeline demo(img: uint8[R, 3], k: float32 = 0.5) -> out: int32[3, R] order(1, 0) where R >= 4 {\n"
              "  accumulate hist(a in 0..256): int32 = 0 {\n"
              "    for b in 0..R { if b > 2 { hist(b) += 1 } }\n"
              "    hist(0) max= 7\n"
              "  }\n"
              "  out(b in 0..3, c in 0..R): int32 = hist(b + c)\n"
              "}\n");
}

}  // namespace
}  // namespace pipec::ir::print_test
