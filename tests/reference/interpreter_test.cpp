// The interpreter on small pipelines made by hand, without the front end.
#include "reference/interpreter.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "ir/build.h"
#include "ir/verify.h"
#include "reference/numeric.h"

namespace pipec::reference {
namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::Pipeline;
using ir::ReduceOp;
using ir::Source;
using ir::Type;

Expr i32(std::int64_t value) {
    return ir::int_constant(Type::Int32, value);
}
Expr operator+(const Expr& a, const Expr& b) {
    return ir::binary(BinaryOp::Add, a, b);
}
Expr operator-(const Expr& a, const Expr& b) {
    return ir::binary(BinaryOp::Sub, a, b);
}
Expr operator*(const Expr& a, const Expr& b) {
    return ir::binary(BinaryOp::Mul, a, b);
}
Expr operator/(const Expr& a, const Expr& b) {
    return ir::binary(BinaryOp::Div, a, b);
}
Expr operator<(const Expr& a, const Expr& b) {
    return ir::binary(BinaryOp::Lt, a, b);
}

/// A pipeline over int32 images with one size N; stages are added one after the other.
struct Builder {
    Pipeline p;
    Expr n;

    Builder() {
        p.name = "test";
        p.sizes.push_back({"N", {}});
        n = ir::size_ref(0);
    }

    Source input(const std::string& name, std::vector<Expr> extents) {
        std::vector<int> order(extents.size());
        std::iota(order.begin(), order.end(), 0);
        p.inputs.push_back({name, Type::Int32, std::move(extents), order, {}});
        return {Source::Kind::Input, static_cast<int>(p.inputs.size()) - 1};
    }
    Expr var(const std::string& name) { return ir::variable(ir::new_variable(p, name), Type::Int32); }
    static ir::VarId id(const Expr& variable) { return ir::as<ir::Variable>(variable)->id; }
    static Expr at(Source source, std::vector<Expr> indices) {
        return ir::read(source, Type::Int32, std::move(indices));
    }

    Source stage(const std::string& name, const std::vector<Expr>& dims, const Expr& value) {
        ir::Stage s;
        s.name = name;
        s.type = value->type;
        for (const Expr& dim : dims) s.dims.push_back({id(dim), nullptr, nullptr, {}});
        s.definition = ir::Pure{value};
        p.stages.push_back(s);
        return {Source::Kind::Stage, static_cast<int>(p.stages.size()) - 1};
    }
    Source output(const std::string& name, const std::vector<Expr>& dims, const std::vector<Expr>& extents,
                  const Expr& value) {
        const Source source = stage(name, dims, value);
        ir::Stage& s = p.stages.back();
        s.output = static_cast<int>(p.outputs.size());
        std::vector<int> order(extents.size());
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t d = 0; d < dims.size(); ++d) s.dims[d].lo = i32(0), s.dims[d].hi = extents[d];
        p.outputs.push_back({{name, s.type, extents, order, {}}, source.index});
        return source;
    }

    std::map<std::string, Array> run(const Arguments& arguments) const {
        EXPECT_EQ(ir::verify(p), std::vector<std::string>{});
        return reference::run(p, arguments);
    }
};

Array array(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& values) {
    Array result(Type::Int32, extents);
    for (std::size_t i = 0; i < values.size(); ++i) result.set(i, integer(Type::Int32, values[i]));
    return result;
}

std::vector<std::int64_t> values(const Array& a) {
    std::vector<std::int64_t> result;
    for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a.get(i).i);
    return result;
}

