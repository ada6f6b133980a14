// How a group lies in the registers of a warp: what a register tile is made from.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/kernel_ir.h"
#include "codegen/tile_space.h"
#include "fusion/schedule.h"
#include "poly/group.h"

namespace pipec::codegen {

/// Why a group has no register tile, as a sentence. Thrown.
using Refusal = std::string;

struct RegisterShape {
    std::size_t lane_dim = 0;            ///< of the group: columns
    std::optional<std::size_t> row_dim;  ///< rows
    std::int64_t columns = 1;            ///< of a lane, in group coordinates
    std::int64_t left = 0, right = 0;    ///< lanes that store nothing
    std::vector<std::int64_t> shift;     ///< of members: a lane's first column is `shift` behind where its tile's is
    std::vector<TileSpace::Cut> cuts;
    std::set<ir::Source> fetched_sums;  ///< arrays whose column sums come from other lanes, not their elements
    bool halves = true;                 ///< small integers lie two in a register
    /// The first of RegisterCode's ways to write the code at the edges that may take no more registers than the
    /// interior does: those before it are known to take more.
    std::size_t edge_way = 0;
    /// Bytes of the widest accesses to global memory; 0 for single elements of arrays that lie anywhere.
    std::int64_t load_bytes = 16, store_bytes = 16;
    /// All rows have the values of the first: not code to run, but it asks the same lanes for values.
    bool one_row = false;
    int prefetch = 0;  ///< rows that are copied ahead into shared memory; 0: all are loaded into registers first
};

/// The shape that a schedule asks for, without lanes that store nothing. Throws a Refusal.
RegisterShape register_shape(const kernel::Program& program, const poly::Group& group,
                             const fusion::GroupSchedule& schedule);

/// The same with other numbers of columns and of lanes that store nothing; `right` is rounded up so that stored strips
/// begin and end with sectors of global memory, where that costs no more than an eighth of the lanes.
RegisterShape with_lanes(const kernel::Program& program, const poly::Group& group, RegisterShape shape,
                         std::int64_t left, std::int64_t right);

}  // namespace pipec::codegen
