#include "codegen/expr/float_terms.h"

#include <algorithm>
#include <cmath>

#include "ir/build.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Of factors that are equal but for rounding.
constexpr double kTolerance = 1e-6;

}  // namespace

bool close(double a, double b) {
    return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

std::optional<double> float_constant(const ir::Expr& e) {
    const auto* n = ir::as<ir::FloatConstant>(e);
    return n == nullptr ? std::nullopt : std::optional(n->value);
}

double common_factor(const std::vector<double>& factors) {
    double least = 0;
    for (const double f : factors) {
        if (f != 0 && (least == 0 || std::abs(f) < std::abs(least))) least = f;
    }
    return std::abs(least);
}

void add_terms(const ir::Expr& e, double factor, std::vector<FloatTerm>& terms) {
    if (const auto* n = ir::as<ir::Unary>(e); n != nullptr && n->op == ir::UnaryOp::Neg) {
        add_terms(n->a, -factor, terms);
        return;
    }
    if (const auto* n = ir::as<ir::Binary>(e)) {
        if (n->op == BinaryOp::Add || n->op == BinaryOp::Sub) {
            add_terms(n->a, factor, terms);
            add_terms(n->b, n->op == BinaryOp::Add ? factor : -factor, terms);
            return;
        }
        if (n->op == BinaryOp::Mul) {
            if (const auto c = float_constant(n->a)) return add_terms(n->b, factor * *c, terms);
            if (const auto c = float_constant(n->b)) return add_terms(n->a, factor * *c, terms);
        }
    }
    for (FloatTerm& term : terms) {
        if (term.node != e) continue;
        term.factor += factor;
        return;
    }
    terms.push_back({factor, e});
}

ir::Expr scaled(Rewriter& rewriter, double factor, const ir::Expr& e) {
    if (close(factor, 1)) return e;
    if (close(factor, -1)) return rewriter.unique(ir::unary(ir::UnaryOp::Neg, e));
    const auto number = [&](double v) {
        return rewriter.unique(ir::float_constant(e->type, ir::round_to(e->type, v)));
    };
    if (const auto c = float_constant(e)) return number(factor * *c);
    return rewriter.unique(ir::binary(BinaryOp::Mul, number(factor), e));
}

ir::Expr sum_of(Rewriter& rewriter, const std::vector<FloatTerm>& terms, ir::Type type) {
    ir::Expr sum;
    for (const FloatTerm& term : terms) {
        const bool negative = term.factor < 0 && sum;
        const ir::Expr part = scaled(rewriter, negative ? -term.factor : term.factor, term.node);
        sum = !sum ? part : rewriter.unique(ir::binary(negative ? BinaryOp::Sub : BinaryOp::Add, sum, part));
    }
    return sum ? sum : rewriter.unique(ir::constant(type, 0));
}

ir::Expr total(Rewriter& rewriter, std::vector<FloatTerm> terms, ir::Type type) {
    std::vector<double> factors;
    for (const FloatTerm& term : terms) factors.push_back(term.factor);
    const double common = common_factor(factors);
    if (terms.empty()) return rewriter.unique(ir::constant(type, 0));
    const auto same = [&](const FloatTerm& term) { return close(std::abs(term.factor), common); };
    // One multiplication for all where most of them vanish by it. A sum that begins with a term of no factor has none
    // to save: the others are multiplied as they are added.
    const auto is_plain = [](const FloatTerm& term) { return close(std::abs(term.factor), 1); };
    if (std::any_of(terms.begin(), terms.end(), is_plain) ||
        2 * std::count_if(terms.begin(), terms.end(), same) < static_cast<std::ptrdiff_t>(terms.size()))
        return sum_of(rewriter, terms, type);
    for (FloatTerm& term : terms) term.factor /= common;
    return scaled(rewriter, common, sum_of(rewriter, terms, type));
}

}  // namespace pipec::codegen
