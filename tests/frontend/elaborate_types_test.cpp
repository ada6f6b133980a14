// Types: promotion, untyped constants, conversions, folding. docs/language.md, "Types and conversions".
#include "elaborated.h"

namespace pipec {
namespace {

TEST(Types, IntegersPromoteToInt32) {
    EXPECT_EQ(value("u8(y, x) + u8(y, x)", "int32"), "int32(u8(y, x)) + int32(u8(y, x))");
    EXPECT_EQ(value("i8(y, x) * u16(y, x)", "int32"), "int32(i8(y, x)) * int32(u16(y, x))");
    EXPECT_EQ(value("-u8(y, x)", "int32"), "-int32(u8(y, x))");
    EXPECT_EQ(value("~u8(y, x)", "int32"), "~int32(u8(y, x))");
}

TEST(Types, TheWiderTypeWins) {
    EXPECT_EQ(value("i32(y, x) + i64(y, x)", "int64"), "int64(i32(y, x)) + i64(y, x)");
    EXPECT_EQ(value("i32(y, x) + u32(y, x)", "int64"), "int64(i32(y, x)) + int64(u32(y, x))");
    EXPECT_EQ(value("u32(y, x) + u64(y, x)", "uint64"), "uint64(u32(y, x)) + u64(y, x)");
    EXPECT_EQ(value("f(y, x) + i32(y, x)", "float32"), "f(y, x) + float32(i32(y, x))");
    EXPECT_EQ(value("h(y, x) + d(y, x)", "float64"), "float64(h(y, x)) + d(y, x)");
}

TEST(Types, UntypedConstantsTakeTheOtherType) {
    EXPECT_EQ(value("u8(y, x) + 300", "int32"), "int32(u8(y, x)) + 300");
    EXPECT_EQ(value("2 * f(y, x)", "float32"), "2.0 * f(y, x)");
    EXPECT_EQ(value("u8(y, x) * 0.5", "float32"), "float32(u8(y, x)) * 0.5");
    EXPECT_EQ(value("i64(y, x) * 0.5", "float32"), "float32(i64(y, x)) * 0.5");
    EXPECT_EQ(value("d(y, x) * 0.1", "float64"), "d(y, x) * float64(0.1)");
}

TEST(Types, ConstantArithmeticIsExact) {
    EXPECT_EQ(value("f(y, x) * (1 << 10) + (7 / 7 - 2 * 3)", "float32"), "f(y, x) * 1024.0 + -5.0");
    EXPECT_EQ(value("i64(y, x) + (4294967296 - 1)", "int64"), "i64(y, x) + int64(4294967295)");
    EXPECT_EQ(value("i32(y, x) + (-8) / 4 + (-7) % 4", "int32"), "i32(y, x) - 1");
    EXPECT_EQ(value("u64(y, x) ^ 0xFFFFFFFFFFFFFFFF", "uint64"), "u64(y, x) ^ uint64(18446744073709551615)");
    // As at run time, the left one of equal ones, and not the one that is NaN.
    EXPECT_EQ(value("1 / min(0.0, -0.0)", "float32"), value("1 / 0.0", "float32"));
    EXPECT_EQ(value("max(sqrt(-1), 2) + min(3, sqrt(-1))", "float32"), "5.0");
    EXPECT_EQ(value("f(y, x) * sqrt(4) + abs(-3) + max(1, 2.5)", "float32"), "f(y, x) * 2.0 + 3.0 + 2.5");
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

TEST(Types, DivisionInAnIndexIsMeant) {
    EXPECT_TRUE(Elaborated("pipeline p(f: float32[R + 2, 9]) -> out: float32[R] {\n"
                           "    const W = [1, 2, 3]\n"
                           "    out(x) = sum(k in 0..9) W[k / 3] * f(x + k / 3, k)\n}\n")
                    .ids()
                    .empty());
    // A half width has a name, or comes as an argument.
    EXPECT_TRUE(Elaborated("fn shifted(f, n) {\n    const e = n / 2\n    a(x) = sum(k in -e..=n / 2) f(x + e + k)\n"
                           "    return a\n}\n"
                           "pipeline p(f: float32[R + 9]) -> out: float32[R], n: int32[1] {\n"
                           "    out(x) = shifted(f, 7)(x)\n    n(i) = 7 / 2\n}\n")
                    .ids()
                    .empty());
    // Once where it becomes a real number, wherever that is, and however often.
    for (const char* use :
         {"f(x) * N", "f(x) * (N + 1) + N", "f(x) + sqrt(N)", "f(x) + 0.5 * N", "if f(x) < N then 1 else 0"}) {
        const Elaborated e(
            "const N = 7 / 2\npipeline p(f: float32[R]) -> out: float32[R] { out(x) = " + std::string(use) + " }\n");
        EXPECT_EQ(e.ids(), std::vector<std::string>{"inexact-constant-division"}) << use;
    }
    // Where nothing says what it becomes.
    EXPECT_EQ(Elaborated("pipeline p(f: float32[R]) -> out: float32[R] {\n"
                         "    n() = 7 / 2\n    out(x) = n() * f(x)\n}\n")
                  .ids(),
              std::vector<std::string>{"inexact-constant-division"});
}

TEST(Types, MasksThatFitKeepTheType) {
    EXPECT_EQ(value("u8(y, x) & 1", "uint8"), "u8(y, x) & uint8(1)");
    EXPECT_EQ(value("0x80 | u8(y, x) ^ 3", "uint8"), "uint8(128) | u8(y, x) ^ uint8(3)");
    EXPECT_EQ(value("u8(y, x) & 256", "int32"), "int32(u8(y, x)) & 256");
    EXPECT_EQ(value("(u8(y, x) & 1) << 9", "int32"), "int32(u8(y, x) & uint8(1)) << 9");
}

TEST(Types, ATableDividedGivesReals) {
    EXPECT_EQ(value("([1, 2, 1] / 4)[0] * f(y, x)", "float32"), "0.25 * f(y, x)");
    EXPECT_EQ(value("([[1, 2], [3, 4]] * 2 + 1)[1][0] * f(y, x)", "float32"), "7.0 * f(y, x)");
}

TEST(Types, FunctionsOfNumbersWorkOnTables) {
    const auto first_and_last = [](const std::string& t, const char* type) {
        return value("let [a, b] = " + t + " in a + b", type);
    };
    EXPECT_EQ(first_and_last("clamp([f(y, x), k], 0, [1, 2])", "float32"),
              "let a = min(max(f(y, x), 0.0), 1.0) in let b = min(max(k, 0.0), 2.0) in a + b");
    EXPECT_EQ(first_and_last("max([u8(y, x), u8(y, x)], [1, 2], 3)", "int32"),
              "let a = max(max(u8(y, x), uint8(1)), uint8(3)) in let b = max(max(u8(y, x), uint8(2)), uint8(3)) in "
              "int32(a) + int32(b)");
    EXPECT_EQ(first_and_last("pow(f(y, x), [k, 2])", "float32"),
              "let a = pow(f(y, x), k) in let b = pow(f(y, x), 2.0) in a + b");
    EXPECT_EQ(first_and_last("sqrt([u8(y, x), d(y, x)])", "float64"),
              "let a = sqrt(float32(u8(y, x))) in let b = sqrt(d(y, x)) in float64(a) + b");
    EXPECT_EQ(first_and_last("abs([i8(y, x), u8(y, x)])", "int32"),
              "let a = abs(int32(i8(y, x))) in let b = u8(y, x) in a + int32(b)");
    EXPECT_EQ(first_and_last("saturate<uint8>(round([f(y, x), k]))", "int32"),
              "let a = uint8(round(f(y, x))) in let b = uint8(round(k)) in int32(a) + int32(b)");
    EXPECT_EQ(first_and_last("lerp([f(y, x), k], 3, k)", "float32"),
              "let a = let a = f(y, x) in a + (3.0 - a) * k in let b = k + (3.0 - k) * k in a + b");
    EXPECT_EQ(value("fract([k, 1.5])[1] * f(y, x)", "float32"), "0.5 * f(y, x)");
    EXPECT_EQ(value("(sum(i in 0..2) clamp([-1, 5], 0, 2)[i]) * f(y, x)", "float32"), "2.0 * f(y, x)");
    EXPECT_EQ(value("min([[1, k], [3, k]], 2)[1][0] * f(y, x)", "float32"), "2.0 * f(y, x)");
    EXPECT_EQ(value("max([1, 2], [1, 2, 3])[0] * f(y, x)", "float32"), "the tables differ in shape\n");
}

TEST(Types, ConditionsOnTablesChooseElementByElement) {
    EXPECT_EQ(value("(if [f(y, x), k] <= 0.5 then [1, 2] else 3)[1] * f(y, x)", "float32"),
              "float32(if k <= 0.5 then 2 else 3) * f(y, x)");
    EXPECT_EQ(value("(if [f(y, x), 1] > [0, 2] then k else f(y, x))[1]", "float32"), "f(y, x)");
    EXPECT_EQ(value("select(0 < [f(y, x), k] and f(y, x) < 1, f(y, x), 0)[1]", "float32"),
              "if 0.0 < k and f(y, x) < 1.0 then f(y, x) else 0.0");
    EXPECT_EQ(value("int32(not (0 <= [f(y, x), k] < 1))[1]", "int32"), "int32(not (0.0 <= k and k < 1.0))");
    EXPECT_EQ(value("(if f(y, x) > 0 then [k, 2] else 0)[0]", "float32"), "if f(y, x) > 0.0 then k else 0.0");
    EXPECT_EQ(value("curve([f(y, x), k])[1]", "float32", "fn curve(v) = if v <= 0.5 then v * v else v"),
              "if k <= 0.5 then k * k else k");
    EXPECT_EQ(value("(if [k, k] > 0 then [1, 2, 3] else 0)[0] * f(y, x)", "float32"), "the tables differ in shape\n");
    EXPECT_EQ(value("(if [k, k] > 0 then 1)[0] * f(y, x)", "float32"), "float32(if k > 0.0 then 1) * f(y, x)");
    // Of rows, each operand is evaluated once, too.
    EXPECT_EQ(value("(if 0 <= [[sqrt(k), 1]] < 1 then 1 else 0)[0][0] * f(y, x)", "float32"),
              "float32(if let middle = sqrt(k) in 0.0 <= middle and middle < 1.0 then 1 else 0) * f(y, x)");
}

TEST(Types, ImplicitConversions) {
    EXPECT_EQ(value("u8(y, x)", "int16"), "int16(u8(y, x))");
    EXPECT_EQ(value("i64(y, x)", "float32"), "float32(i64(y, x))");
    EXPECT_EQ(value("f(y, x)", "float64"), "float64(f(y, x))");
    EXPECT_EQ(value("d(y, x)", "float32"), "output `out` must be float32, this is float64\n");
    EXPECT_EQ(value("i8(y, x)", "uint8"), "output `out` must be uint8, this is int8\n");
    EXPECT_EQ(value("f(y, x) > 0", "uint8"), "output `out` must be uint8, this is bool\n");
    EXPECT_EQ(value("1.5", "int32"), "output `out` must be int32, this is a float constant\n");
    EXPECT_EQ(value("70000.0", "float16"), "70000 does not fit float16\n");
}

TEST(Types, Casts) {
    EXPECT_EQ(value("uint8(f(y, x))", "uint8"), "uint8(f(y, x))");
    EXPECT_EQ(value("saturate<uint8>(i32(y, x))", "uint8"), "saturate<uint8>(i32(y, x))");
    EXPECT_EQ(value("saturate<uint8>(f(y, x))", "uint8"), "uint8(f(y, x))");
    EXPECT_EQ(value("uint8(300)", "uint8"), "uint8(44)");
    EXPECT_EQ(value("saturate<uint8>(300)", "uint8"), "uint8(255)");
    EXPECT_EQ(value("int8(-1000.7)", "int8"), "int8(-128)");
    EXPECT_EQ(value("int32(2.9) + int32(-2.9)", "int32"), "0");
    EXPECT_EQ(value("int32(f(y, x) > 0) - int32(f(y, x) < 0)", "int32"), "int32(f(y, x) > 0.0) - int32(f(y, x) < 0.0)");
}

TEST(Types, BranchesNeedNoPromotion) {
    EXPECT_EQ(value("if y > 3 then u8(y, x) else 0", "uint8"), "if y > 3 then u8(y, x) else uint8(0)");
    EXPECT_EQ(value("if y > 3 then u8(y, x) else i8(y, x)", "int32"),
              "if y > 3 then int32(u8(y, x)) else int32(i8(y, x))");
    EXPECT_EQ(value("if x > 3 then 1 else 0.5", "float32"), "if x > 3 then 1.0 else 0.5");
    EXPECT_EQ(value("if y > 3 then u8(y, x) else -1", "int32"), "if y > 3 then int32(u8(y, x)) else -1");
    EXPECT_EQ(value("clamp(u8(y, x), 1, 9)", "uint8"), "min(max(u8(y, x), uint8(1)), uint8(9))");
    EXPECT_EQ(value("min(u8(y, x), u16(y, x))", "int32"), "min(int32(u8(y, x)), int32(u16(y, x)))");
}

TEST(Types, UntypedBranchesTakeTheTypeThatIsWanted) {
    EXPECT_EQ(value("if x > 3 then 255 else 0", "uint8"), "if x > 3 then uint8(255) else uint8(0)");
    EXPECT_EQ(value("if x > 3 then 1 else if y > 3 then -1 else 0", "int8"),
              "if x > 3 then int8(1) else if y > 3 then int8(-1) else int8(0)");
    EXPECT_EQ(value("if x > 3 then 0.1 else 1", "float64"), "if x > 3 then float64(0.1) else float64(1.0)");
    EXPECT_EQ(value("select(x > 3, 255, 0)", "uint8"), "if x > 3 then uint8(255) else uint8(0)");
    EXPECT_EQ(value("let a = f(y, x) + 1 in if a > 3 then 255 else 0", "uint8"),
              "let a = f(y, x) + 1.0 in if a > 3.0 then uint8(255) else uint8(0)");
    EXPECT_EQ(value("binary(f(y, x))", "uint8", "fn binary(v) = if v > 0.5 then 255 else 0"),
              "let v = f(y, x) in if v > 0.5 then uint8(255) else uint8(0)");
    EXPECT_EQ(value("if x > 3 then 256 else 0", "uint8"), "256 does not fit uint8\n");
    EXPECT_EQ(value("if x > 3 then 0.5 else 0", "uint8"), "a branch must be uint8, this is a float constant\n");
    // Operands, arguments, conditions and the values of lets are not what the context wants.
    EXPECT_EQ(value("(if y > 3 then 255 else 0) + u8(y, x)", "int32"), "(if y > 3 then 255 else 0) + int32(u8(y, x))");
    EXPECT_EQ(value("(if y > 3 then 0.1 else 1) * f(y, x)", "float64"),
              "float64((if y > 3 then 0.1 else 1.0) * f(y, x))");
    EXPECT_EQ(value("let a = if x > 3 then 1 else 0 in a", "uint8"), "output `out` must be uint8, this is int32\n");
    EXPECT_EQ(value("same(if x > 3 then 1 else 0)", "uint8", "fn same(v) = v"),
              "output `out` must be uint8, this is int32\n");
    EXPECT_EQ(value("if (if x > 3 then 300 else 0) > y then 1 else 0", "uint8"),
              "if (if x > 3 then 300 else 0) > y then uint8(1) else uint8(0)");
}

TEST(Types, ConstantsThatAreChosenMeetFloat64AsSuch) {
    const std::string chosen = "(if y > 3 then float64(0.1) else float64(1.0)) * float64(f(y, x))";
    EXPECT_EQ(value("(if y > 3 then 0.1 else 1) * float64(f(y, x))", "float64"), chosen);
    EXPECT_EQ(value("let a = if y > 3 then 0.1 else 1 in a * float64(f(y, x))", "float64"), chosen);
    EXPECT_EQ(value("pick(y) * float64(f(y, x))", "float64", "fn pick(n) = if n > 3 then 0.1 else 1"), chosen);
    EXPECT_EQ(value("2 * (if y > 3 then 0.1 else 1)", "float64"),
              "float64(2.0) * (if y > 3 then float64(0.1) else float64(1.0))");
    EXPECT_EQ(value("sum(i in 0..2) (if y == i then [0.1, 0.2][i] else 0)", "float64"),
              "(if y == 0 then float64(0.1) else float64(0.0)) + (if y == 1 then float64(0.2) else float64(0.0))");
    EXPECT_EQ(value("(if y > 3 then 0.1 else f(y, x)) * float64(f(y, x))", "float64"),
              "float64(if y > 3 then 0.1 else f(y, x)) * float64(f(y, x))");
}

TEST(Types, BesideABoolZeroAndOneAreBools) {
    EXPECT_EQ(value("if y > 3 then f(y, x) > 0 else 0", "bool"), "if y > 3 then f(y, x) > 0.0 else false");
    EXPECT_EQ(value("if x > 3 then 1 else y > 2", "bool"), "if x > 3 then true else y > 2");
    EXPECT_EQ(value("if x > 3 then y > 2 else 2", "bool"),
              "the values to choose from must be all bool or all numbers; this is an integer constant\n");
}

TEST(Types, Comparisons) {
    EXPECT_EQ(value("int32(0 <= u8(y, x) < 9)", "int32"),
              "int32(let middle = u8(y, x) in 0 <= int32(middle) and int32(middle) < 9)");
    EXPECT_EQ(value("int32(0 <= x < R)", "int32"), "int32(0 <= x and x < R)");
    EXPECT_EQ(value("if (x > 1) == (y > 1) then 1 else 0", "int32"), "if (x > 1) == (y > 1) then 1 else 0");
}

TEST(Types, MathFunctions) {
    EXPECT_EQ(value("sqrt(u8(y, x))", "float32"), "sqrt(float32(u8(y, x)))");
    EXPECT_EQ(value("atan2(h(y, x), d(y, x))", "float64"), "atan2(float64(h(y, x)), d(y, x))");
    EXPECT_EQ(value("pow(i64(y, x), 2)", "float32"), "pow(float32(i64(y, x)), 2.0)");
    EXPECT_EQ(value("abs(i8(y, x))", "int32"), "abs(int32(i8(y, x)))");
    EXPECT_EQ(value("abs(u8(y, x))", "uint8"), "u8(y, x)");
    EXPECT_EQ(value("fract(f(y, x))", "float32"), "let x = f(y, x) in x - floor(x)");
    EXPECT_EQ(value("lerp(1, f(y, x), k)", "float32"), "1.0 + (f(y, x) - 1.0) * k");
    EXPECT_EQ(value("select(isnan(f(y, x)), 0, f(y, x))", "float32"), "if isnan(f(y, x)) then 0.0 else f(y, x)");
}

TEST(Types, Shifts) {
    EXPECT_EQ(value("u8(y, x) << 3", "int32"), "int32(u8(y, x)) << 3");
    EXPECT_EQ(value("1 << i32(y, x)", "int32"), "1 << i32(y, x)");
    EXPECT_EQ(value("i64(y, x) >> u8(y, x)", "int64"), "i64(y, x) >> int64(int32(u8(y, x)))");
    EXPECT_EQ(value("f(y, x) << 1", "float32"), "`<<` works on integers, this is float32\n");
}

}  // namespace
}  // namespace pipec
