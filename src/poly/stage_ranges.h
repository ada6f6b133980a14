// What the stages of a pipeline give, as numeric intervals.
#pragma once

#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"
#include "poly/value_ranges.h"

namespace pipec::poly {

struct StageRanges {
    std::vector<ValueRange> values;  ///< of each stage, at all points of its domain
    std::vector<CastRange> casts;    ///< see Model::casts: of the stages whose values are in less than their type
};

/// From the definitions, producers first. Accumulates, and what a scan reads of itself, have the range of their type.
/// Dimensions without an explicit range have those of `boxes`, which may be empty, or that of any index.
StageRanges stage_ranges(const ir::Pipeline& pipeline, const std::vector<IntRange>& sizes,
                         const std::vector<ValueRange>& params, const KnownBoxes& boxes = {});

/// A stage's index variables lie in its domain's box from now on.
void bind_points(ValueRanges& ranges, const ir::Stage& stage, const std::vector<Interval>& box);

}  // namespace pipec::poly
