// How a block of the strategy `stream` goes through its strip of an image: step by step along one dimension, the second
// one from inside, as a person reads lines (Rawat et al., "Resource Conscious Reuse-Driven Tiling for GPUs", PACT
// 2016).
//
// In each step every member of the group computes a few rows, of which those that others read go into the member's
// window, a ring of rows in shared memory. All that a step reads was written by the steps before it, so that one
// barrier between two steps is enough, however many members there are: a member that reads others is late by one step
// more than the latest one of them.
//
//     step       0    1    2    3    4   ...                 rows of two members; b reads a at y - 1, y, y + 1
//     a         -1    0    1    2    3                       window: 4 rows, of which 3 are read while one is written
//     b                         0    1                       late by a step, and by the row that it reads ahead
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "poly/group.h"

namespace pipec::plan {

struct March {
    struct Member {
        std::optional<std::size_t> rows;  ///< the stage's dimension of its rows; none: it is computed before the march
        std::int64_t each = 0;            ///< rows that a step computes
        std::int64_t ahead = 0;  ///< row `ahead` of those that the block computes begins step 0: <= 0, so there is none
        std::int64_t count = 0;  ///< rows that the block computes
        std::int64_t late = 0;   ///< steps behind members that read none of the group; more than all that it reads
        std::int64_t window = 0;  ///< rows that are kept for readers; 0: nobody reads it in the group
    };
    std::size_t dim = 0;             ///< of the group, along which blocks march
    std::vector<std::int64_t> size;  ///< by group dimension: what a block owns, in group coordinates
    std::int64_t steps = 0;          ///< of a block, with those in which windows are filled and emptied
    std::vector<Member> members;     ///< in the group's order
};

/// The march of blocks of so many threads, of which each computes `tile` points: columns, as many as the widest member
/// has, then rows, one in each step, then planes. Or why there is none.
std::variant<March, std::string> make_march(const poly::Group& group, const std::array<int, 3>& block,
                                            const std::array<int, 3>& tile);

}  // namespace pipec::plan
