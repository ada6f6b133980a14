// What lowering makes of expressions: canonical indices, shared nodes, interiors, packs, inlined stages.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "codegen/expr/interior.h"
#include "codegen/expr/pack.h"
#include "codegen/expr/rewrite.h"
#include "fusion/inline.h"
#include "ir/build.h"
#include "ir/certain_reads.h"
#include "ir/print.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::codegen::rewrite_test {
namespace {

using testing::Compiled;

class Rewriting : public ::testing::Test {
protected:
    void compile(const std::string& text) {
        compiled_ = testing::compile_text(sources_, "test.pipe", text);
        ASSERT_EQ(render_text(compiled_.diags, sources_), "");
        p_ = compiled_.pipelines.front();
        rewriter_.emplace(p_);
        for (const ir::Dimension& dim : stage("out").dims) rewriter_->index(dim.var, 1, 0);
    }
    const ir::Stage& stage(const std::string& name) {
        for (const ir::Stage& s : p_.stages) {
            if (s.name == name) return s;
        }
        throw std::runtime_error("no stage " + name);
    }
    ir::Expr value(const ir::Stage& s) { return std::get<ir::Pure>(s.definition).value; }
    std::string text(const ir::Expr& e) { return ir::to_string(p_, e); }
    Interior interior() {
        const ir::Stage s = stage("out");
        const poly::Domain domain =
            compiled_.models.front().domains.at(static_cast<std::size_t>(&stage("out") - p_.stages.data()));
        return find_interior(*rewriter_, s, domain, rewriter_->instance(value(s), {}), nullptr,
                             std::vector<bool>(s.dims.size(), true));
    }
    std::string box(const Interior& interior) {
        std::vector<std::string> intervals;
        for (const poly::Interval& i : interior.box) intervals.push_back(text(i.lo) + " .. " + text(i.hi));
        return fmt::format("{}", fmt::join(intervals, "; "));
    }
    /// `out` with its innermost variable as a multiple of `multiple`, plus `i`.
    ir::Expr column(std::int64_t multiple, std::int64_t i) {
        const ir::Stage s = stage("out");
        const ir::VarId var = s.dims.back().var;
        rewriter_->index(var, multiple);
        const ir::Expr x = ir::variable(var, ir::Type::Int32);
        return rewriter_->instance(value(s),
                                   {{var, ir::binary(ir::BinaryOp::Add, x, ir::int_constant(ir::Type::Int32, i))}});
    }

    SourceManager sources_;
    Compiled compiled_;
    ir::Pipeline p_;
    std::optional<Rewriter> rewriter_;
};

TEST_F(Rewriting, AClampIsGoneInTheInterior) {
    compile(R"(pipeline p(img: float32[R, C]) -> out: float32[R, C] {
        out(y, x) = img(clamp(y - 1, 0, R - 1), clamp(x + 2, 0, C - 1))
    })");
    const Interior in = interior();
    EXPECT_TRUE(in.simpler);
    EXPECT_EQ(text(in.value), "img(y - 1, x + 2)");
    EXPECT_EQ(box(in), "1 .. R; 0 .. C - 2");
}

TEST_F(Rewriting, AClampOfTwiceAPlaceIsGoneWhereTheExtentIsAQuotient) {
    compile(R"(pipeline p(img: float32[R, C]) -> out: float32[(R + 1) / 2, C] {
        out(y, x) = img(clamp(2 * y - 1, 0, R - 1), x)
    })");
    const poly::Domain& domain = compiled_.models.front().domains.front();
    for (std::size_t d = 0; d < domain.box.size(); ++d) rewriter_->index(stage("out").dims[d].var, domain.box[d]);
    EXPECT_EQ(text(interior().value), "img(2 * y - 1, x)");
}

TEST_F(Rewriting, ConditionsOnPlacesThatAreRoundedDownHoldInTheInterior) {
    // As of transposed convolutions, whose taps the parity of the place tells.
    compile(R"(pipeline p(img: float32[C]) -> out: float32[2 * C] {
        out(x) = let px = x - (x + 1) % 2 - 1 in if 0 <= px and px < 2 * C then img(px / 2) else 0
    })");
    const Interior in = interior();
    EXPECT_TRUE(in.simpler);
    EXPECT_EQ(text(in.value).find("if"), std::string::npos) << text(in.value);
    EXPECT_EQ(box(in), "2 .. 2 * C");
}