std::string error_of(const std::function<void()>& f) {
    try {
        f();
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

TEST(Interpreter, StencilThroughTwoStages) {
    Builder b;
    const Source in = b.input("in", {b.n + i32(2)});
    const Expr x = b.var("x");
    const Source twice = b.stage("twice", {x}, b.at(in, {x}) * i32(2));
    const Expr y = b.var("y");
    b.output("out", {y}, {b.n}, b.at(twice, {y}) + b.at(twice, {y + i32(1)}) + b.at(twice, {y + i32(2)}));
    const auto result = b.run({{{"in", array({5}, {1, 2, 3, 4, 5})}}, {}, {{"N", 3}}});
    EXPECT_EQ(result.at("out").extents, (std::vector<std::int64_t>{3}));
    EXPECT_EQ(values(result.at("out")), (std::vector<std::int64_t>{12, 18, 24}));
}

TEST(Interpreter, RowMajorOrder) {
    Builder b;
    const Source in = b.input("in", {i32(2), b.n});
    const Expr c = b.var("c"), x = b.var("x");
    b.output("out", {x, c}, {b.n, i32(2)}, b.at(in, {c, x}));
    const auto result = b.run({{{"in", array({2, 3}, {1, 2, 3, 4, 5, 6})}}, {}, {{"N", 3}}});
    EXPECT_EQ(values(result.at("out")), (std::vector<std::int64_t>{1, 4, 2, 5, 3, 6}));
}

TEST(Interpreter, SelectTakesOneBranchOnly) {
    Builder b;
    const Source in = b.input("in", {b.n});
    const Expr x = b.var("x");
    const Expr inside = ir::select(x < b.n - i32(1), b.at(in, {x + i32(1)}), i32(-1));
    b.output("out", {x}, {b.n}, inside);
    EXPECT_EQ(values(b.run({{{"in", array({2}, {7, 8})}}, {}, {{"N", 2}}}).at("out")),
              (std::vector<std::int64_t>{8, -1}));
}

TEST(Interpreter, AndAndOrStopEarly) {
    Builder b;
    const Source in = b.input("in", {b.n});
    const Expr x = b.var("x");
    const Expr left = x < b.n - i32(1);
    const Expr next = ir::binary(BinaryOp::Eq, b.at(in, {x + i32(1)}), i32(5));
    b.output("both", {x}, {b.n}, ir::binary(BinaryOp::And, left, next));
    const Expr y = b.var("y");
    const Expr last = ir::binary(BinaryOp::Ge, y, b.n - i32(1));
    const Expr after = ir::binary(BinaryOp::Eq, b.at(in, {y + i32(1)}), i32(5));
    b.output("either", {y}, {b.n}, ir::binary(BinaryOp::Or, last, after));
    const auto result = b.run({{{"in", array({3}, {5, 5, 4})}}, {}, {{"N", 3}}});
    EXPECT_EQ(values(result.at("both")), (std::vector<std::int64_t>{1, 0, 0}));
    EXPECT_EQ(values(result.at("either")), (std::vector<std::int64_t>{1, 0, 1}));
}

TEST(Interpreter, UncoveredCaseIsAnError) {
    Builder b;
    const Expr x = b.var("x");
    b.output("out", {x}, {b.n}, ir::select(x < i32(2), i32(1), nullptr));
    EXPECT_EQ(values(b.run({{}, {}, {{"N", 2}}}).at("out")), (std::vector<std::int64_t>{1, 1}));
    EXPECT_EQ(error_of([&] { b.run({{}, {}, {{"N", 3}}}); }), "an `if` without `else` does not hold");
}

TEST(Interpreter, OutOfBoundsIsAnErrorThatSaysWhere) {
    Builder b;
    const Source in = b.input("in", {b.n, b.n});
    const Expr x = b.var("x"), y = b.var("y");
    b.output("out", {x, y}, {b.n, b.n}, b.at(in, {x, y - i32(1)}));
    EXPECT_EQ(error_of([&] {
                  b.run({{{"in", array({2, 2}, {1, 2, 3, 4})}}, {}, {{"N", 2}}});
              }),
              "`in(0, -1)` is outside of the input's extents [2, 2]");
}

TEST(Interpreter, ExplicitRangesAreChecked) {
    Builder b;
    const Expr x = b.var("x");
    const Source f = b.stage("f", {x}, x);
    b.p.stages.back().dims[0].lo = i32(1);
    b.p.stages.back().dims[0].hi = b.n;
    const Expr y = b.var("y");
    b.output("out", {y}, {b.n}, b.at(f, {y + i32(1)}));
    EXPECT_EQ(error_of([&] {
                  b.run({{}, {}, {{"N", 3}}});
              }),
              "`f(3)` is outside of the stage's range 1..3 in dimension 0");
}

TEST(Interpreter, LetAndNestedReductions) {
    Builder b;
    const Expr x = b.var("x"), i = b.var("i"), j = b.var("j"), t = b.var("t");
    // sum over 0 <= i < x, i <= j < x of let t = i + j in t * t
    const Expr body = ir::let(b.id(t), i + j, t * t);
    const Expr sum = ir::reduce(ReduceOp::Sum, {{b.id(i), i32(0), x}, {b.id(j), i, x}}, body);
    b.output("out", {x}, {b.n}, sum);
    EXPECT_EQ(values(b.run({{}, {}, {{"N", 4}}}).at("out")), (std::vector<std::int64_t>{0, 0, 5, 34}));
}

TEST(Interpreter, EmptyReductionsGiveIdentities) {
    Builder b;
    const Expr x = b.var("x"), i = b.var("i"), j = b.var("j");
    const Expr low = ir::reduce(ReduceOp::Min, {{b.id(i), i32(0), x}}, i);
    const Expr product = ir::reduce(ReduceOp::Prod, {{b.id(j), i32(1), x + i32(1)}}, j);
    b.output("low", {x}, {b.n}, low + product);
    EXPECT_EQ(values(b.run({{}, {}, {{"N", 3}}}).at("low")), (std::vector<std::int64_t>{-2147483648, 1, 2}));
}

TEST(Interpreter, AccumulateCountsAndSees) {
    Builder b;
    const Source in = b.input("in", {b.n});
    const Expr bin = b.var("bin"), x = b.var("x");
    ir::Stage hist;
    hist.name = "hist";
    hist.type = Type::Int32;
    hist.dims = {{b.id(bin), i32(0), i32(4), {}}};
    const Expr v = b.at(in, {x});
    hist.definition =
        ir::Accumulate{bin * i32(100),
                       {{{{b.id(x), i32(0), b.n}}, ir::binary(BinaryOp::Ge, v, i32(0)), {v}, ReduceOp::Sum, i32(1), {}},
                        {{}, nullptr, {i32(3)}, ReduceOp::Max, i32(1000), {}}}};
    b.p.stages.push_back(hist);
    const Expr y = b.var("y");
    b.output("out", {y}, {i32(4)}, b.at({Source::Kind::Stage, 0}, {y}));
    EXPECT_EQ(values(b.run({{{"in", array({5}, {1, 1, -7, 2, 1})}}, {}, {{"N", 5}}}).at("out")),
              (std::vector<std::int64_t>{0, 103, 201, 1000}));
    EXPECT_EQ(error_of([&] {
                  b.run({{{"in", array({1}, {4})}}, {}, {{"N", 1}}});
              }),
              "the update of `hist(4)` is outside of the stage's ranges");
}

TEST(Interpreter, UpdatesRunInLexicographicOrder) {
    Builder b;
    const Expr x = b.var("x"), y = b.var("y");
    ir::Stage s;
    s.name = "r";
    s.type = Type::Float32;
    const auto f32 = [](double v) { return ir::float_constant(Type::Float32, v); };
    const Expr big = ir::select(ir::binary(BinaryOp::Eq, x + y, i32(0)), f32(1e8), f32(1));
    s.definition = ir::Accumulate{
        f32(0), {{{{b.id(x), i32(0), i32(2)}, {b.id(y), i32(0), b.n}}, nullptr, {}, ReduceOp::Sum, big, {}}}};
    b.p.stages.push_back(s);
    b.output("out", {}, {}, ir::read({Source::Kind::Stage, 0}, Type::Float32, {}));
    // 1e8 comes first, so that every 1 after it is lost.
    EXPECT_EQ(b.run({{}, {}, {{"N", 4}}}).at("out").get(0).f, 1e8);
}

TEST(Interpreter, ParametersDefaultsAndWhere) {
    Builder b;
    b.p.params.push_back({"k", Type::Int32, i32(5), {}});
    b.p.params.push_back({"m", Type::Int32, nullptr, {}});
    const Expr k = ir::param_ref(0, Type::Int32), m = ir::param_ref(1, Type::Int32);
    b.p.where.push_back(k < m);
    const Expr x = b.var("x");
    b.output("out", {x}, {b.n}, k + m);
    const auto run = [&](std::map<std::string, Value> params) { return b.run({{}, std::move(params), {{"N", 1}}}); };
    EXPECT_EQ(values(run({{"m", integer(Type::Int32, 10)}}).at("out")), (std::vector<std::int64_t>{15}));
    EXPECT_EQ(error_of([&] { run({}); }), "parameter `m` is missing");
    EXPECT_EQ(error_of([&] { run({{"m", integer(Type::Int32, 5)}}); }), "condition 1 of `where` does not hold");
    EXPECT_EQ(error_of([&] { run({{"m", integer(Type::Int64, 50)}}); }), "parameter `m` has another type");
}

TEST(Interpreter, ArgumentsAreChecked) {
    Builder b;
    const Source in = b.input("in", {b.n});
    const Expr x = b.var("x");
    b.output("out", {x}, {b.n}, b.at(in, {x}));
    EXPECT_EQ(error_of([&] { b.run({{}, {}, {{"N", 1}}}); }), "input `in` is missing");
    EXPECT_EQ(error_of([&] {
                  b.run({{{"in", array({2}, {})}}, {}, {{"N", 1}}});
              }),
              "input `in` has extents [2], not [1]");
    EXPECT_EQ(error_of([&] {
                  b.run({{{"in", Array(Type::Int8, {1})}}, {}, {{"N", 1}}});
              }),
              "input `in` has another type");
    EXPECT_EQ(error_of([&] { b.run({{{"in", array({1}, {1})}}, {}, {}}); }), "size `N` is missing");
}

TEST(Interpreter, AStageIsEvaluatedOncePerPoint) {
    // Without memory, doubling the reads at each of 64 stages would never end.
    Builder b;
    Expr x = b.var("x");
    Source last = b.stage("s0", {x}, x);
    for (int i = 1; i <= 64; ++i) {
        x = b.var("x");
        last = b.stage("s" + std::to_string(i), {x}, b.at(last, {x}) + b.at(last, {x}));
    }
    x = b.var("x");
    b.output("out", {x}, {b.n}, b.at(last, {x}));
    EXPECT_EQ(values(b.run({{}, {}, {{"N", 2}}}).at("out")), (std::vector<std::int64_t>{0, 0}));  // 2^64 wraps
}

TEST(Interpreter, DeepChainsFitItsStack) {
    Builder b;
    Expr x = b.var("x");
    Source last = b.stage("s0", {x}, x);
    for (int i = 1; i <= 20000; ++i) {
        x = b.var("x");
        last = b.stage("s" + std::to_string(i), {x}, b.at(last, {x + i32(1)}));
    }
    x = b.var("x");
    b.output("out", {x}, {b.n}, b.at(last, {x}));
    EXPECT_EQ(values(reference::run(b.p, {{}, {}, {{"N", 1}}}).at("out")), (std::vector<std::int64_t>{20000}));
}

TEST(Interpreter, SizeExpressions) {
    const Expr r = ir::size_ref(0), c = ir::size_ref(1);
    EXPECT_EQ(evaluate_size_expr(r * i32(2) + c, {5, 7}), 17);
    EXPECT_EQ(evaluate_size_expr((i32(0) - r) / i32(2), {5, 7}), -3);
}

}  // namespace
}  // namespace pipec::reference
