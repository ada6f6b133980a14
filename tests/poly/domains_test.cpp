// Inferred domains, one program for each kind of access, and the programs that need exact sets.
#include <gtest/gtest.h>

#include "builder.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "poly/model.h"
#include "support_lib/compile.h"

namespace pipec::test::domains_test {
namespace {

/// The analysis as text; the messages where it failed.
std::string analyzed(const Program& program) {
    const auto problems = ir::verify(program.p);
    if (!problems.empty()) return "not well-formed: " + problems[0];
    Diagnostics diags;
    const auto model = poly::analyze(program.p, diags);
    if (model) return poly::to_string(program.p, *model);
    std::string result;
    for (const Diagnostic& d : diags.all()) {
        result += std::string(d.id) + ": " + d.message + "\n";
        for (const DiagnosticNote& n : d.notes) result += "  note: " + n.message + "\n";
    }
    return result;
}

/// The line of the dump about one stage or input.
std::string line(const Program& program, const std::string& start) {
    const std::string text = analyzed(program);
    const auto begin = text.find("  " + start);
    if (begin == std::string::npos) return text;
    return text.substr(begin + 2, text.find('\n', begin) - begin - 2);
}

TEST(Domains, Stencil) {
    Program t;
    const E R = t.size("R"), C = t.size("C");
    const auto img = t.input("img", {R + 2, C + 2});
    const E y = t.var("y"), x = t.var("x"), y2 = t.var("y"), x2 = t.var("x"), y3 = t.var("y"), x3 = t.var("x");
    const auto blury =
        t.stage("blury", {{y}, {x}}, t.read(img, {y - 1, x}) + t.read(img, {y, x}) + t.read(img, {y + 1, x}));
    const auto blurx = t.stage("blurx", {{y2}, {x2}},
                               t.read(blury, {y2, x2 - 1}) + t.read(blury, {y2, x2}) + t.read(blury, {y2, x2 + 1}));
    t.output("out", {y3, x3}, {R, C}, t.read(blurx, {y3 + 1, x3 + 1}));
    EXPECT_EQ(analyzed(t),
              "domains of \n"
              "  size R = extent(img, 0) - 2\n"
              "  size C = extent(img, 1) - 2\n"
              "  input img[0..R + 2, 0..C + 2]\n"
              "  stage blury(y in 1..R + 1, x in 0..C + 2)\n"
              "  stage blurx(y in 1..R + 1, x in 1..C + 1)\n"
              "  stage out(y in 0..R, x in 0..C)\n");
}

TEST(Domains, DownAndUp) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {2 * R + 3});
    const E x = t.var("x"), u = t.var("u"), o = t.var("o");
    const auto down =
        t.stage("down", {{x}}, t.read(img, {2 * x}) + t.read(img, {2 * x + 1}) + t.read(img, {2 * x + 2}));
    const auto up = t.stage("up", {{u}}, t.read(down, {u / 2}) + t.read(down, {(u + 1) / 2}));
    t.output("out", {o}, {2 * R}, t.read(up, {o}));
    EXPECT_EQ(line(t, "stage down"), "stage down(x in 0..R + 1)");
    EXPECT_EQ(line(t, "stage up"), "stage up(u in 0..2 * R)");
    EXPECT_EQ(line(t, "size R"), "size R = (extent(img, 0) - 3) / 2");
}

TEST(Domains, MaximumOfTwoReaders) {
    Program t;
    const E R = t.size("R"), C = t.size("C");
    const auto img = t.input("img", {R + C});
    const E i = t.var("i"), x = t.var("x"), y = t.var("y");
    const auto f = t.stage("f", {{i}}, t.read(img, {i}));
    t.output("a", {x}, {R}, t.read(f, {x}));
    t.output("b", {y}, {C}, t.read(f, {y}));
    EXPECT_EQ(line(t, "stage f"), "stage f(i in 0..max(C, R))");
}

TEST(Domains, ClampToEdge) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R});
    const E i = t.var("i"), j = t.var("j"), x = t.var("x");
    const auto padded = t.stage("padded", {{i}}, t.read(img, {clamp(i, 0, R - 1)}));
    const auto f = t.stage("f", {{j}}, t.read(padded, {j - 3}) + t.read(padded, {j + 3}));
    t.output("out", {x}, {R}, t.read(f, {x}));
    EXPECT_EQ(line(t, "stage padded"), "stage padded(i in -3..R + 3)");
    EXPECT_EQ(line(t, "input img"), "input img[0..R]");
}

