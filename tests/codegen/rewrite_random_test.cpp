// Rewritten expressions against the reference interpreter's arithmetic: what is folded is worth the same at every
// point, above all at those where 32 bits wrap. PIPEC_AUDIT=20 makes twenty times as many, PIPEC_AUDIT_SEED=7 others.
#include <gtest/gtest.h>

#include "../poly/random_expr.h"
#include "codegen/expr/interior.h"
#include "codegen/expr/rewrite.h"
#include "ir/print.h"
#include "ir/widen.h"

namespace pipec::codegen::rewrite_random_test {
namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::Type;
using poly::IntRange;
using test::Oracle;
using test::RandomExpr;

constexpr int kSizes = 2, kVariables = 3;

/// Affine forms and what kernels do with them: clamps, conditions, masks. Of Int32, and of sums that come close to its
/// ends and leave it.
class RandomIndex {
public:
    explicit RandomIndex(RandomExpr& make) : make_(make) {}

    Expr integer(int depth) {
        if (depth <= 0) return leaf();
        switch (make_.pick(0, 14)) {
            case 0:
            case 1:
            case 2: return ir::binary(BinaryOp::Add, integer(depth - 1), second(depth));
            case 3:
            case 4: return ir::binary(BinaryOp::Sub, integer(depth - 1), second(depth));
            case 5:
            case 6: return ir::binary(BinaryOp::Mul, integer(depth - 1), constant());
            case 7:
            case 8: return ir::binary(BinaryOp::Div, integer(depth - 1), constant());
            case 9: return ir::binary(BinaryOp::Mod, integer(depth - 1), constant());
            case 10: return ir::binary(make_.one_of(kExtrema), integer(depth - 1), second(depth));
            case 11: return ir::select(condition(depth - 1), integer(depth - 1), integer(depth - 1));
            case 12: return ir::binary(BinaryOp::BitAnd, integer(depth - 1), constant());
            case 13: return ir::unary(ir::UnaryOp::Neg, integer(depth - 1));
            default:
                return ir::binary(make_.one_of(kExtrema), ir::binary(BinaryOp::Div, integer(depth - 1), constant()),
                                  constant());
        }
    }

    /// Without what no affine form has.
    Expr affine(int depth) {
        if (depth <= 0) return leaf();
        const Expr a = affine(depth - 1);
        const std::int64_t factor = std::max<std::int64_t>(1, std::abs(*ir::as_int(constant()) / 2));
        const Expr positive = ir::int_constant(Type::Int32, factor);
        switch (make_.pick(0, 5)) {
            case 0: return ir::binary(BinaryOp::Add, a, affine(depth - 1));
            case 1: return ir::binary(BinaryOp::Sub, a, affine(depth - 1));
            case 2: return ir::binary(BinaryOp::Mul, a, constant());
            case 3: return ir::binary(BinaryOp::Mod, a, positive);
            case 4: return ir::unary(ir::UnaryOp::Neg, a);
            default: return ir::binary(BinaryOp::Div, a, positive);
        }
    }

    Expr condition(int depth) {
        constexpr std::array kComparisons{BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt,
                                          BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge};
        if (depth > 0 && make_.chance(20)) {
            return ir::binary(make_.one_of(std::array{BinaryOp::And, BinaryOp::Or}), condition(depth - 1),
                              condition(depth - 1));
        }
        return ir::binary(make_.one_of(kComparisons), integer(depth), second(depth));
    }

private:
    static constexpr std::array kExtrema{BinaryOp::Min, BinaryOp::Max};

    Expr second(int depth) { return make_.chance(50) ? constant() : integer(depth - 1); }

    Expr leaf() {
        if (make_.chance(60)) return ir::variable(make_.one_of(make_.index_variables), Type::Int32);
        return make_.chance(70) ? ir::size_ref(make_.pick(0, kSizes - 1)) : constant();
    }

