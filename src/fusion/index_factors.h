// Indices as sums of variables times constants.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ir/expr.h"

namespace pipec::fusion {

/// What each variable of an index is multiplied with; what is the same at all points is left out. Nothing where the
/// index is no such sum.
[[nodiscard]] std::optional<std::map<ir::VarId, std::int64_t>> index_factors(const ir::Expr& index);

/// What one variable is multiplied with, whatever the rest of the index is. Nothing where it is in more than a sum.
[[nodiscard]] std::optional<std::int64_t> index_factor(const ir::Expr& index, ir::VarId var);

}  // namespace pipec::fusion
