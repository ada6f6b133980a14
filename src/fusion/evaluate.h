// Expressions over sizes, for certain sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/expr.h"

namespace pipec::fusion {

/// The value of an expression over sizes (by index); none where it has anything else in it.
std::optional<std::int64_t> evaluate(const ir::Expr& e, const std::vector<std::int64_t>& sizes);

}  // namespace pipec::fusion
