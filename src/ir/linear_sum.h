// Int32 expressions as sums of values times constants.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ir/expr.h"

namespace pipec::ir {

/// Equal to the expressions that were added, times their factors, modulo 2^32. A value is what is no sum, difference
/// or product with a constant; it stands in `terms` once.
struct LinearSum {
    std::vector<std::pair<Expr, std::int64_t>> terms;
    std::int64_t offset = 0;

    void add(const Expr& e, std::int64_t factor);
    /// What a variable is multiplied with; 0 where it is no term.
    [[nodiscard]] std::int64_t factor_of(VarId var) const;
    /// The sum as an expression, without terms times 0.
    [[nodiscard]] Expr expr() const;
};

/// a - b, where that is a constant (modulo 2^32).
[[nodiscard]] std::optional<std::int64_t> constant_difference(const Expr& a, const Expr& b);

}  // namespace pipec::ir
