// `and` and `or` of data with both sides computed. The language evaluates the right side only where the left one does
// not decide, so that a place can be asked for first: `x > 0 and f(x - 1) > t`. A left side that is made of data
// mostly says nothing of places (both_sides.h); proofs then hold for the right side without it. On a GPU a choice
// between paths then only costs: the right side's reads wait for the left side, and cannot be shared with those of
// neighbouring points.
#include <vector>

#include "codegen/expr/rewrite.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

/// Nodes of a right side that is computed in any case.
constexpr std::size_t kShortNodes = 64;

}  // namespace

/// Few nodes, and no loop among them.
bool Rewriter::is_short(const ir::Expr& root) {
    std::vector<ir::Expr> stack{root};
    for (std::size_t count = 0; !stack.empty(); ++count) {
        const ir::Expr e = std::move(stack.back());
        stack.pop_back();
        if (count == kShortNodes || ir::as<ir::Reduce>(e) != nullptr) return false;
        ir::for_each_child(*e, [&](const ir::Expr& child) { stack.push_back(child); });
    }
    return true;
}

/// Whether each condition that `e` is made of reads something.
bool Rewriter::says_data(const ir::Expr& e) {
    const auto known = says_data_.find(e);
    if (known != says_data_.end()) return known->second;
    bool result = false;
    const auto* n = ir::as<ir::Binary>(e);
    const auto* negated = ir::as<ir::Unary>(e);
    if (n != nullptr && ir::is_logical(n->op)) {
        result = says_data(n->a) && says_data(n->b);
    } else if (negated != nullptr && negated->op == ir::UnaryOp::Not) {
        result = says_data(negated->a);
    } else {
        result = ir::has_reads(e);
    }
    says_data_.emplace(e, result);
    return result;
}

bool Rewriter::takes_both(const ir::Binary& n) {
    return both_sides_ && ir::is_logical(n.op) && says_data(n.a) && is_short(n.b);
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
