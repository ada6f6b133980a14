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

}  // namespace pipec::fusion
