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

/// From the definitions, producers first. Accumulates have the range of their type, and so has a scan of which no range
/// is found that its values keep. Dimensions without an explicit range have those of `boxes`, which may be empty, or
/// that of any index. `with_floats`: conditions on floats count (see ValueRanges::believe_float_conditions).
StageRanges stage_ranges(const ir::Pipeline& pipeline, const std::vector<IntRange>& sizes,
                         const std::vector<ValueRange>& params, const KnownBoxes& boxes = {}, bool with_floats = false);

/// The values of a scan, by induction: where what it reads of itself is in the range, so is what it gives, and the
/// first points read nothing of it. Where no range is found so, what it gives whatever it reads of itself. `ranges`:
/// with the scan as the last stage that is known, and its dimensions bound; what it knows of the scan is changed.
ValueRange scan_range(ValueRanges& ranges, const ir::Stage& stage, int index);

/// A stage's index variables lie in its domain's box from now on.
void bind_points(ValueRanges& ranges, const ir::Stage& stage, const std::vector<Interval>& box);

}  // namespace pipec::poly
