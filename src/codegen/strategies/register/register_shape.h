// The plan of a register tile, with what making its code has found.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "fusion/refused.h"
#include "ir/expr.h"
#include "plan/plan.h"

namespace pipec::codegen {

/// Why a group has no register tile. Thrown.
using Refusal = fusion::Refused;

struct RegisterShape {
    plan::Plan plan;
    std::set<ir::Source> fetched_sums;  ///< arrays whose column sums come from other lanes, not their elements
    bool halves = true;                 ///< small integers lie two in a register
    /// The first of RegisterCode's ways to write the code at the edges that may take no more registers than the
    /// interior does: those before it are known to take more.
    std::size_t edge_way = 0;
};

}  // namespace pipec::codegen
