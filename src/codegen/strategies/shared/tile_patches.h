// What a lane of a team computes at once of the members of a tile.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/strategies/shared/tile_arrays.h"
#include "codegen/strategies/tile_space.h"
#include "plan/lane_patches.h"

namespace pipec::codegen {

using plan::Patches;

class TilePatches {
public:
    /// Members that are computed in one go.
    using Members = std::vector<const TileSpace::Member*>;

    /// `vector`: adjacent columns along the tile's x; `access_bytes`: of the widest access to global memory, or 0.
    TilePatches(TileSpace& space, const fusion::GroupShape& shape, const TileArrays& arrays, std::int64_t vector,
                std::int64_t access_bytes, std::int64_t lanes)
        : space_(space), shape_(shape), arrays_(arrays), vector_(vector), access_bytes_(access_bytes), lanes_(lanes) {}

    /// Vectors of columns, and as many rows as pay off and as registers hold what is read and computed; one after the
    /// other.
    std::vector<Patches> of(const Members& together);
    /// Of one row, for where each point has to be asked whether it exists.
    Patches at_edges(const TileSpace::Member& m);

private:
    [[nodiscard]] Patches points_of(const TileSpace::Member& m) const;
    [[nodiscard]] plan::PatchAxes axes(const TileSpace::Member& m) const;
    [[nodiscard]] std::int64_t columns_of(const TileSpace::Member& m);
    [[nodiscard]] std::int64_t columns_of_cell(const TileSpace::Member& m);

    TileSpace& space_;
    const fusion::GroupShape& shape_;
    const TileArrays& arrays_;
    const std::int64_t vector_, access_bytes_, lanes_;
};

}  // namespace pipec::codegen
