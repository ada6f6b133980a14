// Sizes whose values decide how fast a pipeline can be, and that mostly have few: such a pipeline gets code of its own
// for these values, beside the code for all (passes.h).
//
// Channels: `C` of `img: uint8[H, W, C]`, where the elements of a pixel lie side by side. Lanes of a warp go along the
// innermost dimension, and three channels keep three of 32 busy; where the number is known they go along whole rows. Of
// another small number they may go along channels and columns.
//
// Features: K and D of a sum(n in 0..N) r(n, k) * x(n, d) over many samples. Of few features the sums are few and long,
// and many threads share out each of them (share_reductions.h).
//
// Defaults of parameters: `r: int32 = 3` as the radius of a window. A window of known size is written out, neighbours
// share what they read, and blocks of threads are as large as a search of known range.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/known_sizes.h"
#include "ir/pipeline.h"

namespace pipec::fusion {

struct UsualVersion {
    std::vector<ir::KnownSize> known;
    std::vector<ir::KnownSize> most{};  ///< sizes that are at most so much
};

/// What a size of `most` is taken for in schedules.
inline constexpr std::int64_t kUsualChannels = 8;

/// What is known in each version that a pipeline should have, the ones with most first, so that the first that fits a
/// launch is the best; none where it would be much code.
std::vector<UsualVersion> usual_versions(const ir::Pipeline& pipeline);

}  // namespace pipec::fusion
