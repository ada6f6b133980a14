// In which order a reduction combines its terms: one definition for the interpreter, for generated code and for the
// passes that share a reduction out.
//
// Over one variable, floats are added and multiplied in blocks of kBlockTerms terms, each from its first term to its
// last; the results of the blocks are combined the same way, until one is left. So the tree's shape depends on the
// number of terms alone, a reduction of up to kBlockTerms terms goes from left to right, and
//
//     sum(i in 0..n) f(i) = sum(b in 0..ceil(n / 64)) sum(s in 0..min(64, n - 64 b)) f(64 b + s)
//
// holds bit by bit. All other reductions give the same in blocks of any length: minima and maxima of floats as long as
// the terms keep their order, and integers and Bool in any order at all.
#pragma once

#include <vector>

#include "ir/expr.h"

namespace pipec::ir {

inline constexpr std::int64_t kBlockTerms = 64;

/// The result tells in which blocks the terms were combined.
[[nodiscard]] bool depends_on_blocks(ReduceOp op, Type type);
/// The result tells in which order the terms came.
[[nodiscard]] bool depends_on_order(ReduceOp op, Type type);

/// The reduction's identity may stand among the terms: not beside minima and maxima of floats, which may be NaN, and
/// where the place of a term is the result.
[[nodiscard]] bool may_have_identity(ReduceOp op, Type type);

/// `e` has one of the variables of these ranges.
[[nodiscard]] bool uses_variable(const Expr& e, const std::vector<Range>& of);

/// `body` at each point of the ranges, the last variable fastest, where all bounds are constants and the results have
/// no more than `most_nodes` nodes together; else none.
[[nodiscard]] std::vector<Expr> terms_at(const std::vector<Range>& ranges, const Expr& body, std::int64_t most_nodes);

/// A reduction over several variables as the language means it: where the order can be told and no bound uses another
/// variable, one over the first variable inside of one over the next, and so on; where a bound does, the last variable
/// is the innermost. Then each Reduce has one range. Where the order cannot be told, a constant window of more than
/// 2 * kBlockTerms points is a reduction of its rows. Not for places, which are found over all variables at once.
[[nodiscard]] Expr reduce_nest(ReduceOp op, std::vector<Range> ranges, const Expr& body, SourceRange range = {});

}  // namespace pipec::ir
