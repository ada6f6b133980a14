// Sums and products of integers that can leave their type, while their terms are far from its ends.
#pragma once

#include <vector>

#include "ir/pipeline.h"
#include "poly/isl_sizes.h"
#include "poly/model.h"
#include "support/diagnostics.h"

namespace pipec::poly {

/// Extents that a warning counts on: images are that large, and rarely larger. `where` can say less.
constexpr long kUsualExtent = 16384;

/// Warns of reductions and updates of accumulates whose largest total, over images whose extents are at most
/// kUsualExtent, does not fit their type. Terms that can reach an end of the type themselves are not warned about:
/// of them, two are too many. `domains` has every stage. What is too expensive to find out is left out.
void warn_of_overflowing_sums(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes,
                              const std::vector<Domain>& domains, Diagnostics& diags);

}  // namespace pipec::poly
