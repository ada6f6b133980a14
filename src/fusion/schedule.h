// What is decided about the execution of a pipeline, as plain data: which stages are computed inside of others, which
// are fused into one kernel, and how that kernel is tiled. Code generation carries it out and decides nothing.
#pragma once

#include <array>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::fusion {

enum class Strategy : std::uint8_t {
    Stage,  ///< one kernel for one stage, through global memory: always legal
    Otptb,  ///< overlapped tiles in shared memory, one for each thread block
    Otpw    ///< overlapped tiles in shared memory, one for each warp
};
std::string_view name(Strategy strategy);

/// Stages in one kernel. Sizes are in x, y, z: the group's last dimension, the one before, and the one before that.
struct GroupSchedule {
    std::vector<std::string> stages;
    Strategy strategy = Strategy::Stage;
    std::array<int, 3> block{32, 8, 1};  ///< threads of a block
    std::array<int, 3> tile{1, 1, 1};    ///< points of a thread
};

struct Schedule {
    std::vector<std::string> inlined;   ///< stages computed inside of their readers
    std::vector<GroupSchedule> groups;  ///< stages in none are groups of their own, with Strategy::Stage
};

/// A schedule that does not fit the program, as a sentence.
struct ScheduleError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Cheap stages inside of their readers, each of the others by itself.
Schedule stage_schedule(const ir::Pipeline& pipeline);

/// Stages (by index) of each group, all stages of `pipeline` (what inlining left) in exactly one, in an order in which
/// groups can run. `number[i]` is the schedule's group, -1 for stages in none. Throws ScheduleError for unknown names,
/// stages in two groups, and groups that would have to wait for each other.
struct OrderedGroups {
    std::vector<std::vector<int>> stages;
    std::vector<int> number;
};
OrderedGroups order_groups(const ir::Pipeline& pipeline, const Schedule& schedule);

/// The stages (by index) that the schedule computes inside of their readers. Throws ScheduleError.
std::vector<int> inlined_stages(const ir::Pipeline& pipeline, const Schedule& schedule);

}  // namespace pipec::fusion