TEST_F(Rewriting, MirrorAndConstantBordersAreGoneToo) {
    compile(R"(import "boundary"
    pipeline p(img: float32[R, C]) -> out: float32[R, C] {
        m = mirror(img)
        z = constant(img, 7)
        out(y, x) = m(y, x - 2) + z(y, x + 3)
    })");
    p_ = fusion::inline_stages(p_, compiled_.models.front(), fusion::cheap_stages(p_, compiled_.models.front()))
             .pipeline;
    ASSERT_EQ(p_.stages.size(), 1u);
    Interior in;
    {
        const ir::Stage s = stage("out");
        const poly::Domain domain{{{ir::int_constant(ir::Type::Int32, 0), ir::size_ref(0)},
                                   {ir::int_constant(ir::Type::Int32, 0), ir::size_ref(1)}},
                                  nullptr};
        in = find_interior(*rewriter_, s, domain, rewriter_->instance(value(s), {}), nullptr,
                           std::vector<bool>(s.dims.size(), true));
    }
    EXPECT_EQ(text(in.value), "img(y, x - 2) + img(y, x + 3)");
}

TEST_F(Rewriting, WithoutConditionsTheInteriorIsTheDomain) {
    compile("pipeline p(img: float32[R, C + 2]) -> out: float32[R, C] { out(y, x) = img(y, x) + img(y, x + 2) }");
    const Interior in = interior();
    EXPECT_FALSE(in.simpler);
    EXPECT_EQ(box(in), "0 .. R; 0 .. C");
}

TEST_F(Rewriting, DataIsNoBoundary) {
    compile("pipeline p(img: int32[C]) -> out: int32[C] { out(x) = max(img(x), 0) + (if img(x) < x then 1 else 2) }");
    EXPECT_FALSE(interior().simpler);
}

TEST_F(Rewriting, ParityIsDecidedWhereTheColumnIsKnown) {
    compile(R"(pipeline p(img: float32[C / 2 + 2]) -> out: float32[C] {
        out(x) = if x % 2 == 0 then img(x / 2) else img((x + 1) / 2) * 2
    })");
    EXPECT_EQ(text(column(4, 0)), "img(x / 2)");
    EXPECT_EQ(text(column(4, 1)), "img(x / 2 + 1) * 2.0");
    EXPECT_EQ(text(column(4, 2)), "img(x / 2 + 1)");
}

TEST_F(Rewriting, ColumnsOfOneCellHaveOneQuotient) {
    compile("pipeline p(img: float32[C / 8 + 2]) -> out: float32[C] { out(x) = img(x / 8) + img((x + 6) / 8) }");
    EXPECT_EQ(text(column(4, 1)), "img(x / 8) + img((x + 4) / 8)");
    EXPECT_EQ(text(column(2, 1)), "img(x / 8) + img((x + 6) / 8)");
    EXPECT_EQ(text(column(8, 1)), "img(x / 8) + img(x / 8)");
}

// Of 64 * x + 3 it is not known that it does not wrap.
TEST_F(Rewriting, RemaindersByPowersOfTwoDoNotCareForWrapping) {
    compile("pipeline p(img: int32[C]) -> out: int32[C] { out(x) = (100 * x + 11) % 4 + (99 * x) % 3 + img(x) }");
    EXPECT_EQ(text(column(1, 0)), "99 * x % 3 + 3 + img(x)");
}

