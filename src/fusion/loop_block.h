// How many points of a stage with loops a thread computes in one loop, so that what their terms have in common is read
// once: a weight by all points of a plane, an element of an image by all planes, a row by the windows that it is in.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::fusion {

/// Terms in a loop of a block that are written out: of each, all points are computed before the next one is read, and
/// what is read of all of them has to fit into registers.
inline constexpr std::int64_t kWrittenInBlocks = 16;

struct LoopBlock {
    std::vector<std::int64_t> points;  ///< of a thread, by dimension of the stage
    double loads = 1;                  ///< of what a point by itself reads in loops, what it reads in such a block
    bool short_loops = false;          ///< short loops are side by side, too (side_by_side)

    [[nodiscard]] std::int64_t count() const;
};

/// One point, where nothing is gained. `value` is the stage's definition, `lane` the dimension in which neighbouring
/// threads have neighbouring points, `extents` those that are constant, `usual` those for usual sizes: in a dimension
/// of fewer points than a block has there would be no whole block.
LoopBlock loop_block(const ir::Stage& stage, const ir::Expr& value, std::size_t lane,
                     const std::vector<std::optional<std::int64_t>>& extents,
                     const std::vector<std::optional<double>>& usual);

}  // namespace pipec::fusion
