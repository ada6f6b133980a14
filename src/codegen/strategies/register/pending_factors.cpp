#include "codegen/strategies/register/pending_factors.h"

#include <algorithm>
#include <cmath>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Factors beyond it, or below one by it, do not wait: sums without them could leave the range of floats.
constexpr double kLargestFactor = 0x1p20;
/// Sums of no more terms are searched for pairs.
constexpr std::size_t kMostTerms = 64;

bool is_moderate(double factor) {
    return std::abs(factor) <= kLargestFactor && std::abs(factor) >= 1 / kLargestFactor;
}

/// Of the terms that are no constants the factor that most of them have, up to signs; 1 where that saves nothing.
double waiting_factor(const std::vector<FloatTerm>& terms) {
    double best = 1;
    std::ptrdiff_t most = 0;
    for (const FloatTerm& term : terms) {
        if (float_constant(term.node)) continue;
        const double size = std::abs(term.factor);
        if (close(size, 1)) return 1;
        const auto count = std::count_if(terms.begin(), terms.end(), [&](const FloatTerm& other) {
            return !float_constant(other.node) && close(std::abs(other.factor), size);
        });
        if (count > most && is_moderate(size)) {
            best = size;
            most = count;
        }
    }
    return best;
}

}  // namespace

void PendingFactors::set(const ir::Expr& variable, double factor) {
    if (factor != 1) factors_[rewriter_.unique(variable).get()] = factor;
}

double PendingFactors::of(const ir::Expr& variable) const {
    const auto found = factors_.find(variable.get());
    return found == factors_.end() ? 1 : found->second;
}

void PendingFactors::clear() {
    factors_.clear();
    has_pending_.clear();
    split_.clear();
    applied_.clear();
    pairs_.clear();
}

bool PendingFactors::has_pending(const ir::Expr& e) {
    if (factors_.count(e.get()) > 0) return true;
    if (const auto known = has_pending_.find(e.get()); known != has_pending_.end()) return known->second;
    const std::vector<ir::Expr> operands = ir::children(e);
    const bool result =
        std::any_of(operands.begin(), operands.end(), [&](const ir::Expr& operand) { return has_pending(operand); });
    return has_pending_[e.get()] = result;
}

FloatTerm PendingFactors::split(const ir::Expr& e) {
    if (const auto known = split_.find(e.get()); known != split_.end()) return known->second;
    std::vector<FloatTerm> terms = terms_of(e);
    FloatTerm result{waiting_factor(terms), nullptr};
    for (FloatTerm& term : terms) term.factor /= result.factor;
    pair_up(terms);
    result.node = sum_of(rewriter_, terms, e->type);
    return split_.emplace(e.get(), result).first->second;
}

/// The terms of a sum, which may be one alone.
std::vector<FloatTerm> PendingFactors::terms_of(const ir::Expr& e) {
    std::vector<FloatTerm> terms;
    add_terms(e, 1, terms);
    for (FloatTerm& term : terms) {
        const FloatTerm inner = split_term(term.node);
        term = {term.factor * inner.factor, inner.node};
    }
    std::erase_if(terms, [](const FloatTerm& term) { return term.factor == 0; });
    return terms;
}

/// What is no sum: a variable, a product, or anything else, inside of which nothing is left to wait.
FloatTerm PendingFactors::split_term(const ir::Expr& e) {
    if (ir::as<ir::Variable>(e) != nullptr) return {of(e), e};
    if (const auto* n = ir::as<ir::Binary>(e); n != nullptr && n->op == BinaryOp::Mul && has_pending(e)) {
        const FloatTerm a = split(n->a), b = split(n->b);
        const double factor = a.factor * b.factor;
        // What is the same for all points takes the factor, once for all of them.
        const auto times = [&](const ir::Expr& uniform, const ir::Expr& other) {
            return FloatTerm{1, rewriter_.unique(ir::binary(BinaryOp::Mul, scaled(rewriter_, factor, uniform), other))};
        };
        if (ir::is_uniform(a.node)) return times(a.node, b.node);
        if (ir::is_uniform(b.node)) return times(b.node, a.node);
        if (is_moderate(factor)) return {factor, rewriter_.unique(ir::binary(BinaryOp::Mul, a.node, b.node))};
    }
    return {1, rewriter_.unique(ir::map_children(e, [&](const ir::Expr& operand) { return applied(operand); }))};
}

ir::Expr PendingFactors::applied(const ir::Expr& e) {
    if (const auto known = applied_.find(e.get()); known != applied_.end()) return known->second;
    ir::Expr result = e;
    if (const double factor = of(e); factor != 1) {
        result = define_(e, scaled(rewriter_, factor, e));
    } else if (ir::is_float(e->type)) {
        std::vector<FloatTerm> terms = terms_of(e);
        pair_up(terms);
        result = total(rewriter_, std::move(terms), e->type);
    } else if (has_pending(e)) {
        result = rewriter_.unique(ir::map_children(e, [&](const ir::Expr& operand) { return applied(operand); }));
    }
    return applied_.emplace(e.get(), result).first->second;
}

/// Adds two and two terms with one factor: those that were added before, then the last ones, which the next point's sum
/// is the likeliest to have too.
void PendingFactors::pair_up(std::vector<FloatTerm>& terms) {
    if (terms.size() < 3 || terms.size() > kMostTerms) return;
    std::vector<bool> done(terms.size(), false);
    const auto like = [&](std::size_t i, std::size_t j) { return close(terms[i].factor, terms[j].factor); };
    const auto join = [&](std::size_t i, std::size_t j) {
        pairs_.emplace(terms[i].node.get(), terms[j].node.get());
        terms[i].node = rewriter_.unique(ir::binary(BinaryOp::Add, terms[i].node, terms[j].node));
        terms[j].factor = 0;
        done[i] = done[j] = true;
    };
    for (std::size_t i = 0; i < terms.size(); ++i) {
        for (std::size_t j = i + 1; j < terms.size() && !done[i]; ++j) {
            if (!done[j] && like(i, j) && pairs_.count({terms[i].node.get(), terms[j].node.get()}) > 0) join(i, j);
        }
    }
    for (std::size_t j = terms.size(); j-- > 0;) {
        for (std::size_t i = j; i-- > 0 && !done[j];) {
            if (!done[i] && like(i, j)) join(i, j);
        }
    }
    std::erase_if(terms, [](const FloatTerm& term) { return term.factor == 0; });
}

}  // namespace pipec::codegen
