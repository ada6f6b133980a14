// The points of each member of a group that one tile needs: exactly, as isl finds them by following the reads from the
// tile's live-outs, and as the box that code generation computes (paper, section "Background": overlapped tiles). The
// check of the arithmetic in group.h by sets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poly/group.h"

namespace pipec::poly {

/// Sets in isl's notation, "[R, t0, t1] -> { [y, x] : ... }": over the sizes by their names and the numbers of the tile
/// in the group's dimensions, of the member's points. The tile has [size * t, size * (t + 1)) of each dimension.
struct Footprint {
    int stage = -1;
    std::string needed;      ///< read, by way of members, for the tile's points of live-outs, or one of these
    std::string box;         ///< what a tile computes, as far as the member's domain has it
    bool contained = false;  ///< all that is needed is in the box, for all sizes and tiles, those at the edges as well
    bool closed = false;     ///< and so is all that the points in the boxes of its readers read
};

/// By member. Tiles have `tile` coordinates in each of the group's dimensions: multiples of tile_unit. Not `exact`:
/// what is needed is not followed from member to member, and only the tile's own points are; where all is closed, the
/// boxes are large enough none the less, by induction. None where one member takes more than the budget.
std::optional<std::vector<Footprint>> footprints(const ir::Pipeline& pipeline, const Model& model, const Group& group,
                                                 const std::vector<std::int64_t>& tile, bool exact = true,
                                                 const Options& options = {});

/// For sets in isl's notation.
bool is_subset(const std::string& a, const std::string& b);
/// How many points a set has for these values of its parameters, which bound it.
std::int64_t count_points(const std::string& set, const std::map<std::string, std::int64_t>& parameters);

}  // namespace pipec::poly
