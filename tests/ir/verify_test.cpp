// Each invariant of the IR, broken one at a time.
#include "ir/verify.h"

#include <gtest/gtest.h>

#include "constants.h"
#include "ir/build.h"

namespace pipec::ir::verify_test {
namespace {

Expr f32(double value) {
    return float_constant(Type::Float32, value);
}

/// A node without the checks of the builders.
template <class T>
Expr raw(Type type, T value) {
    return std::make_shared<const Node>(Node{type, {}, std::move(value)});
}

/// blur(x) = in(x) + in(x + 1); out(y in 0..N) = blur(y), well-formed.
class Verify : public ::testing::Test {
protected:
    Verify() {
        p.name = "test";
        p.sizes.push_back({"N", {}});
        p.params.push_back({"k", Type::Float32, f32(1), {}});
        p.inputs.push_back({"in", Type::Float32, {binary(BinaryOp::Add, n, i32(1))}, {0}, {}});
        const VarId x = new_variable(p, "x");
        const Expr vx = variable(x, Type::Int32);
        const Expr sum = binary(BinaryOp::Add, in(vx), in(binary(BinaryOp::Add, vx, i32(1))));
        p.stages.push_back({"blur", Type::Float32, {{x, nullptr, nullptr, {}}}, Pure{sum}, -1, false, {}, {}});
        const VarId y = new_variable(p, "y");
        const Expr value = read({Source::Kind::Stage, 0}, Type::Float32, {variable(y, Type::Int32)});
        p.stages.push_back({"out", Type::Float32, {{y, i32(0), n, {}}}, Pure{value}, 0, false, {}, {}});
        p.outputs.push_back({{"out", Type::Float32, {n}, {0}, {}}, 1});
    }
    static Expr in(const Expr& i) { return read({Source::Kind::Input, 0}, Type::Float32, {i}); }
    Stage& blur() { return p.stages[0]; }
    Stage& out() { return p.stages[1]; }
    Expr x() { return variable(blur().dims[0].var, Type::Int32); }
    void set(const Expr& value) { blur().definition = Pure{value}; }
    /// True when a problem that contains this text is found.
    bool finds(const std::string& text) {
        for (const std::string& problem : verify(p)) {
            if (problem.find(text) != std::string::npos) return true;
        }
        ADD_FAILURE() << "found instead: " << ::testing::PrintToString(verify(p));
        return false;
    }

