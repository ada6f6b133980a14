// Points of a row that have code of their own: one for each remainder of the row's index, where that decides what is
// computed (x / 2, x % 2), and one for each plane of the dimensions inside of it. What they have in common is found
// once, conditions on them are gone, and vectors are made of their values side by side.
#pragma once

#include <cstdint>

#include "codegen/emit/host/host_nest.h"
#include "codegen/expr/rewrite.h"

namespace pipec::codegen {

/// `value` is an instance of `rewriter` over the dimensions' own variables. Adds variables to `pipeline`.
RowCode find_row_code(ir::Pipeline& pipeline, Rewriter& rewriter, const ir::Stage& stage, const poly::Domain& domain,
                      const Nest& nest, const ir::Expr& value);

/// How many points of a row have code of their own, as far as the stage's definition tells.
std::int64_t own_points(const ir::Stage& stage, const poly::Domain& domain, const Nest& nest, const ir::Expr& value);

}  // namespace pipec::codegen