TEST_F(Rewriting, QuotientsOfWhatWrapsMayBeNegative) {
    compile("pipeline p(img: int32[C]) -> out: int32[C] { out(x) = 8 * x / 8 + (x - 7) / 2147483646 + img(x) }");
    EXPECT_EQ(text(column(1, 0)), "8 * x / 8 + (x - 7) / 2147483646 + img(x)");
    const ir::Expr x = ir::variable(stage("out").dims.front().var, ir::Type::Int32);
    const auto number = [](int value) { return ir::int_constant(ir::Type::Int32, value); };
    rewriter_->index(ir::as<ir::Variable>(x)->id, 1, 0);
    const ir::Expr e = ir::binary(ir::BinaryOp::Div, ir::binary(ir::BinaryOp::Mul, number(8), x), number(8));
    const auto sum = rewriter_->linear(e);
    ASSERT_TRUE(sum);
    EXPECT_LE(rewriter_->least(*sum), -(1 << 28));
    EXPECT_FALSE(rewriter_->is_exact(sum->terms.front().first));
    rewriter_->index(ir::as<ir::Variable>(x)->id, 1, 0, 1 << 27);
    EXPECT_EQ(text(rewriter_->instance(e, {})), "x");
}

// Only domains end below 2^30: k + 1000000000 wraps.
TEST_F(Rewriting, LoopsMayReachAnyNumber) {
    compile(R"(pipeline p(img: int32[C]) -> out: int32[C] {
        out(x) = img(x) + max(k in 2000000000..2000000300) ((k + 1000000000) / 10) * x +
                 max(k in 0..300) ((k + 1000000000) / 10) * x
    })");
    const std::string e = text(column(1, 0));
    EXPECT_NE(e.find("(k + 1000000000) / 10"), std::string::npos) << e;
    EXPECT_NE(e.find("/ 10 + 100000000"), std::string::npos) << e;
}

TEST_F(Rewriting, SumsWithFactorsBeyondInt32AreNone) {
    compile("pipeline p(img: int32[C]) -> out: int32[C] { out(x) = img(x) }");
    ir::Expr e = ir::variable(stage("out").dims.front().var, ir::Type::Int32);
    for (int i = 0; i < 30; ++i) e = ir::binary(ir::BinaryOp::Add, e, e);
    EXPECT_EQ(rewriter_->linear(e)->terms.front().second, 1 << 30);
    // -2^31 is an Int32, but what is subtracted is not.
    EXPECT_FALSE(rewriter_->linear(ir::binary(ir::BinaryOp::Sub, ir::unary(ir::UnaryOp::Neg, e), e)));
    for (int i = 0; i < 100; ++i) e = ir::binary(ir::BinaryOp::Add, e, e);
    EXPECT_FALSE(rewriter_->linear(e));
}

// Both operands of each quotient have the one before it: ranges are found once.
TEST_F(Rewriting, RangesOfNestedQuotientsAreFoundOnce) {
    compile("pipeline p(img: int32[C]) -> out: int32[C] { out(x) = img(x) }");
    ir::Expr e = ir::variable(stage("out").dims.front().var, ir::Type::Int32);
    const auto number = [](int value) { return ir::int_constant(ir::Type::Int32, value); };
    for (int i = 0; i < 200; ++i) {
        e = ir::binary(ir::BinaryOp::Add, ir::binary(ir::BinaryOp::Div, e, number(3)),
                       ir::binary(ir::BinaryOp::Div, ir::binary(ir::BinaryOp::Add, e, number(1)), number(5)));
    }
    const auto sum = rewriter_->linear(rewriter_->instance(e, {}));
    ASSERT_TRUE(sum);
    EXPECT_TRUE(rewriter_->fits(*sum));
    for (const auto& [atom, factor] : sum->terms) EXPECT_TRUE(rewriter_->is_exact(atom));
}

TEST_F(Rewriting, NumbersOfUint64AreNotNegative) {
    compile("pipeline p(a: uint64[C]) -> out: uint64[C] { out(x) = min(a(x) / 2, 18446744073709551606) }");
    EXPECT_EQ(text(column(1, 0)), "min(a(x) / uint64(2), uint64(18446744073709551606))");
}

TEST_F(Rewriting, SumsOfProductsBeginWithTheRest) {
    compile(R"(pipeline p(a: int32[C], b: int32[C]) -> out: int32[C] {
        out(x) = a(x) * 3 + b(x) * 5 + a(x) * b(x) + b(x)
    })");
    EXPECT_EQ(text(column(1, 0)), "b(x) + a(x) * 3 + b(x) * 5 + a(x) * b(x)");
}