TEST(Domains, Wrap) {
    Program t;
    const auto img = t.input("img", {8});
    const E x = t.var("x");
    t.output("out", {x}, {100}, t.read(img, {(x - 5) % 8}));
    EXPECT_EQ(line(t, "input img"), "input img[0..8]");
}

TEST(Domains, AffineIf) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R});
    const E i = t.var("i"), x = t.var("x");
    const auto f = t.stage("f", {{i}}, t.read(img, {i}));
    t.output("out", {x}, {R}, when(x < 1, 0, when(x > R - 2, 1, t.read(f, {x - 1}) + t.read(f, {x + 1}))));
    EXPECT_EQ(line(t, "stage f"), "stage f(i in 0..R)");
}

TEST(Domains, ShortCircuit) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R});
    const E x = t.var("x"), y = t.var("y");
    t.output("a", {x}, {R}, when(x > 0 && t.read(img, {x - 1}) > 0, 1, 0));
    t.output("b", {y}, {R}, when(y == R - 1 || t.read(img, {y + 1}) > 0, 1, 0));
    EXPECT_EQ(line(t, "input img"), "input img[0..R]");
}

TEST(Domains, DataAndAffineCondition) {
    // The affine part of a conjunction counts in the branch, and nothing is known in the other one.
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R});
    const E x = t.var("x");
    const E v = t.read(img, {x});
    t.output("out", {x}, {R}, when(v > 3 && x > 0, t.read(img, {x - 1}), t.read(img, {x})));
    EXPECT_EQ(line(t, "input img"), "input img[0..R]");

    Program u;
    const E S = u.size("S");
    const auto in = u.input("in", {S});
    const E y = u.var("y");
    u.output("out", {y}, {S}, when(u.read(in, {y}) > 3 && y > 0, 0, u.read(in, {y - 1})));
    EXPECT_EQ(
        analyzed(u),
        "out-of-bounds: `in(y - 1)` is out of bounds: index 0, `y - 1`, is -1 when y = 0, S = 1\n"
        "  note: `in` has 0 <= index < S in dimension 0\n"
        "  note: for points outside, give `in` a border and shift the indices into it, or read `clamp_to_edge_1d(in)` "
        "in its place (import \"boundary\")\n");
}

TEST(Domains, ReductionAndLoop) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R + 6});
    const E i = t.var("i"), x = t.var("x"), k = t.var("k");
    const auto f = t.stage("f", {{i}}, t.read(img, {i}));
    t.output("out", {x}, {R}, sum({Program::range(k, 0, 7)}, t.read(f, {x + k})));
    EXPECT_EQ(line(t, "stage f"), "stage f(i in 0..R + 6)");
}

TEST(Domains, LoopBoundsThatDependOnIndices) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R, R});
    const E x = t.var("x"), k = t.var("k");
    t.output("prefix", {x}, {R}, sum({Program::range(k, 0, x + 1)}, t.read(img, {x, x - k})));
    EXPECT_EQ(line(t, "input img"), "input img[0..R, 0..R]");
}

TEST(Domains, Diagonal) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {2 * R - 1});
    const E i = t.var("i"), x = t.var("x"), y = t.var("y");
    const auto f = t.stage("f", {{i}}, t.read(img, {i + R - 1}));
    t.output("out", {x, y}, {R, R}, t.read(f, {x - y}));
    EXPECT_EQ(line(t, "stage f"), "stage f(i in 1 - R..R)");
}

TEST(Domains, Accumulate) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R}, ir::Type::UInt8);
    const E b = t.var("b"), x = t.var("x"), i = t.var("i"), v = t.var("v");
    const E value = to(ir::Type::Int32, t.read(img, {i}));
    const auto hist =
        t.accumulate("hist", {{b, {0, 256}}}, 0,
                     {ir::Update{{Program::range(i, 0, R)}, nullptr, {value.e}, ir::ReduceOp::Sum, E(1).e, {}}});
    t.output("out", {x}, {256}, t.read(hist, {x}));
    EXPECT_EQ(line(t, "stage hist"), "stage hist(b in 0..256)");
    EXPECT_EQ(line(t, "input img"), "input img[0..R]");
    (void)v;
}

TEST(Domains, GatherThroughClampedData) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R}, ir::Type::Float32);
    const E i = t.var("i"), x = t.var("x");
    const auto lut = t.stage("lut", {{i}}, i * i);
    const E level = to(ir::Type::Int32, t.read(img, {x}));
    t.output("out", {x}, {R}, t.read(lut, {clamp(level, 0, R - 1) + 2}));
    EXPECT_EQ(line(t, "stage lut"), "stage lut(i in 2..R + 2)");
}

