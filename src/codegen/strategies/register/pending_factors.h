// Constant factors that wait (for -ffast-math): a stage that is a constant times a sum keeps the sum alone in its
// register, with the factor pending. A reader that adds what has one factor in common hands it on, products multiply
// theirs; only where the number itself is asked for is it multiplied, once for all who ask. A chain of means then has
// one multiplication, at its end.
//
// Sums of adjacent points have terms in common: pairs of equal factors are added first, and found again there.
#pragma once

#include <functional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/expr/float_terms.h"
#include "codegen/expr/rewrite.h"

namespace pipec::codegen {

class PendingFactors {
public:
    /// Gives `value` a variable, where the code stands that is being made.
    using Define = std::function<ir::Expr(const ir::Expr& variable, const ir::Expr& value)>;
    PendingFactors(Rewriter& rewriter, Define define) : rewriter_(rewriter), define_(std::move(define)) {}

    /// From now on `variable` stands for factor * variable.
    void set(const ir::Expr& variable, double factor);
    /// 1 for those of which nothing is known.
    [[nodiscard]] double of(const ir::Expr& variable) const;
    void clear();

    /// `e` as factor * node, without a multiplication that could wait.
    FloatTerm split(const ir::Expr& e);
    /// `e` itself.
    ir::Expr applied(const ir::Expr& e);

private:
    bool has_pending(const ir::Expr& e);
    std::vector<FloatTerm> terms_of(const ir::Expr& e);
    FloatTerm split_term(const ir::Expr& e);
    void pair_up(std::vector<FloatTerm>& terms);

    Rewriter& rewriter_;
    Define define_;
    std::unordered_map<const ir::Node*, double> factors_;
    std::unordered_map<const ir::Node*, bool> has_pending_;
    std::unordered_map<const ir::Node*, FloatTerm> split_;
    std::unordered_map<const ir::Node*, ir::Expr> applied_;
    std::set<std::pair<const ir::Node*, const ir::Node*>> pairs_;
};

}  // namespace pipec::codegen
