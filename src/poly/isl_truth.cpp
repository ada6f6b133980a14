// Conditions as sets: where they hold, and where they do not. See isl_affine.h.
#include <algorithm>
#include <utility>

#include "ir/build.h"
#include "ir/visit.h"
#include "ir/widen.h"
#include "poly/isl_affine.h"
#include "poly/isl_affine_limits.h"

namespace pipec::poly {

using ir::BinaryOp;

namespace {

/// Values of data that a condition may be about.
constexpr std::ptrdiff_t kMostData = 24;
/// Terms of a condition that is looked into.
constexpr int kMostTerms = 128;

Truth compare(BinaryOp op, const isl::pw_aff& a, const isl::pw_aff& b) {
    switch (op) {
        case BinaryOp::Eq: return {a.eq_set(b), a.ne_set(b)};
        case BinaryOp::Ne: return {a.ne_set(b), a.eq_set(b)};
        case BinaryOp::Lt: return {a.lt_set(b), a.ge_set(b)};
        case BinaryOp::Le: return {a.le_set(b), a.gt_set(b)};
        case BinaryOp::Gt: return {a.gt_set(b), a.le_set(b)};
        default: return {a.ge_set(b), a.lt_set(b)};
    }
}

}  // namespace

/// A side of too many pieces becomes the whole space. Where both have too many, the condition is opaque.
Truth AffineTranslator::limited(const ir::Expr& e, Truth result) {
    const auto fits = [](const isl::set& set) {
        const auto pieces = static_cast<std::size_t>(set.n_basic_set());
        return pieces <= kMostPiecesOfData || (pieces <= kMostPieces && !has_opaque(names_in(set)));
    };
    const bool holds_fits = fits(result.holds), fails_fits = fits(result.fails);
    if (holds_fits && fails_fits) return result;
    if (holds_fits) return {result.holds, isl_.everything(), false};
    if (fails_fits) return {isl_.everything(), result.fails, false};
    open_obligations_.clear();
    return opaque_truth(e);
}

/// The comparisons and the like that `and` and `or` join in a condition.
int AffineTranslator::terms(const ir::Expr& e) {
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr || !ir::is_logical(n->op)) return 1;
    if (const auto known = terms_.find(e.get()); known != terms_.end()) return known->second;
    const int result = std::min(terms(n->a) + terms(n->b), kMostTerms + 1);
    terms_.emplace(e.get(), result);
    return result;
}

/// Sets over the values of many data cost much and prove nothing: nothing is known of the condition that has fewer.
void AffineTranslator::forget_data(Truth& a, Truth& b) const {
    const auto data = [](const isl::set& set) {
        const std::vector<Name> names = names_in(set);
        return std::count_if(names.begin(), names.end(), [](Name n) { return n.kind == Name::Kind::Opaque; });
    };
    const auto of_a = std::max(data(a.holds), data(a.fails)), of_b = std::max(data(b.holds), data(b.fails));
    if (of_a == 0 || of_b == 0 || of_a + of_b <= kMostData) return;
    (of_a < of_b ? a : b) = Truth{isl_.everything(), isl_.everything(), false};
}

Truth AffineTranslator::opaque_truth(const ir::Expr& e) {
    const isl::pw_aff value = make_opaque(e);
    return {value.eq_set(constant(1)), value.eq_set(constant(0))};
}

Translated<isl::set> AffineTranslator::condition(const ir::Expr& e, bool truth_value) {
    open_obligations_.clear();
    const Truth& sets = truth(e);
    return {truth_value ? sets.holds : sets.fails, std::exchange(open_obligations_, {})};
}

isl::set AffineTranslator::launch_condition(const ir::Expr& condition) {
    isl::set set = truth(ir::widened(condition)).holds;
    std::vector<Name> others = names_in(set);
    std::erase_if(others, [&](Name n) {
        return n.kind != Name::Kind::Opaque || ir::as<ir::ParamRef>(opaque(n.index)) != nullptr;
    });
    return project_out(isl_, std::move(set), others);
}

Truth AffineTranslator::compute_truth(const ir::Expr& e) {
    return std::visit(
        ir::overloaded{
            [&](const ir::IntConstant& n) {
                return n.value != 0 ? Truth{isl_.everything(), isl_.nothing()}
                                    : Truth{isl_.nothing(), isl_.everything()};
            },
            [&](const ir::Variable& n) {
                const auto let = lets_.find(n.id);
                return let == lets_.end() ? opaque_truth(e) : truth(let->second);
            },
            [&](const ir::Unary& n) {
                const Truth& a = truth(n.a);
                return Truth{a.fails, a.holds, a.exact};
            },
            [&](const ir::Binary& n) {
                if (ir::is_logical(n.op)) {
                    if (terms(e) > kMostTerms) return opaque_truth(e);
                    Truth a = truth(n.a), b = truth(n.b);
                    forget_data(a, b);
                    const bool exact = a.exact && b.exact;
                    if (n.op == BinaryOp::And)
                        return Truth{a.holds.intersect(b.holds), a.fails.unite(b.fails).coalesce(), exact};
                    return Truth{a.holds.unite(b.holds).coalesce(), a.fails.intersect(b.fails), exact};
                }
                if (n.a->type == ir::Type::Bool && (n.op == BinaryOp::Eq || n.op == BinaryOp::Ne)) {
                    const Truth &a = truth(n.a), &b = truth(n.b);
                    Truth equal{a.holds.intersect(b.holds).unite(a.fails.intersect(b.fails)),
                                a.holds.intersect(b.fails).unite(a.fails.intersect(b.holds)), a.exact && b.exact};
                    if (n.op == BinaryOp::Ne) std::swap(equal.holds, equal.fails);
                    return equal;
                }
                if (!ir::is_comparison(n.op) || !ir::is_int(n.a->type)) return opaque_truth(e);
                return compare(n.op, operand(n.a), operand(n.b));
            },
            [&](const ir::Select& n) {
                const Truth &cond = truth(n.cond), &then = truth(n.then);
                Truth result{cond.holds.intersect(then.holds), cond.holds.intersect(then.fails),
                             cond.exact && then.exact};
                if (!n.otherwise) return result;
                const Truth& otherwise = truth(n.otherwise);
                result.exact = result.exact && otherwise.exact;
                result.holds = result.holds.unite(cond.fails.intersect(otherwise.holds)).coalesce();
                result.fails = result.fails.unite(cond.fails.intersect(otherwise.fails)).coalesce();
                return result;
            },
            [&](const ir::Let& n) {
                bind(n.var, n.value);
                return truth(n.body);
            },
            [&](const auto&) { return opaque_truth(e); },
        },
        e->value);
}

}  // namespace pipec::poly
