// What of a scan's definition does not depend on the scan itself. Points of one line wait for each other only in the
// rest; these terms can be computed for many points at once.
#pragma once

#include <functional>
#include <vector>

#include "codegen/expr/rewrite.h"
#include "ir/pipeline.h"

namespace pipec::codegen {

struct ScanTerm {
    ir::VarId var;    ///< stands for it in ScanTerms::value
    ir::Expr value;   ///< reads something, but not the scan
    ir::Expr needed;  ///< where it has to be evaluated; elsewhere it may be out of bounds. Null: everywhere
};

struct ScanTerms {
    std::vector<ScanTerm> terms;
    /// Of the points 1, 2, ... before the point.
    std::vector<ir::VarId> before;
    /// The definition, over the dimensions' variables, those of the terms, and `before`.
    ir::Expr value;
};

/// `value` is an instance (no lets) over the dimensions' own variables, in which `stage`, which has number `index`,
/// reads itself. Adds variables to `pipeline`.
ScanTerms scan_terms(ir::Pipeline& pipeline, const ir::Stage& stage, int index, const ir::Expr& value);

}  // namespace pipec::codegen
