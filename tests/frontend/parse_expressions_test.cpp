// Precedence and every form of expression, read off the tree's text, in which each operation has parentheses.
#include <gtest/gtest.h>

#include "parsed.h"

namespace pipec {
namespace {

/// The tree of an expression as text.
std::string tree(const std::string& expr) {
    const Parsed parsed("const A = " + expr);
    EXPECT_EQ(parsed.messages(), "") << expr;
    const std::string text = parsed.tree();
    const std::size_t begin = text.find(" = ") + 3;
    return text.substr(begin, text.rfind("  @") - begin);
}

struct Case {
    const char* source;
    const char* tree;
};
class Precedence : public testing::TestWithParam<Case> {};

TEST_P(Precedence, Tree) {
    EXPECT_EQ(tree(GetParam().source), GetParam().tree);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Precedence,
    testing::Values(
        // Each level against the next looser one, both ways around.
        Case{"a or b and c", "(a or (b and c))"}, Case{"a and b or c", "((a and b) or c)"},
        Case{"a and not b", "(a and (not b))"}, Case{"not a and b", "((not a) and b)"},
        Case{"not a == b", "(not (a == b))"}, Case{"a == b | c", "(a == (b | c))"},
        Case{"a | b == c", "((a | b) == c)"}, Case{"a | b ^ c", "(a | (b ^ c))"}, Case{"a ^ b | c", "((a ^ b) | c)"},
        Case{"a ^ b & c", "(a ^ (b & c))"}, Case{"a & b ^ c", "((a & b) ^ c)"}, Case{"a & b << c", "(a & (b << c))"},
        Case{"a << b & c", "((a << b) & c)"}, Case{"a << b + c", "(a << (b + c))"},
        Case{"a + b >> c", "((a + b) >> c)"}, Case{"a + b * c", "(a + (b * c))"}, Case{"a * b + c", "((a * b) + c)"},
        Case{"a * -b", "(a * (-b))"}, Case{"-a * b", "((-a) * b)"}, Case{"-f(x)", "(-f(x))"}, Case{"-t[i]", "(-t[i])"},
        Case{"~a & b", "((~a) & b)"}, Case{"+a - b", "(a - b)"},
        // Left to right within a level.
        Case{"a - b + c", "((a - b) + c)"}, Case{"a / b * c % d", "(((a / b) * c) % d)"},
        Case{"a << b >> c", "((a << b) >> c)"}, Case{"a and b and c", "((a and b) and c)"},
        Case{"a - (b - c)", "(a - (b - c))"}, Case{"- - a", "(-(-a))"}, Case{"not not a", "(not (not a))"},
        // Comparisons chain; one in parentheses does not join the chain.
        Case{"a < b <= c", "(a < b <= c)"}, Case{"a == b != c", "(a == b != c)"},
        Case{"(a < b) == c", "((a < b) == c)"}, Case{"a < (b < c)", "(a < (b < c))"},
        Case{"a < b and c < d", "((a < b) and (c < d))"},
        // if and let reach as far as they can.
        Case{"if a then b else c + d", "(if a then b else (c + d))"},
        Case{"if a then b else if c then d else e", "(if a then b else (if c then d else e))"},
        Case{"if a then if b then c else d", "(if a then (if b then c else d))"},
        Case{"if a or b then c", "(if (a or b) then c)"},
        Case{"(if a then b else c) + d", "((if a then b else c) + d)"},
        Case{"1 + if a then b else c * d", "(1 + (if a then b else (c * d)))"},
        Case{"let a = 1, b = a + 1 in a * b", "(let a = 1, b = (a + 1) in (a * b))"},
        Case{"let a = let b = 1 in b in a", "(let a = (let b = 1 in b) in a)"},
        // A reduction's body reaches as far as `*` does.
        Case{"sum(i in 0..3) w[i] * f(x + i) + 1", "((sum(i in 0..3) (w[i] * f((x + i)))) + 1)"},
        Case{"2 * sum(i in 0..3) a * b", "(2 * (sum(i in 0..3) (a * b)))"},
        Case{"-sum(i in 0..3) a", "(-(sum(i in 0..3) a))"},
        Case{"sum(i in 0..2) sum(j in 0..i) a", "(sum(i in 0..2) (sum(j in 0..i) a))"},
        Case{"sum(i in -2..=2, j in 0..N - 1) (a + b)", "(sum(i in (-2)..=2, j in 0..(N - 1)) (a + b))"},
        Case{"any(i in 0..3) a == b", "((any(i in 0..3) a) == b)"},
        Case{"prod(i in 0..3) a / all(j in 0..1) b", "(prod(i in 0..3) (a / (all(j in 0..1) b)))"},
        // min and max are names, too.
        Case{"max(i in 0..3) f(i)", "(max(i in 0..3) f(i))"}, Case{"min(a, b)", "min(a, b)"},
        Case{"max(a, min(i in 0..3) f(i))", "max(a, (min(i in 0..3) f(i)))"}, Case{"max + min", "(max + min)"}));

INSTANTIATE_TEST_SUITE_P(Forms, Precedence,
                         testing::Values(Case{"12", "12"}, Case{"0x1F", "31"}, Case{"0b101", "5"},
                                         Case{"1_000_000", "1000000"}, Case{"0xFFFF_FFFF", "4294967295"},
                                         Case{"18446744073709551615", "18446744073709551615"}, Case{"1.5", "1.5"},
                                         Case{"1e-3", "0.001"}, Case{"2.5e3", "2500.0"}, Case{"1_0.2_5", "10.25"},
                                         Case{"true", "true"}, Case{"f()", "f()"}, Case{"f(x, ..k, y)", "f(x, ..k, y)"},
                                         Case{"f(g)(y, x)", "f(g)(y, x)"}, Case{"g[l][m](x)", "g[l][m](x)"},
                                         Case{"[[1, 2], [3, 4]] / 16", "([[1, 2], [3, 4]] / 16)"},
                                         Case{"[1, 2, 1][i]", "[1, 2, 1][i]"}, Case{"uint8(a + b)", "uint8((a + b))"},
                                         Case{"saturate<uint8>(a)", "saturate<uint8>(a)"},
                                         Case{"a < uint8(b)", "(a < uint8(b))"}, Case{"a\n  + b", "(a + b)"},
                                         Case{"a /* c */ + // d\n b", "(a + b)"}));

TEST(Literals, RangesAgainstFloats) {
    const Parsed parsed(in_pipeline("a(y in 0..4, x in 1..=n) = y\nb = sum(i in 0..3) 1.5"));
    EXPECT_EQ(parsed.messages(), "");
    EXPECT_NE(parsed.tree().find("a(y in 0..4, x in 1..=n) = y"), std::string::npos);
}

TEST(Literals, LimitsOfFloats) {
    EXPECT_EQ(tree("1.7976931348623157e308"), "1.7976931348623157e+308");
    EXPECT_EQ(Parsed("const A = 1.8e308").ids(), std::vector<std::string>{"float-out-of-range"});
}

}  // namespace
}  // namespace pipec
