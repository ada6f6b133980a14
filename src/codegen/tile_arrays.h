// The arrays in which a team keeps what it computes of the members of a group, for those that read them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/tile_space.h"

namespace pipec::codegen {

class TileArrays {
public:
    /// Adds the arrays to the space's kernel. Members that are never needed at the same time share memory, unless all
    /// fit into what a kernel has without asking.
    explicit TileArrays(TileSpace& space);

    /// The dimensions of a member in its array: the columns innermost, so that what a lane computes at once lies
    /// together. Columns lie along the tile's x, where that is innermost in global memory as well, or are a whole
    /// dimension: the one that is innermost there, or one all of whose points readers want at once.
    struct Axes {
        std::vector<std::size_t> order;            ///< from outermost to innermost
        std::optional<std::size_t> columns, rows;  ///< of a lane's patch
        bool whole = false;                        ///< the columns are a whole dimension
    };
    [[nodiscard]] const Axes& axes(const TileSpace::Member& m) const { return axes_[space_.group.position(m.stage)]; }

    /// The member's array, an index of Kernel::shared; -1 where nobody in the group reads it.
    [[nodiscard]] int of(const TileSpace::Member& m) const { return arrays_[space_.group.position(m.stage)]; }
    /// Whether two arrays have memory in common.
    [[nodiscard]] bool overlap(int a, int b) const;
    /// The indices of a point, whose offset is from the first point of the tile's part of the member.
    [[nodiscard]] std::vector<ir::Expr> indices(const TileSpace::Member& m, const std::vector<ir::Expr>& offset) const;
    /// For instances of members: what they read of each other comes from the arrays.
    Rewriter::Hook reads();

private:
    [[nodiscard]] Axes find_axes(const TileSpace::Member& m) const;
    [[nodiscard]] std::optional<std::size_t> read_together(const TileSpace::Member& m) const;
    [[nodiscard]] std::size_t reads_of_two(const TileSpace::Member& m, std::size_t dim) const;
    [[nodiscard]] std::int64_t count(const TileSpace::Member& m, std::size_t dim) const;
    [[nodiscard]] std::int64_t bytes_of_team(const TileSpace::Member& m) const;

    TileSpace& space_;
    std::vector<Axes> axes_;                ///< of members
    std::vector<int> arrays_;               ///< of members
    std::vector<std::int64_t> team_bytes_;  ///< of arrays: what one team has of it
};

}  // namespace pipec::codegen
