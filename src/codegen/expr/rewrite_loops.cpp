// Reductions in instances: those of few iterations are written out, others stay loops, whose variables are shared.
#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/expr/rewrite.h"
#include "fusion/written_out.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

/// A reduction in `e` has one of these variables.
bool binds_any(const ir::Expr& e, const std::vector<ir::Range>& ranges) {
    bool found = false;
    ir::for_each_node(e, [&](const ir::Expr& node) {
        const auto* reduce = ir::as<ir::Reduce>(node);
        if (reduce == nullptr) return;
        for (const ir::Range& a : reduce->ranges) {
            for (const ir::Range& b : ranges) found = found || a.var == b.var;
        }
    });
    return found;
}

}  // namespace

/// The variable of a loop, lo <= var < hi as Int32: only domains are known to end below the limit.
void Rewriter::loop_index(ir::VarId var, const ir::Expr& lo, const ir::Expr& hi) {
    std::vector<poly::IntRange> sizes;
    for (const auto& [least, greatest] : sizes_) sizes.push_back({least, greatest});
    poly::ValueRanges ranges(pipeline_, std::move(sizes));
    for (const auto& [known, is] : index_) ranges.bind(known, poly::IntRange{is.least, is.end});
    const auto least = static_cast<std::int64_t>(ranges.integer(lo).lo);
    const auto end = static_cast<std::int64_t>(ranges.integer(hi).hi);
    index(var);
    index_[var] = {1, least, std::max(least, end)};
}

ir::Expr Rewriter::bound(const ir::Expr& e) {
    const bool outer = std::exchange(in_bound_, true);
    ir::Expr result = rewrite(e);
    in_bound_ = outer;
    return result;
}

/// Folds the iterations from `range` inward; false where a bound is no constant.
bool Rewriter::unroll(const ir::Reduce& n, std::size_t range, Folded& folded) {
    if (range == n.ranges.size()) {
        memo_.emplace_back();
        const ir::Expr next = rewrite(n.body);
        memo_.pop_back();
        const BinaryOp op = n.op == ir::ReduceOp::Any   ? BinaryOp::Or
                            : n.op == ir::ReduceOp::All ? BinaryOp::And
                                                        : ir::fold_op(n.op);
        if (ir::gives_place(n.op)) {
            const ir::Expr better = unique(fold(unique(ir::binary(ir::better_op(n.op), next, folded.total))));
            const ir::Expr& here = bindings_.at(n.ranges[static_cast<std::size_t>(n.place)].var);
            folded.place = unique(fold(unique(ir::select(better, here, folded.place))));
        }
        // Terms are in bounds whatever the terms before are.
        folded.total = both_sides_ && ir::is_logical(op) && is_short(n.body)
                           ? both_of(op, folded.total, next)
                           : unique(fold(unique(ir::binary(op, folded.total, next))));
        return true;
    }
    memo_.emplace_back();
    const auto lo = ir::as_int(bound(n.ranges[range].lo)), hi = ir::as_int(bound(n.ranges[range].hi));
    memo_.pop_back();
    if (!lo || !hi) return false;
    for (std::int64_t i = *lo; i < *hi; ++i) {
        bindings_[n.ranges[range].var] = ir::int_constant(Type::Int32, i);
        if (!unroll(n, range + 1, folded)) return false;
    }
    return true;
}

ir::Expr Rewriter::reduce(const ir::Expr& e, const ir::Reduce& n) {
    // What was too long stays a loop, also where the loops in it have been written out since.
    const bool stays = kept_loops_.count(n.ranges.front().var) > 0;
    const bool is_written =
        !stays && fusion::written_out(n, most_written_, [&](const ir::Expr& at) { return ir::as_int(bound(at)); });
    const auto beside = !stays && !is_written && side_by_side_ && open_loops_.empty()
                            ? fusion::side_by_side(n, *side_by_side_)
                            : std::nullopt;
    if (beside) kept_loops_.insert(beside->loop->ranges.front().var);
    if (beside && !beside->places.empty()) {
        const ir::Expr places = ir::reduce(n.op, beside->places, beside->loop->body, e->range);
        return reduce(e, {n.op, beside->loop->ranges, places});
    }
    if (is_written || beside) {
        const bool gives_place = ir::gives_place(n.op);
        Folded folded{unique(ir::identity(n.op, n.body->type)),
                      gives_place ? bound(n.ranges[static_cast<std::size_t>(n.place)].lo) : nullptr};
        if (unroll(n, 0, folded)) return gives_place ? folded.place : folded.total;
    }
    // Loops over the same range have the same variable, so that what their terms share is one node: one loop can then
    // compute them all. Not where one is in the other.
    for (const bool shared : {true, false}) {
        std::vector<ir::Range> ranges;
        memo_.emplace_back();
        for (const ir::Range& range : n.ranges) {
            const ir::Expr lo = bound(range.lo), hi = bound(range.hi);
            const ir::VarId var = loop_variable(range.var, lo, hi, shared);
            bindings_[range.var] = ir::variable(var, Type::Int32);
            ranges.push_back({var, lo, hi});
            open_loops_.push_back(var);
            if (ir::as_int(lo) && ir::as_int(hi)) kept_loops_.insert(var);
        }
        const ir::Expr body = rewrite(n.body);
        memo_.pop_back();
        open_loops_.resize(open_loops_.size() - ranges.size());
        if (shared && binds_any(body, ranges)) continue;
        return unique(ir::reduce_like(n, std::move(ranges), body, e->range));
    }
    return nullptr;
}

/// A variable for a loop over lo..hi: with `shared`, that of other loops over this range which are closed.
ir::VarId Rewriter::loop_variable(ir::VarId like, const ir::Expr& lo, const ir::Expr& hi, bool shared) {
    std::vector<ir::VarId>& known = loops_[{lo.get(), hi.get()}];
    if (shared) {
        for (const ir::VarId var : known) {
            if (std::ranges::find(open_loops_, var) == open_loops_.end()) return var;
        }
    }
    const ir::VarId var = ir::new_variable(pipeline_, pipeline_.variables.at(static_cast<std::size_t>(like)).name);
    loop_index(var, lo, hi);
    known.push_back(var);
    return var;
}

}  // namespace pipec::codegen