TEST_F(Rewriting, WhatIsCutAtOneValueIsCutOnce) {
    compile(R"(pipeline p(a: uint16[C], f: float32[C]) -> out: uint16[C], other: float32[C] {
        out(x) = max(max(min(a(x), 1023), min(a(C - 1 - x), 1023)), min(a(0), 1023))
        other(x) = max(min(f(x), 9), min(f(0), 9))
    })");
    EXPECT_EQ(text(column(1, 0)), "min(max(max(a(x), a(C - x - 1)), a(0)), uint16(1023))");
    // min(NaN, 9) is 9.
    EXPECT_EQ(text(rewriter_->instance(value(stage("other")), {})), "max(min(f(x), 9.0), min(f(0), 9.0))");
}

TEST_F(Rewriting, WhatIsDividedIsCutBefore) {
    compile(R"(pipeline p(a: int32[C]) -> out: int32[C] {
        out(x) = clamp(a(x) / 256, -1, 1023) + min(a(x) / 3, 5) + max(a(x) / 1024, 2000000000)
    })");
    EXPECT_EQ(text(column(1, 0)),
              "min(max(a(x), -256), 262143) / 256 + min(a(x) / 3, 5) + max(a(x) / 1024, 2000000000)");
}

TEST_F(Rewriting, EqualReadsOfTwoColumnsAreOneNode) {
    compile("pipeline p(img: float32[C + 2]) -> out: float32[C] { out(x) = img(x) + img(x + 1) }");
    const auto* a = ir::as<ir::Binary>(column(4, 0));
    const auto* b = ir::as<ir::Binary>(column(4, 1));
    EXPECT_EQ(a->b, b->a);
}

TEST_F(Rewriting, LetsAndShortReductionsAreWrittenOut) {
    compile(R"(pipeline p(img: int32[C + 4]) -> out: int32[C] {
        out(x) = let s = sum(k in 0..3) img(x + k) in s * s
    })");
    const ir::Expr e = column(1, 0);
    EXPECT_EQ(text(e).find("let"), std::string::npos);
    EXPECT_EQ(text(e).find("sum"), std::string::npos);
    const auto* square = ir::as<ir::Binary>(e);
    EXPECT_EQ(square->a, square->b);
}

TEST_F(Rewriting, BothSidesOfDataAreComputedAndPlacesDecideFirst) {
    compile(R"(pipeline p(img: float32[C], t: float32) -> out: uint8[C] {
        out(x) = if (x > 0 and img(x) > t) or img(x) < 0 or any(i in 0..2) (img(x) == i) then 1 else 0
    })");
    EXPECT_EQ(
        text(rewriter_->instance(value(stage("out")), {})),
        "if x > 0 and img(x) > t or img(x) < 0.0 or (img(x) == 0.0 or img(x) == 1.0) then uint8(1) else uint8(0)");
    Rewriter both(p_);
    both.compute_both_sides();
    both.index(stage("out").dims.front().var, 1, 0);
    EXPECT_EQ(text(both.instance(value(stage("out")), {})),
              "if x > 0 and img(x) > t or img(x) < 0.0 or int32(img(x) == 0.0) | int32(img(x) == 1.0) != 0 "
              "then uint8(1) else uint8(0)");
}

// Of a window neighbouring points have most in common; of what is long in itself they have not.
TEST_F(Rewriting, BothSidesAreComputedWhereTheRightOneIsAWindow) {
    compile(R"(pipeline p(img: float32[C + 400], t: float32, N: int32) -> a: uint8[C], b: uint8[C], out: uint8[C]
        where N >= 0 and N <= 400 {
        a(x) = if img(x) > t and img(x) >= (max(i in 0..3) img(x + i)) then 1 else 0
        b(x) = if img(x) > t and img(x) >= (max(i in 0..300) img(x + i)) then 1 else 0
        out(x) = if img(x) > t and img(x) >= (sum(i in 0..N) img(x + i)) then 1 else 0
    })");
    Rewriter both(p_);
    both.compute_both_sides();
    for (const auto& [name, computed] : {std::pair{"a", true}, {"b", false}, {"out", false}}) {
        both.index(stage(name).dims.front().var, 1, 0);
        const std::string code = text(both.instance(value(stage(name)), {}));
        EXPECT_EQ(code.find(" and ") == std::string::npos, computed) << code;
    }
}

