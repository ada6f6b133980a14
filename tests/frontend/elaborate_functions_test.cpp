// Functions: arguments evaluated once, hygiene, whole images, `..k`, bounds; reductions.
#include "elaborated.h"

namespace pipec {
namespace {

TEST(Functions, ArgumentsAreEvaluatedOnce) {
    EXPECT_EQ(value("twice(f(y, x) * k)", "float32", "fn twice(a) = a + a"), "let a = f(y, x) * k in a + a");
    EXPECT_EQ(value("at(f, y + 1, x)", "float32", "fn at(g, a, b) = g(a, b)"), "f(y + 1, x)");
    EXPECT_EQ(value("scale(f(y, x))", "float32", "fn scale(v, by = 2) = by"), "2.0");
}

TEST(Functions, NamesMeanWhatTheyMeanWhereTheFunctionStands) {
    EXPECT_EQ(in_gray("const N = 5\n out(y, x) = img(y, x) * n() * N", "const N = 3\nfn n() = N"),
              "out(y in 0..R, x in 0..C): float32 = img(y, x) * 3.0 * 5.0\n");
    EXPECT_EQ(in_gray("f(y, x) = img(y, x)\n out(y, x) = g(1)", "fn g(a) = a + f"), "unknown name `f`\n");
}

TEST(Functions, ACallMeansTheImportedFunctionWithItsNumberOfArguments) {
    const auto m = [](const std::string& use) {
        return stages(
            "import \"stencil\"\nimport \"statistics\"\n"
            "pipeline p(img: float32[R, C]) -> out: float32[R, C] { out(y, x) = " +
            use + " }\n");
    };
    EXPECT_NE(m("mean(img)()").find("sum(y in 0..R"), std::string::npos);
    EXPECT_NE(m("mean(img, 1)(y, x)").find("img(y, x)"), std::string::npos);
    EXPECT_EQ(m("mean(img, 1, 2)(y, x)"), "two imported files define `mean`\n`mean` takes 2 arguments, not 3\n");
}

TEST(Functions, RecursionEndsAtCompileTime) {
    EXPECT_EQ(value("power(k, 3)", "float32", "fn power(b, n) = if n == 0 then 1 else b * power(b, n - 1)"),
              "k * (k * (k * 1.0))");
}

TEST(Functions, StageFunctionsMakeStages) {
    const char* blur =
        "fn blur(f) {\n a(..k, y, x) = f(..k, y - 1, x) + f(..k, y + 1, x)\n"
        " b(..k, y, x) = a(..k, y, x - 1) + a(..k, y, x + 1)\n return b\n}";
    EXPECT_EQ(in_gray("s = blur(img)\n out(y, x) = s(y, x) / 4", blur),
              "s.a(y, x): float32 = img(y - 1, x) + img(y + 1, x)\n"
              "s(y, x): float32 = s.a(y, x - 1) + s.a(y, x + 1)\n"
              "out(y in 0..R, x in 0..C): float32 = s(y, x) / 4.0\n");
    EXPECT_EQ(in_gray("out = blur(img * img)", blur),
              "out.f(i, j): float32 = img(i, j) * img(i, j)\n"
              "out.a(y, x): float32 = out.f(y - 1, x) + out.f(y + 1, x)\n"
              "out(y in 0..R, x in 0..C): float32 = out.a(y, x - 1) + out.a(y, x + 1)\n");
    EXPECT_EQ(stages(std::string(blur) +
                     "\npipeline p(a: float32[2, 3, R, C]) -> out: float32[2, 3, R, C] { out = blur(a) }\n"),
              "out.a(k0, k1, y, x): float32 = a(k0, k1, y - 1, x) + a(k0, k1, y + 1, x)\n"
              "out(k0 in 0..2, k1 in 0..3, y in 0..R, x in 0..C): float32 = out.a(k0, k1, y, x - 1) + out.a(k0, k1, y, "
              "x + 1)\n");
}

TEST(Functions, TheSameCallIsTheSameImage) {
    EXPECT_EQ(
        in_gray("out(y, x) = sum(i in 0..3) half(img)(y + i, x)", "fn half(f) { h(y, x) = f(y, x) / 2\n return h }"),
        "out.h(y, x): float32 = img(y, x) / 2.0\n"
        "out(y in 0..R, x in 0..C): float32 = out.h(y, x) + out.h(y + 1, x) + out.h(y + 2, x)\n");
}

TEST(Functions, AGeneratedStageReadOncePointwiseIsFolded) {
    EXPECT_EQ(in_gray("out = neg(img * 2)", "fn neg(f) { n(y, x) = -f(y, x)\n return n }"),
              "out(y in 0..R, x in 0..C): float32 = -(img(y, x) * 2.0)\n");
}

TEST(Functions, AnArgumentOfAWholeImageExpressionIsBothScalarAndImage) {
    EXPECT_EQ(in_gray("out = unsharp(img * 2)",
                      "fn unsharp(f) = f - shift(f)\nfn shift(f) { s(y, x) = f(y - 1, x)\n return s }"),
              "out.f(i, j): float32 = img(i, j) * 2.0\n"
              "out.s(y, x): float32 = out.f(y - 1, x)\n"
              "out(i in 0..R, j in 0..C): float32 = let f = img(i, j) * 2.0 in f - out.s(i, j)\n");
}

constexpr const char* kRowSums =
    "fn up(f) { u(y, x) = f(y - 1, x) + f(y, x)\n return u }\n"
    "fn left(f) { l(y, x) = f(y, x - 1) + f(y, x)\n return l }\n"
    "fn both(f) = left(up(f))\n"
    "fn twice(f) { return both(both(f) * 2) }\n"
    "fn square(a) = a * a\n"
    "fn at(f, y, x) = f(y, x)\n";

TEST(Functions, AWholeImageExpressionReachesStageFunctionsThroughOthers) {
    EXPECT_EQ(in_gray("g = both(img * img)\n out(y, x) = g(y + 1, x + 1)", kRowSums),
              "g.f(i, j): float32 = img(i, j) * img(i, j)\n"
              "g.u(y, x): float32 = g.f(y - 1, x) + g.f(y, x)\n"
              "g(y, x): float32 = g.u(y, x - 1) + g.u(y, x)\n"
              "out(y in 0..R, x in 0..C): float32 = g(y + 1, x + 1)\n");
    EXPECT_EQ(in_gray("g = twice(square(img) + img)\n out(y, x) = g(y, x)", kRowSums),
              "g.f(i, j): float32 = img(i, j) * img(i, j) + img(i, j)\n"
              "g.u(y, x): float32 = g.f(y - 1, x) + g.f(y, x)\n"
              "g.l(y, x): float32 = g.u(y, x - 1) + g.u(y, x)\n"
              "g.f.2(i, j): float32 = g.l(i, j) * 2.0\n"
              "g.u.2(y, x): float32 = g.f.2(y - 1, x) + g.f.2(y, x)\n"
              "g(y, x): float32 = g.u.2(y, x - 1) + g.u.2(y, x)\n"
              "out(y in 0..R, x in 0..C): float32 = g(y, x)\n");
}

TEST(Functions, ALetThatIsUsedWholeTwiceIsOneStage) {
    EXPECT_EQ(in_gray("out = let s = img * 2 in up(s) + left(s)", kRowSums),
              "out.f(i, j): float32 = img(i, j) * 2.0\n"
              "out.u(y, x): float32 = out.f(y - 1, x) + out.f(y, x)\n"
              "out.l(y, x): float32 = out.f(y, x - 1) + out.f(y, x)\n"
              "out(i in 0..R, j in 0..C): float32 = out.u(i, j) + out.l(i, j)\n");
}

TEST(Functions, WhatIsCalledMayBeAWholeImageExpression) {
    EXPECT_EQ(in_gray("out(y, x) = both(img * img)(y + 1, x) + at(both(img), y, x)", kRowSums),
              "out.f(i, j): float32 = img(i, j) * img(i, j)\n"
              "out.u(y, x): float32 = out.f(y - 1, x) + out.f(y, x)\n"
              "out.l(y, x): float32 = out.u(y, x - 1) + out.u(y, x)\n"
              "out.u.2(y, x): float32 = img(y - 1, x) + img(y, x)\n"
              "out.l.2(y, x): float32 = out.u.2(y, x - 1) + out.u.2(y, x)\n"
              "out(y in 0..R, x in 0..C): float32 = out.l(y + 1, x) + out.l.2(y, x)\n");
    // The image that is read at fixed points has a rank of its own.
    EXPECT_EQ(stages(std::string(kRowSums) + "pipeline p(line: float32[R], img: float32[R, C]) -> out: float32[R] {\n"
                                             "out = line + both(img * 2)(1, 1)\n}"),
              "out.f(i, j): float32 = img(i, j) * 2.0\n"
              "out.u(y, x): float32 = out.f(y - 1, x) + out.f(y, x)\n"
              "out.l(y, x): float32 = out.u(y, x - 1) + out.u(y, x)\n"
              "out(i in 0..R): float32 = line(i) + out.l(1, 1)\n");
    EXPECT_EQ(in_gray("out(y, x) = both(img * y)(y, x)", kRowSums),
              "an argument of a stage function cannot depend on `y`\n");
}

TEST(Functions, ChoicesOfImagesAreWholeImageExpressions) {
    EXPECT_EQ(
        in_gray("a[0] = img\n for l in 1..3 { a[l] = up(if l > 1 then a[l - 1] else select(img > 0, img, -img)) }\n"
                "out = a[2]",
                kRowSums),
        "a[1].f(i, j): float32 = if img(i, j) > 0.0 then img(i, j) else -img(i, j)\n"
        "a[1](y, x): float32 = a[1].f(y - 1, x) + a[1].f(y, x)\n"
        "a[2](y, x): float32 = a[1](y - 1, x) + a[1](y, x)\n"
        "out(y in 0..R, x in 0..C): float32 = a[2](y, x)\n");
}

TEST(Functions, MadeByNamesTheCallsInnermostFirst) {
    const Elaborated e(
        "fn inner(f) { a(x) = f(x - 1)\n return a }\nfn outer(f) { b = inner(f)\n return b }\n"
        "pipeline p(f: float32[R]) -> out: float32[R] { s = outer(f)\n out(x) = s(x + 1) }\n");
    ASSERT_EQ(e.pipelines.size(), 1U) << e.messages();
    ASSERT_EQ(e.pipelines[0].stages[0].made_by.size(), 2U);
    EXPECT_EQ(e.sources.text(e.pipelines[0].stages[0].made_by[0]), "inner(f)");
    EXPECT_EQ(e.sources.text(e.pipelines[0].stages[0].made_by[1]), "outer(f)");
}

TEST(Functions, Bounds) {
    EXPECT_EQ(in_gray("out(y, x) = img(clamp(y, lower(img, 0), upper(img, 0)), min(x, extent(out, -1) - rank(img)))"),
              "out(y in 0..R, x in 0..C): float32 = img(min(max(y, 0), R - 1), min(x, C - 2))\n");
    EXPECT_EQ(in_gray("f(y in 2..R, x in 0..C) = img(y, x)\n out(y, x) = img(extent(f, 0), upper(f * 2, 1))"),
              "out(y in 0..R, x in 0..C): float32 = img(R - 2, C - 1)\n");
}

TEST(Reductions, SmallOnesAreUnrolledAndZerosLeftOut) {
    EXPECT_EQ(value("sum(i in -1..=1) [1, 0, -1][i + 1] * f(y + i, x)", "float32"),
              "1.0 * f(y - 1, x) + -1.0 * f(y + 1, x)");
    EXPECT_EQ(value("max(i in 0..2, j in 0..2) u8(y + i, x + j)", "uint8"),
              "max(max(max(u8(y, x), u8(y, x + 1)), u8(y + 1, x)), u8(y + 1, x + 1))");
    EXPECT_EQ(value("sum(i in 0..2) u8(y + i, x)", "int32"), "int32(u8(y, x)) + int32(u8(y + 1, x))");
    EXPECT_EQ(value("int32(any(i in 0..2) (f(y + i, x) > 0))", "int32"), "int32(f(y, x) > 0.0 or f(y + 1, x) > 0.0)");
    EXPECT_EQ(value("prod(i in 1..=4) i", "int32"), "24");
    EXPECT_EQ(value("sum(i in 0..3, j in 0..i) f(i, j)", "float32"), "f(1, 0) + f(2, 0) + f(2, 1)");
}

TEST(Reductions, OthersAreLoops) {
    EXPECT_EQ(value("sum(i in 0..R, j in i..=x) u8(i, j)", "int32"), "sum(i in 0..R, j in i..x + 1) int32(u8(i, j))");
    EXPECT_EQ(value("min(i in 0..65) u8(y + i, x)", "uint8"), "min(i in 0..65) u8(y + i, x)");
    EXPECT_EQ(value("sum(i in 0..3) f(y, x) * 2 + 1", "float32"),
              "f(y, x) * 2.0 + f(y, x) * 2.0 + f(y, x) * 2.0 + 1.0");
}

TEST(Reductions, TermsOfThoseInEachOtherMultiply) {
    // As many terms as one reduction may have; one more row of them, and the outer one is a loop.
    EXPECT_EQ(value("sum(i in 0..2) (max(j in 0..2) f(y + i, x + j)) * 3", "float32"),
              "max(f(y, x), f(y, x + 1)) * 3.0 + max(f(y + 1, x), f(y + 1, x + 1)) * 3.0");
    EXPECT_EQ(value("sum(i in 0..8) (max(j in 0..8) f(y + i, x + j))", "float32").find("i in"), std::string::npos);
    EXPECT_EQ(value("sum(i in 0..33) 3 * (max(j in 0..2) f(y + i, x + j))", "float32"),
              "sum(i in 0..33) 3.0 * max(f(y + i, x), f(y + i, x + 1))");
    // Wherever the inner one stands, and however many there are of each range.
    EXPECT_EQ(value("sum(i in 0..33) pair(f, y + i)", "float32", "fn pair(f, n) = max(j in 0..2) f(n, j)"),
              "sum(i in 0..33) max(f(y + i, 0), f(y + i, 1))");
    EXPECT_EQ(value("sum(i in 0..12) (max(j in 0..=i) f(y + i, x + j))", "float32"),
              "sum(i in 0..12) (max(j in 0..i + 1) f(y + i, x + j))");
    const std::string loops = "sum(i in 0..33) max(f(y + i, x), f(y + i, x + 1))";
    EXPECT_EQ(value("max(a in 0..2) (sum(i in 0..33) (max(j in 0..2) f(y + i, x + j)))", "float32"),
              "max(" + loops + ", " + loops + ")");
    EXPECT_EQ(value("max(a in 0..33) (sum(i in 0..33) (max(j in 0..2) f(y + i, x + j)))", "float32"),
              "max(a in 0..33) (" + loops + ")");
    // What is known at compile time makes no terms.
    EXPECT_EQ(value("sum(i in 0..2) (sum(j in 0..40) 1) * f(y + i, x)", "float32"),
              "40.0 * f(y, x) + 40.0 * f(y + 1, x)");
}

TEST(Reductions, ShortRangesBehindALongOneAreUnrolledInItsTerms) {
    EXPECT_EQ(value("sum(n in 0..R, i in 0..2, j in 0..2) u8(n + i, x + j)", "int32"),
              "sum(n in 0..R) (int32(u8(n, x)) + int32(u8(n, x + 1)) + int32(u8(n + 1, x)) + int32(u8(n + 1, x + 1)))");
    EXPECT_EQ(value("max(n in 0..33, j in -1..=1) f(n, x + j)", "float32"),
              "max(n in 0..33) max(max(f(n, x - 1), f(n, x)), f(n, x + 1))");
    EXPECT_EQ(value("int32(any(n in 0..R, j in 0..2) (f(n, j) > 0))", "int32"),
              "int32(any(n in 0..R) (f(n, 0) > 0.0 or f(n, 1) > 0.0))");
    // A table needs constants of those only.
    EXPECT_EQ(value("sum(n in 0..R, j in 0..2) [1, 2][j] * f(n, j)", "float32"),
              "sum(n in 0..R) (1.0 * f(n, 0) + 2.0 * f(n, 1))");
    // The first one is short, or the others are not, or depend on it, or a place is asked for.
    for (const char* loops : {"sum(n in 0..9, i in 0..9) f(n, i)", "sum(i in 0..2, n in 0..R) f(n, i)",
                              "sum(n in 0..R, i in 0..32) f(n, i)", "sum(n in 0..R, i in 0..9, j in 0..9) f(n + i, j)",
                              "max(n in 0..40, i in n..n + 2) f(n, i)"}) {
        EXPECT_NE(value(loops, "float32").find("i in "), std::string::npos) << loops;
    }
    EXPECT_NE(value("(argmax(n in 0..R, j in 0..2) f(n, j))[1]", "int32").find("j in 0..2"), std::string::npos);
}

TEST(Reductions, AreUnrolledWhenTheBodyNeedsConstants) {
    const std::string loop = value("sum(i in 0..100) [1, 2][i % 2] * f(y, x + i)", "float32");
    EXPECT_EQ(loop.find("sum"), std::string::npos);
    EXPECT_NE(loop.find("2.0 * f(y, x + 99)"), std::string::npos);
    const std::string inside =
        value("sum(i in 0..100) w(i) * f(y, x)", "float32", "const W = [1, 2]\nfn w(n) = W[n % 2]");
    EXPECT_EQ(inside.find("sum"), std::string::npos);
}

}  // namespace
}  // namespace pipec
