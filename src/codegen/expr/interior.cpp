// Half-spaces of one dimension each, collected while the expression is rewritten.
#include "codegen/expr/interior.h"

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/expr/bound.h"
#include "codegen/kernel/kernel_ir.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "support/integers.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

/// All sizes are taken to be this large when it is asked which side of a condition most points are on. Results do not
/// depend on it, only which code they take.
constexpr std::int64_t kTypicalSize = 2048;

/// The value of a bound for typical sizes; none for what no bound has.
std::optional<std::int64_t> typical(const ir::Expr& e) {
    if (const auto constant = ir::as_int(e)) return constant;
    if (ir::as<ir::SizeRef>(e) != nullptr) return kTypicalSize;
    if (const auto* n = ir::as<ir::Unary>(e)) {
        const auto a = typical(n->a);
        if (!a || n->op == ir::UnaryOp::BitNot) return std::nullopt;
        return n->op == ir::UnaryOp::Neg ? -*a : *a == 0;
    }
    if (const auto* n = ir::as<ir::Select>(e)) {
        const auto condition = n->otherwise ? typical(n->cond) : 1;
        return condition ? typical(*condition != 0 ? n->then : n->otherwise) : std::nullopt;
    }
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return std::nullopt;
    const auto a = typical(n->a), b = typical(n->b);
    if (!a || !b) return std::nullopt;
    switch (n->op) {
        case BinaryOp::Add: return *a + *b;
        case BinaryOp::Sub: return *a - *b;
        case BinaryOp::Mul: return *a * *b;
        case BinaryOp::Div: return *b == 0 ? 0 : floor_quotient(*a, *b);
        case BinaryOp::Mod: return *b == 0 ? 0 : *a - *b * floor_quotient(*a, *b);
        case BinaryOp::Min: return std::min(*a, *b);
        case BinaryOp::Max: return std::max(*a, *b);
        case BinaryOp::Eq: return *a == *b;
        case BinaryOp::Ne: return *a != *b;
        case BinaryOp::Lt: return *a < *b;
        case BinaryOp::Le: return *a <= *b;
        case BinaryOp::Gt: return *a > *b;
        case BinaryOp::Ge: return *a >= *b;
        case BinaryOp::And: return *a != 0 && *b != 0;
        case BinaryOp::Or: return *a != 0 || *b != 0;
        default: return std::nullopt;
    }
}

/// The greatest value of a remainder by a constant, whose least one is 0; none of anything else.
std::optional<std::int64_t> greatest_remainder(const ir::Expr& e) {
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr || (n->op != BinaryOp::Mod && n->op != BinaryOp::BitAnd)) return std::nullopt;
    const std::int64_t by = ir::as_int(n->b).value_or(-1);
    if (n->op == BinaryOp::BitAnd) return by >= 0 ? std::optional(by) : std::nullopt;
    return by > 0 ? std::optional(by - 1) : std::nullopt;
}

class InteriorFinder {
public:
    InteriorFinder(Rewriter& rewriter, const ir::Stage& stage, const poly::Domain& domain,
                   const std::vector<bool>& splits)
        : rewriter_(rewriter), stage_(stage), domain_(domain), splits_(splits), limits_(stage.dims.size()) {}

    Interior find(const ir::Expr& value, const ir::Expr& guard);

private:
    struct Limits {
        std::vector<Bound> lo, hi;  ///< lo <= v, v < hi
    };

    ir::Expr choose(const ir::Expr& e);
    bool assume_not_negative(const Linear& sum);
    ir::Expr expr(const Bound& bound);
    void merge(std::vector<Bound> bounds, ir::Expr& own, bool greatest);

    Rewriter& rewriter_;
    const ir::Stage& stage_;
    const poly::Domain& domain_;
    const std::vector<bool>& splits_;
    std::vector<Limits> limits_;
};

ir::Expr InteriorFinder::expr(const Bound& bound) {
    const ir::Expr sum = rewriter_.expr(bound.sum);
    return bound.divisor == 1 ? sum : ir::binary(BinaryOp::Div, sum, ir::int_constant(Type::Int32, bound.divisor));
}

/// The greatest (or the least) of a dimension's own bound and the ones that were found.
void InteriorFinder::merge(std::vector<Bound> bounds, ir::Expr& own, bool greatest) {
    const auto sum = rewriter_.linear(own);
    if (sum) tighten(bounds, {*sum, 1}, greatest);
    ir::Expr result = sum ? nullptr : own;
    for (const Bound& bound : bounds) {
        result = result ? ir::binary(greatest ? BinaryOp::Max : BinaryOp::Min, result, expr(bound)) : expr(bound);
    }
    own = result;
}

