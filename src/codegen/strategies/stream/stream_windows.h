// Where a block that marches along its strip keeps what it computes: of members with rows the latest ones, in a ring;
// the others as a whole.
#pragma once

#include <vector>

#include "codegen/strategies/tile_space.h"
#include "plan/plan.h"

namespace pipec::codegen {

class StreamWindows {
public:
    /// Adds the plan's arrays to the space's kernel.
    StreamWindows(TileSpace& space, const plan::Plan& plan);

    /// The member's array, an index of Kernel::shared; -1 where nobody in the group reads it.
    [[nodiscard]] int of(const TileSpace::Member& m) const { return arrays_[space_.group.position(m.stage)]; }
    /// The indices of a point, whose offset is from the first point that the block computes of the member.
    [[nodiscard]] std::vector<ir::Expr> indices(const TileSpace::Member& m, const std::vector<ir::Expr>& offset);
    /// For instances of members: what they read of each other comes from the arrays.
    Rewriter::Hook reads();

private:
    [[nodiscard]] std::vector<std::size_t> order(const TileSpace::Member& m) const;
    ir::Expr in_ring(const ir::Expr& row, std::int64_t rows);

    TileSpace& space_;
    const plan::March& march_;
    std::vector<int> arrays_;  ///< of members
};

}  // namespace pipec::codegen
