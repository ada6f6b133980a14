// What the lanes of a register tile read of global memory along their columns, as facts tell it.
#pragma once

#include <vector>

#include "cost/group_counts.h"
#include "plan/register_lanes.h"

namespace pipec::cost {

/// What code generation counts in expressions (codegen/strategies/register/register_reads.h): all reads between the
/// first and the last that members make of an array.
std::vector<plan::LaneRead> lane_reads(const GroupCounts& group, const plan::RegisterTile& tile);

/// Leaves the lanes of a register tile to their neighbours that these ask for values, as far as cuts say it. False
/// where those are too many, or would be with the fewer columns that lanes have for arrays that lie anywhere.
bool leave_serving_lanes(const GroupCounts& group, plan::Plan& plan);

}  // namespace pipec::cost
