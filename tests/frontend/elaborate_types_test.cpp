// Types: promotion, untyped constants, conversions, folding. docs/language.md, "Types and conversions".
#include "elaborated.h"

namespace pipec {
namespace {

TEST(Types, IntegersPromoteToInt32) {
    EXPECT_EQ(value("u8(x, y) + u8(x, y)", "int32"), "int32(u8(x, y)) + int32(u8(x, y))");
    EXPECT_EQ(value("i8(x, y) * u16(x, y)", "int32"), "int32(i8(x, y)) * int32(u16(x, y))");
    EXPECT_EQ(value("-u8(x, y)", "int32"), "-int32(u8(x, y))");
    EXPECT_EQ(value("~u8(x, y)", "int32"), "~int32(u8(x, y))");
}

TEST(Types, TheWiderTypeWins) {
    EXPECT_EQ(value("i32(x, y) + i64(x, y)", "int64"), "int64(i32(x, y)) + i64(x, y)");
    EXPECT_EQ(value("i32(x, y) + u32(x, y)", "int64"), "int64(i32(x, y)) + int64(u32(x, y))");
    EXPECT_EQ(value("u32(x, y) + u64(x, y)", "uint64"), "uint64(u32(x, y)) + u64(x, y)");
    EXPECT_EQ(value("f(x, y) + i32(x, y)", "float32"), "f(x, y) + float32(i32(x, y))");
    EXPECT_EQ(value("h(x, y) + d(x, y)", "float64"), "float64(h(x, y)) + d(x, y)");
}

TEST(Types, UntypedConstantsTakeTheOtherType) {
    EXPECT_EQ(value("u8(x, y) + 300", "int32"), "int32(u8(x, y)) + 300");
    EXPECT_EQ(value("2 * f(x, y)", "float32"), "2.0 * f(x, y)");
    EXPECT_EQ(value("u8(x, y) * 0.5", "float32"), "float32(u8(x, y)) * 0.5");
    EXPECT_EQ(value("i64(x, y) * 0.5", "float32"), "float32(i64(x, y)) * 0.5");
    EXPECT_EQ(value("d(x, y) * 0.1", "float64"), "d(x, y) * float64(0.1)");
}

TEST(Types, ConstantArithmeticIsExact) {
    EXPECT_EQ(value("f(x, y) * (1 << 10) + (7 / 7 - 2 * 3)", "float32"), "f(x, y) * 1024.0 + -5.0");
    EXPECT_EQ(value("i64(x, y) + (4294967296 - 1)", "int64"), "i64(x, y) + int64(4294967295)");
    EXPECT_EQ(value("i32(x, y) + (-8) / 4 + (-7) % 4", "int32"), "i32(x, y) - 1");
    EXPECT_EQ(value("u64(x, y) ^ 0xFFFFFFFFFFFFFFFF", "uint64"), "u64(x, y) ^ uint64(18446744073709551615)");
    // As at run time, the left one of equal ones, and not the one that is NaN.
    EXPECT_EQ(value("1 / min(0.0, -0.0)", "float32"), value("1 / 0.0", "float32"));
    EXPECT_EQ(value("max(sqrt(-1), 2) + min(3, sqrt(-1))", "float32"), "5.0");
    EXPECT_EQ(value("f(x, y) * sqrt(4) + abs(-3) + max(1, 2.5)", "float32"), "f(x, y) * 2.0 + 3.0 + 2.5");
}

TEST(Types, ConstantDivisionThatIsInexactIsWarnedOf) {
    const Elaborated e("pipeline p(f: float32[R]) -> out: float32[R] { out(x) = 7 / 2 * f(x) }\n");
    EXPECT_EQ(e.ids(), std::vector<std::string>{"inexact-constant-division"});
    ASSERT_EQ(e.pipelines.size(), 1U);
    // No warning for a typed division, nor for a table.
    EXPECT_TRUE(Elaborated("const W = [1, 2] / 4\n"
                           "pipeline p(f: float32[R]) -> out: float32[R] { out(x) = W[0] * f(x) + x / 2 }\n")
                    .ids()
                    .empty());
}

TEST(Types, ATableDividedGivesReals) {
    EXPECT_EQ(value("([1, 2, 1] / 4)[0] * f(x, y)", "float32"), "0.25 * f(x, y)");
    EXPECT_EQ(value("([[1, 2], [3, 4]] * 2 + 1)[1][0] * f(x, y)", "float32"), "7.0 * f(x, y)");
}

TEST(Types, ImplicitConversions) {
    EXPECT_EQ(value("u8(x, y)", "int16"), "int16(u8(x, y))");
    EXPECT_EQ(value("i64(x, y)", "float32"), "float32(i64(x, y))");
    EXPECT_EQ(value("f(x, y)", "float64"), "float64(f(x, y))");
    EXPECT_EQ(value("d(x, y)", "float32"), "output `out` must be float32, this is float64\n");
    EXPECT_EQ(value("i8(x, y)", "uint8"), "output `out` must be uint8, this is int8\n");
    EXPECT_EQ(value("f(x, y) > 0", "uint8"), "output `out` must be uint8, this is bool\n");
    EXPECT_EQ(value("1.5", "int32"), "output `out` must be int32, this is a float constant\n");
    EXPECT_EQ(value("70000.0", "float16"), "70000 does not fit float16\n");
}

TEST(Types, Casts) {
    EXPECT_EQ(value("uint8(f(x, y))", "uint8"), "uint8(f(x, y))");
    EXPECT_EQ(value("saturate<uint8>(i32(x, y))", "uint8"), "saturate<uint8>(i32(x, y))");
    EXPECT_EQ(value("saturate<uint8>(f(x, y))", "uint8"), "uint8(f(x, y))");
    EXPECT_EQ(value("uint8(300)", "uint8"), "uint8(44)");
    EXPECT_EQ(value("saturate<uint8>(300)", "uint8"), "uint8(255)");
    EXPECT_EQ(value("int8(-1000.7)", "int8"), "int8(-128)");
    EXPECT_EQ(value("int32(2.9) + int32(-2.9)", "int32"), "0");
    EXPECT_EQ(value("int32(f(x, y) > 0) - int32(f(x, y) < 0)", "int32"), "int32(f(x, y) > 0.0) - int32(f(x, y) < 0.0)");
}

TEST(Types, BranchesNeedNoPromotion) {
    EXPECT_EQ(value("if x > 3 then u8(x, y) else 0", "uint8"), "if x > 3 then u8(x, y) else uint8(0)");
    EXPECT_EQ(value("if x > 3 then u8(x, y) else i8(x, y)", "int32"),
              "if x > 3 then int32(u8(x, y)) else int32(i8(x, y))");
    EXPECT_EQ(value("if x > 3 then 1 else 0.5", "float32"), "if x > 3 then 1.0 else 0.5");
    EXPECT_EQ(value("if x > 3 then u8(x, y) else -1", "int32"), "if x > 3 then int32(u8(x, y)) else -1");
    EXPECT_EQ(value("clamp(u8(x, y), 1, 9)", "uint8"), "min(max(u8(x, y), uint8(1)), uint8(9))");
    EXPECT_EQ(value("min(u8(x, y), u16(x, y))", "int32"), "min(int32(u8(x, y)), int32(u16(x, y)))");
}

TEST(Types, UntypedBranchesTakeTheTypeThatIsWanted) {
    EXPECT_EQ(value("if x > 3 then 255 else 0", "uint8"), "if x > 3 then uint8(255) else uint8(0)");
    EXPECT_EQ(value("if x > 3 then 1 else if y > 3 then -1 else 0", "int8"),
              "if x > 3 then int8(1) else if y > 3 then int8(-1) else int8(0)");
    EXPECT_EQ(value("if x > 3 then 0.1 else 1", "float64"), "if x > 3 then float64(0.1) else float64(1.0)");
    EXPECT_EQ(value("select(x > 3, 255, 0)", "uint8"), "if x > 3 then uint8(255) else uint8(0)");
    EXPECT_EQ(value("let a = f(x, y) + 1 in if a > 3 then 255 else 0", "uint8"),
              "let a = f(x, y) + 1.0 in if a > 3.0 then uint8(255) else uint8(0)");
    EXPECT_EQ(value("binary(f(x, y))", "uint8", "fn binary(v) = if v > 0.5 then 255 else 0"),
              "let v = f(x, y) in if v > 0.5 then uint8(255) else uint8(0)");
    EXPECT_EQ(value("if x > 3 then 256 else 0", "uint8"), "256 does not fit uint8\n");
    EXPECT_EQ(value("if x > 3 then 0.5 else 0", "uint8"), "a branch must be uint8, this is a float constant\n");
    // Operands, arguments, conditions and the values of lets are not what the context wants.
    EXPECT_EQ(value("(if x > 3 then 255 else 0) + u8(x, y)", "int32"), "(if x > 3 then 255 else 0) + int32(u8(x, y))");
    EXPECT_EQ(value("(if x > 3 then 0.1 else 1) * f(x, y)", "float64"),
              "float64((if x > 3 then 0.1 else 1.0) * f(x, y))");
    EXPECT_EQ(value("let a = if x > 3 then 1 else 0 in a", "uint8"), "output `out` must be uint8, this is int32\n");
    EXPECT_EQ(value("same(if x > 3 then 1 else 0)", "uint8", "fn same(v) = v"),
              "output `out` must be uint8, this is int32\n");
    EXPECT_EQ(value("if (if x > 3 then 300 else 0) > y then 1 else 0", "uint8"),
              "if (if x > 3 then 300 else 0) > y then uint8(1) else uint8(0)");
}

TEST(Types, BesideABoolZeroAndOneAreBools) {
    EXPECT_EQ(value("if x > 3 then f(x, y) > 0 else 0", "bool"), "if x > 3 then f(x, y) > 0.0 else false");
    EXPECT_EQ(value("if x > 3 then 1 else y > 2", "bool"), "if x > 3 then true else y > 2");
    EXPECT_EQ(value("if x > 3 then y > 2 else 2", "bool"),
              "the values to choose from must be all bool or all numbers; this is an integer constant\n");
}

TEST(Types, Comparisons) {
    EXPECT_EQ(value("int32(0 <= u8(x, y) < 9)", "int32"),
              "int32(let middle = u8(x, y) in 0 <= int32(middle) and int32(middle) < 9)");
    EXPECT_EQ(value("int32(0 <= x < R)", "int32"), "int32(0 <= x and x < R)");
    EXPECT_EQ(value("if (x > 1) == (y > 1) then 1 else 0", "int32"), "if (x > 1) == (y > 1) then 1 else 0");
}

TEST(Types, MathFunctions) {
    EXPECT_EQ(value("sqrt(u8(x, y))", "float32"), "sqrt(float32(u8(x, y)))");
    EXPECT_EQ(value("atan2(h(x, y), d(x, y))", "float64"), "atan2(float64(h(x, y)), d(x, y))");
    EXPECT_EQ(value("pow(i64(x, y), 2)", "float32"), "pow(float32(i64(x, y)), 2.0)");
    EXPECT_EQ(value("abs(i8(x, y))", "int32"), "abs(int32(i8(x, y)))");
    EXPECT_EQ(value("abs(u8(x, y))", "uint8"), "u8(x, y)");
    EXPECT_EQ(value("fract(f(x, y))", "float32"), "let x = f(x, y) in x - floor(x)");
    EXPECT_EQ(value("lerp(1, f(x, y), k)", "float32"), "1.0 + (f(x, y) - 1.0) * k");
    EXPECT_EQ(value("select(isnan(f(x, y)), 0, f(x, y))", "float32"), "if isnan(f(x, y)) then 0.0 else f(x, y)");
}

TEST(Types, Shifts) {
    EXPECT_EQ(value("u8(x, y) << 3", "int32"), "int32(u8(x, y)) << 3");
    EXPECT_EQ(value("1 << i32(x, y)", "int32"), "1 << i32(x, y)");
    EXPECT_EQ(value("i64(x, y) >> u8(x, y)", "int64"), "i64(x, y) >> int64(int32(u8(x, y)))");
    EXPECT_EQ(value("f(x, y) << 1", "float32"), "`<<` works on integers, this is float32\n");
}

}  // namespace
}  // namespace pipec
