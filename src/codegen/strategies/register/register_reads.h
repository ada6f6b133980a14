// What the lanes of a register tile read of global memory along their columns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/strategies/tile_space.h"
#include "plan/register_lanes.h"

namespace pipec::codegen {

/// A read of an array in global memory by the lane of number `unit`: in dimension `along` of the array the index is
/// columns * unit + index, and no other index depends on the lane.
struct ColumnRead {
    std::size_t along = 0;
    std::int64_t columns = 0, index = 0;
};
/// None for reads that are the same for all lanes, or lie anywhere.
std::optional<ColumnRead> column_read(Rewriter& rewriter, const ir::Read& read, const ir::Expr& unit);

/// Those of all members, for the columns of a lane.
std::vector<plan::LaneRead> lane_reads(TileSpace& space, const plan::RegisterTile& tile);

}  // namespace pipec::codegen
