// Which reductions code has as straight lines: the one rule for generated code, and for what is counted of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

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

/// Whether some reduction in it is a loop.
[[nodiscard]] bool has_loops(const ir::Expr& e);

/// Totals of loops that become one: each is in a register, and what they read has to fit beside them.
inline constexpr std::int64_t kMostTotals = 72;

/// Reductions in each other whose terms are too many to be written out: the outer ones have few, and each of these is
/// the same loop. In sum(j) sum(i) sum(c), i and j being the places of a window and c its channels, i and j are
/// written out, and one loop adds up all places side by side, so that they have what they read in common.
struct SideBySide {
    std::int64_t count = 0;            ///< loops that become one
    const ir::Reduce* loop = nullptr;  ///< the innermost reduction
    /// The ranges of the outer ones where all are of one operator and their order cannot be told: then the loop has the
    /// terms of all places in each turn, and one total. Empty otherwise: each place has its own.
    std::vector<ir::Range> places{};

    [[nodiscard]] std::int64_t totals() const { return places.empty() ? count : 1; }
};
/// With `short_loops` that may be one which could be written out in a loop of the others instead.
[[nodiscard]] std::optional<SideBySide> side_by_side(const ir::Reduce& reduce, bool short_loops);

}  // namespace pipec::fusion
