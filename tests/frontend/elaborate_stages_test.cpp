// Definitions: order, scopes, compile-time control, stage arrays, whole images, outputs.
#include "elaborated.h"
#include "support/big_stack.h"

namespace pipec {
namespace {

TEST(Stages, StandInTopologicalOrder) {
    EXPECT_EQ(
        in_gray(
            "out(y, x) = b(y, x)\n b(y, x) = a(y + 1, x)\n a(y, x) = img(y, x) * K\n const K = N + 1\n const N = 2"),
        "a(y, x): float32 = img(y, x) * 3.0\n"
        "b(y, x): float32 = a(y + 1, x)\n"
        "out(y in 0..R, x in 0..C): float32 = b(y, x)\n");
}

TEST(Stages, LoopsAndArrays) {
    EXPECT_EQ(in_gray("g[0] = img\n for l in 1..=2 { h(y, x) = g[l - 1](2 * y, x)\n g[l](y, x) = h(y, 2 * x) + l }\n"
                      "out(y, x) = g[2](y, x)"),
              "h[1](y, x): float32 = img(2 * y, x)\n"
              "g[1](y, x): float32 = h[1](y, 2 * x) + 1.0\n"
              "h[2](y, x): float32 = g[1](2 * y, x)\n"
              "g[2](y, x): float32 = h[2](y, 2 * x) + 2.0\n"
              "out(y in 0..R, x in 0..C): float32 = g[2](y, x)\n");
}

TEST(Stages, CompileTimeIfTakesOneBranch) {
    const char* program = "if MODE == 1 { out(y, x) = img(y, x) } else { out(y, x) = nothing(y, x) }";
    EXPECT_EQ(in_gray(program, "const MODE = 1"), "out(y in 0..R, x in 0..C): float32 = img(y, x)\n");
    EXPECT_EQ(in_gray(program, "const MODE = 2"), "unknown name `nothing`\n");
}

TEST(Stages, LetsOverSizesAndParameters) {
    EXPECT_EQ(in_gray("let half = R / 2\n let gain = 2 * k\n out(y, x) = if y < half then img(y, x) * gain else 0"),
              "out(y in 0..R, x in 0..C): float32 = if y < R / 2 then img(y, x) * (2.0 * k) else 0.0\n");
}

TEST(Stages, NamesForElements) {
    EXPECT_EQ(in_gray("let [r, c] = [R / 2, C]\n let [twice, more] = both(img)\n"
                      "let [p, q] = [twice * more, img]\n out(y, x) = p(min(y, r), min(x, c - 1)) + q(y, x)",
                      "fn both(f) {\n a(y, x) = f(y, x) * 2\n b(y, x) = f(y, x) + 1\n return [a, b]\n}"),
              "twice(y, x): float32 = img(y, x) * 2.0\n"
              "more(y, x): float32 = img(y, x) + 1.0\n"
              "p(y, x): float32 = twice(y, x) * more(y, x)\n"
              "out(y in 0..R, x in 0..C): float32 = p(min(y, R / 2), min(x, C - 1)) + img(y, x)\n");
    EXPECT_EQ(in_gray("accumulate h(v in 0..2): int32 = 0 { for y in 0..R { let [a, b] = [y % 2, y + 1]\n"
                      "h(a) += b } }\n out(y, x) = h(x % 2)"),
              "accumulate h(v in 0..2): int32 = 0 {\nfor y in 0..R { h(y % 2) += y + 1 }\n}\n"
              "out(y in 0..R, x in 0..C): float32 = float32(h(x % 2))\n");
}

TEST(Stages, ExplicitRangesAndTypes) {
    EXPECT_EQ(in_gray("f(y in 0..R, x in -1..=C): uint8 = uint8(img(y, x))\n out(y, x) = f(y, x)"),
              "f(y in 0..R, x in -1..C + 1): uint8 = uint8(img(y, x))\n"
              "out(y in 0..R, x in 0..C): float32 = float32(f(y, x))\n");
}

TEST(Stages, AnOutputWithOtherRangesIsAPartOfTheStage) {
    EXPECT_EQ(in_gray("out(y in -1..R + 1, x in 0..C) = img(y, x)"),
              "out.all(y in -1..R + 1, x in 0..C): float32 = img(y, x)\n"
              "out(y in 0..R, x in 0..C): float32 = out.all(y, x)\n");
}

TEST(Stages, WholeImages) {
    EXPECT_EQ(in_gray("out = img * k + sqrt(img)"),
              "out(i in 0..R, j in 0..C): float32 = img(i, j) * k + sqrt(img(i, j))\n");
    EXPECT_EQ(in_gray("f(a, b) = img(a, b)\n out = if f > 0 then f else -f"),
              "f(a, b): float32 = img(a, b)\n"
              "out(a in 0..R, b in 0..C): float32 = if f(a, b) > 0.0 then f(a, b) else -f(a, b)\n");
}

TEST(Stages, AnAliasMakesNoStage) {
    EXPECT_EQ(in_gray("f = img\n out(y, x) = f(y, x)"), "out(y in 0..R, x in 0..C): float32 = img(y, x)\n");
}

TEST(Stages, UnusedOnesAreDroppedWithAWarning) {
    const Elaborated e("pipeline p(f: float32[R]) -> out: float32[R] { a(x) = f(x)\n b(x) = a(x)\n out(x) = f(x) }\n");
    EXPECT_EQ(e.ids(), (std::vector<std::string>{"unused-stage", "unused-stage"}));
    ASSERT_EQ(e.pipelines.size(), 1U);
    EXPECT_EQ(e.pipelines[0].stages.size(), 1U);
}

TEST(Stages, RankZero) {
    EXPECT_EQ(in_gray("m() = sum(i in 0..R) img(i, 0)\n out(y, x) = img(y, x) - m()"),
              "m(): float32 = sum(i in 0..R) img(i, 0)\n"
              "out(y in 0..R, x in 0..C): float32 = img(y, x) - m()\n");
}

TEST(Stages, SeveralErrorsInOneRun) {
    const Elaborated e(
        "pipeline p(f: float32[R]) -> out: float32[R] {\n a(x) = f(x, x)\n b(x) = a(x) + nope\n out(x): uint8 = b(x) "
        "}\n");
    EXPECT_EQ(e.ids(), (std::vector<std::string>{"wrong-rank", "unknown-name", "output-type"}));
}

TEST(Stages, ABadPipelineDoesNotTakeTheOthersAlong) {
    const Elaborated e(
        "pipeline a(f: float32[R]) -> out: float32[R] { out(x) = nope }\n"
        "pipeline b(f: float32[R]) -> out: float32[R] { out(x) = f(x) }\n");
    ASSERT_EQ(e.pipelines.size(), 1U);
    EXPECT_EQ(e.pipelines[0].name, "b");
}

TEST(Stages, ABadConstantFailsEveryPipelineThatUsesIt) {
    const Elaborated e(
        "const K = nope\n"
        "pipeline a(f: float32[R]) -> out: float32[R] { out(x) = f(x) * K }\n"
        "pipeline b(f: float32[R]) -> out: float32[R] { out(x) = f(x) * K }\n");
    EXPECT_EQ(e.ids(), std::vector<std::string>{"unknown-name"});
    EXPECT_TRUE(e.pipelines.empty());
}

TEST(Stages, SizesInOrderOfAppearance) {
    const Elaborated e(
        "const N = 4\npipeline p(a: float32[2 * R, N], m: float32 = 1) -> out: float32[C, R] where C >= 2, m > 0 {\n"
        " out(y, x) = a(y, x) * m }\n");
    ASSERT_EQ(e.pipelines.size(), 1U) << e.messages();
    EXPECT_EQ(e.pipelines[0].sizes.size(), 2U);
    EXPECT_EQ(e.pipelines[0].sizes[1].name, "C");
    EXPECT_EQ(e.pipelines[0].where.size(), 2U);
    EXPECT_EQ(ir::to_string(e.pipelines[0]).substr(0, 98),
              "pipeline p(a: float32[2 * R, 4], m: float32 = 1.0) -> out: float32[C, R] where C >= 2, m > 0.0 {\n ");
}

TEST(Stages, AChainTooLongAgainstTheOrderOfTheTextIsOneError) {
    std::string chain = "out(y, x) = a0(y, x)\n";
    for (int i = 0; i < 3000; ++i) {
        chain += "a" + std::to_string(i) + "(y, x) = 2 * a" + std::to_string(i + 1) + "(y, x)\n";
    }
    std::string result;
    run_on_big_stack(std::size_t{256} << 20, [&] { result = in_gray(chain + "a3000(y, x) = img(y, x)"); });
    EXPECT_EQ(result, "evaluation up to here is nested too deep\n");
}

TEST(Accumulates, SplitByUpdate) {
    EXPECT_EQ(stages("pipeline p(img: uint8[R, C]) -> out: int32[256] {\n"
                     "  accumulate out(v in 0..256): int32 = v {\n"
                     "    for y in 0..R, x in 0..y { let v = img(y, x)\n"
                     "      if v > 3 { out(v) += 1 } else { out(0) max= v } }\n"
                     "    out(1) min= 7\n"
                     "  }\n}\n"),
              "accumulate out(v in 0..256): int32 = v {\n"
              "for y in 0..R, x in 0..y { if int32(img(y, x)) > 3 { out(int32(img(y, x))) += 1 } }\n"
              "for y in 0..R, x in 0..y { if not int32(img(y, x)) > 3 { out(0) max= int32(img(y, x)) } }\n"
              "out(1) min= 7\n"
              "}\n");
}

TEST(Accumulates, OutputsSayTheirRanges) {
    EXPECT_EQ(stages("pipeline p(img: uint8[R, C]) -> out: int32[2, R] {\n"
                     "  accumulate out(i, y): int32 = i {\n"
                     "    for y in 0..R, x in 0..C { out(0, y) += 1 }\n"
                     "  }\n}\n"),
              "accumulate out(i in 0..2, y in 0..R): int32 = i {\n"
              "for y in 0..R, x in 0..C { out(0, y) += 1 }\n"
              "}\n");
}

/// What an extent is written as.
std::string extent(const std::string& text) {
    const Elaborated e("pipeline p(a: uint8[R], b: uint8[C]) -> out: uint8[" + text + "] { out(x) = 1 }");
    if (e.pipelines.empty()) return e.messages();
    return ir::to_string(e.pipelines[0], e.pipelines[0].outputs[0].buffer.extents[0]);
}

TEST(Bounds, AreWrittenInTheOperatorsOfTheAnalysis) {
    EXPECT_EQ(extent("R >> 1"), "R / 2");
    EXPECT_EQ(extent("R >> 33"), "R / 2");  // counts modulo the width
    EXPECT_EQ(extent("R << 3"), "R * 8");
    EXPECT_EQ(extent("R & 7"), "R % 8");
    EXPECT_EQ(extent("7 & R"), "R % 8");
    EXPECT_EQ(extent("R + 15 & ~15"), "(R + 15) / 16 * 16");
    EXPECT_EQ(extent("~R + 100"), "-1 - R + 100");
    EXPECT_EQ(extent("abs(R - 5)"), "max(R - 5, -(R - 5))");
    EXPECT_EQ(extent("clamp(R, 1, C)"), "min(max(R, 1), C)");
    EXPECT_EQ(extent("int32(R > 3) + 1"), "(if R > 3 then 1 else 0) + 1");
    EXPECT_EQ(extent("int32(int64(R) * 3 / 2)"), "R * 3 / 2");
    EXPECT_EQ(extent("uint8(R)"), "R % 256");
    EXPECT_EQ(extent("int8(R)"), "(R + 128) % 256 - 128");
    EXPECT_EQ(extent("saturate<uint8>(R)"), "min(max(R, 0), 255)");
    EXPECT_EQ(extent("let s = R / 2 + C / 3 * 4 - R / 5 + 6 * C - 7 in s / 2"),
              "(R / 2 + C / 3 * 4 - R / 5 + 6 * C - 7) / 2");
}

TEST(Bounds, OtherOperatorsAreRefused) {
    EXPECT_EQ(extent("R ^ 1"), "an extent cannot use `^`\n");
    EXPECT_EQ(extent("R & 6"), "an extent cannot use this mask\n");
    EXPECT_EQ(extent("R & C"), "an extent cannot use `&` of two sizes\n");
    EXPECT_EQ(extent("1 << R"), "an extent cannot use a shift by what is not constant\n");
    EXPECT_EQ(extent("R << 31"), "an extent cannot use a shift by 31\n");
    EXPECT_EQ(extent("int32(R * 0.5)"), "an extent cannot use floats\n");
    EXPECT_EQ(extent("int32(uint32(R) >> 1)"), "an extent cannot use uint32\n");
    EXPECT_EQ(extent("if R > 1.5 then 1 else 2"), "an extent cannot use floats\n");
    EXPECT_EQ(extent("sum(i in 0..100) R"), "an extent cannot use a reduction that is a loop\n");
    EXPECT_EQ(extent("if R > 3 then R"), "an extent cannot use an `if` without `else`\n");
}

}  // namespace
}  // namespace pipec
