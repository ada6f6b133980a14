// What the two files of the translation to isl share.
#pragma once

#include <algorithm>
#include <vector>

#include "poly/isl_context.h"

namespace pipec::poly {

/// Pieces that a function or a condition may have: of indices and sizes alone, and with data in it, where more of them
/// decide no proof. Operations on two of the first size stay far below the budget of a question.
inline constexpr std::size_t kMostPieces = 32, kMostPiecesOfData = 8;

inline bool has_opaque(const std::vector<Name>& names) {
    return std::any_of(names.begin(), names.end(), [](Name n) { return n.kind == Name::Kind::Opaque; });
}

inline bool has_opaque(const isl::pw_aff& value) {
    return has_opaque(names_in(value));
}

}  // namespace pipec::poly
