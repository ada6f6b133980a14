// What is known of an Int32 (or a Bool, 0 or 1) before a kernel runs: for each thread of one block a number, plus a sum
// of unknowns that is the same for all threads, as in 32 * tile + thread. What two points of one tile have between them
// is then a number, wherever the tile lies.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "ir/expr.h"

namespace pipec::codegen::kernel {

/// Stands for a number that is not known.
inline constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

struct LaneValues {
    /// Unknowns and their factors, by the unknown; no factor is 0.
    std::vector<std::pair<int, std::int64_t>> terms;
    /// One number for all threads, or one for each, or none where nothing is known of any.
    std::vector<std::int64_t> numbers;

    [[nodiscard]] bool is_unknown() const { return numbers.empty(); }
    [[nodiscard]] bool is_uniform() const { return numbers.size() == 1 && numbers[0] != kUnknown; }
    /// The number of one thread, kUnknown where it depends on more.
    [[nodiscard]] std::int64_t at(std::size_t thread) const {
        if (numbers.empty() || !terms.empty()) return kUnknown;
        return numbers.size() == 1 ? numbers[0] : numbers[thread];
    }
};

/// Shared, as most of them are the same in many statements. Never null.
using LaneValue = std::shared_ptr<const LaneValues>;

LaneValue unknown_value();
LaneValue lane_number(std::int64_t number);
LaneValue lane_numbers(std::vector<std::int64_t> numbers);
/// An unknown that is the same for all threads.
LaneValue lane_unknown(int id);

/// a + factor * b.
LaneValue lane_sum(const LaneValue& a, const LaneValue& b, std::int64_t factor = 1);
/// The operators of ir. Unknown where the result is no sum of the form above.
LaneValue lane_binary(ir::BinaryOp op, const LaneValue& a, const LaneValue& b);
LaneValue lane_not(const LaneValue& a);
/// By thread, where the condition is known; where it is not, what both have in common.
LaneValue lane_select(const LaneValue& condition, const LaneValue& then, const LaneValue& otherwise);
/// `a` for threads that are in `where` (not 0), `b` for the others.
LaneValue lane_merge(const std::vector<std::uint8_t>& where, const LaneValue& a, const LaneValue& b);

}  // namespace pipec::codegen::kernel
