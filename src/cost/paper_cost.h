// The paper's cost function (section "Automatic Fusion for GPUs", Algorithm 2) and its minimisation over tile sizes,
// thread blocks, the part of a tile in registers, and the size of transactions. What the paper leaves open and what was
// done about it is listed in docs/cost-model.md.
#pragma once

#include <array>
#include <optional>

#include "fusion/gpu.h"
#include "fusion/group_facts.h"
#include "fusion/schedule.h"

namespace pipec::cost {

using fusion::Gpu;
using fusion::GroupFacts;
using fusion::GroupSchedule;

/// One of the points over which the cost is minimised.
struct PaperPoint {
    std::array<int, 3> tile{1, 1, 1};    ///< tileSize, of a thread, in x, y, z
    std::array<int, 3> block{32, 1, 1};  ///< tbSize
    int tenths = 0;                      ///< fracRegTile times ten; 0: no hybrid tiling
    int transaction = 32;                ///< GlMemTxSz, bytes: 32 or 128
};

/// What Algorithm 2 computes on the way, and its result. The seven terms are those that w_1 to w_7 weigh.
struct PaperCost {
    double transactions = 0;  ///< totalGLMemTxs
    double occupancy = 0;     ///< its term is 1 - occupancy
    double mem_time = 0;      ///< seconds; its term is mem_time / compute_time
    double compute_time = 0;
    double unallocated_shared = 0;
    double unused_registers = 0;
    double overlap = 0;       ///< fracOverlap
    double extra_blocks = 0;  ///< extraTBs
    double cost = 0;
    double shared_per_block = 0;      ///< shMemPerTB, bytes
    double registers_per_thread = 0;  ///< regPerTh
};

/// Algorithm 2. None is the paper's infinity: a limit of the GPU is exceeded. The block is a whole number of warps.
std::optional<PaperCost> paper_cost(const GroupFacts& facts, const Gpu& gpu, const PaperPoint& point);

/// The dimension (x, y, z) that hybrid tiling splits: the one with the longest tile, the first of those.
int paper_split(const std::array<int, 3>& tile);

struct PaperOptions {
    bool otpw = true;       ///< fracRegTile 0.0
    bool hybrid = true;     ///< 0.1 to 1.0
    int largest_tile = 32;  ///< in each dimension
};
struct PaperChoice {
    PaperPoint point;
    PaperCost cost;
};
/// The point with the least cost; of equals the first one in a fixed order. None where all are infinite.
std::optional<PaperChoice> paper_minimum(const GroupFacts& facts, const Gpu& gpu, const PaperOptions& options = {});

/// A group's schedule at a point: hybrid tiling, overlapped tiles for each warp where nothing is in registers.
GroupSchedule paper_schedule(const ir::Pipeline& pipeline, const GroupFacts& facts, const PaperPoint& point);

}  // namespace pipec::cost
