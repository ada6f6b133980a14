// Reductions of all that lies before a point, as scans: sum(u in 0..=v) h(u) takes one term more than it does at v - 1,
// and not v of them. A cumulative histogram and an integral image are written like that. Floats are added and
// multiplied in blocks that are counted from the first term (ir/reduction.h), so their sums and products stay as they
// are.
#pragma once

#include "fusion/inline.h"

namespace pipec::fusion {

[[nodiscard]] Inlined prefix_scans(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
