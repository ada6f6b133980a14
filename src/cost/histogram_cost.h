// The time of an accumulate whose updates go where data say (docs/cost-model.md): nothing about it is searched. It
// counts the blocks, parts and copies that the plan of its table has (plan/histogram_table.h).
#pragma once

#include <optional>

#include "cost/time_cost.h"
#include "fusion/gpu.h"
#include "fusion/group_facts.h"

namespace pipec::cost {

/// None for other stages. `asked`: what the schedule says of the plan.
std::optional<TimePrediction> predict_histogram(const fusion::StageFacts& stage, const Gpu& gpu,
                                                const fusion::HistogramShape& asked);

}  // namespace pipec::cost
