#include "ir/reduction.h"

#include <algorithm>
#include <utility>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::ir {

namespace {

bool uses_variable(const Expr& e, const std::vector<Range>& of) {
    bool result = false;
    for_each_node(e, [&](const Expr& node) {
        const auto* variable = as<Variable>(node);
        if (variable == nullptr) return;
        result = result || std::ranges::any_of(of, [&](const Range& r) { return r.var == variable->id; });
    });
    return result;
}

}  // namespace

bool depends_on_blocks(ReduceOp op, Type type) {
    return is_float(type) && (op == ReduceOp::Sum || op == ReduceOp::Prod);
}

bool depends_on_order(ReduceOp op, Type type) {
    return is_float(type) || gives_place(op);
}

Expr reduce_nest(ReduceOp op, std::vector<Range> ranges, const Expr& body, SourceRange range) {
    if (!depends_on_order(op, body->type) || gives_place(op)) return reduce(op, std::move(ranges), body, range);
    const bool dependent = std::ranges::any_of(
        ranges, [&](const Range& r) { return uses_variable(r.lo, ranges) || uses_variable(r.hi, ranges); });
    if (dependent) std::ranges::reverse(ranges);
    Expr result = body;
    for (Range& r : ranges) result = reduce(op, {std::move(r)}, result, range);
    return result;
}

}  // namespace pipec::ir
