#include "ir/associative.h"

#include <cmath>
#include <unordered_map>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::ir {

namespace {

bool is_constant(const Expr& e, bool value) {
    return e->type == Type::Bool && as_int(e) == (value ? 1 : 0);
}

/// `cond ? then : otherwise` of Bools and others, where it is less than that.
Expr choice(const Expr& cond, const Expr& then, const Expr& otherwise) {
    if (then == otherwise || structurally_equal(then, otherwise)) return then;
    if (is_constant(then, true) && is_constant(otherwise, false)) return cond;
    if (is_constant(then, false) && is_constant(otherwise, true)) return unary(UnaryOp::Not, cond);
    if (is_constant(then, true)) return binary(BinaryOp::Or, cond, otherwise);
    if (is_constant(otherwise, false)) return binary(BinaryOp::And, cond, then);
    return select(cond, then, otherwise);
}

/// Minus has the negated term. None for operators that are not associative, or not of that type.
std::optional<BinaryOp> associative(BinaryOp op, Type type, bool fast_math) {
    const bool rounded = (type == Type::Float32 || type == Type::Float64) && fast_math;
    switch (op) {
        case BinaryOp::Add:
        case BinaryOp::Sub:
            if (is_int(type) || rounded) return BinaryOp::Add;
            return std::nullopt;
        case BinaryOp::Mul:
            if (is_int(type) || rounded) return op;
            return std::nullopt;
        case BinaryOp::Min:
        case BinaryOp::Max: return op;
        case BinaryOp::BitAnd:
        case BinaryOp::BitOr:
        case BinaryOp::BitXor: return op;
        default: return std::nullopt;
    }
}

/// NaN for extremes of floats, which give the other operand then: infinity would hide a line of NaN.
Expr identity_of(BinaryOp op, Type type) {
    switch (op) {
        case BinaryOp::Mul: return identity(ReduceOp::Prod, type);
        case BinaryOp::Min:
        case BinaryOp::Max:
            if (is_float(type)) return float_constant(type, std::nan(""));
            return identity(op == BinaryOp::Min ? ReduceOp::Min : ReduceOp::Max, type);
        case BinaryOp::BitAnd: return int_constant(type, wrap_to(type, -1));
        default: return identity(ReduceOp::Sum, type);
    }
}

class Finder {
public:
    Finder(const std::function<bool(const Expr&)>& is_before, bool fast_math)
        : is_before_(is_before), fast_math_(fast_math) {}

    std::optional<AssociativeScan> find(const Expr& value) {
        if (!has_before(value) || !operators_of(value)) return std::nullopt;
        if (result_.op) result_.identity = identity_of(*result_.op, value->type);
        before_ = result_.op ? result_.identity : identity(ReduceOp::Any, Type::Bool);
        if (!result_.op && value->type != Type::Bool) before_ = constant(value->type, 0);
        const Part part = part_of(value);
        result_.term = part.term;
        result_.restart = part.restart;
        return result_;
    }

private:
    struct Part {
        Expr restart, term;
    };

    bool has_before(const Expr& e) {
        if (const auto known = has_before_.find(e.get()); known != has_before_.end()) return known->second;
        bool result = is_before_(e);
        for_each_child(*e, [&](const Expr& child) { result = has_before(child) || result; });
        return has_before_[e.get()] = result;
    }

    /// Finds the one operator. False where another expression stands around the value before.
    bool operators_of(const Expr& e) {
        if (!has_before(e) || is_before_(e)) return true;
        if (!seen_.emplace(e.get(), true).second) return true;
        if (const auto* n = as<Select>(e)) {
            return n->otherwise && !has_before(n->cond) && operators_of(n->then) && operators_of(n->otherwise);
        }
        if (const auto* n = as<Let>(e)) return !has_before(n->value) && operators_of(n->body);
        const auto* n = as<Binary>(e);
        if (n == nullptr || (has_before(n->a) && has_before(n->b))) return false;
        const Expr& inner = has_before(n->a) ? n->a : n->b;
        if (is_logical(n->op)) return operators_of(inner);
        const auto op = associative(n->op, e->type, fast_math_);
        const bool term_first = has_before(n->b);
        if (!op || (n->op == BinaryOp::Sub && term_first) || (result_.op && result_.op != op)) return false;
        if (is_float(e->type) && (op == BinaryOp::Min || op == BinaryOp::Max)) {
            if (result_.op && result_.term_first != term_first) return false;
            result_.term_first = term_first;
        }
        result_.op = op;
        return operators_of(inner);
    }

    Part part_of(const Expr& e) {
        if (const auto known = parts_.find(e.get()); known != parts_.end()) return known->second;
        return parts_[e.get()] = new_part(e);
    }
    Part new_part(const Expr& e) {
        if (!has_before(e)) return {bool_constant(true), e};
        if (is_before_(e)) return {bool_constant(false), before_};
        if (const auto* n = as<Select>(e)) return chosen(n->cond, part_of(n->then), part_of(n->otherwise));
        if (const auto* n = as<Let>(e)) {
            const Part body = part_of(n->body);
            return {let(n->var, n->value, body.restart), let(n->var, n->value, body.term)};
        }
        const auto& n = *as<Binary>(e);
        const bool term_first = has_before(n.b);
        const Part inner = part_of(term_first ? n.b : n.a);
        const Expr& other = term_first ? n.a : n.b;
        if (is_logical(n.op)) {
            const Part known{bool_constant(true), bool_constant(n.op == BinaryOp::Or)};
            return n.op == BinaryOp::Or ? chosen(other, known, inner) : chosen(other, inner, known);
        }
        const Expr term = n.op == BinaryOp::Sub ? unary(UnaryOp::Neg, other) : other;
        return {inner.restart, inner.term == before_ ? term : combined(result_, inner.term, term)};
    }
    static Part chosen(const Expr& cond, const Part& then, const Part& otherwise) {
        return {choice(cond, then.restart, otherwise.restart), choice(cond, then.term, otherwise.term)};
    }

    const std::function<bool(const Expr&)>& is_before_;
    const bool fast_math_;
    AssociativeScan result_;
    Expr before_;  ///< the term of a point that takes over the value before it
    // By node of the value, which outlives this.
    std::unordered_map<const Node*, bool> has_before_, seen_;
    std::unordered_map<const Node*, Part> parts_;
};

}  // namespace

std::optional<AssociativeScan> associative_scan(const Expr& value, const std::function<bool(const Expr&)>& is_before,
                                                bool fast_math) {
    return Finder(is_before, fast_math).find(value);
}

bool is_associative_scan(const Stage& stage, int index, bool fast_math) {
    const auto is_before = [index](const Expr& e) {
        const auto* read = as<Read>(e);
        return read != nullptr && read->source == Source{Source::Kind::Stage, index};
    };
    return stage.scan && stage.scan->distance == 1 && stage.scan->across.empty() &&
           associative_scan(std::get<Pure>(stage.definition).value, is_before, fast_math);
}

Expr combined(const AssociativeScan& scan, const Expr& earlier, const Expr& later) {
    return scan.term_first ? binary(*scan.op, later, earlier) : binary(*scan.op, earlier, later);
}

}  // namespace pipec::ir
