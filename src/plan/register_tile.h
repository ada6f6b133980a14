// Register tiles: how a group lies in the registers of a warp.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "fusion/group_shape.h"
#include "plan/plan.h"

namespace pipec::plan {

/// The tiles that a schedule asks for, with all lanes of use, to be completed (tiles.h).
std::variant<Plan, Refusal> make_register_tile(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule);

/// How many times fewer columns lanes have where they access single elements: arrays that lie anywhere.
std::int64_t part_for_elements(const fusion::GroupShape& shape);
/// Columns of a lane that has `part` times fewer.
std::int64_t fewer_columns(const fusion::GroupShape& shape, const RegisterTile& tile, std::int64_t part);

/// The same plan with other columns of a lane: `part` times fewer. A block's warps then stand side by side, so that
/// what a block reads of a row stays as long, and lanes of a quarter of the columns have twice the rows.
Plan with_fewer_columns(const fusion::GroupShape& shape, Plan plan, std::int64_t part);

/// What says in a kernel's name which accesses it makes: "_wide16", "_wide16_8"; nothing for single elements.
std::string access_suffix(const RegisterTile& tile);

/// Leaves `left` and `right` lanes for their neighbours; more on the right so that stored strips begin and end with
/// sectors of global memory, where that costs no more than an eighth of the lanes.
void leave_lanes(const fusion::GroupShape& shape, Plan& plan, std::int64_t left, std::int64_t right);
/// The same, to be completed.
void cut_lanes(const fusion::GroupShape& shape, Plan& plan, std::int64_t left, std::int64_t right);

}  // namespace pipec::plan