TEST_F(Rewriting, LoopsOverOneRangeHaveOneVariableUnlessOneIsInTheOther) {
    compile(R"(pipeline p(img: int32[R, C], w: int32[N]) -> out: int32[R, C] {
        out(y, x) = max(j in 0..N) (sum(k in 0..N) (img(y, x) + w(k) & j))
    })");
    const auto* a = ir::as<ir::Reduce>(column(1, 0));
    const auto* b = ir::as<ir::Reduce>(column(1, 1));
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(a->ranges.front().var, b->ranges.front().var);
    const auto* inner = ir::as<ir::Reduce>(a->body);
    ASSERT_NE(inner, nullptr);
    EXPECT_NE(a->ranges.front().var, inner->ranges.front().var);
}

TEST_F(Rewriting, PacksHoldOnlyWhatIsRead) {
    compile("pipeline p(img: float32[C + 2]) -> out: float32[C] { out(x) = img(x) + img(x + 1) + img(x + 2) }");
    std::vector<ir::Expr> values;
    for (int i = 0; i < 4; ++i) values.push_back(column(4, i));
    std::vector<Element> elements;
    for (const ir::Expr& e : ir::certain_reads(values)) {
        elements.push_back({ir::as<ir::Read>(e)->source, ir::as<ir::Read>(e)->indices});
    }
    ASSERT_EQ(elements.size(), 6u);  // x to x + 5
    std::vector<std::size_t> sizes;
    for (const Pack& pack : find_packs(*rewriter_, p_, compiled_.models.front(), elements)) {
        EXPECT_EQ(rewriter_->linear(elements[pack.front()].indices[0])->constant % 2, 0);
        sizes.push_back(pack.size());
    }
    std::sort(sizes.begin(), sizes.end());
    EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 4}));
}

TEST_F(Rewriting, APackNeedsAlignedColumns) {
    compile("pipeline p(img: float32[C]) -> out: float32[C] { out(x) = img(x) }");
    std::vector<Element> elements;
    for (int i = 0; i < 4; ++i) {
        const ir::Expr e = column(2, i);  // the column is even, not more
        elements.push_back({ir::as<ir::Read>(e)->source, ir::as<ir::Read>(e)->indices});
    }
    for (const Pack& pack : find_packs(*rewriter_, p_, compiled_.models.front(), elements)) EXPECT_EQ(pack.size(), 2u);
}

TEST_F(Rewriting, ColoursOfAPixelLieBehindEachOther) {
    compile("pipeline p(img: uint8[C, 4]) -> out: uint8[C, 4] { out(x, c) = img(x, 3 - c) }");
    const ir::Stage s = stage("out");
    std::vector<Element> elements;
    for (int c = 0; c < 4; ++c) {
        const ir::Expr e = rewriter_->instance(value(s), {{s.dims[1].var, ir::int_constant(ir::Type::Int32, c)}});
        elements.push_back({ir::as<ir::Read>(e)->source, ir::as<ir::Read>(e)->indices});
    }
    const std::vector<Pack> packs = find_packs(*rewriter_, p_, compiled_.models.front(), elements);
    ASSERT_EQ(packs.size(), 1u);
    EXPECT_EQ(packs.front(), (Pack{3, 2, 1, 0}));
}

TEST_F(Rewriting, APackMayHaveWhatElseIsInItsRow) {
    compile(
        "pipeline p(a: uint8[C, 4], b: uint8[C, 6]) -> out: int32[C] { out(x) = a(x, 3) + a(x, 1) + b(x, 2) + b(x, 0) "
        "}");
    std::vector<Element> elements;
    for (const ir::Expr& e : ir::certain_reads({column(1, 0)}))
        elements.push_back({ir::as<ir::Read>(e)->source, ir::as<ir::Read>(e)->indices});
    const auto packs = [&](bool fill) {
        return find_packs(*rewriter_, p_, compiled_.models.front(), elements, {}, 16, fill);
    };
    EXPECT_EQ(packs(false).size(), 4U);
    // Of b[C, 6] pairs are aligned, and 0 and 2 are in none together.
    EXPECT_EQ(packs(true), (std::vector<Pack>{{2}, {3}, {kFiller, 1, kFiller, 0}}));
}

