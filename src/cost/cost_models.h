// What the search over groups asks: the cost functions as cost models (fusion/automatic.h).
#pragma once

#include "fusion/automatic.h"
#include "fusion/gpu.h"

namespace pipec::cost {

/// The paper's cost function on a GPU, and the strategies it knows.
fusion::CostModel paper_cost_model(const fusion::Gpu& gpu);

/// Predicted times (time_cost.h), in seconds, of all strategies.
fusion::CostModel time_cost_model(const fusion::Gpu& gpu);
fusion::FusionOptions time_fusion_options(const fusion::Gpu& gpu);

}  // namespace pipec::cost