    Pipeline p;
    Expr n = size_ref(0);
};

TEST_F(Verify, AcceptsAWellFormedPipeline) {
    EXPECT_EQ(verify(p), std::vector<std::string>{});
}

TEST_F(Verify, VariablesInScope) {
    set(in(variable(out().dims[0].var, Type::Int32)));
    EXPECT_TRUE(finds("variable 1 is used out of scope"));
    set(in(variable(77, Type::Int32)));
    EXPECT_TRUE(finds("variable 77"));
    const VarId t = new_variable(p, "t");
    const Expr let_t = let(t, i32(1), variable(t, Type::Int32));
    set(in(binary(BinaryOp::Add, let_t, variable(t, Type::Int32))));  // t after its let
    EXPECT_TRUE(finds("variable 2 is used out of scope"));
    set(in(let_t));
    EXPECT_EQ(verify(p), std::vector<std::string>{});
}

TEST_F(Verify, VariablesBoundOnce) {
    const VarId v = blur().dims[0].var;
    set(in(let(v, i32(1), variable(v, Type::Int32))));
    EXPECT_TRUE(finds("variable 0 is bound twice"));
    set(in(x()));
    out().dims[0].var = v;
    out().definition = Pure{read({Source::Kind::Stage, 0}, Type::Float32, {x()})};
    EXPECT_TRUE(finds("variable 0 is bound twice"));
}

TEST_F(Verify, VariableTypes) {
    const VarId t = new_variable(p, "t", Type::Float32);
    set(let(t, i32(1), in(x())));
    EXPECT_TRUE(finds("variable 2 is bound with another type"));
    set(let(t, f32(1), in(variable(t, Type::Int32))));
    EXPECT_TRUE(finds("variable 2 is used with another type"));
}

TEST_F(Verify, OperandTypes) {
    const Expr value = in(x());
    set(raw(Type::Float32, Binary{BinaryOp::Add, value, i32(1)}));
    EXPECT_TRUE(finds("operands of `+` differ"));
    set(raw(Type::Float32, Binary{BinaryOp::Mod, value, value}));
    EXPECT_TRUE(finds("`%` on floats"));
    set(raw(Type::Float32, Binary{BinaryOp::Lt, value, value}));
    EXPECT_TRUE(finds("`<` has the wrong type"));
    set(raw(Type::Float32, Select{value, value, value}));
    EXPECT_TRUE(finds("condition is not Bool"));
    set(raw(Type::Float32, Select{bool_constant(true), value, i32(1)}));
    EXPECT_TRUE(finds("branches"));
    set(raw(Type::Float32, Call{Builtin::Pow, {value}}));
    EXPECT_TRUE(finds("`pow` has the wrong arity"));
    set(raw(Type::Float32, Call{Builtin::Sqrt, {i32(1)}}));
    EXPECT_TRUE(finds("argument of `sqrt`"));
    set(raw(Type::Float32, Unary{UnaryOp::Neg, i32(1)}));
    EXPECT_TRUE(finds("`-` has the wrong type"));
    set(raw(Type::Float32, Unary{UnaryOp::BitNot, value}));
    EXPECT_TRUE(finds("`~` on"));
    set(raw(Type::Float32, Let{new_variable(p, "t"), i32(1), i32(2)}));
    EXPECT_TRUE(finds("let differs"));
    set(raw(Type::Float32, Binary{BinaryOp::Add, value, nullptr}));
    EXPECT_TRUE(finds("operand is missing"));
    set(i32(1));
    EXPECT_TRUE(finds("an expression of `blur` has the wrong type"));
}

TEST_F(Verify, IntegerFunctionsAndConstants) {
    blur().type = Type::Int32;
    out().type = Type::Int32;
    p.outputs[0].buffer.type = Type::Int32;
    out().definition = Pure{read({Source::Kind::Stage, 0}, Type::Int32, {variable(1, Type::Int32)})};
    set(raw(Type::Int32, Call{Builtin::Sqrt, {x()}}));
    EXPECT_TRUE(finds("`sqrt` on integers"));
    set(raw(Type::Int32, FloatConstant{1.5}));
    EXPECT_TRUE(finds("a float constant of type int32"));
    set(raw(Type::Int32, Cast{nullptr, false}));
    EXPECT_TRUE(finds("operand is missing"));
    set(raw(Type::Int32, Reduce{ReduceOp::Any, {}, x()}));
    EXPECT_TRUE(finds("`any` on"));
    set(call(Builtin::Abs, {x()}));
    EXPECT_EQ(verify(p), std::vector<std::string>{});
}

TEST_F(Verify, Reads) {
    set(read({Source::Kind::Input, 3}, Type::Float32, {x()}));
    EXPECT_TRUE(finds("a read of input 3"));
    set(read({Source::Kind::Stage, 1}, Type::Float32, {x()}));
    EXPECT_TRUE(finds("does not stand before its reader"));
    set(read({Source::Kind::Stage, 0}, Type::Float32, {x()}));
    EXPECT_TRUE(finds("does not stand before its reader"));
    set(read({Source::Kind::Input, 0}, Type::Float32, {x(), x()}));
    EXPECT_TRUE(finds("wrong rank"));
    set(cast(Type::Float32, read({Source::Kind::Input, 0}, Type::Int32, {x()})));
    EXPECT_TRUE(finds("a read has the wrong type"));
    set(raw(Type::Float32, Read{{Source::Kind::Input, 0}, {f32(0)}}));
    EXPECT_TRUE(finds("an index is not Int32"));
}

TEST_F(Verify, SizesAndConditions) {
    p.inputs[0].extents[0] = cast(Type::Int32, param_ref(0, Type::Float32));
    EXPECT_TRUE(finds("an extent of `in` uses more than sizes"));
    p.inputs[0].extents[0] = size_ref(4);
    EXPECT_TRUE(finds("no size 4"));
    p.inputs[0].extents[0] = n;
    p.where.push_back(n);
    EXPECT_TRUE(finds("where condition is not Bool"));
    p.where = {binary(BinaryOp::Lt, in(i32(0)), f32(1))};
    EXPECT_TRUE(finds("a where condition reads an image"));
    p.where.clear();
    p.params[0].default_value = i32(1);
    EXPECT_TRUE(finds("default of `k`"));
}

TEST_F(Verify, StagesAndOutputs) {
    out().name = "blur";
    EXPECT_TRUE(finds("two stages are named `blur`"));
    out().name = "out";
    out().dims[0].hi = nullptr;
    EXPECT_TRUE(finds("half a range"));
    out().dims[0].lo = nullptr;
    EXPECT_TRUE(finds("has an inferred dimension"));
    out().dims[0].lo = i32(0), out().dims[0].hi = n;
    out().output = -1;
    EXPECT_TRUE(finds("does not know that it is an output"));
    out().output = 0;
    p.outputs[0].buffer.type = Type::Int8;
    EXPECT_TRUE(finds("output `out` and its stage differ"));
    p.outputs[0].buffer.type = Type::Float32;
    p.outputs[0].buffer.order = {1};
    EXPECT_TRUE(finds("memory order of `out`"));
    p.outputs[0].stage = 9;
    EXPECT_TRUE(finds("output `out` has no stage"));
}

TEST_F(Verify, Accumulates) {
    const VarId i = new_variable(p, "i");
    const Expr vi = variable(i, Type::Int32);
    const auto set_update = [&](Update u) {
        blur().dims[0].lo = i32(0), blur().dims[0].hi = n;
        blur().definition = Accumulate{f32(0), {std::move(u)}};
    };
    set_update({{{i, i32(0), n}}, nullptr, {vi}, ReduceOp::Sum, in(vi), {}});
    EXPECT_EQ(verify(p), std::vector<std::string>{});
    set_update({{{i, i32(0), n}}, nullptr, {vi, vi}, ReduceOp::Sum, in(vi), {}});
    EXPECT_TRUE(finds("wrong rank"));
    set_update({{{i, i32(0), n}}, nullptr, {vi}, ReduceOp::Any, in(vi), {}});
    EXPECT_TRUE(finds("no such operator"));
    set_update({{{i, i32(0), n}}, vi, {vi}, ReduceOp::Sum, in(vi), {}});
    EXPECT_TRUE(finds("wrong type"));
    set_update({{{i, i32(0), n}}, nullptr, {vi}, ReduceOp::Sum, in(x()), {}});  // the stage's own variable
    EXPECT_TRUE(finds("variable 0 is used out of scope"));
    set_update({{{i, i32(0), n}}, nullptr, {vi}, ReduceOp::Sum, in(vi), {}});
    blur().dims[0].lo = blur().dims[0].hi = nullptr;
    EXPECT_TRUE(finds("accumulate `blur` has an inferred dimension"));
}

}  // namespace
}  // namespace pipec::ir::verify_test
