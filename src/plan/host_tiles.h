// How the host computes a group of stages tile by tile: each thread the next tile that is left, the members of a tile
// one after the other, in memory of the thread's own that the caches keep. Tiles overlap, as those of GPUs do.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "fusion/group_shape.h"
#include "fusion/schedule.h"
#include "plan/plan.h"
#include "poly/group.h"

namespace pipec::plan {

struct HostTiles {
    struct Member {
        /// By dimension of the stage: from the tile's origin / scale; of a dimension that each tile has as a whole its
        /// range.
        std::vector<poly::TileExtent> extent;
        std::vector<bool> whole;            ///< by dimension of the stage: each tile has all of it
        bool in_scratch = false;            ///< otherwise it lies where the caller or the workspace has it
        std::vector<std::int64_t> strides;  ///< in the scratch, in elements
        std::int64_t offset = 0, bytes = 0;
    };
    std::vector<std::int64_t> size;  ///< by group dimension, in group coordinates: a multiple of poly::tile_unit
    std::vector<Member> members;     ///< in the group's order
    std::int64_t scratch = 0;        ///< bytes of a thread
};

/// Dimensions of no more points, inside of the others in memory, are computed as a whole.
inline constexpr std::int64_t kHostInnerPoints = 4;

/// Tiles of `schedule.tile` points of the finest member, in x, y and z. Or why there are none, in the names of the
/// pipeline's stages.
std::variant<HostTiles, Refusal> host_tiles(const ir::Pipeline& pipeline, const fusion::GroupShape& shape,
                                            const fusion::GroupSchedule& schedule);

}  // namespace pipec::plan
