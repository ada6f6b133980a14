// Functions: arguments evaluated once, hygiene, whole images, `..k`, bounds; reductions.
#include "elaborated.h"

namespace pipec {
namespace {

TEST(Functions, ArgumentsAreEvaluatedOnce) {
    EXPECT_EQ(value("twice(f(x, y) * k)", "float32", "fn twice(a) = a + a"), "let a = f(x, y) * k in a + a");
    EXPECT_EQ(value("at(f, x + 1, y)", "float32", "fn at(g, a, b) = g(a, b)"), "f(x + 1, y)");
    EXPECT_EQ(value("scale(f(x, y))", "float32", "fn scale(v, by = 2) = by"), "2.0");
}

TEST(Functions, NamesMeanWhatTheyMeanWhereTheFunctionStands) {
    EXPECT_EQ(in_gray("const N = 5\n out(x, y) = img(x, y) * n() * N", "const N = 3\nfn n() = N"),
              "out(x in 0..R, y in 0..C): float32 = img(x, y) * 3.0 * 5.0\n");
    EXPECT_EQ(in_gray("f(x, y) = img(x, y)\n out(x, y) = g(1)", "fn g(a) = a + f"), "unknown name `f`\n");
}

TEST(Functions, RecursionEndsAtCompileTime) {
    EXPECT_EQ(value("power(k, 3)", "float32", "fn power(b, n) = if n == 0 then 1 else b * power(b, n - 1)"),
              "k * (k * (k * 1.0))");
}

TEST(Functions, StageFunctionsMakeStages) {
    const char* blur =
        "fn blur(f) {\n a(..k, x, y) = f(..k, x - 1, y) + f(..k, x + 1, y)\n"
        " b(..k, x, y) = a(..k, x, y - 1) + a(..k, x, y + 1)\n return b\n}";
    EXPECT_EQ(in_gray("s = blur(img)\n out(x, y) = s(x, y) / 4", blur),
              "s.a(x, y): float32 = img(x - 1, y) + img(x + 1, y)\n"
              "s(x, y): float32 = s.a(x, y - 1) + s.a(x, y + 1)\n"
              "out(x in 0..R, y in 0..C): float32 = s(x, y) / 4.0\n");
    EXPECT_EQ(in_gray("out = blur(img * img)", blur),
              "out.f(i, j): float32 = img(i, j) * img(i, j)\n"
              "out.a(x, y): float32 = out.f(x - 1, y) + out.f(x + 1, y)\n"
              "out(x in 0..R, y in 0..C): float32 = out.a(x, y - 1) + out.a(x, y + 1)\n");
    EXPECT_EQ(stages(std::string(blur) +
                     "\npipeline p(a: float32[2, 3, R, C]) -> out: float32[2, 3, R, C] { out = blur(a) }\n"),
              "out.a(k0, k1, x, y): float32 = a(k0, k1, x - 1, y) + a(k0, k1, x + 1, y)\n"
              "out(k0 in 0..2, k1 in 0..3, x in 0..R, y in 0..C): float32 = out.a(k0, k1, x, y - 1) + out.a(k0, k1, x, "
              "y + 1)\n");
}

TEST(Functions, TheSameCallIsTheSameImage) {
    EXPECT_EQ(
        in_gray("out(x, y) = sum(i in 0..3) half(img)(x + i, y)", "fn half(f) { h(x, y) = f(x, y) / 2\n return h }"),
        "out.h(x, y): float32 = img(x, y) / 2.0\n"
        "out(x in 0..R, y in 0..C): float32 = out.h(x, y) + out.h(x + 1, y) + out.h(x + 2, y)\n");
}

TEST(Functions, AGeneratedStageReadOncePointwiseIsFolded) {
    EXPECT_EQ(in_gray("out = neg(img * 2)", "fn neg(f) { n(x, y) = -f(x, y)\n return n }"),
              "out(x in 0..R, y in 0..C): float32 = -(img(x, y) * 2.0)\n");
}

TEST(Functions, AnArgumentOfAWholeImageExpressionIsBothScalarAndImage) {
    EXPECT_EQ(in_gray("out = unsharp(img * 2)",
                      "fn unsharp(f) = f - shift(f)\nfn shift(f) { s(x, y) = f(x - 1, y)\n return s }"),
              "out.f(i, j): float32 = img(i, j) * 2.0\n"
              "out.s(x, y): float32 = out.f(x - 1, y)\n"
              "out(i in 0..R, j in 0..C): float32 = let f = img(i, j) * 2.0 in f - out.s(i, j)\n");
}

constexpr const char* kRowSums =
    "fn up(f) { u(x, y) = f(x - 1, y) + f(x, y)\n return u }\n"
    "fn left(f) { l(x, y) = f(x, y - 1) + f(x, y)\n return l }\n"
    "fn both(f) = left(up(f))\n"
    "fn twice(f) { return both(both(f) * 2) }\n"
    "fn square(a) = a * a\n"
    "fn at(f, x, y) = f(x, y)\n";

TEST(Functions, AWholeImageExpressionReachesStageFunctionsThroughOthers) {
    EXPECT_EQ(in_gray("g = both(img * img)\n out(x, y) = g(x + 1, y + 1)", kRowSums),
              "g.f(i, j): float32 = img(i, j) * img(i, j)\n"
              "g.u(x, y): float32 = g.f(x - 1, y) + g.f(x, y)\n"
              "g(x, y): float32 = g.u(x, y - 1) + g.u(x, y)\n"
              "out(x in 0..R, y in 0..C): float32 = g(x + 1, y + 1)\n");
    EXPECT_EQ(in_gray("g = twice(square(img) + img)\n out(x, y) = g(x, y)", kRowSums),
              "g.f(i, j): float32 = img(i, j) * img(i, j) + img(i, j)\n"
              "g.u(x, y): float32 = g.f(x - 1, y) + g.f(x, y)\n"
              "g.l(x, y): float32 = g.u(x, y - 1) + g.u(x, y)\n"
              "g.f.2(i, j): float32 = g.l(i, j) * 2.0\n"
              "g.u.2(x, y): float32 = g.f.2(x - 1, y) + g.f.2(x, y)\n"
              "g(x, y): float32 = g.u.2(x, y - 1) + g.u.2(x, y)\n"
              "out(x in 0..R, y in 0..C): float32 = g(x, y)\n");
}

TEST(Functions, ALetThatIsUsedWholeTwiceIsOneStage) {
    EXPECT_EQ(in_gray("out = let s = img * 2 in up(s) + left(s)", kRowSums),
              "out.f(i, j): float32 = img(i, j) * 2.0\n"
              "out.u(x, y): float32 = out.f(x - 1, y) + out.f(x, y)\n"
              "out.l(x, y): float32 = out.f(x, y - 1) + out.f(x, y)\n"
              "out(i in 0..R, j in 0..C): float32 = out.u(i, j) + out.l(i, j)\n");
}

TEST(Functions, WhatIsCalledMayBeAWholeImageExpression) {
    EXPECT_EQ(in_gray("out(x, y) = both(img * img)(x + 1, y) + at(both(img), x, y)", kRowSums),
              "out.f(i, j): float32 = img(i, j) * img(i, j)\n"
              "out.u(x, y): float32 = out.f(x - 1, y) + out.f(x, y)\n"
              "out.l(x, y): float32 = out.u(x, y - 1) + out.u(x, y)\n"
              "out.u.2(x, y): float32 = img(x - 1, y) + img(x, y)\n"
              "out.l.2(x, y): float32 = out.u.2(x, y - 1) + out.u.2(x, y)\n"
              "out(x in 0..R, y in 0..C): float32 = out.l(x + 1, y) + out.l.2(x, y)\n");
    // The image that is read at fixed points has a rank of its own.
    EXPECT_EQ(stages(std::string(kRowSums) + "pipeline p(line: float32[R], img: float32[R, C]) -> out: float32[R] {\n"
                                             "out = line + both(img * 2)(1, 1)\n}"),
              "out.f(i, j): float32 = img(i, j) * 2.0\n"
              "out.u(x, y): float32 = out.f(x - 1, y) + out.f(x, y)\n"
              "out.l(x, y): float32 = out.u(x, y - 1) + out.u(x, y)\n"
              "out(i in 0..R): float32 = line(i) + out.l(1, 1)\n");
    EXPECT_EQ(in_gray("out(x, y) = both(img * x)(x, y)", kRowSums),
              "an argument of a stage function cannot depend on `x`\n");
}

TEST(Functions, ChoicesOfImagesAreWholeImageExpressions) {
    EXPECT_EQ(
        in_gray("a[0] = img\n for l in 1..3 { a[l] = up(if l > 1 then a[l - 1] else select(img > 0, img, -img)) }\n"
                "out = a[2]",
                kRowSums),
        "a[1].f(i, j): float32 = if img(i, j) > 0.0 then img(i, j) else -img(i, j)\n"
        "a[1](x, y): float32 = a[1].f(x - 1, y) + a[1].f(x, y)\n"
        "a[2](x, y): float32 = a[1](x - 1, y) + a[1](x, y)\n"
        "out(x in 0..R, y in 0..C): float32 = a[2](x, y)\n");
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
    EXPECT_EQ(in_gray("out(x, y) = img(clamp(x, lower(img, 0), upper(img, 0)), min(y, extent(out, -1) - rank(img)))"),
              "out(x in 0..R, y in 0..C): float32 = img(min(max(x, 0), R - 1), min(y, C - 2))\n");
    EXPECT_EQ(in_gray("f(x in 2..R, y in 0..C) = img(x, y)\n out(x, y) = img(extent(f, 0), upper(f * 2, 1))"),
              "out(x in 0..R, y in 0..C): float32 = img(R - 2, C - 1)\n");
}

TEST(Reductions, SmallOnesAreUnrolledAndZerosLeftOut) {
    EXPECT_EQ(value("sum(i in -1..=1) [1, 0, -1][i + 1] * f(x + i, y)", "float32"),
              "1.0 * f(x - 1, y) + -1.0 * f(x + 1, y)");
    EXPECT_EQ(value("max(i in 0..2, j in 0..2) u8(x + i, y + j)", "uint8"),
              "max(max(max(u8(x, y), u8(x, y + 1)), u8(x + 1, y)), u8(x + 1, y + 1))");
    EXPECT_EQ(value("sum(i in 0..2) u8(x + i, y)", "int32"), "int32(u8(x, y)) + int32(u8(x + 1, y))");
    EXPECT_EQ(value("int32(any(i in 0..2) (f(x + i, y) > 0))", "int32"), "int32(f(x, y) > 0.0 or f(x + 1, y) > 0.0)");
    EXPECT_EQ(value("prod(i in 1..=4) i", "int32"), "24");
    EXPECT_EQ(value("sum(i in 0..3, j in 0..i) f(i, j)", "float32"), "f(1, 0) + f(2, 0) + f(2, 1)");
}

TEST(Reductions, OthersAreLoops) {
    EXPECT_EQ(value("sum(i in 0..R, j in i..=x) u8(i, j)", "int32"), "sum(i in 0..R, j in i..x + 1) int32(u8(i, j))");
    EXPECT_EQ(value("min(i in 0..65) u8(x + i, y)", "uint8"), "min(i in 0..65) u8(x + i, y)");
    EXPECT_EQ(value("sum(i in 0..3) f(x, y) * 2 + 1", "float32"),
              "f(x, y) * 2.0 + f(x, y) * 2.0 + f(x, y) * 2.0 + 1.0");
}

TEST(Reductions, AreUnrolledWhenTheBodyNeedsConstants) {
    const std::string loop = value("sum(i in 0..100) [1, 2][i % 2] * f(x, y + i)", "float32");
    EXPECT_EQ(loop.find("sum"), std::string::npos);
    EXPECT_NE(loop.find("2.0 * f(x, y + 99)"), std::string::npos);
    const std::string inside =
        value("sum(i in 0..100) w(i) * f(x, y)", "float32", "const W = [1, 2]\nfn w(n) = W[n % 2]");
    EXPECT_EQ(inside.find("sum"), std::string::npos);
}

}  // namespace
}  // namespace pipec
