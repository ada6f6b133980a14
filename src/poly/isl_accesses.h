// What one stage reads and writes, where: its definition walked once, with the conditions under which each part is
// evaluated as isl sets.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/pipeline.h"
#include "poly/isl_affine.h"
#include "poly/model.h"

namespace pipec::poly {

/// A read of a source, or (`is_write`) an accumulate's update of its own stage.
struct Access {
    ir::Source source;
    ir::Expr expr;  ///< the Read; null for a write
    bool is_write = false;
    SourceRange range;
    std::vector<ir::Expr> indices;
    std::vector<isl::pw_aff> values;
    std::vector<int> no_wrap;
    int guard = 0;
};

/// An `if` without `else`: `cond` must hold wherever the guard does.
struct Case {
    ir::Expr select;
    isl::set uncovered;  ///< where the condition is false
    int guard = 0;
};

/// An obligation of a condition or of a loop's bounds, under a guard.
struct GuardedNoWrap {
    int obligation;
    int guard;
};

/// Guards are sets over the stage's dimensions, reduction variables, sizes and opaque values, with the opaque values'
/// intervals; guard 0 is everything. The stage's domain is not part of them.
struct StageAccesses {
    std::vector<isl::set> guards;
    std::vector<Access> accesses;
    std::vector<Case> cases;
    std::vector<GuardedNoWrap> no_wrap;
    std::vector<CastRange> casts;  ///< see Model::casts
};

/// Walks the definition of stage `index`. The dimensions' ranges must be bound in `ranges`.
StageAccesses find_accesses(const IslContext& isl, const ir::Pipeline& pipeline, int index, AffineTranslator& affine,
                            ValueRanges& ranges);

}  // namespace pipec::poly
