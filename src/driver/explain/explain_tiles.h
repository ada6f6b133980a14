// The tiles of a group, as numbers for people: what a tile is, and what of each stage it computes.
#pragma once

#include "driver/explain/explain_report.h"
#include "fusion/group_facts.h"

namespace pipec::driver::explain {

/// Fills in `tile`, `warp_tile`, `redundant`, and the parts of the stages, which stand in the order of the group's
/// members. Nothing for Strategy::Stage.
void describe_tiles(const fusion::GroupFacts& facts, GroupReport& report);

}  // namespace pipec::driver::explain
