// What is decided about the execution of a pipeline, as plain data: which stages are computed inside of others, which
// are fused into one kernel, and how that kernel is tiled. What a schedule leaves open (Choices) plans and code
// generation decide, and say what they have decided.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::fusion {

enum class Strategy : std::uint8_t {
    Stage,         ///< one kernel for one stage, through global memory: always legal
    Otptb,         ///< overlapped tiles in shared memory, one for each thread block
    Otpw,          ///< overlapped tiles in shared memory, one for each warp
    Hybrid,        ///< as Otpw, a part of each tile in registers (paper, section "Hybrid Tiling")
    RegisterTile,  ///< one overlapped tile for each warp, in registers only
    Stream,        ///< a strip for each block, which marches along it; windows of rows in shared memory
    Scan           ///< a stage that reads itself, and stages that read its values at their own points only
};
/// RegisterTile: a dimension of the group that lies inside of the columns and has no more points is in every lane as a
/// whole (channels).
inline constexpr std::int64_t kShortExtent = 8;
/// "stage", "otptb", ...: of the strategy's entry (fusion/strategy.h).
std::string_view name(Strategy strategy);

/// How inputs and stages in global memory are read: the compiler's choice, through L1 (transactions of 128 bytes), or
/// through L2 only (32 bytes); the paper's "size of global memory transactions".
enum class LoadCache : std::uint8_t { Default, Ca, Cg };

/// The dimensions along which the blocks of a kernel go through its tiles, from the one that changes with every block.
/// Dimensions that the group lacks are left out; those outside of z come last.
enum class BlockOrder : std::uint8_t { Xyz, Xzy, Yxz, Yzx, Zxy, Zyx };
/// Whether the tiles at the ends of all rows, which take longer, are computed before the others.
enum class EdgeTiles : std::uint8_t { First, InOrder };
/// The way through the rows of tiles: from the first one to the last, or back.
enum class Direction : std::uint8_t { Forward, Backward };
/// RegisterTile: the code at the edges of the image. It computes all rows of a tile at once, or a few at a time; it
/// loads first what that takes, or each element late, where it is used, which takes the fewest registers.
enum class EdgeCode : std::uint8_t { Whole, Sliced, WholeLate, SlicedLate };
/// The versions of a kernel for arrays with various alignments: all that there are, or those that a kernel cannot do
/// without, the widest accesses and single elements.
enum class AccessWidths : std::uint8_t { All, Few };

/// How the updates of an `accumulate` that share targets are made, in the order of the enumerators; 0: the compiler
/// decides.
struct HistogramShape {
    enum Part : std::uint8_t {
        Threads,     ///< of a block
        Rows,        ///< of points that a thread has at once
        Copies,      ///< of the table in shared memory, by neighbouring threads: a power of two to 32
        Blocks,      ///< of a multiprocessor, each of which takes its turn until the points are used up
        Merge,       ///< 2: a thread whose neighbouring points have one target makes one update of them; 1: it does not
        Parts,       ///< of the table, each with blocks of its own that see all points
        RegionRows,  ///< where a table is too large: the rows and columns of points that a block has,
        RegionColumns  ///< which reach a part of it
    };
    std::array<int, 8> parts{};
    [[nodiscard]] int operator[](Part part) const { return parts.at(part); }
    int& operator[](Part part) { return parts.at(part); }
    friend bool operator==(const HistogramShape&, const HistogramShape&) = default;
};

/// What else decides the speed of a kernel. Nothing means `auto`: the compiler decides.
struct Choices {
    std::optional<BlockOrder> block_order;      ///< all but Stage, as the next two
    std::optional<EdgeTiles> edge_tiles;        ///< where tiles at the edges have code of their own
    std::optional<Direction> direction;         ///< auto: kernels of a program take turns
    std::optional<int> min_blocks;              ///< for which a multiprocessor has registers; 0: nvcc chooses
    std::optional<bool> packed;                 ///< RegisterTile: small integers lie two in a register
    std::optional<EdgeCode> edges;              ///< RegisterTile
    std::optional<AccessWidths> access_widths;  ///< Otptb and Otpw (with vectors), RegisterTile
    std::optional<std::array<int, 2>> threads;  ///< Stage: of a block, along the columns and the rows of a stage
    std::optional<int> columns;                 ///< Stage: adjacent points of a thread, where accesses are wide
    std::optional<bool> shared_lanes;         ///< Stage: where points are few, a warp shares out each one's reductions
    std::optional<HistogramShape> histogram;  ///< Stage: of updates that share targets
    friend bool operator==(const Choices&, const Choices&) = default;
};

/// Stages in one kernel. Sizes are in x, y, z: the group's last dimension, the one before, and the one before that.
struct GroupSchedule {
    std::vector<std::string> stages;
    Strategy strategy = Strategy::Stage;
    std::array<int, 3> block{32, 8, 1};  ///< threads of a block
    /// Points of a thread. For RegisterTile: x is the number of adjacent columns of a lane, y and z the tile's rows and
    /// planes. For Stream y is the number of steps of a march.
    std::array<int, 3> tile{1, 1, 1};
    int vector = 1;       ///< Otptb, Otpw: adjacent columns that a lane computes and moves at once; divides tile[0]
    int split = 0;        ///< Hybrid: the dimension (0, 1, 2: x, y, z) that is cut into shared memory and registers
    double frac_reg = 1;  ///< Hybrid: the part of the split dimension's tile[split] iterations that is in registers
    LoadCache load_cache = LoadCache::Default;
    int prefetch = 0;  ///< RegisterTile: rows of inputs that are on their way into shared memory; 0: into registers
    Choices choices{};
    friend bool operator==(const GroupSchedule&, const GroupSchedule&) = default;
};

struct Schedule {
    std::vector<std::string> inlined;   ///< stages computed inside of their readers
    std::vector<GroupSchedule> groups;  ///< stages in none are groups of their own, with Strategy::Stage
    std::string origin{};               ///< how it was made, for people; empty: by nobody in particular
};

/// A schedule that does not fit the program, as a sentence.
struct ScheduleError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Cheap stages inside of their readers, each of the others by itself.
Schedule stage_schedule(const ir::Pipeline& pipeline, const poly::Model& model);

/// Stages (by index) of each group, all stages of `pipeline` (what inlining left) in exactly one, in an order in which
/// groups can run. `number[i]` is the schedule's group, -1 for stages in none. Throws ScheduleError for unknown names,
/// stages in two groups, and groups that would have to wait for each other.
struct OrderedGroups {
    std::vector<std::vector<int>> stages;
    std::vector<int> number;
};
OrderedGroups order_groups(const ir::Pipeline& pipeline, const Schedule& schedule);

/// The kernels of a group with Strategy::Stage, in the order of its stages: pure ones with the same points, of which
/// none reads another one, share a kernel, every other stage has its own.
std::vector<std::vector<int>> stage_kernels(const ir::Pipeline& pipeline, const poly::Model& model,
                                            const std::vector<int>& stages);

/// The stages (by index) that the schedule computes inside of their readers. Throws ScheduleError.
std::vector<int> inlined_stages(const ir::Pipeline& pipeline, const Schedule& schedule);

}  // namespace pipec::fusion
