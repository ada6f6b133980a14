// The time of an accumulate whose updates go where data say (docs/cost-model.md): nothing about it is searched.
#pragma once

#include <optional>

#include "cost/time_cost.h"
#include "fusion/gpu.h"
#include "fusion/group_facts.h"

namespace pipec::cost {

/// None for other stages.
std::optional<TimePrediction> predict_histogram(const fusion::StageFacts& stage, const Gpu& gpu);

}  // namespace pipec::cost
