#include "codegen/expr/exact_expr.h"

#include <algorithm>

#include "codegen/emit/c/c_expr.h"
#include "ir/visit.h"
#include "ir/widen.h"
#include "poly/value_ranges.h"

namespace pipec::codegen {

using ir::BinaryOp;
using poly::IntRange;

namespace {

bool contains(const IntRange& range, poly::Wide value) {
    return range.lo <= value && value <= range.hi;
}

/// The operation itself, on operands that have not left their types.
bool may_overflow(poly::ValueRanges& ranges, const ir::Expr& e) {
    if (!ir::is_int(e->type)) return false;
    const auto is_least = [&](const ir::Expr& a) {
        return ir::is_signed_int(a->type) && contains(ranges.integer(a), ir::int_min(a->type));
    };
    if (const auto* n = ir::as<ir::Call>(e)) return n->fn == ir::Builtin::Abs && is_least(n->args.front());
    if (const auto* n = ir::as<ir::Unary>(e)) {
        return n->op == ir::UnaryOp::Neg && !poly::fits(ranges.unwrapped(e), e->type);
    }
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return false;
    switch (n->op) {
        case BinaryOp::Add:
        case BinaryOp::Sub:
        case BinaryOp::Mul: return !poly::fits(ranges.unwrapped(e), e->type);
        case BinaryOp::Div: return is_least(n->a) && contains(ranges.integer(n->b), -1);
        case BinaryOp::Shl: {
            const IntRange a = ranges.integer(n->a), count = ranges.integer(n->b);
            if (count.lo < 0 || count.hi >= ir::bits(e->type)) return true;
            const poly::Wide factor = poly::Wide{1} << count.hi;
            return !poly::fits({std::min(a.lo, a.lo * factor), std::max(a.hi, a.hi * factor)}, e->type);
        }
        default: return false;
    }
}

}  // namespace

bool may_overflow(const ir::Pipeline& pipeline, const ir::Expr& e) {
    poly::ValueRanges ranges(pipeline, std::vector<IntRange>(pipeline.sizes.size(), kSizeRange));
    ranges.of(e);  // binds the lets
    bool result = false;
    ir::for_each_node(e, [&](const ir::Expr& node) { result = result || may_overflow(ranges, node); });
    return result;
}

ExactExpr exact_expr(const ir::Pipeline& pipeline, const ir::Expr& e) {
    if (!may_overflow(pipeline, e)) return {e, false};
    const ir::Expr wide = ir::widened(e);
    return {wide, may_overflow(pipeline, wide)};
}

}  // namespace pipec::codegen
