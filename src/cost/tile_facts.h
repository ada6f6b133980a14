// One tile of a group as the paper counts it: points, overlap, scratch memory, and transactions of global memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fusion/group_facts.h"

namespace pipec::cost {

using fusion::GroupFacts;
using fusion::Load;

/// The lanes of a team (a warp or a block) in x, y, z, and the points that each lane computes in each.
struct TileShape {
    std::array<int, 3> lanes{32, 1, 1};
    std::array<int, 3> tile{1, 1, 1};
};

/// One tile of a group: what one team computes.
struct TileFacts {
    std::vector<std::int64_t> size;      ///< by group dimension, in group coordinates
    double tiles = 1;                    ///< that cover the outputs
    std::vector<std::int64_t> computed;  ///< points of each member, overlap included
    std::vector<double> owned;           ///< points of each member that no other tile is there for
    std::int64_t scratch_bytes = 0;      ///< for the members that are read in the group
    /// Points of all members that several tiles compute, as a part of those that are computed once.
    [[nodiscard]] double redundant() const;
};
TileFacts tile_facts(const GroupFacts& facts, const TileShape& shape);

/// Bytes of a tile's scratch when `points` of the tile's coordinates in dimension `dim` are held in registers.
std::int64_t scratch_beside_registers(const GroupFacts& facts, const TileFacts& tile, int dim, std::int64_t points);

/// Least number of transactions of `transaction` bytes in which the lanes of a team, each at one point, load what
/// `load` of member `member` asks for. Whole dimensions belong to one point.
double transactions(const GroupFacts& facts, std::size_t member, const Load& load, const std::array<int, 3>& lanes,
                    int transaction);

}  // namespace pipec::cost