TEST_F(Rewriting, WhatAllCasesReadIsReadForCertain) {
    compile(R"(pipeline p(a: float32[C], b: float32[C]) -> out: float32[C] {
        out(x) = if a(x) > 0 then b(x) + 1 else if a(x) < -1 then 2 * b(x) else b(x) / a(C - 1 - x)
    })");
    EXPECT_EQ(ir::certain_reads({column(1, 0)}).size(), 2U);
}

TEST_F(Rewriting, WhatAllCasesReadIsFoundOnceForEachChoice) {
    std::string value = "let v0 = a(x) in ";
    for (int i = 1; i <= 60; ++i) {
        value += fmt::format("let v{} = if v{} > {} then v{} * 2 else v{} + b(x) in ", i, i - 1, i, i - 1, i - 1);
    }
    compile("pipeline p(a: float32[C], b: float32[C]) -> out: float32[C] { out(x) = " + value + "v60 }");
    EXPECT_EQ(ir::certain_reads({column(1, 0)}).size(), 1U);
}

TEST_F(Rewriting, WhereAPackLiesMayDependOnData) {
    compile(R"(pipeline p(table: float32[N, 2], i: int32[C]) -> out: float32[C] {
        out(x) = let k = clamp(i(x), 0, N - 1) in table(k, 0) + table(k, 1) + table(N - 1 - k, 1)
    })");
    std::vector<Element> elements;
    for (const ir::Expr& e : ir::certain_reads({column(1, 0)})) {
        const auto* read = ir::as<ir::Read>(e);
        if (read->source.index == 0) elements.push_back({read->source, read->indices});
    }
    const std::vector<Pack> packs = find_packs(*rewriter_, p_, compiled_.models.front(), elements);
    EXPECT_EQ(packs, (std::vector<Pack>{{0, 1}, {2}}));
}

// ------------------------------------------------------------------------------------------------------------ inlining

std::vector<std::string> stages_left(const std::string& text) {
    SourceManager sources;
    const Compiled compiled = testing::compile_text(sources, "test.pipe", text);
    EXPECT_EQ(render_text(compiled.diags, sources), "");
    const ir::Pipeline& p = compiled.pipelines.front();
    const fusion::Inlined inlined =
        fusion::inline_stages(p, compiled.models.front(), fusion::cheap_stages(p, compiled.models.front()));
    EXPECT_EQ(inlined.model.domains.size(), inlined.pipeline.stages.size());
    std::vector<std::string> names;
    for (const ir::Stage& s : inlined.pipeline.stages) names.push_back(s.name);
    return names;
}

TEST(Inlining, APointwiseStageGoesIntoItsReader) {
    EXPECT_EQ(stages_left(R"(pipeline p(img: float32[C]) -> out: float32[C] {
        a(x) = sqrt(img(x)) * 3 + exp(img(x))
        out(x) = a(x) * 2
    })"),
              (std::vector<std::string>{"out"}));
}

TEST(Inlining, AStencilOfSomethingExpensiveStays) {
    EXPECT_EQ(stages_left(R"(pipeline p(img: float32[C + 2]) -> out: float32[C] {
        a(x) = sqrt(img(x)) * 3 + exp(img(x))
        out(x) = a(x) + a(x + 1) + a(x + 2)
    })"),
              (std::vector<std::string>{"a", "out"}));
}

TEST(Inlining, AConversionGoesIntoAStencil) {
    EXPECT_EQ(stages_left(R"(pipeline p(img: uint8[C + 2]) -> out: float32[C] {
        a(x) = float32(img(x)) / 255
        out(x) = a(x) + a(x + 1) + a(x + 2)
    })"),
              (std::vector<std::string>{"out"}));
}

