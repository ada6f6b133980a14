#include "fusion/conditions.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "ir/build.h"
#include "ir/linear_sum.h"
#include "ir/visit.h"

namespace pipec::fusion {

using ir::BinaryOp;
using ir::Type;

namespace {

/// Constants that sizes may be moved by: nothing wraps.
constexpr std::int64_t kMostOffset = 1 << 28;

std::optional<BinaryOp> opposite(BinaryOp op) {
    switch (op) {
        case BinaryOp::Eq: return BinaryOp::Ne;
        case BinaryOp::Ne: return BinaryOp::Eq;
        case BinaryOp::Lt: return BinaryOp::Ge;
        case BinaryOp::Ge: return BinaryOp::Lt;
        case BinaryOp::Le: return BinaryOp::Gt;
        case BinaryOp::Gt: return BinaryOp::Le;
        default: return std::nullopt;
    }
}

/// The operator with its operands exchanged.
BinaryOp mirrored(BinaryOp op) {
    switch (op) {
        case BinaryOp::Lt: return BinaryOp::Gt;
        case BinaryOp::Gt: return BinaryOp::Lt;
        case BinaryOp::Le: return BinaryOp::Ge;
        case BinaryOp::Ge: return BinaryOp::Le;
        default: return op;
    }
}

/// What bounds of a domain may be made of.
bool is_bound(const ir::Expr& e) {
    if (e->type != Type::Int32) return false;
    if (const auto constant = ir::as_int(e)) return std::abs(*constant) <= kMostOffset;
    if (ir::as<ir::SizeRef>(e) != nullptr) return true;
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return false;
    switch (n->op) {
        case BinaryOp::Add:
        case BinaryOp::Sub:
        case BinaryOp::Min:
        case BinaryOp::Max: return is_bound(n->a) && is_bound(n->b);
        case BinaryOp::Div:
        case BinaryOp::Mod: return is_bound(n->a) && ir::as_int(n->b).value_or(0) > 0;
        default: return false;
    }
}

ir::Expr moved(const ir::Expr& e, std::int64_t by) {
    const auto [rest, known] = ir::with_offset(e);
    by += known;
    if (by == 0) return rest;
    return ir::binary(by > 0 ? BinaryOp::Add : BinaryOp::Sub, rest, ir::int_constant(Type::Int32, std::abs(by)));
}

ir::Expr either(BinaryOp op, const ir::Expr& a, const ir::Expr& b) {
    const auto known = ir::constant_difference(a, b);
    if (!known) return ir::binary(op, a, b);
    return (*known < 0) == (op == BinaryOp::Min) ? a : b;
}

/// The place's points with first <= var < end, either of them null where it does not matter.
void restrict(Place& place, const ir::Expr& first, const ir::Expr& end) {
    const ir::Expr lo = first ? either(BinaryOp::Max, place.lo, first) : place.lo;
    const ir::Expr hi = end ? either(BinaryOp::Min, place.hi, end) : place.hi;
    const bool same = ir::constant_difference(lo, place.lo) == 0 && ir::constant_difference(hi, place.hi) == 0;
    const auto length = ir::constant_difference(hi, lo);
    place = {place.var, lo, hi, length ? *length > 0 : same && place.never_empty};
}

}  // namespace

std::set<ir::VarId> variables_of(const ir::Expr& e) {
    std::set<ir::VarId> result;
    ir::for_each_node(e, [&](const ir::Expr& node) {
        if (const auto* variable = ir::as<ir::Variable>(node)) result.insert(variable->id);
    });
    return result;
}

std::set<ir::VarId> free_variables(const ir::Expr& e) {
    std::set<ir::VarId> result = variables_of(e);
    ir::for_each_node(e, [&](const ir::Expr& node) {
        if (const auto* let = ir::as<ir::Let>(node)) result.erase(let->var);
        if (const auto* reduce = ir::as<ir::Reduce>(node)) {
            for (const ir::Range& range : reduce->ranges) result.erase(range.var);
        }
    });
    return result;
}

std::vector<ir::Expr> conjuncts(const ir::Expr& condition, bool truth) {
    if (const auto* n = ir::as<ir::Unary>(condition); n != nullptr && n->op == ir::UnaryOp::Not) {
        return conjuncts(n->a, !truth);
    }
    const auto* n = ir::as<ir::Binary>(condition);
    if (n != nullptr && n->op == (truth ? BinaryOp::And : BinaryOp::Or)) {
        std::vector<ir::Expr> result = conjuncts(n->a, truth);
        const std::vector<ir::Expr> right = conjuncts(n->b, truth);
        result.insert(result.end(), right.begin(), right.end());
        return result;
    }
    if (truth) return {condition};
    // Not of floats: none of these holds of NaN.
    if (n != nullptr && ir::is_int(n->a->type)) {
        if (const auto op = opposite(n->op)) return {ir::binary(*op, n->a, n->b, condition->range)};
    }
    return {ir::unary(ir::UnaryOp::Not, condition, condition->range)};
}

bool is_of_sizes(const ir::Expr& condition) {
    const auto* n = ir::as<ir::Binary>(condition);
    return n != nullptr && ir::is_comparison(n->op) && is_bound(n->a) && is_bound(n->b);
}

bool narrow(Places& places, std::map<ir::VarId, ir::Expr>& fixed, const ir::Expr& condition) {
    const auto* n = ir::as<ir::Binary>(condition);
    if (n == nullptr || !ir::is_comparison(n->op)) return false;
    for (const bool mirror : {false, true}) {
        const auto [rest, by] = ir::with_offset(mirror ? n->b : n->a);
        const ir::Expr& other = mirror ? n->a : n->b;
        const auto* variable = ir::as<ir::Variable>(rest);
        if (variable == nullptr || std::abs(by) > kMostOffset || !is_bound(other)) continue;
        const auto place = std::ranges::find_if(places, [&](const Place& p) { return p.var == variable->id; });
        if (place == places.end()) continue;
        const ir::Expr bound = moved(other, -by), next = moved(bound, 1);
        switch (mirror ? mirrored(n->op) : n->op) {
            case BinaryOp::Lt: restrict(*place, nullptr, bound); return true;
            case BinaryOp::Le: restrict(*place, nullptr, next); return true;
            case BinaryOp::Gt: restrict(*place, next, nullptr); return true;
            case BinaryOp::Ge: restrict(*place, bound, nullptr); return true;
            case BinaryOp::Eq: {
                // The first point of what has points is one of them.
                const bool is_first = place->never_empty && ir::constant_difference(bound, place->lo) == 0;
                restrict(*place, bound, is_first ? nullptr : next);
                if (is_first) *place = {place->var, bound, next, true};
                fixed[place->var] = bound;
                return true;
            }
            case BinaryOp::Ne:
                if (ir::constant_difference(bound, place->lo) == 0) {
                    restrict(*place, next, nullptr);
                    return true;
                }
                if (ir::constant_difference(next, place->hi) == 0) {
                    restrict(*place, nullptr, bound);
                    return true;
                }
                return false;
            default: return false;
        }
    }
    return false;
}

}  // namespace pipec::fusion
