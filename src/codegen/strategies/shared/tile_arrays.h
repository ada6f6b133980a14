// The arrays in which a team keeps what it computes of the members of a group, for those that read them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/strategies/tile_space.h"
#include "fusion/group_shape.h"
#include "plan/lane_patches.h"

namespace pipec::codegen {

/// What patches of a member read, by their instances: values of so many columns and rows along `axes`.
plan::PatchReads patch_reads(TileSpace& space, const TileSpace::Member& m);

/// Instances of the points of a patch, row after row. Of members with the same points: over the variables of `first`.
std::vector<ir::Expr> patch_values(TileSpace& space, const TileSpace::Member& m, const TileSpace::Member& first,
                                   const plan::PatchAxes& axes, std::int64_t columns, std::int64_t rows);

/// What is read and computed fits into the registers of a lane, and the code into the instruction cache.
bool in_registers(const std::vector<ir::Expr>& values);

class TileArrays {
public:
    /// Adds the plan's arrays to the space's kernel.
    TileArrays(TileSpace& space, const fusion::GroupShape& shape, const plan::SharedMemory& shared);

    /// The dimensions of a member in its array: the columns innermost, so that what a lane computes at once lies
    /// together.
    struct Axes {
        std::vector<std::size_t> order;            ///< from outermost to innermost
        std::optional<std::size_t> columns, rows;  ///< of a lane's patch
        bool whole = false;                        ///< the columns are a whole dimension
    };
    [[nodiscard]] const Axes& axes(const TileSpace::Member& m) const { return axes_[space_.group.position(m.stage)]; }

    /// The member's array, an index of Kernel::shared; -1 where nobody in the group reads it.
    [[nodiscard]] int of(const TileSpace::Member& m) const { return arrays_[space_.group.position(m.stage)]; }
    /// The indices of a point, whose offset is from the first point of the tile's part of the member.
    [[nodiscard]] std::vector<ir::Expr> indices(const TileSpace::Member& m, const std::vector<ir::Expr>& offset) const;
    /// For instances of members: what they read of each other comes from the arrays.
    Rewriter::Hook reads();

private:
    [[nodiscard]] Axes find_axes(const TileSpace::Member& m) const;
    [[nodiscard]] fusion::FoundBy found_by(const TileSpace::Member& m) const;

    TileSpace& space_;
    const fusion::GroupShape& shape_;
    std::vector<Axes> axes_;   ///< of members
    std::vector<int> arrays_;  ///< of members
};

}  // namespace pipec::codegen
