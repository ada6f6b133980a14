// Accumulates over whole images, in parts: each part's updates give a table of their own, and the sum (product,
// minimum, maximum) of these tables is the accumulate's. That holds where the order of updates cannot be told: of
// integers, with one operator.
#pragma once

#include <vector>

#include "fusion/inline.h"

namespace pipec::fusion {

/// Of a part: the loop runs over from <= variable < to, as far as it exists.
struct ClippedLoop {
    int from = -1, to = -1;    ///< sizes of the pipeline, which are parameters
    int input = -1, dim = -1;  ///< the loop goes through this dimension of this input
};

struct PartialAccumulate {
    int stage = -1;   ///< gives the table of one part
    int merged = -1;  ///< combines those of all parts: it reads `stage` with the number of the part as first index
    int count = -1;   ///< the size that is the number of parts
    std::vector<ClippedLoop> loops;
};

/// A pipeline with such accumulates. It is for phases.cpp alone, which makes arrays of the tables of all parts.
struct Partial {
    Inlined program;
    int params = 0, sizes = 0;  ///< those of the pipeline; the ones behind them belong to parts
    std::vector<PartialAccumulate> accumulates;
    /// The accumulate whose parts this stage computes; null: it is none.
    [[nodiscard]] const PartialAccumulate* of(int stage) const;
};

/// What updates read is computed by stages of their own, over the loops of the part: so a part needs no more of the
/// inputs than its loops ask for.
Partial partial_accumulates(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
