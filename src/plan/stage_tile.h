// How the threads of a stage by itself divide its points (codegen/strategies/stage): for its code, and for what it
// costs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "ir/expr.h"

namespace pipec::plan {

/// What a dimension is for threads: the lanes of a warp go along the innermost long one in memory; the next one has the
/// rows of a block, the one after that its layers. Points of short constant dimensions inside of the lanes belong to
/// one thread, where these are straight-line code and share what they read. All others are in the grid.
enum class StageRole : std::uint8_t { Lane, Row, Layer, Outer, Inner };

struct StageAxes {
    std::vector<StageRole> roles;  ///< by dimension of the stage
    std::optional<std::size_t> lane, row, layer;
    bool turned = false;            ///< some reads lie along the rows of a block (stage_axes)
    std::int64_t inner_points = 1;  ///< of a thread in one column
    bool loops = false;             ///< a point takes loops
};

/// The dimensions of a stage that the indices of a read follow, from the innermost one in memory outward; -1: none.
using ReadDims = std::vector<int>;
/// An index that data tell, or that follows several dimensions.
inline constexpr int kAnyPlace = -2;

/// `order` are the stage's dimensions from outermost to innermost in memory, `extents` those that are constant, by
/// dimension. `loops`: a point takes loops. Of `reads` that are a transposition, what lies side by side in memory lies
/// along a dimension that is not the lanes': the rows of a block go along that one, and are many (stage_block), so that
/// a warp touches few lines both where it reads and where it writes.
StageAxes stage_axes(const std::vector<int>& order, const std::vector<std::optional<std::int64_t>>& extents, bool loops,
                     const std::vector<ReadDims>& reads);

/// Straight-line code of more nodes would not fit into registers, nor into the instruction cache.
inline constexpr std::int64_t kMostStageNodes = 4000;

/// Adjacent columns of a thread, so that it accesses 16 bytes at once: of the widest elements (bytes) that it reads or
/// stores. A point has `nodes`.
std::int64_t stage_columns(const StageAxes& axes, const std::vector<std::optional<std::int64_t>>& extents,
                           std::int64_t widest, std::int64_t nodes);

/// Registers for what straight-line code loads of all columns before it computes: with more, nvcc spills most of it.
inline constexpr std::int64_t kMostStageLoaded = 160;

/// Threads of a block along lanes, rows and layers: 32 x 8, or fewer along what is known to be short. Of a line whose
/// points take loops 64: there may be few, and each multiprocessor should have some. Where reads lie along the rows
/// 8 x 32: on an H200 a transposition of 16-bit pixels takes 18 us with these and 45 with 32 x 8, one of RGB 36 and
/// 111.
std::array<std::int64_t, 3> stage_block(const StageAxes& axes, const std::vector<std::optional<std::int64_t>>& extents,
                                        std::int64_t columns);

/// Threads of a block, as far as there are points for them.
inline constexpr std::int64_t kStageThreads = 256;

/// Blocks of single points from which on a GPU of so many multiprocessors is busy with threads that each have a long
/// reduction of their own: with fewer a warp shares each point's reductions out, of which a multiprocessor has 64 at
/// once. Where terms do not lie along memory (fusion/lane_terms.h), lanes load a sector each for an element: that is
/// worth it for fewer points.
std::int64_t stage_least_blocks(std::int64_t multiprocessors, bool along_memory);

/// So few points that a warp has each of them.
bool has_few_points(std::int64_t points, std::int64_t multiprocessors, bool along_memory);

/// The warps of a block where the lanes of each share a point's reductions out: few, so that few points are on many
/// multiprocessors.
std::int64_t stage_lane_warps(const std::optional<std::int64_t>& extent);

/// Whether stages that share a kernel have blocks of their own instead of threads that compute all of them: their
/// points take loops, and what each reads (`read`, by stage) no other reads. A thread would have nothing in common to
/// load, and go through one loop with the terms of all.
bool have_own_blocks(const std::vector<std::set<ir::Source>>& read, bool loops);

/// The layers of a block whose lanes and rows were asked for.
std::int64_t stage_layers(const StageAxes& axes, const std::vector<std::optional<std::int64_t>>& extents,
                          std::int64_t columns, std::int64_t across, std::int64_t down);

}  // namespace pipec::plan
