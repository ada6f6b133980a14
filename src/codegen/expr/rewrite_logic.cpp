// `and` and `or` of data with both sides computed. The language evaluates the right side only where the left one does
// not decide, so that a place can be asked for first: `x > 0 and f(x - 1) > t`. A left side that is made of data
// mostly says nothing of places (both_sides.h); proofs then hold for the right side without it. On a GPU a choice
// between paths then only costs: the right side's reads wait for the left side, and cannot be shared with those of
// neighbouring points.
#include <algorithm>
#include <optional>

#include "codegen/expr/rewrite.h"
#include "fusion/written_out.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

/// Nodes of a right side that is computed in any case; the same where some stand in a window, of which neighbouring
/// points have most in common.
constexpr std::int64_t kShortNodes = 64, kWindowNodes = 512;

/// Nodes, those in windows once for each place of it; none where there are more than kWindowNodes, or another loop.
std::optional<std::int64_t> nodes_of(const ir::Expr& e, bool& has_window) {
    std::int64_t count = 1;
    if (const auto* reduce = ir::as<ir::Reduce>(e)) {
        has_window = true;
        if (!fusion::written_out(*reduce)) return std::nullopt;
        for (const ir::Range& range : reduce->ranges) {
            const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi);
            if (!lo || !hi) return std::nullopt;
            count *= std::clamp<std::int64_t>(*hi - *lo, 0, kWindowNodes + 1);
            if (count > kWindowNodes) return std::nullopt;
        }
        const auto body = nodes_of(reduce->body, has_window);
        return body && count * *body <= kWindowNodes ? std::optional(count * *body) : std::nullopt;
    }
    for (const ir::Expr& child : ir::children(e)) {
        const auto more = nodes_of(child, has_window);
        if (!more || (count += *more) > kWindowNodes) return std::nullopt;
    }
    return count;
}

}  // namespace

/// Few nodes, and no loop among them.
bool Rewriter::is_short(const ir::Expr& root) {
    bool has_window = false;
    const auto nodes = nodes_of(root, has_window);
    return nodes && (has_window || *nodes <= kShortNodes);
}

bool Rewriter::takes_both(const ir::Binary& n) {
    return both_sides_ && ir::is_logical(n.op) && conditions_.ask_data(n.a) && is_short(n.b);
}

/// A condition as 0 or 1.
ir::Expr Rewriter::number_of(const ir::Expr& condition) {
    const auto* n = ir::as<ir::Binary>(condition);
    if (n != nullptr && n->op == BinaryOp::Ne && numbers_.count(n->a.get()) > 0) return n->a;
    return unique(ir::cast(Type::Int32, condition));
}

/// `a and b`, `a or b` of rewritten conditions, without a choice between paths.
ir::Expr Rewriter::both_of(BinaryOp op, const ir::Expr& a, const ir::Expr& b) {
    const ir::Expr lazy = unique(fold(unique(ir::binary(op, a, b))));
    const auto* n = ir::as<ir::Binary>(lazy);
    if (n == nullptr || n->op != op || n->a != a || n->b != b) return lazy;  // one side is known
    const BinaryOp bits = op == BinaryOp::Or ? BinaryOp::BitOr : BinaryOp::BitAnd;
    const ir::Expr number = unique(ir::binary(bits, number_of(a), number_of(b)));
    numbers_.insert(number.get());
    return unique(ir::binary(BinaryOp::Ne, number, unique(ir::int_constant(Type::Int32, 0))));
}

}  // namespace pipec::codegen
