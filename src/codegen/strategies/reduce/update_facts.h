// What the form of an update tells about who shares its targets.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "ir/pipeline.h"
#include "poly/gather.h"
#include "poly/model.h"

namespace pipec::codegen {

/// Cells of a table, up to INT32_MAX; none where sizes change them.
std::optional<std::int64_t> constant_cells(const std::vector<poly::Interval>& box);

/// A block keeps a table of its own in shared memory where its points are not dealt out by a plan (histogram_plan.h).
bool keeps_simple_table(ir::Type type, const std::optional<std::int64_t>& cells);

/// The range variables that stand alone, or with a constant added, in a dimension of the target: points that differ in
/// one of them have different targets.
std::set<ir::VarId> owners(const ir::Update& update);

/// Every point has a target of its own.
bool has_own_targets(const ir::Update& update);

/// All points have the same target, whatever the data.
bool has_one_target(const ir::Update& update);

/// Points beside each other, which differ in `var`, may often have the same target: data alone decide, or quotients.
bool may_share_targets(const ir::Update& update, ir::VarId var);

/// A sum or product of floats.
bool rounds(const ir::Update& update);

/// It rounds, and points share targets.
bool depends_on_order(const ir::Update& update);

/// How an accumulate is gathered, where it is: each cell, of the dimensions that are still owned, by one thread. The
/// elements of a cell fit into shared memory, and a cell has few updates, as a thread does them one after the other
/// (any number where that is the only way to keep an order that matters); with few updates a cell, there are many
/// cells. None for other accumulates, and where no points share targets.
std::optional<poly::Gather> gathered(const ir::Stage& stage, bool in_order);

/// `update` with the range variables of `like`, if it has the same domain; none otherwise.
std::optional<ir::Update> with_domain_of(const ir::Update& like, ir::Update update);

}  // namespace pipec::codegen
