// Tiles of the strategy `hybrid`: which points are computed from shared memory, which ones lane by lane in registers,
// and where the arrays are.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/group_shape.h"
#include "plan/plan.h"

namespace pipec::plan {

/// The tile, or a piece of it of `size` coordinates (by group dimension), all of it in shared memory.
HybridTile make_hybrid_tile(const fusion::GroupShape& shape, std::size_t split_dim, std::vector<std::int64_t> size);

/// Cuts this part of the split dimension off for registers.
void split(const fusion::GroupShape& shape, const Tiles& tiles, HybridTile& tile, double fraction);

/// Members that are needed in registers only are computed there when others need them.
bool is_deferred(const fusion::GroupShape& shape, const HybridTile& tile, std::size_t m);

/// Threads of the thread group along a dimension of the member.
std::int64_t lanes_along(const fusion::GroupShape& shape, const Tiles& tiles, std::size_t m, std::size_t dim);

/// How many points of a member are computed from shared memory.
std::int64_t shared_count(const fusion::GroupShape& shape, const Tiles& tiles, const HybridTile& tile, std::size_t m,
                          std::size_t dim);

/// Places the arrays in the thread group's scratch.
void place_arrays(const fusion::GroupShape& shape, const Tiles& tiles, HybridTile& tile);

/// At the edges of the image all of a tile is in shared memory: the whole tile, or pieces of it, always of the
/// dimension that is longest for its lanes, until the arrays take no more than `most` bytes. Arrays are placed.
HybridTile edge_pieces(const fusion::GroupShape& shape, const Tiles& tiles, std::size_t split_dim, std::int64_t most);

}  // namespace pipec::plan
