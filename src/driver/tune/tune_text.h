// What `pipec tune` tells the person who waits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "driver/tune/tune_journal.h"
#include "fusion/alternatives.h"
#include "ir/pipeline.h"

namespace pipec::driver {

/// "R = 1080, C = 1920"
std::string sizes_text(const ir::Pipeline& pipeline, const std::vector<std::int64_t>& sizes);

/// "3 kernels: 2 register_tile, 1 stage", and how the group that was changed is tiled.
std::string describe(const fusion::Alternative& alternative);

/// One line: which one of how many, its time or why it has none, the model's number, the best time so far, what it is.
std::string progress_line(const std::pair<std::size_t, std::size_t>& number, const Measurement& measurement,
                          const fusion::Alternative& alternative, bool costs_are_seconds, double best);

}  // namespace pipec::driver