    Expr constant() {
        std::int64_t value = make_.pick(1, 9);
        if (make_.chance(35)) value = make_.chance(50) ? 100 : std::int64_t{1} << make_.pick(1, 30);
        if (make_.chance(10)) value = make_.any(Type::Int32).i;
        if (make_.chance(20)) value = -value;
        return ir::int_constant(Type::Int32, ir::wrap_to(Type::Int32, value));
    }

    RandomExpr& make_;
};

/// Where expressions are evaluated: index variables in ranges that the rewriter knows, sizes below 2^30.
class Points {
public:
    explicit Points(unsigned seed)
        : make(seed, {.floats = false, .constants = 60, .variables = kVariables, .sizes = kSizes}) {
        for (std::size_t v = 0; v < make.index_variables.size(); ++v) {
            const int power = make.chance(50) ? 30 : make.pick(1, 30);
            const Wide last = (Wide{1} << power) - 1;
            const Wide first = make.chance(60) ? 0 : -last;
            ranges_.push_back({first, last});
        }
    }

    void tell(Rewriter& rewriter) const {
        for (std::size_t v = 0; v < ranges_.size(); ++v) {
            rewriter.index(make.index_variables[v], 1, static_cast<std::int64_t>(ranges_[v].lo),
                           static_cast<std::int64_t>(ranges_[v].hi) + 1);
        }
    }

    /// Another point.
    Oracle next(IntRange sizes) {
        Oracle at;
        for (std::size_t v = 0; v < ranges_.size(); ++v)
            at.variables.insert_or_assign(make.index_variables[v], make.inside(Type::Int32, ranges_[v]));
        for (int s = 0; s < kSizes; ++s) at.sizes.push_back(make.inside(Type::Int32, sizes));
        for (const auto& param : make.pipeline.params) at.params.push_back(make.any(param.type));
        return at;
    }

