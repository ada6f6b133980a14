// What the host takes for a group of stages, as a cost model for the search, which counts the group's plan
// (plan/host_tiles.h): operations in vectors, the bytes that go through memory, what tiles compute twice.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "fusion/automatic.h"
#include "fusion/cpu.h"

namespace pipec::cost {

/// Predicted times in seconds of Strategy::Stage, and of Strategy::Otptb with one thread for each tile, on one core.
/// The schedules of such groups have the tile that takes the least time.
fusion::CostModel host_cost_model(const fusion::Cpu& cpu);
fusion::FusionOptions host_fusion_options();

/// Tables: stages that read nothing, call functions of the C library, and have far fewer points than their readers.
/// Computed inside of their readers they would be computed again for each of these.
std::set<std::string> host_tables(const ir::Pipeline& pipeline, const poly::Model& model,
                                  const std::vector<std::int64_t>& sizes);

}  // namespace pipec::cost