TEST(Domains, IndicesFromStages) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R});
    const E y = t.var("y"), z = t.var("z"), b = t.var("b"), x = t.var("x");
    const auto one = t.stage("one", {{y}}, y + 1);
    const auto odd = t.stage("odd", {{z}}, min(2 * t.read(one, {z}), R - 1));
    const auto blurred = t.stage("blurred", {{b}}, t.read(img, {b}));
    t.output("out", {x}, {R}, t.read(blurred, {t.read(odd, {x})}));
    EXPECT_EQ(line(t, "stage one"), "stage one(y in 0..R)");
    EXPECT_EQ(line(t, "stage odd"), "stage odd(z in 0..R)");
    EXPECT_EQ(line(t, "stage blurred"), "stage blurred(b in min(2, R - 1)..R)");
}

// Nothing follows from a value at a point where it is not read.
TEST(Domains, IndicesFromStagesThatAreNotReadEverywhere) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R});
    const E y = t.var("y"), x = t.var("x");
    const auto step = t.stage("step", {{y, {0, R}}}, y + 1);
    t.output("out", {x}, {R}, when(x < 5 || t.read(step, {x - 5}) > 0, t.read(img, {x + when(x < 5, 1, 0)}), 0));
    EXPECT_EQ(analyzed(t).substr(0, 13), "out-of-bounds");
}

// Data choose between more values than are followed piece by piece, or the values are those of a stage that does.
TEST(Domains, IndicesThatDataChoose) {
    Program t;
    const E R = t.size("R"), C = t.size("C");
    const auto data = t.input("data", {R}), img = t.input("img", {C});
    const E y = t.var("y"), i = t.var("i"), z = t.var("z"), x = t.var("x"), k = t.var("k"), w = t.var("w");
    const auto at = t.stage("at", {{y, {0, R}}}, clamp(t.read(data, {y}), 0, C - 1));
    const E v = t.var("v");
    const auto moved = [&](int by) { return t.read(at, {clamp(v + by, 0, R - 1)}); };
    const auto next = [&](int by) { return clamp(moved(by) + by, 0, C - 1); };
    const auto many =
        t.stage("many", {{v, {0, R}}, {k, {0, 6}}},
                when(k == 0, moved(0), when(k == 1, next(-1), when(k == 2, next(1), when(k == 3, next(-2), next(2))))));
    const auto best = t.stage("best", {{z, {0, R}}}, t.read(many, {z, clamp(t.read(data, {z}), 0, 5)}));
    const auto padded = t.stage("padded", {{i}}, t.read(img, {clamp(i, 0, C - 1)}));
    const auto chosen = t.stage("chosen", {{w, {0, R}}}, when(t.read(data, {w}) > 3, w, min(t.read(best, {w}), R - 1)));
    t.output("out", {x}, {R}, t.read(padded, {t.read(best, {x}) + 2}) + t.read(data, {t.read(chosen, {x})}));
    EXPECT_EQ(line(t, "stage padded"), "stage padded(i in 2..C + 2)");
}

TEST(Domains, IndicesThatManyStagesPassOn) {
    Program t;
    const E R = t.size("R");
    const auto data = t.input("data", {R});
    const E x = t.var("x");
    const E first = t.var("y");
    ir::Source at = t.stage("at", {{first, {0, R}}}, clamp(t.read(data, {first}), 0, R - 1));
    for (int n = 0; n < 20; ++n) {
        const E y = t.var("y");
        at = t.stage("at" + std::to_string(n), {{y, {0, R}}}, t.read(at, {t.read(at, {y})}));
    }
    t.output("out", {x}, {R}, t.read(at, {x}));
    EXPECT_EQ(line(t, "stage at"), "stage at(y in 0..R)");
}

// Limits that the range of a stage gives do not hold where a condition mentions a point outside of it.
TEST(Domains, LimitsOfARangeAreThoseOfItsPoints) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R});
    const E y = t.var("y"), z = t.var("z"), x = t.var("x");
    const auto same = t.stage("same", {{y, {0, R}}}, y);
    const auto chosen = t.stage("chosen", {{z, {0, R}}}, when(t.read(img, {z}) > 3, z, t.read(same, {z})));
    t.output("out", {x}, {2 * R}, when(x >= R || t.read(chosen, {x}) < R, t.read(img, {x}), 0));
    EXPECT_EQ(analyzed(t).substr(0, 13), "out-of-bounds");
    Program u;
    const E S = u.size("S");
    const auto line = u.input("line", {S});
    const E v = u.var("v"), w = u.var("w");
    const auto equal = u.stage("equal", {{v, {0, S}}}, v);
    u.output("out", {w}, {2 * S}, when(w >= S || u.read(equal, {w}) < S, u.read(line, {w}), 0));
    EXPECT_EQ(analyzed(u).substr(0, 13), "out-of-bounds");
}

