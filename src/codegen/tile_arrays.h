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

    /// The dimensions of a member in its array: those along the tile's x innermost, so that what a lane computes at
    /// once lies together.
    struct Axes {
        std::vector<std::size_t> order;            ///< from outermost to innermost
        std::optional<std::size_t> columns, rows;  ///< those that lie along the tile's x and y
    };
    [[nodiscard]] Axes axes(const TileSpace::Member& m) const;

    /// The member's array, an index of Kernel::shared; -1 where nobody in the group reads it.
    [[nodiscard]] int of(const TileSpace::Member& m) const { return arrays_[space_.group.position(m.stage)]; }
    /// Whether two arrays have memory in common.
    [[nodiscard]] bool overlap(int a, int b) const;
    /// The indices of a point, whose offset is from the first point of the tile's part of the member.
    [[nodiscard]] std::vector<ir::Expr> indices(const TileSpace::Member& m, const std::vector<ir::Expr>& offset) const;
    /// For instances of members: what they read of each other comes from the arrays.
    Rewriter::Hook reads();

private:
    [[nodiscard]] std::int64_t count(const TileSpace::Member& m, std::size_t dim) const;
    [[nodiscard]] std::int64_t bytes_of_team(const TileSpace::Member& m) const;

    TileSpace& space_;
    std::vector<int> arrays_;               ///< of members
    std::vector<std::int64_t> team_bytes_;  ///< of arrays: what one team has of it
};

}  // namespace pipec::codegen
