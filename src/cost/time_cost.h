// The default cost model: the time that a group takes on a GPU, predicted as a roofline (docs/cost-model.md). A kernel
// asks for bytes of global memory, bytes of the L2 cache, instructions, and accesses of the load/store units; the
// resource that is busy the longest sets its time. To that come its begin and end, and the launch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fusion/gpu.h"
#include "fusion/group_facts.h"
#include "fusion/schedule.h"

namespace pipec::cost {

using fusion::Gpu;
using fusion::GroupFacts;
using fusion::GroupSchedule;
using fusion::Strategy;

/// What a kernel asks for, and the time that it is predicted to take. Times are in seconds.
struct TimePrediction {
    double seconds = 0;
    // The time that each resource alone would take.
    double dram = 0;     ///< global memory
    double l2 = 0;       ///< the L2 cache
    double issue = 0;    ///< instructions
    double lsu = 0;      ///< load/store units: L1, shared memory, shuffles
    double latency = 0;  ///< one tile from its beginning to its end, for each wave of blocks
    double start = 0;    ///< the blocks, one after the other
    // What is added to the longest of them.
    double ends = 0;    ///< multiprocessors that idle while the first blocks begin and the last ones end
    double launch = 0;  ///< between two kernels

    double dram_bytes = 0, l2_bytes = 0;
    double instructions = 0;  ///< of warps
    double wavefronts = 0;    ///< of the load/store units
    int registers = 0;        ///< of a thread
    std::int64_t shared_per_block = 0;
    int blocks_per_sm = 0;  ///< that are there at once, with as many registers as counted
    double occupancy = 0;   ///< warps that are there at once, as a part of those that can be; expected
    double blocks = 0;
    double waves = 0;      ///< rounds of blocks that a multiprocessor sees
    double redundant = 0;  ///< TileFacts::redundant
};

/// "dram", "l2", "issue", "lsu", "latency" or "start": what sets the time.
std::string_view bound_by(const TimePrediction& prediction);

/// The time of a group with a schedule (whose `stages` are not looked at); none where a limit of the GPU is exceeded.
/// Strategy::Stage is for groups of one stage.
std::optional<TimePrediction> predict_time(const GroupFacts& facts, const Gpu& gpu, const GroupSchedule& schedule);

struct TimeChoice {
    GroupSchedule schedule;  ///< without stages
    TimePrediction time;
};
/// How many tiles and blocks are tried: a few typical ones, for the search over groups, or all.
enum class Effort : std::uint8_t { Few, All };
/// Schedules of a group with the strategies in `allowed`, the fastest first, at most `count` of them.
std::vector<TimeChoice> time_choices(const GroupFacts& facts, const Gpu& gpu, const std::vector<Strategy>& allowed,
                                     std::size_t count, Effort effort = Effort::All);

}  // namespace pipec::cost
