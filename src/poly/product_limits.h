// Products of sizes that `where` limits, as in R * C <= 16777216: an image may have any shape, but so many pixels only.
#pragma once

#include <vector>

#include "ir/pipeline.h"
#include "poly/value_ranges.h"

namespace pipec::poly {

/// The points of loops around each other, of which each alone has no more than `counts` says: the product of these, or
/// less where the loops go over sizes (0..R, 0..C) whose product `where` limits. Saturates as saturated_product does.
Wide limited_product(const ir::Pipeline& pipeline, const std::vector<ir::Range>& loops, std::vector<Wide> counts);

/// Of two numbers within 2^100; saturates there, in both directions.
Wide saturated_product(Wide a, Wide b);

}  // namespace pipec::poly
