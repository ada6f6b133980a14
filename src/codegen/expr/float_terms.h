// Floats as sums of terms with constant factors, for -ffast-math: they are added and multiplied as if they were real
// numbers.
#pragma once

#include <optional>
#include <vector>

#include "codegen/expr/rewrite.h"
#include "ir/expr.h"

namespace pipec::codegen {

/// factor * node
struct FloatTerm {
    double factor;
    ir::Expr node;
};

/// Equal but for rounding.
bool close(double a, double b);

std::optional<double> float_constant(const ir::Expr& e);

/// What all factors have in common: with it taken out they are integers, or one of them is 1.
double common_factor(const std::vector<double>& factors);

/// Adds factor * e, whose terms are found through sums, signs and constant factors; equal nodes are one term.
void add_terms(const ir::Expr& e, double factor, std::vector<FloatTerm>& terms);

/// factor * e
ir::Expr scaled(Rewriter& rewriter, double factor, const ir::Expr& e);

/// The sum of terms, in their order.
ir::Expr sum_of(Rewriter& rewriter, const std::vector<FloatTerm>& terms, ir::Type type);

/// The same; what most factors have in common is multiplied with once.
ir::Expr total(Rewriter& rewriter, std::vector<FloatTerm> terms, ir::Type type);

}  // namespace pipec::codegen
