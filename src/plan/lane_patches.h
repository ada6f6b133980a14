// How the points of a stage in a tile are dealt out to the lanes of a team. A lane computes patches of `columns` x
// `rows` adjacent points: what neighbouring points read in common is then read once, and columns that are a vector are
// moved at once. Patches are numbered through all dimensions, innermost first, and dealt out in turns, so that lanes
// are idle in the last turn only, whatever the stage's extents are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace pipec::plan {

/// Points of a patch, and elements that it reads and computes, which all are in registers at once.
inline constexpr std::int64_t kPatchPoints = 32, kPatchElements = 96;
/// Of a whole dimension a lane computes no more columns at once.
inline constexpr std::int64_t kWholeColumns = 16;
/// Nodes of its expressions: more rows of larger stages would not fit into the instruction cache.
inline constexpr std::int64_t kPatchNodes = 2000;

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
