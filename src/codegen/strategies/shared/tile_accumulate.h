// A member of a group that accumulates: each lane has cells of the tile's part of it, which collect what belongs to
// them (poly/gather.h) in the program's order. No other lane touches them meanwhile, so nothing is atomic, and the
// result is the host's, bit by bit.
#pragma once

#include <cstdint>

#include "codegen/expr/pack.h"
#include "codegen/kernel/kernel_ir.h"
#include "codegen/strategies/shared/tile_arrays.h"
#include "codegen/strategies/tile_space.h"

namespace pipec::codegen {

/// Adds the code for member `m`, up to a barrier that its readers need. `lanes` are those of a team; `interior`: the
/// tile is in the interior.
void accumulate_tile(kernel::Body& body, TileSpace& space, const TileArrays& arrays, PackWriter& packs,
                     const TileSpace::Member& m, std::int64_t lanes, bool interior);

}  // namespace pipec::codegen
