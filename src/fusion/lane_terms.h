// Reductions whose terms the lanes of a warp may share out, where a kernel has few points.
#pragma once

#include <cstdint>

#include "ir/pipeline.h"

namespace pipec::fusion {

/// The lanes of a warp share out reductions of at least as many terms: one for each of them.
inline constexpr std::int64_t kLeastLaneTerms = 32;

struct LaneTerms {
    bool enough = false;  ///< some reduction may have so many, as far as that is known
    /// Terms that follow each other read adjacent elements, and no array has those of adjacent points side by side.
    bool along_memory = false;
};

/// Of the reductions in `value`, of a stage whose innermost dimension in memory is `lane` (-1: it has none).
[[nodiscard]] LaneTerms lane_terms(const ir::Pipeline& pipeline, const ir::Expr& value, ir::VarId lane);

}  // namespace pipec::fusion
