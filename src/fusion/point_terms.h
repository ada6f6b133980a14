// Loops of reductions that several points of a thread go through together (codegen/expr/point_loops.h).
#pragma once

#include <cstdint>

namespace pipec::fusion {

/// Terms of each reduction in a turn of the loop.
inline constexpr std::int64_t kTermsInTurn = 4;
/// Elements that a turn reads, at most: all of them are in registers.
inline constexpr std::int64_t kMostReadInTurn = 64;
/// Accesses of a turn, at most, as a part of those of its terms one after the other.
inline constexpr double kAccessesOfTurn = 0.67;

}  // namespace pipec::fusion