TEST(Inlining, WhatATermAloneReadsIsAPartOfIt) {
    EXPECT_EQ(stages_left(R"(pipeline p(img: float32[C, N]) -> out: float32[C] {
        a(x, k) = sqrt(img(x, k))
        out(x) = sum(k in 0..N) a(x, k)
    })"),
              (std::vector<std::string>{"out.sum", "out"}));
}

TEST(Inlining, WhatTermsReadAgainStays) {
    EXPECT_EQ(stages_left(R"(pipeline p(img: float32[C, N]) -> out: float32[C], far: float32[C] {
        a(x, k) = exp(sin(img(x, k)) + cos(img(x, k))) + sqrt(img(x, k)) * log(img(x, k))
        b(x) = sqrt(img(x, 0))
        out(x) = sum(k in 1..N) a(x, k) * a(x, k - 1)
        far(x) = sum(k in 0..N) img(x, k) * b(x)
    })"),
              (std::vector<std::string>{"a", "b", "out.sum", "out", "far.sum", "far"}));
}

TEST(Inlining, TermsOfSeveralReadersMayEachComputeWhatTheyRead) {
    // A volume of conditions that two sums read, one of them for three channels: written out, and in loops.
    const std::string program =
        R"(pipeline p(img: float32[3, C + {0}], d: float32[C]) -> out: float32[3, C], n: float32[C] {{
        near(x, i) = i * i <= d(x) * d(x)
        n(x) = sum(i in 0..{0}) (if near(x, i) then 1.0 else 0.0)
        out(c, x) = sum(i in 0..{0}) (if near(x, i) then img(c, x + i) else 0)
    }})";
    for (const int terms : {5, 99}) {
        EXPECT_EQ(stages_left(fmt::format(fmt::runtime(program), terms)), (std::vector<std::string>{"n", "out"}));
    }
}

TEST(Inlining, WhatLoopsReadOnceIsAPartOfThemWhateverItCosts) {
    // Four sums over the same window at the same points: side by side they are one loop. `d` reads six values, three of
    // which are the same for all terms.
    EXPECT_EQ(stages_left(R"(pipeline p(img: float32[3, R + 10, C + 10]) -> out: float32[3, R, C] {
        d(y, x, i, j) = let a = img(0, y + i, x + j) - img(0, y, x), b = img(1, y + i, x + j) - img(1, y, x),
            c = img(2, y + i, x + j) - img(2, y, x) in exp(sin(a * a) + cos(b * b) + sqrt(c * c) + log(a + b))
        s(y, x) = sum(i in 0..11, j in 0..11)
            d(y, x, i, j) * [img(0, y + i, x + j), img(1, y + i, x + j), img(2, y + i, x + j), 1]
        out(c, y, x) = (if c == 0 then s[0](y, x) else if c == 1 then s[1](y, x) else s[2](y, x)) / s[3](y, x)
    })"),
              (std::vector<std::string>{"s[0]", "s[1]", "s[2]", "s[3]", "out"}));
}

TEST(Inlining, PointsThatAreFarApartAreReadOnce) {
    const std::string program = R"(pipeline p(img: float32[{0} * C + 4]) -> out: float32[C] {{
        a(x) = sqrt(img(x)) + exp(img(x))
        out(x) = a({0} * x) + a({0} * x + 1) + a({0} * x + 2) + a({0} * x + 3)
    }})";
    EXPECT_EQ(stages_left(fmt::format(fmt::runtime(program), 4)), (std::vector<std::string>{"out"}));
    EXPECT_EQ(stages_left(fmt::format(fmt::runtime(program), 1)), (std::vector<std::string>{"a", "out"}));
}

TEST(Inlining, AReaderOfMorePointsKeepsWhatIsExpensive) {
    EXPECT_EQ(stages_left(R"(pipeline p(v: float32[C], img: float32[R, C]) -> out: float32[R, C] {
        a(x) = exp(sin(v(x)) + cos(v(x)))
        out(y, x) = a(x) * img(y, x)
    })"),
              (std::vector<std::string>{"a", "out"}));
}

}  // namespace
}  // namespace pipec::codegen::rewrite_test
