// Scans that can be shared out along their lines: a point's value is the one before it combined with a term of the
// point's own by an associative operator, or the term alone.
#pragma once

#include <functional>
#include <optional>

#include "ir/pipeline.h"

namespace pipec::ir {

/// value = restart ? term : op(before, term). Where nothing was before, too: then the term stands for op(identity,
/// term).
struct AssociativeScan {
    std::optional<BinaryOp> op;  ///< none: a point takes over the value before it, unless it restarts
    bool term_first = false;     ///< op(term, before): it can tell its operands apart (minima of 0 and -0)
    Expr term;
    Expr restart;   ///< Bool
    Expr identity;  ///< what any value combined with is itself; null where there is no operator
};

/// `value` is the definition of a scan whose reads of itself are the expressions for which `is_before` holds, all of
/// the point right before. None where that is no associative scan: integers, minima, maxima and values that are taken
/// over are, with `fast_math` sums and products of floats, too. The bits do not depend on how the points are combined,
/// except for these.
[[nodiscard]] std::optional<AssociativeScan> associative_scan(const Expr& value,
                                                              const std::function<bool(const Expr&)>& is_before,
                                                              bool fast_math);

/// The stage, which has number `index`, is such a scan.
[[nodiscard]] bool is_associative_scan(const Stage& stage, int index, bool fast_math);

/// The earlier value combined with the later one.
[[nodiscard]] Expr combined(const AssociativeScan& scan, const Expr& earlier, const Expr& later);

}  // namespace pipec::ir
