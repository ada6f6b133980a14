// An `accumulate` as a gather: where the targets of its updates partition their loops, each point of the stage can
// collect what belongs to it, in the program's order, and nobody else writes to it. The cells of a bilateral grid, say:
//
//     grid((y + 4) / 8, (x + 4) / 8, level(img(y, x))) += ...
//
// Whatever the level is, cell (gy, gx) owns the pixels 8 gy - 4 <= y < 8 gy + 4 and 8 gx - 4 <= x < 8 gx + 4.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::poly {

/// A target's index t = floor((r + shift) / width) of one variable r of the update's loops: t owns
/// width * t - shift <= r < width * t - shift + width.
struct Owner {
    std::size_t range = 0;  ///< which of the update's ranges
    std::int64_t shift = 0, width = 1;
    friend bool operator==(const Owner&, const Owner&) = default;
};

struct Gather {
    /// By dimension of the stage: every update has an owner there. The other dimensions are free: of a point's loops
    /// some reach any of them.
    std::vector<bool> owned;
    /// By update, by dimension; none for free dimensions.
    std::vector<std::vector<std::optional<Owner>>> owners;

    /// Some dimension is owned.
    [[nodiscard]] bool any() const;
    /// Makes a dimension a free one.
    void release(std::size_t dim);
};

Gather find_gather(const ir::Accumulate& accumulate);

/// How many points of the updates' loops, taken together, belong to one combination of owned indices; none where that
/// depends on the sizes.
std::optional<std::int64_t> points_of_owner(const ir::Accumulate& accumulate, const Gather& gather);

/// The outermost of an update's ranges from which on an owner has so few points that their loops are unrolled; the
/// number of ranges where there is none. What unrolled points read is on its way before the first of their updates.
std::size_t first_unrolled(const ir::Update& update, const std::vector<std::optional<Owner>>& owners);

/// Points of those loops, of the update that has the fewest.
std::int64_t unrolled_points(const ir::Accumulate& accumulate, const Gather& gather);

}  // namespace pipec::poly
