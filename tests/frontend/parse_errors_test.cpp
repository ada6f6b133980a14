// Where parsing goes on after an error: how many are found, that none follows from another, and what of the tree stays.
// The messages themselves are held by tests/diagnostics.
#include <gtest/gtest.h>

#include "parsed.h"

namespace pipec {
namespace {

using Ids = std::vector<std::string>;
using Lines = std::vector<unsigned>;

TEST(Recovery, EveryStatementHasItsError) {
    const Parsed parsed(in_pipeline("a = 3 +* 4\nb = 5\nc = (6\nd = 7 8\ne(x = 1\nf = 9"));
    EXPECT_EQ(parsed.lines(), (Lines{2, 4, 5, 6})) << parsed.messages();
    const std::string tree = parsed.tree();
    EXPECT_NE(tree.find("b = 5"), std::string::npos);
    EXPECT_NE(tree.find("f = 9"), std::string::npos);
    EXPECT_EQ(tree.find("c = "), std::string::npos);
}

TEST(Recovery, NestedBlocksKeepTheirPlace) {
    const Parsed parsed(in_pipeline(R"(    for l in 0..3 {
        a[l] = )
        b[l] = 2
    }
    accumulate h(b in 0..9): int32 = 0 {
        for x in 0..R {
            h(x) += ]
            h(x) += 1
        }
    }
    c = 3)"));
    EXPECT_EQ(parsed.lines(), (Lines{3, 8})) << parsed.messages();
    const std::string tree = parsed.tree();
    EXPECT_NE(tree.find("    b[l] = 2"), std::string::npos) << tree;
    EXPECT_NE(tree.find("      h(x) += 1"), std::string::npos) << tree;
    EXPECT_NE(tree.find("\n  c = 3"), std::string::npos) << tree;
}

TEST(Recovery, ItemsAfterABrokenOne) {
    const Parsed parsed(
        "const = 1\nfn f(a, = a\nconst B = 2\npipeline p(x y) -> out: int32[3] {\n    q = +\n}\n"
        "fn g(a) = a\n");
    EXPECT_EQ(parsed.lines(), (Lines{1, 2, 4, 5})) << parsed.messages();
    EXPECT_EQ(parsed.tree(), "const B = 2  @3:1\nfn g(a) = a  @7:1\n");
}

TEST(Recovery, AMissingBraceEndsAtTheNextItem) {
    const Parsed parsed("pipeline p() -> out: int32[3] {\n    out(x) = 1\n\nfn f(a) = a\n");
    EXPECT_EQ(parsed.ids(), Ids{"unclosed-bracket"});
    ASSERT_EQ(parsed.file.items.size(), 2U);
    EXPECT_EQ(std::get<ast::Pipeline>(parsed.file.items[0].value).body.size(), 1U);
}

TEST(Recovery, AnUnfinishedLineLeavesTheNextStatementWhole) {
    const Parsed parsed(in_pipeline("    a = 1 +\n    b(x): int32 = 2\n    c = f(1,\n    d = 4"));
    EXPECT_EQ(parsed.lines(), (Lines{2, 4})) << parsed.messages();
    EXPECT_NE(parsed.tree().find("b(x): int32 = 2"), std::string::npos);
    EXPECT_NE(parsed.tree().find("d = 4"), std::string::npos);
}

TEST(Recovery, ForeignOperatorsAreUnderstood) {
    const Parsed parsed(in_pipeline("a = if !b && c || d then 1 ? 2 : 3 else 4"));
    EXPECT_EQ(parsed.ids(), (Ids{"foreign-operator", "foreign-operator", "foreign-operator", "ternary-operator"}));
    EXPECT_NE(parsed.tree().find("a = (if (((not b) and c) or d) then (if 1 then 2 else 3) else 4)"), std::string::npos)
        << parsed.tree();
}

TEST(Recovery, DiagnosticsAreInTheOrderOfTheText) {
    const Parsed parsed(in_pipeline("a = 1 +\nb: float = 2\nc = 1 && 2\nd = @\ne = 99999999999999999999"));
    EXPECT_EQ(parsed.lines(), (Lines{2, 3, 4, 5, 6})) << parsed.messages();
}

TEST(Recovery, TheNumberOfErrorsIsBounded) {
    std::string statements;
    for (int i = 0; i < 500; ++i) statements += "a = +\n";
    EXPECT_EQ(Parsed(in_pipeline(statements)).diags.error_count(), Diagnostics::kMaxErrors);
}

TEST(Errors, PointAtTheNarrowestRange) {
    const Parsed parsed(in_pipeline("    a: flaot32 = 1"));
    ASSERT_EQ(parsed.ids(), Ids{"unknown-type"});
    const Diagnostic& d = parsed.diags.all()[0];
    EXPECT_EQ(parsed.sources.text(d.range), "flaot32");
}

TEST(Errors, AMissingBracketPointsAtWhatItWouldClose) {
    const Parsed parsed(in_pipeline("    a = f(g(1, 2)\n    b = 3"));
    ASSERT_EQ(parsed.ids(), Ids{"unclosed-bracket"});
    const Diagnostic& d = parsed.diags.all()[0];
    ASSERT_EQ(d.notes.size(), 1U);
    EXPECT_EQ(d.notes[0].range.begin, parsed.sources.text(parsed.id).find("f(g") + 1);
    EXPECT_EQ(d.range.begin, parsed.sources.text(parsed.id).find("2)") + 2);
}

}  // namespace
}  // namespace pipec
