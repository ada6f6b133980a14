// What all tiles of a group have in common: derived from its facts once, before any tile is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "cost/patch_work.h"
#include "cost/tile_work.h"
#include "fusion/group_facts.h"
#include "plan/lane_patches.h"
#include "plan/plan.h"

namespace pipec::cost {

/// Places, from the first to the last one.
struct Places {
    std::int64_t first = INT64_MIN, last = INT64_MAX;
    void cut(std::int64_t from, std::int64_t to);
};

/// Bytes of the elements that a group loads from and stores to global memory.
struct Widths {
    int least = 16, widest = 0;
};

/// A load of a member.
struct MemberLoad {
    const fusion::Load* load = nullptr;
    int member = -1;        ///< that it reads; -1: it reads global memory
    std::size_t array = 0;  ///< what it reads, by number in ir::Source's order
};

struct MemberCounts {
    std::vector<MemberLoad> loads;
    /// By dimension: points that exist and whose reads are all in their arrays.
    std::vector<Places> inner;
    plan::PatchReads reads;
    plan::PatchAxes lanes, patches;  ///< plan::lane_axes, plan::patch_axes
    std::int64_t cell_columns = 1;   ///< plan::columns_of_cell
    std::size_t first_extent = 0;    ///< in Extents: of its first dimension
};

/// `facts` outlives it.
class GroupCounts {
public:
    explicit GroupCounts(const GroupFacts& facts);

    const GroupFacts& facts;
    std::vector<MemberCounts> members;
    std::vector<ir::Source> arrays;  ///< that members read, sorted
    Traffic traffic;
    Widths widths;
    /// Bytes to which rows of all arrays in global memory are aligned, at most 16: wider accesses are impossible.
    int row_alignment = 16;

    /// patch_work: patches of all tiles of a group are few, and each is counted once.
    const PatchWork& patch(std::size_t m, const PatchAxes& axes, std::int64_t columns, std::int64_t rows);
    /// Rows of a patch along the member's `patches` that registers and the instruction cache have room for.
    std::int64_t most_rows(std::size_t m, std::int64_t columns);

private:
    struct KnownPatch {
        std::uint64_t key = 0;
        PatchWork work;
    };
    std::vector<std::deque<KnownPatch>> patches_;                                ///< by member
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> most_rows_;  ///< by member: columns, rows
};

/// Points that a tile computes of each member, by dimension.
class Extents {
public:
    Extents(const GroupCounts& group, const std::vector<plan::Cut>& cuts);
    [[nodiscard]] double of(std::size_t m, std::size_t d) const { return points_[group_.members[m].first_extent + d]; }

private:
    const GroupCounts& group_;
    std::vector<double> points_;
};

}  // namespace pipec::cost