TEST(Domains, MixedExplicitAndInferred) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {3, R + 2});
    const E c = t.var("c"), i = t.var("i"), x = t.var("x");
    const auto f = t.stage("f", {{c, {0, 3}}, {i}}, t.read(img, {c, i}));
    t.output("out", {x}, {R}, t.read(f, {1, x + 2}));
    EXPECT_EQ(line(t, "stage f"), "stage f(c in 0..3, i in 2..R + 2)");
}

TEST(Domains, UnreadForSomeSizes) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R});
    const E i = t.var("i"), x = t.var("x"), k = t.var("k");
    const auto f = t.stage("f", {{i}}, t.read(img, {i}));
    t.output("out", {x}, {4}, sum({Program::range(k, 0, R - 2)}, t.read(f, {k})));
    EXPECT_EQ(line(t, "stage f"), "stage f(i in 0..R - 2)");
}

TEST(Domains, ExactWhereTheBoxFails) {
    // An L: the hull's corner would read beyond the input.
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R, R});
    const E i = t.var("i"), j = t.var("j"), x = t.var("x"), y = t.var("y");
    const auto f = t.stage("f", {{i}, {j}}, when(i == 0, t.read(img, {i, j}), t.read(img, {i + j, 0})));
    t.output("out", {x}, {R}, t.read(f, {0, x}));
    t.output("side", {y}, {R}, t.read(f, {y, 0}));
    EXPECT_EQ(line(t, "stage f"), "stage f(i in 0..R, j in 0..R) where i == 0 or j == 0");
}

TEST(Domains, RankZero) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R});
    const E x = t.var("x"), k = t.var("k");
    const auto total = t.stage("total", {}, sum({Program::range(k, 0, R)}, t.read(img, {k})));
    t.output("out", {x}, {R}, t.read(total, {}));
    EXPECT_EQ(line(t, "stage total"), "stage total()");
}

TEST(Domains, PyramidBoundsStayOneDivision) {
    Program t;
    const E R = t.size("R");
    const auto img = t.input("img", {R + 1000});
    std::vector<ir::Source> levels{img};
    std::vector<E> vars;
    for (int l = 0; l < 10; ++l) {
        const E x = t.var("x");
        const ir::Source from = levels.back();
        levels.push_back(t.stage("up" + std::to_string(l), {{x}}, t.read(from, {x / 2}) + t.read(from, {x / 2 + 1})));
    }
    const E x = t.var("x");
    t.output("out", {x}, {R}, t.read(levels.back(), {x}));
    EXPECT_EQ(line(t, "stage up0"), "stage up0(x in 0..(R + 509) / 512 + 2)");
}

/// What the compiler says of a text.
std::string messages(const std::string& text) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "test.pipe", text);
    std::string result;
    for (const Diagnostic& d : compiled.diags.all()) result += std::string(d.id) + ": " + d.message + "\n";
    return result;
}

/// Conditions that decide about values alone may overflow: nothing relies on what they say.
TEST(Domains, ConditionsThatMayOverflow) {
    for (const char* condition :
         {"x + 2 * y < 100", "(x + 2 * y) % 4 == 0", "(x + 3 * y) / 5 < 2", "(x * 5 + y * 7) & 3 == 1"}) {
        EXPECT_EQ(messages("pipeline p(img: int32[R, C]) -> out: int32[R, C] {\n out(y, x) = if " +
                           std::string(condition) + " then 1 else img(y, x)\n}"),
                  "")
            << condition;
    }
    EXPECT_EQ(messages("pipeline p(img: int32[R, C]) -> out: int32[R, C] {\n"
                       " out(y, x) = if x + 2 * y < C then img(y, x + 2 * y) else 0\n}")
                  .substr(0, 14),
              "index-overflow");
}

TEST(Domains, SumsOfThousandsOfConstantWeights) {
    std::string row, rows;
    for (int j = 0; j < 45; ++j) row += (j > 0 ? ", 0." : "0.") + std::to_string(1 + j);
    for (int i = 0; i < 45; ++i) rows += (i > 0 ? ", [" : "[") + row + "]";
    EXPECT_EQ(messages("const W = [" + rows + "]\npipeline p(img: float32[R + 44, C + 44]) -> out: float32[R, C] {\n" +
                       " out(y, x) = sum(i in 0..45, j in 0..45) W[i][j] * img(y + i, x + j)\n}"),
              "");
}

}  // namespace
}  // namespace pipec::test::domains_test
