// Which reductions code has as straight lines: the one rule for generated code, and for what is counted of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "ir/expr.h"
#include "ir/reduction.h"

namespace pipec::fusion {

/// The value of a bound, where it is known.
using KnownBound = std::function<std::optional<std::int64_t>(const ir::Expr&)>;

/// A reduction whose terms are written out one after the other; all others are loops. Reductions that are the whole
/// term of another one count together: a window of 11 x 11 is a loop of rows that are written out, since floats are
/// summed along one variable inside of the next. There are at most `most` terms, or twice as many small ones whose
/// order cannot be told, and few enough nodes for nvcc and for the instruction cache. `bound` gives the value of the
/// outermost reduction's bounds.
[[nodiscard]] bool written_out(const ir::Reduce& reduce, std::int64_t most, const KnownBound& bound);
[[nodiscard]] bool written_out(const ir::Reduce& reduce, std::int64_t most = ir::kBlockTerms);

}  // namespace pipec::fusion
