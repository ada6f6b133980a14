#include "ir/widen.h"

#include <unordered_map>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::ir {

namespace {

/// Every value of `from` is one of `to`.
bool holds_all(Type to, Type from) {
    return int_min(from) >= int_min(to) && int_max(from) <= int_max(to);
}

class Widener {
public:
    Expr operator()(const Expr& e) {
        if (!e) return e;
        if (const auto known = known_.find(e); known != known_.end()) return known->second;
        Expr result = is_int(e->type) ? integer(e) : other(e);
        return known_.emplace(e, std::move(result)).first->second;
    }

private:
    static Type wide(Type type) { return type == Type::UInt64 ? type : Type::Int64; }

    /// Bool and floats: the same operation on widened operands.
    Expr other(const Expr& e) {
        if (const auto* n = as<Let>(e)) return let(e, *n);
        return map_children(e, [&](const Expr& operand) { return (*this)(operand); });
    }

    Expr let(const Expr& e, const Let& n) {
        Expr value = (*this)(n.value);
        lets_.insert_or_assign(n.var, value->type);
        return ir::let(n.var, std::move(value), (*this)(n.body), e->range);
    }

    Expr integer(const Expr& e) {
        const Type type = wide(e->type);
        return std::visit(overloaded{
                              [&](const IntConstant& n) { return int_constant(type, n.value, e->range); },
                              [&](const Variable& n) {
                                  const auto of_let = lets_.find(n.id);
                                  return of_let == lets_.end() ? cast(type, e, e->range)
                                                               : variable(n.id, of_let->second, e->range);
                              },
                              [&](const Unary& n) { return unary_operator(e, n); },
                              [&](const Binary& n) { return binary_operator(e, n); },
                              [&](const Cast& n) { return conversion(e, n); },
                              [&](const Call& n) { return call(n.fn, {(*this)(n.args.front())}, e->range); },
                              [&](const Select& n) {
                                  return select((*this)(n.cond), (*this)(n.then), (*this)(n.otherwise), e->range);
                              },
                              [&](const Let& n) { return let(e, n); },
                              [&](const auto&) { return cast(type, e, e->range); },
                          },
                          e->value);
    }

    Expr unary_operator(const Expr& e, const Unary& n) {
        const Expr a = (*this)(n.a);
        // The complement has the type's bits, no more.
        if (n.op == UnaryOp::BitNot && is_unsigned_int(e->type) && bits(e->type) < 64) {
            const auto all_bits = static_cast<std::int64_t>(int_max(e->type));
            return binary(BinaryOp::Sub, int_constant(Type::Int64, all_bits), a, e->range);
        }
        return unary(n.op, a, e->range);
    }

    Expr binary_operator(const Expr& e, const Binary& n) {
        Expr b = (*this)(n.b);
        if (n.op == BinaryOp::Shl || n.op == BinaryOp::Shr) {
            b = binary(BinaryOp::BitAnd, b, int_constant(b->type, bits(e->type) - 1), n.b->range);
        }
        return binary(n.op, (*this)(n.a), b, e->range);
    }

    /// Casts to a type that holds all values of the operand's change nothing; others wrap or saturate.
    Expr conversion(const Expr& e, const Cast& n) {
        const Expr a = (*this)(n.a);
        const bool is_free = is_int(n.a->type) && holds_all(e->type, n.a->type);
        return cast(wide(e->type), is_free ? a : cast(e->type, a, e->range, n.saturate), e->range);
    }

    std::unordered_map<Expr, Expr> known_;
    std::unordered_map<VarId, Type> lets_;
};

}  // namespace

Expr widened(const Expr& e) {
    return Widener()(e);
}

}  // namespace pipec::ir
