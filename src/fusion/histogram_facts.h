// What the time of an accumulate depends on whose points share targets: how many updates there are, and how large its
// table is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::fusion {

/// Points of the loops that a cell of an accumulate may have for one thread to gather them, where the stage is a kernel
/// by itself; with more, threads would work for long while others wait.
inline constexpr std::int64_t kGatheredPoints = 256;

struct HistogramFacts {
    double updates = 0;                       ///< at all points of their loops
    double table_bytes = 0;                   ///< for the sizes that costs are counted for
    bool is_constant = false;                 ///< the table has them for all sizes
    std::optional<std::int64_t> row_cells{};  ///< of a row, where sizes change nothing but the number of rows
    bool follows = false;  ///< some index of a target follows the loops: an area of points reaches a part of the table
};

/// The cells of a row of a table over `box`, where sizes change nothing but the number of rows (of the outermost
/// dimension).
std::optional<std::int64_t> row_cells(const std::vector<poly::Interval>& box);

/// `cells` of the stage, for `sizes`. None for pure stages, and where updates have targets of their own or one target,
/// as far as that shows without data.
std::optional<HistogramFacts> histogram_facts(const ir::Stage& stage, double cells,
                                              const std::vector<std::int64_t>& sizes);

}  // namespace pipec::fusion
