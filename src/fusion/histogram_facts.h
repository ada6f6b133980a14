// What the time of an accumulate depends on whose updates go where data say: how many there are, and how large its
// table is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::fusion {

struct HistogramFacts {
    double updates = 0;        ///< at all points of their loops
    double table_bytes = 0;    ///< for the sizes that costs are counted for
    bool is_constant = false;  ///< the table has them for all sizes
    bool follows = false;  ///< some index of a target follows the loops: an area of points reaches a part of the table
};

/// `bytes` of the stage, for `sizes`. None for pure stages, and where no index of a target depends on data.
std::optional<HistogramFacts> histogram_facts(const ir::Stage& stage, double bytes,
                                              const std::vector<std::int64_t>& sizes);

}  // namespace pipec::fusion
