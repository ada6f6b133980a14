// How a block goes along the lines of a scan (codegen/strategies/scan): for its code, and for what it costs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/gpu.h"
#include "fusion/group_facts.h"
#include "fusion/scan_facts.h"

namespace pipec::plan {

using fusion::kWarp;

struct ScanTile {
    bool along_memory = false;      ///< lines run along the innermost dimension, or one with a short one inside
    std::int64_t lines = 0;         ///< of a block
    std::int64_t points = 0;        ///< of each line that it takes at once
    std::int64_t shared_bytes = 0;  ///< two of all that it has of these points
    /// Elements of so many bytes from a line to the next in shared memory. A thread takes up to four points of a line
    /// in one access; those of adjacent lines do not meet in a bank.
    [[nodiscard]] std::int64_t pitch(std::int64_t bytes) const;
    /// Points of a line that the warps besides the first have at once, each thread one.
    [[nodiscard]] std::int64_t side_by_side() const;
};

/// Warps of a block besides the one that computes the scan, and points of a chunk that each of their threads has: what
/// these need is on its way from memory at once.
inline constexpr std::int64_t kScanWarps = 8, kThreadPoints = 8;

/// `order` are the stage's dimensions from outermost to innermost in memory, `extents` those that are constant, by
/// dimension. A point takes `bytes` in `arrays` arrays; a block has `room` bytes of shared memory.
ScanTile make_scan_tile(const std::vector<int>& order, int scan,
                        const std::vector<std::optional<std::int64_t>>& extents, std::int64_t bytes,
                        std::int64_t arrays, std::int64_t room);

/// Lines run along the innermost dimension, or one with a short one inside.
bool runs_along_memory(const std::vector<int>& order, int scan,
                       const std::vector<std::optional<std::int64_t>>& extents);

/// Lines this short have a thread each: states, bits, channels. `points`: none where that is not constant.
bool is_short_line(std::optional<std::int64_t> points);

/// Where lines do not run along memory, and are so many, or are short, each has a thread of its own: blocks of so many
/// threads, which take so many points at once.
inline constexpr std::int64_t kDirectThreads = 256, kDirectPoints = 8;

/// With half of the threads that a GPU can have, memory has as much to do at once as with the blocks of a ScanTile.
std::int64_t direct_scan_lines(const fusion::Gpu& gpu);

/// The same for a scan whose points are shared out along its lines, too.
struct SharedScanTile {
    bool along_memory = false;
    std::int64_t lines = 0;   ///< of a block: one, or one for each lane of a warp
    std::int64_t warps = 0;   ///< of a block, all of which have the same lines
    std::int64_t points = 0;  ///< of a line that a thread has at once
    /// Points of each line that a block takes at once.
    [[nodiscard]] std::int64_t chunk() const { return warps * points * (along_memory ? kWarp : 1); }
    /// Elements of shared memory in which the lanes of a warp exchange points: a row for each of a lane's points, and
    /// an element between rows. 0: they do not.
    [[nodiscard]] std::int64_t exchanged() const { return along_memory && points > 1 ? points * (kWarp + 1) : 0; }
};

/// A scan that reads itself at other lines goes slice by slice (ir::Scan). Slices of at most so many points take the
/// threads of one block about as long as a launch takes; longer ones are a launch each, unless there are as many lines
/// as multiprocessors, so that blocks keep all of a GPU at work.
inline constexpr std::int64_t kLargestBlockSlice = 8192, kLaunchedSliceThreads = 256;

/// Threads of a block that goes along a line. `slice`: points of one, where that is constant.
std::int64_t slice_threads(std::optional<std::int64_t> slice);

/// How a block goes along a line whose slices are in shared memory.
struct SharedSliceTile {
    std::int64_t threads = 0;
    std::int64_t slice = 0;   ///< points of a slice that there is room for
    std::int64_t ring = 0;    ///< slices that are kept, a power of two
    std::int64_t slices = 0;  ///< of which a thread computes at once what does not depend on the scan
    std::int64_t shared_bytes = 0;
};

/// A point of such a scan.
struct SlicePoint {
    std::int64_t distance = 1;  ///< ir::Scan::distance
    std::int64_t bytes = 0;
    std::int64_t term_bytes = 0;  ///< of what does not depend on the scan
    std::int64_t arrays = 0;
    std::int64_t work = 0;  ///< fusion::slice_work
};

/// `slice`: points of one, where that is constant; then there is one tile, otherwise one for short slices and one for
/// long ones. None where a block has no `room`, bytes of shared memory, for them.
std::vector<SharedSliceTile> make_shared_slice_tiles(std::optional<std::int64_t> slice, const SlicePoint& point,
                                                     std::int64_t room);

/// Long slices are shared out among blocks, where a point reads the slices before near its own place alone: a block has
/// some of their points, for some slices after each other, and with them the points beside that these depend on, which
/// its neighbours compute, too.
struct SliceStrip {
    std::int64_t below = 0, above = 0;  ///< points beside its own, on both sides
    std::int64_t points = 0;            ///< of its own
    std::int64_t slices = 0;            ///< that a launch computes
    [[nodiscard]] std::int64_t threads() const { return below + points + above; }
};

/// A point of a slice reads those of the slices before from `below` to `above` beside it. None where that is too far.
std::optional<SliceStrip> make_slice_strip(std::int64_t below, std::int64_t above);

/// Shorter slices are for the threads of one block.
inline constexpr std::int64_t kShortestStripSlice = 512;

/// The strips of a scan of these sizes: long slices, and lines too few to keep all of a GPU at work. None where its
/// slices are not shared out. Code decides the same for the sizes of a launch.
std::optional<SliceStrip> slice_strip(const fusion::ScanFacts& scan, const fusion::Gpu& gpu);

/// The same of slices in two dimensions: a block has a patch of a slice, and with it the points around that these
/// depend on, in shared memory. All points at one place, of few channels, are together.
struct SlicePatch {
    std::size_t row_dim = 0, column_dim = 0;
    std::vector<std::size_t> whole_dims{};      ///< of points at one place
    ir::ScanReach beside_rows, beside_columns;  ///< around its own points
    std::int64_t rows = 0, columns = 0;         ///< with these
    std::int64_t whole = 1;                     ///< points at one place
    std::int64_t ring = 0;                      ///< slices that are kept
    std::int64_t slices = 0;                    ///< that a launch computes
    std::int64_t shared_bytes = 0;
    [[nodiscard]] std::int64_t own_rows() const { return rows - beside_rows.below - beside_rows.above; }
    [[nodiscard]] std::int64_t own_columns() const { return columns - beside_columns.below - beside_columns.above; }
};

/// The patches of a scan of these sizes: long slices, and lines too few to keep all of a GPU at work; as slice_strip.
std::optional<SlicePatch> slice_patch(const fusion::StageFacts& stage, const fusion::Gpu& gpu);

/// Slices that memory has where others read the `last` ones alone: those that a launch computes, and those before that
/// its blocks read meanwhile. A launch has those of its strips or patches, or one.
std::int64_t kept_slices(const std::optional<SliceStrip>& strip, const std::optional<SlicePatch>& patch,
                         std::int64_t distance, std::int64_t last);

/// Slices that memory has of a scan.
std::int64_t memory_slices(const fusion::StageFacts& stage, const fusion::Gpu& gpu);

inline constexpr std::int64_t kPatchThreads = 512;

/// `order` and `extents` as those of a ScanTile; `reaches` in the dimensions `across`. None where a point reads farther
/// away, or at any place of a dimension that is not short, or where it takes more to compute one twice than to load it.
std::optional<SlicePatch> make_slice_patch(const std::vector<int>& order,
                                           const std::vector<std::optional<std::int64_t>>& extents,
                                           const std::vector<int>& across,
                                           const std::vector<std::optional<ir::ScanReach>>& reaches,
                                           const SlicePoint& point, std::int64_t room);

/// Shorter lines are not worth being shared out.
inline constexpr std::int64_t kShortestSharedLine = 128;

/// With so many lines or fewer, each block of a scan along memory has a multiprocessor to itself, and is large.
inline constexpr std::int64_t kFewLines = 64;

/// The lines of a scan, or kFewLines + 1 for more; none where the program does not say how many.
std::optional<std::int64_t> line_count(const std::vector<int>& order, int scan,
                                       const std::vector<std::optional<std::int64_t>>& extents);

/// A point is little code where it is `small`, so that a thread may have several.
struct SharedScanPoint {
    bool small = true;
    std::int64_t bytes = 4;  ///< of its value
};

/// For so many `lines`. None where lines are too short.
std::optional<SharedScanTile> make_shared_scan_tile(const std::vector<int>& order, int scan,
                                                    const std::vector<std::optional<std::int64_t>>& extents,
                                                    std::int64_t lines, const SharedScanPoint& point);

}  // namespace pipec::plan
