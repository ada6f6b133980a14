// What one tile of a group asks of a GPU under each strategy: the counts from which the default cost model predicts a
// time. They follow from the facts of the group, not from generated code.
#pragma once

#include <cstdint>
#include <optional>

#include "fusion/group_facts.h"
#include "fusion/schedule.h"

namespace pipec::cost {

using fusion::GroupFacts;
using fusion::GroupSchedule;

class GroupCounts;

struct TileWork {
    int threads_per_block = 32;
    int warps_per_tile = 1;
    double tiles = 1;  ///< that cover the group's outputs
    double tiles_a_block = 1;
    double instructions = 0;  ///< of all warps of a tile, on average
    double half_rate = 0;     ///< those of them that a unit of half the rate executes (fusion::StageFacts)
    double at_edges = 0;      ///< of a tile that has points at the edges of the image
    /// Those of both that code has as they are counted (fusion::Operations::as_written).
    double as_written = 0, as_written_at_edges = 0;
    double edges = 0;         ///< part of the tiles that have such points
    double wavefronts = 0;    ///< of the load/store units
    double apart = 0;         ///< the same, of accesses whose lanes are far from each other (lines_apart)
    double bytes = 0;         ///< that the tile loads from global memory and stores there
    double streamed = 0;      ///< RegisterTile: those of them that other tiles of a block find in the L1 cache no more
    int access_bytes = 4;     ///< of the widest accesses to global memory
    double gaps = 1;          ///< accesses of a lane that lie side by side, so that each fills its sectors in part only
    double loads = 0;         ///< RegisterTile, Stage: accesses of a thread that load from global memory
    double waits = 1;         ///< times that a tile waits for what was asked for last: of global memory
    bool in_phases = false;   ///< barriers keep loads and arithmetic apart
    double barriers = 0;      ///< between the stages of a tile
    double serial = 0;        ///< updates of accumulates that a thread makes one after the other
    double serial_loads = 0;  ///< times that it waits for what they read
    int registers = 0;        ///< of a thread
    std::int64_t shared_per_block = 0;
    double redundant = 0;  ///< points computed by several tiles, as a part of those computed once
};

/// None where the schedule is impossible for the group.
std::optional<TileWork> tile_work(const GroupFacts& facts, const GroupSchedule& schedule);
/// The same, for one of many tiles of a group.
std::optional<TileWork> tile_work(GroupCounts& group, const GroupSchedule& schedule);

/// What `work` of a stage by itself becomes where a warp shares out the reductions of each point (plan/stage_tile.h),
/// as it does where points are few.
void share_lanes(const fusion::StageFacts& stage, TileWork& work);

/// What `work` of several stages in one kernel becomes where each has blocks of its own (plan/stage_tile.h).
void take_own_blocks(const fusion::GroupFacts& facts, TileWork& work);

/// Bytes of global memory that a group must read and write at least: each element once.
struct Traffic {
    double inputs = 0;   ///< the pipeline's inputs
    double stages = 0;   ///< what other kernels have written
    double outputs = 0;  ///< what the group writes
    [[nodiscard]] double bytes() const { return inputs + stages + outputs; }
};
Traffic traffic(const GroupFacts& facts);

}  // namespace pipec::cost