/// Restricts the interior to where `sum` is not negative, if that is a half-space of one dimension that keeps most of
/// the domain.
bool InteriorFinder::assume_not_negative(const Linear& sum) {
    // floor(s / c) + rest >= 0  <=>  s + c rest >= 0;  rest - floor(s / c) >= 0  <=>  c rest + c - 1 - s >= 0
    for (const auto& [atom, times] : sum.terms) {
        const auto* quotient = ir::as<ir::Binary>(atom);
        if (quotient == nullptr || quotient->op != BinaryOp::Div || std::abs(times) != 1 || ir::is_uniform(atom))
            continue;
        const auto divisor = ir::as_int(quotient->b);
        const auto dividend = rewriter_.linear(quotient->a);
        if (divisor.value_or(0) <= 0 || !dividend || !rewriter_.fits(*dividend)) return false;
        Linear rest = sum;
        rest.add(Linear{{{atom, 1}}, 0}, -times);
        Linear whole{{}, times > 0 ? 0 : *divisor - 1};
        whole.add(rest, *divisor).add(*dividend, times);
        if (!whole.is_int32()) return false;
        return assume_not_negative(whole);
    }
    std::optional<std::size_t> dim;
    Linear rest{{}, sum.constant};
    std::int64_t factor = 0;
    for (const auto& term : sum.terms) {
        if (ir::is_uniform(term.first)) {
            if (!rewriter_.is_exact(term.first)) return false;  // launches compute bounds in exact integers
            rest.terms.push_back(term);
            continue;
        }
        if (const auto greatest = greatest_remainder(term.first)) {  // the least that the term can be
            rest.constant += std::min<std::int64_t>(0, term.second * *greatest);
            continue;
        }
        const auto* variable = ir::as<ir::Variable>(term.first);
        if (variable == nullptr || dim) return false;
        for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
            if (stage_.dims[d].var == variable->id) dim = d;
        }
        if (!dim) return false;
        factor = term.second;
    }
    if (!dim || !splits_.at(*dim)) return false;
    // factor * v + rest >= 0:  v >= ceil(-rest / factor), or v < floor(rest / -factor) + 1
    Bound bound;
    bound.divisor = std::abs(factor);
    bound.sum.add(rest, factor > 0 ? -1 : 1);
    bound.sum.constant += factor > 0 ? factor - 1 : -factor;
    if (!bound.sum.is_int32()) return false;
    const auto at = typical(expr(bound));
    const auto lo = typical(domain_.box[*dim].lo), hi = typical(domain_.box[*dim].hi);
    if (!at || !lo || !hi || *hi <= *lo) return false;
    const std::int64_t kept = factor > 0 ? *hi - std::max(*at, *lo) : std::min(*at, *hi) - *lo;
    if (2 * kept <= *hi - *lo) return false;
    tighten(factor > 0 ? limits_[*dim].lo : limits_[*dim].hi, bound, factor > 0);
    return true;
}

/// The side of a min, max or comparison that holds in the interior.
ir::Expr InteriorFinder::choose(const ir::Expr& e) {
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr || n->a->type != Type::Int32) return e;
    const bool order = ir::is_comparison(n->op) && n->op != BinaryOp::Eq && n->op != BinaryOp::Ne;
    if (!order && n->op != BinaryOp::Min && n->op != BinaryOp::Max) return e;
    const auto a = rewriter_.linear(n->a), b = rewriter_.linear(n->b);
    if (!a || !b || !rewriter_.fits(*a) || !rewriter_.fits(*b)) return e;
    Linear more = *a, less = *b;  // a - b, b - a
    more.add(*b, -1);
    less.add(*a, -1);
    const auto minus_one = [](Linear sum) {
        sum.constant -= 1;
        return sum;
    };
    const auto decide = [&](const Linear& holds, const Linear& fails) -> ir::Expr {
        if (assume_not_negative(holds)) return ir::bool_constant(true);
        if (assume_not_negative(fails)) return ir::bool_constant(false);
        return e;
    };
    switch (n->op) {
        case BinaryOp::Min:
            // A loop whose end is known can be written out; any other one has no use for a known side.
            if (rewriter_.in_bound()) {
                if (a->terms.empty() == b->terms.empty()) return e;
                return a->terms.empty() ? (assume_not_negative(less) ? n->a : e)
                                        : (assume_not_negative(more) ? n->b : e);
            }
            return assume_not_negative(less) ? n->a : assume_not_negative(more) ? n->b : e;
        case BinaryOp::Max: return assume_not_negative(more) ? n->a : assume_not_negative(less) ? n->b : e;
        case BinaryOp::Lt: return decide(minus_one(less), more);
        case BinaryOp::Le: return decide(less, minus_one(more));
        case BinaryOp::Gt: return decide(minus_one(more), less);
        default: return decide(more, minus_one(less));
    }
}

Interior InteriorFinder::find(const ir::Expr& value, const ir::Expr& guard) {
    // Loops get variables of their own in each instance, so that one is another node says nothing.
    bool decided = false;
    const Rewriter::Hook hook = [&](const ir::Expr& e) {
        ir::Expr side = choose(e);
        decided = decided || side != e;
        return side;
    };
    Interior result;
    result.value = rewriter_.instance(value, {}, hook);
    if (guard) {
        result.guard = rewriter_.instance(guard, {}, hook);
        if (ir::as_int(result.guard).value_or(0) != 0) result.guard = nullptr;
    }
    for (std::size_t d = 0; d < limits_.size(); ++d) {
        ir::Expr lo = domain_.box[d].lo, hi = domain_.box[d].hi;
        merge(limits_[d].lo, lo, true);
        merge(limits_[d].hi, hi, false);
        result.box.push_back({lo, hi});
    }
    result.simpler = decided;
    return result;
}

}  // namespace

Interior find_interior(Rewriter& rewriter, const ir::Stage& stage, const poly::Domain& domain, const ir::Expr& value,
                       const ir::Expr& guard, const std::vector<bool>& splits) {
    return InteriorFinder(rewriter, stage, domain, splits).find(value, guard);
}

}  // namespace pipec::codegen
