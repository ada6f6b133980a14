// What `pipec tune` tells the person who waits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "driver/tune/tune_journal.h"
#include "fusion/alternatives.h"
#include "fusion/choice_moves.h"
#include "ir/pipeline.h"

namespace pipec::driver {

/// "R = 1080, C = 1920"
std::string sizes_text(const ir::Pipeline& pipeline, const std::vector<std::int64_t>& sizes);

/// "3 kernels: 2 register_tile, 1 stage", and how the group that was changed is tiled.
std::string describe(const fusion::Alternative& alternative);

/// What the model says of it: "predicted 0.0123", in milliseconds, or "cost 12".
std::string model_text(const fusion::Alternative& alternative, bool costs_are_seconds);

/// "out: packed false": a group goes by its last stage.
std::string describe(const fusion::ChoiceMove& move);

/// One line: which one of how many, its time or why it has none, the model's number (empty: there is none), the best
/// time so far, what it is.
std::string progress_line(const std::pair<std::size_t, std::size_t>& number, const Measurement& measurement,
                          const std::string& model, double best, const std::string& what);

}  // namespace pipec::driver
