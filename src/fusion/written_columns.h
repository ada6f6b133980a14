// The columns of windows that are written out: the minimum of f(y + i, x + j) for i, j in -2..=2 is one of 25 terms,
// and it is the minimum of five columns min(i in -2..=2) f(y + i, u) at u = x - 2 to x + 2.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ir/expr.h"

namespace pipec::fusion {

/// A reduction as one of its columns along a dimension x and of what else it has.
struct WrittenColumns {
    ir::BinaryOp op;
    ir::Expr column;  ///< of `u`, for step * x + shift
    std::int64_t step = 1;
    std::int64_t first = 0;                                 ///< shift of the first column; the others follow each other
    std::vector<std::int64_t> factors;                      ///< of each column; 1 where `op` is no sum
    std::vector<std::pair<ir::Expr, std::int64_t>> others;  ///< with their factors

    [[nodiscard]] std::int64_t last() const { return first + static_cast<std::int64_t>(factors.size()) - 1; }
};

/// Of sums of int32 values and of minima, maxima, ands and ors: they may be combined in any order. None where fewer
/// than three columns have the same three terms, or where a term may be evaluated only if the one before it says so.
[[nodiscard]] std::optional<WrittenColumns> written_columns(const ir::Expr& e, ir::VarId x, const ir::Expr& u);

/// Terms that `e` combines with one operator in any order, at most: more are looked through by parts.
inline constexpr int kMostWrittenTerms = 256;

}  // namespace pipec::fusion
