// What else may be tried for the kernels of a schedule whose tiles are chosen: other values of the choices that can
// matter for its speed. No model predicts what they gain; somebody measures it.
#pragma once

#include <cstddef>
#include <vector>

#include "fusion/gpu.h"
#include "fusion/schedule.h"
#include "fusion/strategy.h"

namespace pipec::fusion {

/// Another value of one choice of one group.
struct ChoiceMove {
    std::size_t group = 0;  ///< of the schedule's
    Field field = Field::BlockOrder;
    GroupSchedule value;  ///< the group with that value
};

/// At most `most` moves for a schedule that says what was decided (codegen::pinned), on a GPU: the first ones of all
/// groups before the second ones. Of a group those come first that gain most often: packed integers, the shape
/// of a single stage or the copies of a table, registers, then the order of blocks. Some may be impossible, or make no
/// difference.
std::vector<ChoiceMove> choice_moves(const Schedule& pinned, const Gpu& gpu, std::size_t most);

/// The schedule with moves: of several of one choice of a group, the first.
Schedule with_moves(const Schedule& schedule, const std::vector<ChoiceMove>& moves);

}  // namespace pipec::fusion
