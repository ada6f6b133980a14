// Groups without a cost model: as many stages in one kernel as can be. For trials of one strategy.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "fusion/schedule.h"
#include "poly/group.h"

namespace pipec::fusion {

/// How a group is to run; nothing where it cannot. The stages are filled in by who asks.
using Propose = std::function<std::optional<GroupSchedule>(const poly::Group& group)>;

/// All pure stages in one group where that is legal and something is proposed for it. Otherwise, in the program's
/// order, each pure stage joins the groups that it reads: all of them if it can, else the last one that it can join,
/// else none. Stages for which nothing is proposed, not even alone, are in no group. Where a group is possible, so are
/// those on the way to it, which then are not asked about.
std::vector<GroupSchedule> grow_groups(const ir::Pipeline& pipeline, const poly::Model& model,
                                       const std::vector<poly::Dependence>& dependences, const Propose& propose);

}  // namespace pipec::fusion
