// What a condition says of the parts of an expression, where it holds and where it does not: `0 <= v and v < 1` of `v`
// in `int32(v * 256)`, and `n < 17` of `n` in `n + 1`.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ir/visit.h"
#include "poly/value_ranges.h"

namespace pipec::poly {

namespace {

using ir::BinaryOp;

/// Comparisons of a condition that count, nodes of one side of one, and of what it may say something about.
constexpr std::size_t kMostComparisons = 8;
constexpr std::int64_t kMostNodesOfSide = 32, kMostNodesOfBranch = 256;
/// Conditions that are taken to hold, one inside of another: expressions are graphs, whose nodes many of them reach.
constexpr std::size_t kMostAssumed = 4;
/// Nodes that are looked at for all conditions together.
constexpr std::int64_t kMostNodesOfAll = 200'000;

/// What holds where a comparison of integers does not.
BinaryOp negated(BinaryOp op) {
    switch (op) {
        case BinaryOp::Eq: return BinaryOp::Ne;
        case BinaryOp::Ne: return BinaryOp::Eq;
        case BinaryOp::Lt: return BinaryOp::Ge;
        case BinaryOp::Le: return BinaryOp::Gt;
        case BinaryOp::Gt: return BinaryOp::Le;
        default: return BinaryOp::Lt;
    }
}

/// The same comparison with its sides exchanged.
BinaryOp mirrored(BinaryOp op) {
    switch (op) {
        case BinaryOp::Lt: return BinaryOp::Gt;
        case BinaryOp::Le: return BinaryOp::Ge;
        case BinaryOp::Gt: return BinaryOp::Lt;
        case BinaryOp::Ge: return BinaryOp::Le;
        default: return op;
    }
}

/// What is left of `a` where `a op b`.
IntRange where_compared(BinaryOp op, IntRange a, const IntRange& b) {
    switch (op) {
        case BinaryOp::Eq: return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
        case BinaryOp::Ne:
            if (b.lo == b.hi && a.lo == b.lo) ++a.lo;
            if (b.lo == b.hi && a.hi == b.lo) --a.hi;
            return a;
        case BinaryOp::Lt: return {a.lo, std::min(a.hi, b.hi - 1)};
        case BinaryOp::Le: return {a.lo, std::min(a.hi, b.hi)};
        case BinaryOp::Gt: return {std::max(a.lo, b.lo + 1), a.hi};
        default: return {std::max(a.lo, b.lo), a.hi};
    }
}

/// The neighbour of a float of the type towards an infinity; of float16, the number itself.
double beside(ir::Type type, double v, double towards) {
    if (type == ir::Type::Float64) return std::nextafter(v, towards);
    if (type == ir::Type::Float32)
        return static_cast<double>(std::nextafter(static_cast<float>(v), static_cast<float>(towards)));
    return v;
}

/// What is left of `a` where `a op b`: neither is NaN there. `type`: of both.
FloatRange where_compared(BinaryOp op, ir::Type type, const FloatRange& a, const FloatRange& b) {
    switch (op) {
        case BinaryOp::Eq: return {std::max(a.lo, b.lo), std::min(a.hi, b.hi), false};
        case BinaryOp::Lt: return {a.lo, std::min(a.hi, beside(type, b.hi, -kInfinity)), false};
        case BinaryOp::Le: return {a.lo, std::min(a.hi, b.hi), false};
        case BinaryOp::Gt: return {std::max(a.lo, beside(type, b.lo, kInfinity)), a.hi, false};
        case BinaryOp::Ge: return {std::max(a.lo, b.lo), a.hi, false};
        default: return a;  // != holds for NaN, too
    }
}

/// What is left of `a` where `a op b` does not hold: any NaN makes a comparison fail, except `!=`.
FloatRange where_not_compared(BinaryOp op, ir::Type type, const FloatRange& a, const FloatRange& b) {
    if (op == BinaryOp::Ne) return where_compared(BinaryOp::Eq, type, a, b);
    if (op == BinaryOp::Eq || b.nan) return a;
    FloatRange result = where_compared(negated(op), type, a, b);
    result.nan = a.nan;
    return result;
}

bool is_empty(const ValueRange& range) {
    return std::visit([](const auto& r) { return r.lo > r.hi; }, range);
}

bool is_constant(const ir::Expr& e) {
    return ir::as<ir::IntConstant>(e) != nullptr || ir::as<ir::FloatConstant>(e) != nullptr;
}

}  // namespace

void ValueRanges::assume_of(const Given& given, std::vector<Assumed>& assumed) {
    const ir::Expr& e = given.condition;
    if (assumed_.size() >= kMostAssumed || assumed.size() > 2 * kMostComparisons) return;
    if (const auto* let = ir::as<ir::Let>(e)) {
        bind(let->var, let->value);
        assume_of({let->body, given.truth}, assumed);
    } else if (const auto* var = ir::as<ir::Variable>(e)) {
        if (const auto known = lets_.find(var->id); known != lets_.end()) {
            assume_of({known->second, given.truth}, assumed);
        }
    } else if (const auto* unary = ir::as<ir::Unary>(e)) {
        if (unary->op == ir::UnaryOp::Not) assume_of({unary->a, !given.truth}, assumed);
    } else if (const auto* n = ir::as<ir::Binary>(e)) {
        if (n->op == (given.truth ? BinaryOp::And : BinaryOp::Or)) {
            assume_of({n->a, given.truth}, assumed);
            assume_of({n->b, given.truth}, assumed);
        } else if (ir::is_comparison(n->op) && n->a->type != ir::Type::Bool) {
            assume_comparison(*n, given.truth, assumed);
        }
    }
}

void ValueRanges::assume_comparison(const ir::Binary& comparison, bool truth, std::vector<Assumed>& assumed) {
    const bool floats = ir::is_float(comparison.a->type);
    if (floats && !believes_floats_) return;
    const auto assume = [&](const auto& self, const ir::Expr& part, BinaryOp op, const ir::Expr& other) -> void {
        // The operand in the middle of `0 <= v < 1` is a let, and so may be any other.
        if (const auto* variable = ir::as<ir::Variable>(part)) {
            if (const auto let = lets_.find(variable->id); let != lets_.end()) self(self, let->second, op, other);
        }
        if (is_constant(part) || ir::node_count(part) > kMostNodesOfSide) return;
        const auto is_part = [&](const Assumed& a) { return ir::structurally_equal(a.part, part); };
        const auto known = std::ranges::find_if(assumed, is_part);
        const auto known_before = [&]() -> ValueRange {
            if (known != assumed.end()) return known->range;
            if (assumed_.empty()) return of(part);
            const auto outer = std::ranges::find_if(assumed_.back(), is_part);
            return outer != assumed_.back().end() ? outer->range : of(part);
        };
        const ValueRange before = known_before();
        ValueRange range = before;
        if (floats) {
            const auto a = std::get<FloatRange>(before), b = std::get<FloatRange>(of(other));
            range = truth ? where_compared(op, part->type, a, b) : where_not_compared(op, part->type, a, b);
        } else {
            range = where_compared(truth ? op : negated(op), std::get<IntRange>(before), integer(other));
        }
        // Where nothing is left, the condition never is so: what is known without it is right as well.
        if (range == before || is_empty(range)) return;
        if (known != assumed.end())
            known->range = range;
        else
            assumed.push_back({part, range});
    };
    assume(assume, comparison.a, comparison.op, comparison.b);
    assume(assume, comparison.b, mirrored(comparison.op), comparison.a);
}

std::vector<ValueRanges::Assumed> ValueRanges::occurrences(const std::vector<Assumed>& parts, const ir::Expr& e) {
    std::vector<Assumed> all = parts;
    if (!assumed_.empty()) {
        for (const Assumed& outer : assumed_.back()) {
            const bool again = std::ranges::any_of(
                parts, [&](const Assumed& a) { return ir::structurally_equal(a.part, outer.part); });
            if (!again) all.push_back(outer);
        }
    }
    std::vector<Assumed> found;
    std::set<const ir::Node*> seen;
    bool any_new = false, too_many = false;
    const auto look = [&](const auto& self, const ir::Expr& root) -> void {
        if (too_many || !seen.insert(root.get()).second) return;
        too_many = ++assumed_nodes_ > kMostNodesOfAll || static_cast<std::int64_t>(seen.size()) > kMostNodesOfBranch;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].part->type != root->type || !ir::structurally_equal(all[i].part, root)) continue;
            found.push_back({root, all[i].range});
            any_new = any_new || i < parts.size();
        }
        if (const auto* var = ir::as<ir::Variable>(root)) {
            if (const auto let = lets_.find(var->id); let != lets_.end()) self(self, let->second);
        }
        ir::for_each_child(*root, [&](const ir::Expr& child) { self(self, child); });
    };
    look(look, e);
    return any_new && !too_many ? found : std::vector<Assumed>{};
}

void ValueRanges::begin_assuming(std::vector<Assumed> assumed) {
    assumed_.push_back(std::move(assumed));
    remember_assumed();
    for (Assumed& part : assumed_.back()) {
        // A sum that may wrap is not what its terms give.
        const bool is_integer = std::holds_alternative<IntRange>(part.range);
        part.exact = is_integer && fits(unwrapped(part.part), part.part->type);
    }
    remember_assumed();
}

void ValueRanges::remember_assumed() {
    for (const Assumed& part : assumed_.back()) {
        known_.insert_or_assign(part.part, part.range);
        if (part.exact) known_unwrapped_.insert_or_assign(part.part, std::get<IntRange>(part.range));
    }
}

}  // namespace pipec::poly
