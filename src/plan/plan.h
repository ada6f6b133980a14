// How one kernel computes a group of stages, as data: integers only, no text and no code. It follows from the group,
// the program's types and constant ranges, and a schedule, and holds for all sizes. Cost models count it, code
// generation emits it, `pipec explain` and `--emit plan` print it.
//
// clang-format off
//     tile            what a thread group computes of the group's outputs: a box in group coordinates (poly/group.h)
//     thread group    the threads that compute a tile: a warp, or a block; they share what is kept in shared memory
//     lane            a thread's number in its thread group, in x, y and z: the group's last dimension and those before
//     halo            points of a stage that a tile computes although they belong to the tiles beside it
//     scratch         shared memory that arrays with different lifetimes have in common
// clang-format on
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fusion/gpu.h"
#include "fusion/schedule.h"
#include "ir/expr.h"
#include "plan/march.h"
#include "poly/group.h"

namespace pipec::plan {

using fusion::kWarp;
inline constexpr std::int64_t kSectorBytes = 32;  ///< of global memory that move together

/// How one dimension of the group is cut into tiles.
struct Cut {
    std::int64_t size = 1;  ///< group coordinates of a tile: a multiple of poly::tile_unit
    int lanes = 1;          ///< threads of a thread group
    int thread_groups = 1;  ///< tiles of a block
    int vector = 1;         ///< adjacent points that a lane computes and moves at once
    /// Tiles of the interior may begin at multiples of this, in group coordinates (a divisor of the size): those that
    /// would reach out of it are moved inward. 0: they stay where they are.
    std::int64_t step = 0;
    std::int64_t cover = 0;  ///< group coordinates from its beginning that a moved tile can compute; 0: its size
};

/// The points of a stage that a tile computes.
struct Part {
    /// By dimension of the stage: from the tile's first own point; of a dimension that is computed as a whole its
    /// range.
    std::vector<poly::TileExtent> extent;
    [[nodiscard]] std::int64_t points() const;
};

/// Where tiles lie, who computes them, and how much.
struct Tiles {
    std::array<int, 3> block{32, 1, 1};             ///< threads of a block, in x, y, z
    std::array<int, 3> lanes{32, 1, 1};             ///< threads of a thread group
    bool by_warp = false;                           ///< each warp is a thread group; otherwise the block is
    std::vector<Cut> cuts;                          ///< by group dimension
    std::vector<Part> parts;                        ///< by member of the group, in its order
    std::optional<fusion::BlockOrder> asked_order;  ///< what the schedule says of `order`
    /// Group dimensions from the one whose tiles vary fastest from block to block.
    std::vector<std::size_t> order;
    bool ends_first = true;  ///< blocks compute tiles at the ends of rows before others, where these have edges

    [[nodiscard]] int threads() const { return block[0] * block[1] * block[2]; }
    [[nodiscard]] int threads_of_group() const { return lanes[0] * lanes[1] * lanes[2]; }
    [[nodiscard]] std::int64_t thread_groups() const;  ///< of a block
};

/// What a thread group keeps of a stage in shared memory.
struct SharedArray {
    std::size_t member = 0;             ///< of the group
    std::vector<std::int64_t> extents;  ///< elements by dimension of the stage, padding included
    std::int64_t bytes = 0;             ///< of one thread group
    std::size_t first = 0, last = 0;    ///< members during whose computation it is needed
    std::int64_t offset = -1;           ///< in the thread group's scratch; -1: it has memory of its own
};
struct SharedMemory {
    std::vector<SharedArray> arrays;  ///< in the order of their members
    std::int64_t scratch = 0;         ///< bytes of a thread group
    std::int64_t bytes = 0;           ///< of a block, all of it
    std::vector<bool> waits;    ///< by member: the thread group meets at a barrier before it is computed (not Stream)
    std::int64_t barriers = 0;  ///< at which a thread group meets for a tile, those inside of accumulates too
};

/// How a tile of Hybrid, or a piece of it, is divided into shared memory and registers.
struct HybridTile {
    struct Part {
        std::vector<poly::TileExtent> extent;  ///< by dimension of the stage; all that are computed
        /// The right-most `iterations` * lanes points of the split dimension are computed by the lanes in step,
        /// iteration after iteration. Aligning them to the stage's own right end makes the tile's pieces parallelograms
        /// parallel to its right hyperplane: whatever is read lies at the same number or at an earlier one.
        std::int64_t iterations = 0;
        std::optional<std::size_t> split;    ///< the stage's dimension that is the group's split dimension
        bool in_registers = false;           ///< what the iterations compute is kept there only
        std::int64_t offset = 0, bytes = 0;  ///< of its array, in the thread group's scratch; no bytes: it has none
    };
    std::size_t split_dim = 0;       ///< of the group
    std::vector<std::int64_t> size;  ///< by group dimension: divides the tile's size
    std::vector<Part> parts;         ///< by member
    std::int64_t scratch = 0;        ///< bytes of a thread group
};

/// Columns of an array in global memory, as reads say them: dimension `dim`, of which a lane has `columns`.
struct ColumnsOf {
    ir::Source array;
    std::size_t dim = 0;
    std::int64_t columns = 1;
    friend auto operator<=>(const ColumnsOf&, const ColumnsOf&) = default;
};
/// How many lanes further a lane's own columns of an array are than those of the same number; no entry stands for 0.
using Homes = std::map<ColumnsOf, std::int64_t>;

/// A register tile: one warp, each lane of which has a few adjacent columns.
struct RegisterTile {
    std::size_t lane_dim = 0;            ///< of the group: columns
    std::optional<std::size_t> row_dim;  ///< rows
    std::int64_t columns = 1;            ///< of a lane, in group coordinates
    std::int64_t left = 0, right = 0;    ///< lanes that compute for their neighbours only
    std::vector<std::int64_t> shift;     ///< of members: a lane's first column is `shift` behind where its tile's is
    Homes homes;
    /// Bytes of the widest accesses to global memory; 0 for single elements of arrays that lie anywhere.
    std::int64_t load_bytes = 16, store_bytes = 16;
    int prefetch = 0;  ///< rows that are copied ahead into shared memory; 0: all are loaded into registers first
    std::optional<bool> packed;             ///< small integers lie two in a register; nothing: where there is room
    std::optional<fusion::EdgeCode> edges;  ///< nothing: the first way that takes no more registers than the interior
};

struct Plan {
    fusion::Strategy strategy = fusion::Strategy::Otptb;
    Tiles tiles;
    SharedMemory shared;                    ///< Otptb, Otpw, Stream
    std::optional<HybridTile> hybrid;       ///< Hybrid: of tiles in the interior
    std::optional<March> march;             ///< Stream
    std::optional<RegisterTile> registers;  ///< RegisterTile
};

/// Why there is no plan, as a sentence.
using Refusal = std::string;

}  // namespace pipec::plan
