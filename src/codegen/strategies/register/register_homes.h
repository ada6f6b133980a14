// Which lane of a register tile loads which columns of an array in global memory.
#pragma once

#include <cstdint>
#include <map>

#include "codegen/strategies/tile_space.h"
#include "plan/plan.h"

namespace pipec::codegen {

/// Columns of an array as a read says them: dimension `dim`, of which a lane has `columns`.
struct ColumnsOf {
    ir::Source array;
    std::size_t dim;
    std::int64_t columns;
    friend auto operator<=>(const ColumnsOf&, const ColumnsOf&) = default;
};

/// How many lanes further a lane's own columns of an array are than those of the same number; no entry stands for 0.
using Homes = std::map<ColumnsOf, std::int64_t>;

/// An image with a frame may be read some columns away by everyone: were a lane's columns of it those at its own place,
/// all values would come from other lanes, and as many lanes would serve their neighbours only. Lanes then load what
/// most reads ask for.
Homes find_homes(TileSpace& space, const plan::RegisterTile& tile);

}  // namespace pipec::codegen
