// What the two files of the translation to isl share.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/visit.h"
#include "poly/isl_context.h"
#include "poly/value_ranges.h"

namespace pipec::poly {

/// Pieces that a function or a condition may have: of indices and sizes alone, and with data in it, where more of them
/// decide no proof. Operations on two of the first size stay far below the budget of a question.
inline constexpr std::size_t kMostPieces = 32, kMostPiecesOfData = 8;

/// Farther limits of an integer say nothing of an index.
inline constexpr Wide kFarthestLimit = Wide{1} << 33;

/// Stages that are looked into, one inside of another, where one is read.
inline constexpr int kMostStages = 8;

/// Whether an expression has few enough nodes to be looked into wherever it is read.
inline bool is_small(const ir::Expr& e) {
    constexpr int kMostNodes = 64;
    int nodes = 0;
    ir::for_each_node(e, [&](const ir::Expr&) { ++nodes; });
    return nodes <= kMostNodes;
}

inline bool has_opaque(const std::vector<Name>& names) {
    return std::any_of(names.begin(), names.end(), [](Name n) { return n.kind == Name::Kind::Opaque; });
}

inline bool has_opaque(const isl::pw_aff& value) {
    return has_opaque(names_in(value));
}

}  // namespace pipec::poly
