// Register tiles: how a group lies in the registers of a warp.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "fusion/group_shape.h"
#include "plan/plan.h"

namespace pipec::plan {

/// The tiles that a schedule asks for, with all lanes of use.
std::variant<Plan, Refusal> make_register_tile(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule);

/// The same plan with other columns of a lane: `part` times fewer. A block's warps then stand side by side, so that
/// what a block reads of a row stays as long, and lanes of a quarter of the columns have twice the rows.
Plan with_fewer_columns(const fusion::GroupShape& shape, Plan plan, std::int64_t part);

/// What says in a kernel's name which accesses it makes: "_wide16", "_wide16_8"; nothing for single elements.
std::string access_suffix(const RegisterTile& tile);

/// Leaves `left` and `right` lanes for their neighbours; more on the right so that stored strips begin and end with
/// sectors of global memory, where that costs no more than an eighth of the lanes.
void leave_lanes(const fusion::GroupShape& shape, Plan& plan, std::int64_t left, std::int64_t right);

/// Lanes of `lanes` that store, of which each stores `bytes` of a row: whole sectors, unless fewer than `least` would.
std::int64_t storing_lanes(std::int64_t lanes, std::int64_t bytes, std::int64_t least);

/// The least that a lane with so many columns stores of a row, up to a sector.
std::int64_t stored_bytes(const fusion::GroupShape& shape, std::size_t lane_dim, std::int64_t columns);

}  // namespace pipec::plan
