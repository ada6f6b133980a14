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

/// A stage that reads the scan, and other such stages, at its own point, computed with it.
struct ScanReader {
    int index = -1;
    ir::VarId own = -1;  ///< stands for its value
    ir::Expr value;      ///< over what ScanTerms::value is over, ScanTerms::own, and `own` of the readers before
    ir::Expr exists;     ///< which of the scan's points it has. Null: all
};

struct ScanTerms {
    std::vector<ScanTerm> terms;
    std::size_t of_scan = 0;  ///< those of the scan itself; the ones behind them are only of readers
    /// Of the points 1, 2, ... before the point; none where the scan reads itself at other lines.
    std::vector<ir::VarId> before;
    /// The definition, over the dimensions' variables, those of the terms, and `before` or the scan itself.
    ir::Expr value;
    ir::VarId own = -1;  ///< of the point itself
    std::vector<ScanReader> readers;
};

/// One condition negates the other. A null condition is true.
bool excludes(const ir::Expr& a, const ir::Expr& b);

/// Whether what a term reads exists at all points of the scan, whatever conditions it stands behind.
using IsCertain = std::function<bool(const ir::Expr&)>;

/// `value` is an instance (no lets) over the dimensions' own variables, in which `stage`, which has number `index`,
/// reads itself. So are the values of `readers`, over the same variables, with reads of the scan and of readers before.
/// Adds variables to `pipeline`.
ScanTerms scan_terms(ir::Pipeline& pipeline, const ir::Stage& stage, int index, const ir::Expr& value,
                     std::vector<ScanReader> readers, const IsCertain& is_certain);

}  // namespace pipec::codegen
