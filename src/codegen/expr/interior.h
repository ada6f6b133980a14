// The part of a stage's domain where boundary conditions have nothing to do: there `clamp(x - 1, 0, C - 1)` is x - 1.
// It is found by taking, at each min, max and comparison of indices, the side that holds for most of the domain, and
// intersecting where these sides hold.
#pragma once

#include <vector>

#include "codegen/expr/rewrite.h"
#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::codegen {

struct Interior {
    std::vector<poly::Interval> box;  ///< for each dimension, within the domain's box
    ir::Expr value;                   ///< equal to the stage's value there
    ir::Expr guard;                   ///< equal to the domain's guard there; null where it holds everywhere
    bool simpler = false;             ///< `value` or `guard` is another expression than outside
};

/// `value` and `guard` (may be null) are instances of `rewriter`, over the dimensions' own variables. `splits` says
/// which dimensions may be restricted; the box of the others stays the domain's.
Interior find_interior(Rewriter& rewriter, const ir::Stage& stage, const poly::Domain& domain, const ir::Expr& value,
                       const ir::Expr& guard, const std::vector<bool>& splits);

}  // namespace pipec::codegen
