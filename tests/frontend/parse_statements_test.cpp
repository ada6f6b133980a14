// Every item and statement, documentation comments, and the exact ranges of nodes.
#include <gtest/gtest.h>

#include "parsed.h"

namespace pipec {
namespace {

TEST(Items, EveryForm) {
    const Parsed parsed(R"(import "stencil"; const L = 4
fn lerp(a, b, t = 0.5) = a + (b - a) * t
fn down(f) { return f }
pipeline p(img: uint8[3, R + 2] order(1, 0), k: float32 = 0.04, max: int32)
    -> out: float32[R], min: bool[], half: uint8[3, H = R / 2]
    where R >= 1, k > 0 { out = img }
)");
    EXPECT_EQ(parsed.messages(), "");
    EXPECT_EQ(parsed.tree(), R"(import "stencil"  @1:1
const L = 4  @1:19
fn lerp(a, b, t = 0.5) = (a + ((b - a) * t))  @2:1
fn down(f)  @3:1
  return f  @3:14
pipeline p  @4:1
  input img: uint8[3, (R + 2)] order(1, 0)  @4:12
  input k: float32 = 0.04  @4:46
  input max: int32  @4:65
  output out: float32[R]  @5:8
  output min: bool[]  @5:25
  output half: uint8[3, H = (R / 2)]  @5:38
  where (R >= 1)  @6:11
  where (k > 0)  @6:19
  out = img  @6:27
)");
}

TEST(Statements, EveryForm) {
    const Parsed parsed(in_pipeline(R"(f(y, x) = y
f(..k, y in a..b, x): uint8 = 2
f = g; g() = 3;;
g[l] = e g[l + 1][2](y): float32 = e
let s = R / 2
let [a, b] = t
const N = 5
for l in 1..=N { g[l] = g[l - 1] }
if N > 2 { a = b } else if N > 3 { a = c } else { }
)"));
    EXPECT_EQ(parsed.messages(), "");
    const std::string tree = parsed.tree();
    EXPECT_EQ(tree.substr(tree.find("  f(y, x)")), R"(  f(y, x) = y  @2:1
  f(..k, y in a..b, x): uint8 = 2  @3:1
  f = g  @4:1
  g() = 3  @4:8
  g[l] = e  @5:1
  g[(l + 1)][2](y): float32 = e  @5:10
  let s = (R / 2)  @6:1
  let [a, b] = t  @7:1
  const N = 5  @8:1
  for l in 1..=N  @9:1
    g[l] = g[(l - 1)]  @9:18
  if (N > 2)  @10:1
    a = b  @10:12
  else
    if (N > 3)  @10:25
      a = c  @10:36
    else
)");
}

TEST(Statements, Accumulate) {
    const Parsed parsed(in_pipeline(R"(accumulate h[l](c in 0..2, b in 0..256): int32 = 0 {
    for y in 0..R, x in 0..C {
        let v = int32(img(y, x))
        if v > 0 { h[l](0, v) += 1 } else if v < 0 { h(1, 2) *= 2 } else { h() min= 3; h(1) max= 4 }
    }
})"));
    EXPECT_EQ(parsed.messages(), "");
    const std::string tree = parsed.tree();
    EXPECT_EQ(tree.substr(tree.find("  accumulate")), R"(  accumulate h[l](c in 0..2, b in 0..256): int32 = 0  @2:1
    for y in 0..R, x in 0..C  @3:5
      let v = int32(img(y, x))  @4:9
      if (v > 0)  @5:9
        h[l](0, v) += 1  @5:20
      else
        if (v < 0)  @5:43
          h(1, 2) *= 2  @5:54
        else
          h() min= 3  @5:76
          h(1) max= 4  @5:88
)");
}

TEST(Documentation, BelongsToTheNextItem) {
    const Parsed parsed(R"(/// not this: another comment comes between
// here
/// Halves.
///   Indented.
///
fn half(v) = v / 2
//// no documentation
fn plain(v) = v
/// About p.
pipeline p() -> out: float32[3] { /// not this
    out(x) = 1 }
)");
    EXPECT_EQ(parsed.messages(), "");
    ASSERT_EQ(parsed.file.items.size(), 3U);
    EXPECT_EQ(std::get<ast::Fn>(parsed.file.items[0].value).doc, "Halves.\n  Indented.\n");
    EXPECT_EQ(std::get<ast::Fn>(parsed.file.items[1].value).doc, "");
    EXPECT_EQ(std::get<ast::Pipeline>(parsed.file.items[2].value).doc, "About p.");
}

// ------------------------------------------------------------------------------------------------------------ ranges

std::string text(const Parsed& parsed, SourceRange range) {
    return std::string(parsed.sources.text(range));
}

const ast::Pipeline& pipeline(const Parsed& parsed) {
    return std::get<ast::Pipeline>(parsed.file.items.at(0).value);
}

TEST(Ranges, CoverExactlyWhatWasWritten) {
    const Parsed parsed(
        "pipeline p(img: float32[R + 1]) -> out: float32[R] {\n"
        "    g[0](y, x in 0..R): float32 = (img(y) + 1) * 2 // comment\n"
        "}\n");
    ASSERT_EQ(parsed.messages(), "");
    const ast::Pipeline& p = pipeline(parsed);
    EXPECT_EQ(text(parsed, p.name.range), "p");
    EXPECT_EQ(text(parsed, p.inputs.at(0).range), "img: float32[R + 1]");
    EXPECT_EQ(text(parsed, p.inputs.at(0).type_range), "float32");
    EXPECT_EQ(text(parsed, p.inputs.at(0).extents->at(0)->range), "R + 1");
    EXPECT_EQ(p.range.begin, 0U);
    EXPECT_EQ(text(parsed, p.range).back(), '}');
    EXPECT_EQ(text(parsed, p.body.at(0).range), "g[0](y, x in 0..R): float32 = (img(y) + 1) * 2");
    const auto& d = std::get<ast::Definition>(p.body.at(0).value);
    EXPECT_EQ(text(parsed, d.left_range), "g[0](y, x in 0..R)");
    EXPECT_EQ(text(parsed, d.type_range), "float32");
    EXPECT_EQ(text(parsed, d.dims->at(1).range->range), "0..R");
    EXPECT_EQ(text(parsed, d.value->range), "(img(y) + 1) * 2");
    const auto& product = std::get<ast::Binary>(d.value->value);
    EXPECT_EQ(text(parsed, product.op_range), "*");
    EXPECT_EQ(text(parsed, product.left->range), "(img(y) + 1)");
    EXPECT_EQ(text(parsed, std::get<ast::Binary>(product.left->value).left->range), "img(y)");
}

TEST(Ranges, AreBytesAlsoAfterOtherCharacters) {
    const Parsed parsed(
        "// \xC3\xA9t\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\n"
        "/* \xC3\xA9 */ import \"caf\xC3\xA9\" const \xC2\xB0 N = 7\n");
    ASSERT_EQ(parsed.ids(), std::vector<std::string>{"unknown-character"});
    EXPECT_EQ(text(parsed, parsed.diags.all()[0].range), "\xC2\xB0");
    ASSERT_EQ(parsed.file.items.size(), 2U);
    EXPECT_EQ(std::get<ast::Import>(parsed.file.items[0].value).path, "caf\xC3\xA9");
    EXPECT_EQ(text(parsed, std::get<ast::Const>(parsed.file.items[1].value).value->range), "7");
    EXPECT_EQ(parsed.sources.position(parsed.id, parsed.file.items[1].range.begin).column, 23U);
}

TEST(Ranges, ByteOrderMarkTabsAndCarriageReturns) {
    const Parsed parsed(
        "\xEF\xBB\xBF"
        "const A = 1\r\n\tconst BC = 2\r\n");
    EXPECT_EQ(parsed.messages(), "");
    ASSERT_EQ(parsed.file.items.size(), 2U);
    EXPECT_EQ(text(parsed, parsed.file.items[0].range), "const A = 1");
    EXPECT_EQ(text(parsed, std::get<ast::Const>(parsed.file.items[1].value).name.range), "BC");
}

TEST(Tokens, OneALine) {
    SourceManager sources;
    const FileId id = sources.add("t.pipe", "f(x) min= 1..2 // c\n");
    EXPECT_EQ(dump_tokens(sources, id),
              "1:1\tNAME\tf\n1:2\tLPAREN\t(\n1:3\tNAME\tx\n1:4\tRPAREN\t)\n1:6\tMIN_ASSIGN\tmin=\n1:11\tINT\t1\n"
              "1:12\tDOTDOT\t..\n1:14\tINT\t2\n1:16\tLINE_COMMENT\t// c\n1:20\tEND\n");
}

}  // namespace
}  // namespace pipec
