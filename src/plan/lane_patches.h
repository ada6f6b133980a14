// How the points of a stage in a tile are dealt out to the lanes of a team. A lane computes patches of `columns` x
// `rows` adjacent points: what neighbouring points read in common is then read once, and columns that are a vector are
// moved at once. Patches are numbered through all dimensions, innermost first, and dealt out in turns, so that lanes
// are idle in the last turn only, whatever the stage's extents are.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "fusion/gpu.h"
#include "fusion/group_shape.h"

namespace pipec::plan {

using fusion::kAccessBytes;
using fusion::kWarp;

/// Inner dimensions of no more points than this, as constants, belong to one thread.
inline constexpr std::int64_t kInnerPoints = 4;
/// Points of a patch, and elements that it reads and computes, which all are in registers at once.
inline constexpr std::int64_t kPatchPoints = 32, kPatchElements = 96;
/// Of a whole dimension a lane computes no more columns at once.
inline constexpr std::int64_t kWholeColumns = 16;
/// Nodes of its expressions: more rows of larger stages would not fit into the instruction cache.
inline constexpr std::int64_t kPatchNodes = 2000;

/// The dimensions of a stage along which a patch has columns and rows; -1: none.
struct PatchAxes {
    int columns = -1, rows = -1;
    bool whole = false;  ///< the columns are all of a dimension that tiles do not cut
};

/// Operations of a row of several columns, at most. nvcc spills longer straight-line code, and a multiprocessor's
/// instruction cache has no room for it.
inline constexpr double kRowOperations = 4096;

/// What is read for a patch of a stage, and computed: estimated from facts by cost models, counted in expressions by
/// code generation.
struct PatchReads {
    /// Elements that a patch of so many columns and rows along `axes` reads.
    std::function<double(const PatchAxes& axes, std::int64_t columns, std::int64_t rows)> elements;
    /// All that a patch of one row reads and computes is in a lane's registers at once.
    std::function<bool(const PatchAxes& axes, std::int64_t columns)> in_registers;
    /// Operations of so many columns, beside each other.
    std::function<double(const PatchAxes& axes, std::int64_t columns)> operations;
    int narrowest = 4;  ///< bytes of the narrowest value that is read or computed
};

/// Those of member `m` that follow the tile's x and y.
PatchAxes lane_axes(const fusion::GroupShape& shape, std::size_t m);

/// Those of patches in tiles of shared memory. Columns lie along the tile's x where that is innermost in global memory
/// as well, or are a whole dimension: the innermost one there, or the one that readers read `together`.
PatchAxes patch_axes(const fusion::GroupShape& shape, std::size_t m, int together, const PatchReads& reads);

/// Adjacent columns that a lane computes there, where `lanes` have `points` in all. Along the tile's x `vector` of
/// them, as long as one access moves them and they have at most kRowOperations; fewer of a stage that stays in the
/// tile, or has loops, where half of the lanes would have none. Of a whole dimension what an access of `access_bytes`
/// moves, or all where neighbours read the same.
std::int64_t patch_columns(const fusion::GroupShape& shape, std::size_t m, const PatchAxes& axes, std::int64_t vector,
                           std::int64_t access_bytes, const PatchReads& reads, std::int64_t points, std::int64_t lanes);

/// Where member `m` reads some others, `found` at places that depend on data, of which it has several columns for each:
/// how many columns. The lanes of a warp then compute a block as wide as that: what they read lies close together, in
/// different banks or in the same place.
std::int64_t columns_of_cell(const fusion::GroupShape& shape, std::size_t m, const std::vector<std::size_t>& found);

struct Patches {
    std::int64_t columns = 1, rows = 1;  ///< of a patch
    std::int64_t across = 1;             ///< patches beside each other: all columns are in whole patches
    std::int64_t down = 1;               ///< below each other; the last one may begin among the rows of the one before
    std::int64_t others = 1;             ///< in the other dimensions, of which a patch has one point
    std::int64_t skipped = 0;            ///< columns to the left of them
    /// Patches are numbered in blocks of so many, beside and below each other.
    std::int64_t block_across = 1, block_down = 1;

    [[nodiscard]] std::int64_t count() const { return across * down * others; }
    [[nodiscard]] std::int64_t turns(std::int64_t lanes) const { return (count() + lanes - 1) / lanes; }
};

/// The patches in blocks of a warp that are `across` patches wide, or somewhat wider, where they can be cut into such
/// and that is more than one.
Patches in_blocks(Patches patches, std::int64_t across);

/// Ways to deal out `points` (patches of one point), least cost first: patches of so many columns and at most
/// `most_rows` rows; either all alike, or those of the columns beyond a multiple of the warp by themselves, so that the
/// others come out even.
std::vector<std::vector<Patches>> patches_by_cost(const Patches& points, std::int64_t columns, std::int64_t lanes,
                                                  std::int64_t most_rows);

/// Of these ways the cheapest one whose patches are all alike: what a cost model takes for the one that code generation
/// finds. Columns beyond whole patches have a patch, too.
Patches alike_patches(const Patches& points, std::int64_t columns, std::int64_t lanes, std::int64_t most_rows);

/// Threads of a block, in x, y and z, where an accumulate by itself is gathered: a thread for each owner, whose cells
/// take `bytes` of shared memory, and owners in `rank` dimensions.
std::array<int, 3> gather_block(std::int64_t bytes, int rank);

}  // namespace pipec::plan
