// The style, case by case: what is written, and what becomes of it.
#include <gtest/gtest.h>

#include "format/format.h"
#include "support/render.h"

namespace pipec {
namespace {

std::string formatted(const std::string& text) {
    SourceManager sources;
    Diagnostics diags;
    const FileId file = sources.add("a.pipe", text);
    const auto result = format::format_text(sources, file, diags);
    if (!result) return render_text(diags, sources);
    EXPECT_EQ(diags.all().size(), 0U);
    return *result;
}

/// `text` becomes `expected`, and that stays.
void expect_formatted(const std::string& text, const std::string& expected) {
    EXPECT_EQ(formatted(text), expected);
    EXPECT_EQ(formatted(expected), expected);
}

TEST(Style, AFileWithoutAnythingStaysEmpty) {
    expect_formatted("", "");
    expect_formatted("\n\n  \n", "");
    expect_formatted("; ;", "");
    expect_formatted("// a comment", "// a comment\n");
}

TEST(Style, SpacesStandAroundOperatorsAndBehindCommas) {
    expect_formatted("const A=[ [1,2],[3 ,- 4] ] ;const B = -A [ 0 ][1]*2",
                     "const A = [[1, 2], [3, -4]]\nconst B = -A[0][1] * 2\n");
    expect_formatted("fn f ( a,b=1 )=if a<b and not(b==0)then saturate < uint8 > (a)else uint8( b )",
                     "fn f(a, b = 1) = if a < b and not (b == 0) then saturate<uint8>(a) else uint8(b)\n");
    expect_formatted("fn f(g){h( .. k,x in 0 ..=3)=g( .. k,x)\nreturn h}",
                     "fn f(g) {\n    h(..k, x in 0..=3) = g(..k, x)\n    return h\n}\n");
    expect_formatted("fn f(a) = sum ( i in 0 .. 4,j in 0..=a ) (i*j)+~ a",
                     "fn f(a) = sum(i in 0..4, j in 0..=a) (i * j) + ~a\n");
    expect_formatted("fn f(a) = let[p,q]=a,r = p in p+ - q", "fn f(a) = let [p, q] = a, r = p in p + -q\n");
}

TEST(Style, BlankLinesStandBetweenStatementsOneAtATime) {
    expect_formatted("\n\nfn f(a) {\n\n\n  b = a\n\n\n\n  return b\n\n}\n\n\n// end\n\n",
                     "fn f(a) {\n    b = a\n\n    return b\n}\n\n// end\n");
}

TEST(Style, AStatementHasALineOfItsOwn) {
    expect_formatted("fn f(a) { b = a c = b; return c }", "fn f(a) {\n    b = a\n    c = b\n    return c\n}\n");
}

TEST(Style, ABlockOfOneStatementStaysOnItsLine) {
    const std::string text = "fn f(a) {\n    for i in 0..4 { for j in 0..4 { b[i][j] = a } }\n    return b[0][0]\n}\n";
    expect_formatted(text, text);
    expect_formatted("fn f(a) {\nfor i in 0..4 { b[i] = a c[i] = a }\nreturn b[0]}",
                     "fn f(a) {\n    for i in 0..4 {\n        b[i] = a\n        c[i] = a\n    }\n    return b[0]\n}\n");
    expect_formatted("fn f(a) {\nif a > 0 { b = a }\nelse\n{ b = a\n}\nreturn b }",
                     "fn f(a) {\n    if a > 0 {\n        b = a\n    } else {\n        b = a\n    }\n    return b\n}\n");
}

TEST(Style, BreaksBeforeOperatorsMoveBehindThem) {
    expect_formatted("fn f(a, b) = a\n  + b\n  * a", "fn f(a, b) = a +\n             b *\n             a\n");
    expect_formatted("fn f(a\n, b)\n= a", "fn f(a,\n     b) =\n    a\n");
    expect_formatted("fn f(a, b) = f(\n  a, b\n)", "fn f(a, b) = f(a, b)\n");
    expect_formatted("const A = [\n  [1, 2],\n  [3, 4]\n]", "const A = [[1, 2],\n           [3, 4]]\n");
}

TEST(Style, ContinuedLinesAreAlignedWithWhatTheyContinue) {
    expect_formatted("fn f(a) =\nlet b = a,\nc = b in\nif a < b then a\nelse if a < c then b\nelse c",
                     "fn f(a) =\n    let b = a,\n        c = b in\n    if a < b then a\n    else if a < c then b\n"
                     "    else c\n");
    expect_formatted("fn f(a) = if a > 0\n then a else 0",
                     "fn f(a) = if a > 0 then\n              a\n          else 0\n");
    expect_formatted("pipeline p(a: float32[R, C])\n-> b: float32[R, C]\nwhere R > 1 { b(y, x) = a(y, x) }",
                     "pipeline p(a: float32[R, C])\n    -> b: float32[R, C]\n    where R > 1\n{\n"
                     "    b(y, x) = a(y, x)\n}\n");
}

TEST(Style, LongLinesAreBroken) {
    const std::string sum = "aaaaaaaaaaaaaaaaaaaaaaaa + aaaaaaaaaaaaaaaaaaaaaaaa * aaaaaaaaaaaaaaaaaaaaaaaa";
    expect_formatted("fn f(aaaaaaaaaaaaaaaaaaaaaaaa) = " + sum + " - 1 + 2 + 3",
                     "fn f(aaaaaaaaaaaaaaaaaaaaaaaa) =\n    " + sum + " - 1 + 2 + 3\n");
    expect_formatted("fn f(aaaaaaaaaaaaaaaaaaaaaaaa) = " + sum + " - " + sum,
                     "fn f(aaaaaaaaaaaaaaaaaaaaaaaa) =\n    " + sum +
                         " - aaaaaaaaaaaaaaaaaaaaaaaa +\n"
                         "    aaaaaaaaaaaaaaaaaaaaaaaa * aaaaaaaaaaaaaaaaaaaaaaaa\n");
}

TEST(Style, CommentsStayWhereTheyAre) {
    expect_formatted("const A = 1 // one\nconst LONGER = 2   // two\n\nconst B = 3 //  three  \n",
                     "const A = 1       // one\nconst LONGER = 2  // two\n\nconst B = 3  //  three\n");
    expect_formatted("fn f(a) { // head\n// before\n\nb = a // behind\n\n  // last\n}",
                     "fn f(a) {  // head\n    // before\n\n    b = a  // behind\n\n    // last\n}\n");
    expect_formatted("fn f(a) = a + // left\nmax(a, // right\n  2)",
                     "fn f(a) = a +     // left\n          max(a,  // right\n              2)\n");
    expect_formatted("fn f(/* the image */a,b /* and\n  more */) = a",
                     "fn f(/* the image */ a, b /* and\n  more */) = a\n");
    expect_formatted("/// What f is.\n///   More.\nfn f(a) = a", "/// What f is.\n///   More.\nfn f(a) = a\n");
}

TEST(Style, ForeignEndsOfLinesBecomeNewlines) {
    expect_formatted(
        "\xEF\xBB\xBF"
        "const A = 1 // x\r\n\r\nconst B = 2\r\n",
        "const A = 1  // x\n\nconst B = 2\n");
    expect_formatted("const A = 1\rconst B = 2", "const A = 1\nconst B = 2\n");
}

TEST(Style, ErrorsAreReportedAndNothingIsFormatted) {
    EXPECT_NE(formatted("const = 1").find("error"), std::string::npos);
    EXPECT_NE(formatted("fn f(a) = uint8(a").find("error"), std::string::npos);
    EXPECT_NE(formatted("const A = 99999999999999999999999").find("error"), std::string::npos);
    EXPECT_NE(formatted("const A = \xFF").find("error"), std::string::npos);
}

}  // namespace
}  // namespace pipec
