// What the lanes of a register tile read of global memory along their columns, as facts tell it.
#pragma once

#include <vector>

#include "fusion/group_facts.h"
#include "plan/register_lanes.h"

namespace pipec::cost {

/// What code generation counts in expressions (codegen/strategies/register/register_reads.h): all reads between the
/// first and the last that members make of an array.
std::vector<plan::LaneRead> lane_reads(const fusion::GroupFacts& facts, const plan::RegisterTile& tile);

/// Leaves the lanes of a register tile to their neighbours that these ask for values. False where those are too many.
bool leave_serving_lanes(const fusion::GroupFacts& facts, plan::Plan& plan);

}  // namespace pipec::cost