    RandomExpr make;

private:
    using Wide = poly::Wide;
    std::vector<IntRange> ranges_;
};

constexpr IntRange kSizeValues{-(1 << 30) + 1, (1 << 30) - 1};

std::string where(const Oracle& at) {
    std::string result;
    for (const auto& [var, value] : at.variables) result += " v" + std::to_string(var) + "=" + test::text(value);
    for (const auto& value : at.sizes) result += " S=" + test::text(value);
    return result;
}

void expect_same(Points& points, const Expr& e, const Expr& folded, unsigned seed) {
    for (int i = 0; i < 8; ++i) {
        Oracle at = points.next(kSizeValues);
        const auto before = at(e), after = at(folded);
        ASSERT_EQ(before.i, after.i) << "seed " << seed << ":" << where(at) << "\n"
                                     << ir::to_string(points.make.pipeline, e) << "\n"
                                     << ir::to_string(points.make.pipeline, folded);
    }
}

TEST(RewriteRandom, IndexArithmeticKeepsItsValue) {
    const unsigned first = test::audit_seed(), count = 4000u * static_cast<unsigned>(test::audit_factor());
    for (unsigned seed = first; seed < first + count && !::testing::Test::HasFatalFailure(); ++seed) {
        Points points(seed);
        Rewriter rewriter(points.make.pipeline);
        points.tell(rewriter);
        const Expr e = RandomIndex(points.make).integer(points.make.pick(1, 6));
        expect_same(points, e, rewriter.instance(e, {}), seed);
    }
}

TEST(RewriteRandom, ArithmeticOfAllIntegersKeepsItsValue) {
    const unsigned first = test::audit_seed(), count = 2000u * static_cast<unsigned>(test::audit_factor());
    for (unsigned seed = first; seed < first + count && !::testing::Test::HasFatalFailure(); ++seed) {
        Points points(seed);
        Rewriter rewriter(points.make.pipeline);
        points.tell(rewriter);
        const Expr e = points.make.integer(points.make.one_of(test::kIntegerTypes), points.make.pick(1, 5));
        expect_same(points, e, rewriter.instance(e, {}), seed);
    }
}

// An index in bounds as an integer: so is what is made of it, the same element.
TEST(RewriteRandom, IndicesInBoundsKeepTheirValueAsIntegers) {
    const unsigned first = test::audit_seed(), count = 2000u * static_cast<unsigned>(test::audit_factor());
    for (unsigned seed = first; seed < first + count; ++seed) {
        Points points(seed);
        Rewriter rewriter(points.make.pipeline);
        points.tell(rewriter);
        const Expr e = RandomIndex(points.make).affine(points.make.pick(1, 5));
        const Expr read = rewriter.instance(ir::read({ir::Source::Kind::Input, 0}, Type::Int32, {e}), {});
        const Expr exact = ir::widened(e), folded = ir::widened(ir::as<ir::Read>(read)->indices.front());
        for (int i = 0; i < 8; ++i) {
            Oracle at = points.next(kSizeValues);
            // Whatever is computed on the way is an integer of 64 bits too.
            bool small = true;
            ir::for_each_node(
                exact, [&](const Expr& node) { small = small && std::abs(at(node).i) < (std::int64_t{1} << 50); });
            const std::int64_t index = at(exact).i;
            if (!small || index < 0 || index >= (1 << 30)) continue;
            ASSERT_EQ(index, at(folded).i) << "seed " << seed << ":" << where(at) << "\n"
                                           << ir::to_string(points.make.pipeline, e) << "\n"
                                           << ir::to_string(points.make.pipeline, folded);
        }
    }
}

// In the interior, whose ends a launch computes in exact integers.
TEST(RewriteRandom, InTheInteriorWhatIsDecidedHolds) {
    const unsigned first = test::audit_seed(), count = 4000u * static_cast<unsigned>(test::audit_factor());
    int simpler = 0;
    for (unsigned seed = first; seed < first + count; ++seed) {
        RandomExpr make(seed, {.floats = false, .constants = 60, .variables = 2, .sizes = kSizes});
        ir::Stage stage;
        poly::Domain domain;
        for (std::size_t d = 0; d < 2; ++d) {
            stage.dims.push_back({make.index_variables[d], {}, {}, {}});
            domain.box.push_back({ir::int_constant(Type::Int32, 0),
                                  make.chance(30) ? ir::int_constant(Type::Int32, make.pick(1, 1 << 30))
                                                  : ir::size_ref(static_cast<int>(d))});
        }
        Rewriter rewriter(make.pipeline);
        for (std::size_t d = 0; d < 2; ++d) rewriter.index(make.index_variables[d], domain.box[d]);
        const Expr e = RandomIndex(make).integer(make.pick(2, 5));
        const Interior interior =
            find_interior(rewriter, stage, domain, rewriter.instance(e, {}), nullptr, {true, true});
        if (!interior.simpler) continue;
        ++simpler;
        for (int i = 0; i < 8; ++i) {
            Oracle at;
            for (int s = 0; s < kSizes; ++s) at.sizes.push_back(make.inside(Type::Int32, IntRange{1, (1 << 30) - 1}));
            bool empty = false;
            for (std::size_t d = 0; d < 2; ++d) {
                const IntRange range{at(ir::widened(interior.box[d].lo)).i, at(ir::widened(interior.box[d].hi)).i - 1};
                empty = empty || range.lo > range.hi;
                if (!empty) at.variables.insert_or_assign(make.index_variables[d], make.inside(Type::Int32, range));
            }
            if (empty) continue;
            ASSERT_EQ(at(e).i, at(interior.value).i) << "seed " << seed << ":" << where(at) << "\n"
                                                     << ir::to_string(make.pipeline, e) << "\n"
                                                     << ir::to_string(make.pipeline, interior.value) << "\n"
                                                     << ir::to_string(make.pipeline, interior.box[0].lo) << " .. "
                                                     << ir::to_string(make.pipeline, interior.box[0].hi) << "; "
                                                     << ir::to_string(make.pipeline, interior.box[1].lo) << " .. "
                                                     << ir::to_string(make.pipeline, interior.box[1].hi);
        }
    }
    EXPECT_GT(simpler, 100);
}

}  // namespace
}  // namespace pipec::codegen::rewrite_random_test
