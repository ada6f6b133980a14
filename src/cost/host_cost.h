// What the host takes for a group of stages, as a cost model for the search, which counts the group's plan
// (plan/host_tiles.h): operations in vectors, the bytes that go through memory, what tiles compute twice.
#pragma once

#include "fusion/automatic.h"
#include "fusion/cpu.h"

namespace pipec::cost {

/// Predicted times in seconds of Strategy::Stage, and of Strategy::Otptb with one thread for each tile, on one core.
/// The schedules of such groups have the tile that takes the least time.
fusion::CostModel host_cost_model(const fusion::Cpu& cpu);
fusion::FusionOptions host_fusion_options();

}  // namespace pipec::cost
