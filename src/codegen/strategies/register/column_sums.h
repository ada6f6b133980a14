// Sums over a neighbourhood, column by column (for -ffast-math, since it adds in another order): the 3 x 3 terms of a
// filter whose matrix of factors has rank 1 become three sums down a column each, with one factor more. Neighbouring
// points have columns in common, so that most of these sums are there already.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "codegen/expr/float_terms.h"
#include "codegen/expr/rewrite.h"
#include "ir/pipeline.h"

namespace pipec::codegen {

class ColumnSums {
public:
    explicit ColumnSums(Rewriter& rewriter) : rewriter_(rewriter) {}

    /// A column's sum: `array` is read at places that differ in other dimensions than `dim` only.
    struct Sum {
        ir::Source array;
        std::size_t dim = 0;
        std::int64_t column = 0;   ///< constant part of the index
        std::int64_t columns = 0;  ///< factor of `unit` in it
        std::vector<ir::Expr> reads;
        std::vector<double> factors;
    };

    /// `e` with its sums in that form; `unit` is the variable that tells columns apart. Nodes are the rewriter's.
    ir::Expr factored(const ir::Expr& e, const ir::Expr& unit);
    /// What a node of a factored expression is; null for those that are no column's sum.
    [[nodiscard]] const Sum* find(const ir::Expr& e) const;
    /// The same sum in the column that is `distance` further.
    ir::Expr moved(const Sum& sum, std::int64_t distance);
    /// Arrays of which all sums have the same factors.
    [[nodiscard]] std::set<ir::Source> uniform() const;

private:
    struct Place;
    using Memo = std::unordered_map<const ir::Node*, ir::Expr>;

    ir::Expr rewrite(const ir::Expr& e, const ir::Expr& unit, Memo& memo);
    std::vector<FloatTerm> by_columns(std::vector<FloatTerm> terms, const ir::Expr& unit);
    ir::Expr add(Sum sum);

    Rewriter& rewriter_;
    std::unordered_map<const ir::Node*, Sum> sums_;
    std::map<ir::Source, std::set<std::vector<double>>> factors_;
};

}  // namespace pipec::codegen
