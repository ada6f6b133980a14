// Which lanes of a register tile serve their neighbours only: they compute what those ask for, and store nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/group_shape.h"
#include "plan/plan.h"

namespace pipec::plan {

/// A point in column `column` of a lane (from the lane's first column of the stage) reads `index` in global memory, if
/// the lane is number 0; of lane L the index is L * array.columns larger.
struct LaneRead {
    std::size_t member = 0;  ///< that reads
    std::int64_t column = 0;
    ColumnsOf array;
    std::int64_t index = 0;
    /// The lane whose column of the array it is loads it for all; otherwise each lane loads what it reads.
    bool shared = true;
};

/// An image with a frame may be read some columns away by everyone: were a lane's columns of it those at its own place,
/// all values would come from other lanes, and as many lanes would serve their neighbours only. Lanes then load what
/// most reads ask for. Equal reads count as often as they stand in the list.
Homes find_homes(const std::vector<LaneRead>& reads);

/// The most lanes of a warp that may serve their neighbours only.
inline constexpr std::int64_t kMostServing = kWarp / 2;

/// Lanes on both sides that a lane needs values of.
struct Serving {
    std::int64_t left = 0, right = 0;
};
/// For a lane's own columns of the outputs: of the members from the columns that their readers ask for, of global
/// memory from `reads`. The tile has its homes.
Serving serving_lanes(const fusion::GroupShape& shape, const RegisterTile& tile, const std::vector<LaneRead>& reads);

/// Sets the tile's homes, and returns the lanes that serve their neighbours; nothing where those are too many.
std::optional<Serving> divide_lanes(const fusion::GroupShape& shape, RegisterTile& tile,
                                    const std::vector<LaneRead>& reads);

}  // namespace pipec::plan
