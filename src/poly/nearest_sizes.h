// Sizes that a pipeline admits, near given ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::poly {

/// Sizes (by index) that the affine part of `where` and the limits of extents admit, one after the other as near to
/// `wanted` as those before it leave open: the greatest admitted value up to it, else the least above. Those that are
/// `fixed` stay; none where that leaves nothing, or where isl's budget does not suffice.
std::optional<std::vector<std::int64_t>> nearest_sizes(const ir::Pipeline& pipeline,
                                                       const std::vector<std::int64_t>& wanted,
                                                       const std::vector<bool>& fixed);

}  // namespace pipec::poly
