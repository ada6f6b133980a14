// Rows of inputs that a register tile fetches ahead: not into registers, all before the first is needed, but into
// shared memory, by asynchronous copies. Each lane copies its own columns into places of its own, and reads them back
// when the row is due. Nobody else sees them, so that a lane waits for its own copies and for no barrier.
#pragma once

#include <vector>

#include "codegen/kernel/kernel_ir.h"
#include "codegen/strategies/tile_space.h"

namespace pipec::codegen {

/// A load of straight-line code, and where its row lies: the indices that neither are constant nor depend on the lane.
struct RowLoad {
    kernel::Load load;
    std::vector<ir::Expr> row;
};

/// `computed` with `loads` before it; they become copies, `ahead` rows (at least one) at a time, where they have as
/// many bytes as hardware copies. Adds the arrays for it to the space's kernel.
kernel::Body with_prefetch(TileSpace& space, std::vector<RowLoad> loads, kernel::Body computed, int ahead);

/// Gives the arrays of a kernel places in its scratch memory where they do not fit into what it has without asking.
/// Throws a Refusal where they have more than a block can have.
void place_prefetched(kernel::Kernel& kernel, const fusion::Target& target);

}  // namespace pipec::codegen
