// Sizes that count channels: `C` of `img: uint8[H, W, C]`, where the elements of a pixel lie side by side. Lanes of a
// warp go along the innermost dimension, and three channels keep three of 32 busy; where the number is known they go
// along whole rows. So such a pipeline gets code of its own for the usual numbers (passes.h).
#pragma once

#include <cstdint>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::fusion {

/// The sizes, by number, ascending, that are the innermost extent of an input of three or more dimensions, and along
/// which nothing reads beside its own place: every index there is an index variable by itself, or a constant.
std::vector<int> channel_sizes(const ir::Pipeline& pipeline);

/// The numbers of channels that are worth code of their own: none where it would be much code.
std::vector<std::int64_t> usual_channels(const ir::Pipeline& pipeline);

}  // namespace pipec::fusion
