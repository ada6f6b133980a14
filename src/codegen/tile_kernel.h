// Overlapped tiles in shared memory: the strategies `otptb` (a tile for each thread block) and `otpw` (a tile for each
// warp; paper, section "Overlap Tile per Warp").
#pragma once

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "codegen/kernel_ir.h"
#include "poly/group.h"
#include "support/source.h"

namespace pipec::codegen {

struct TileShape {
    bool per_warp = false;
    /// Threads of a block in the group's last dimension (x), the one before (y), and the one before that (z): powers of
    /// two or, in x, multiples of 32.
    std::array<int, 3> block{32, 8, 1};
    /// Points of a thread in x, y, z: a tile has tile * threads points of the team that computes it in a dimension.
    std::array<int, 3> tile{1, 1, 1};
};

/// Threads of a warp in x, y, z (the paper's W_x, W_y, W_z).
std::array<int, 3> warp_shape(const std::array<int, 3>& block);

/// The step that computes a group in one kernel, or why it cannot.
std::variant<kernel::Step, std::string> tile_step(kernel::Program& program, const poly::Group& group,
                                                  const TileShape& shape, const SourceManager& sources);

}  // namespace pipec::codegen
