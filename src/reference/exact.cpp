// Integers have 128 bits here, so that a result can be seen to leave 64.
#include "reference/exact.h"

#include <map>
#include <stdexcept>

#include "ir/visit.h"
#include "reference/numeric.h"

namespace pipec::reference {

namespace {

using ir::BinaryOp;
using ir::Type;
using ir::UnaryOp;
__extension__ using Wide = __int128;

Wide least(Type type) {
    return Wide{ir::int_min(type)};
}
Wide greatest(Type type) {
    return Wide{ir::int_max(type)};
}

/// Of integers: their 64-bit type.
Type wide_type(Type type) {
    return type == Type::UInt64 ? type : Type::Int64;
}

Wide wide(const Value& v) {
    return v.type == Type::UInt64 ? Wide{static_cast<std::uint64_t>(v.i)} : Wide{v.i};
}

Value checked(Type type, Wide v) {
    const Type in = wide_type(type);
    if (v < least(in) || v > greatest(in)) throw Error("a number does not fit 64 bits");
    return {in, static_cast<std::int64_t>(static_cast<std::uint64_t>(v)), 0};
}

Wide floor_divide(Wide a, Wide b) {
    const Wide quotient = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

class Exact {
public:
    explicit Exact(const std::function<Value(const ir::Expr&)>& leaf) : leaf_(leaf) {}

    Value operator()(const ir::Expr& e) {
        return std::visit(
            ir::overloaded{
                [&](const ir::IntConstant& n) {
                    return ir::is_int(e->type) ? Value{wide_type(e->type), n.value, 0} : boolean(n.value != 0);
                },
                [&](const ir::FloatConstant& n) { return real(e->type, n.value); },
                [&](const ir::Variable& n) { return lets_.at(n.id); },
                [&](const ir::Unary& n) { return unary(e->type, n); },
                [&](const ir::Binary& n) { return binary(n); },
                [&](const ir::Cast& n) { return conversion(e->type, n); },
                [&](const ir::Call& n) {
                    std::vector<Value> args;
                    for (const ir::Expr& arg : n.args) args.push_back((*this)(arg));
                    if (!ir::is_int(e->type)) return evaluate(n.fn, args);
                    const Wide a = wide(args.front());  // Abs
                    return checked(e->type, a < 0 ? -a : a);
                },
                [&](const ir::Select& n) {
                    if ((*this)(n.cond).i != 0) return (*this)(n.then);
                    if (!n.otherwise) throw Error("an `if` without `else` does not hold");
                    return (*this)(n.otherwise);
                },
                [&](const ir::Let& n) {
                    lets_[n.var] = (*this)(n.value);
                    return (*this)(n.body);
                },
                [&](const auto&) {
                    const Value v = leaf_(e);
                    return ir::is_int(v.type) ? checked(v.type, wide(v)) : v;
                },
            },
            e->value);
    }

private:
    Value unary(Type type, const ir::Unary& n) {
        const Value a = (*this)(n.a);
        if (!ir::is_int(type)) return evaluate(n.op, a);
        if (n.op == UnaryOp::Neg) return checked(type, -wide(a));
        return checked(type, ir::is_unsigned_int(type) ? greatest(type) - wide(a) : -wide(a) - 1);
    }

    Value binary(const ir::Binary& n) {
        const Value a = (*this)(n.a);
        if (n.op == BinaryOp::And && a.i == 0) return a;
        if (n.op == BinaryOp::Or && a.i != 0) return a;
        const Value b = (*this)(n.b);
        if (!ir::is_int(n.a->type) || ir::is_comparison(n.op)) return evaluate(n.op, a, b);
        return checked(n.a->type, integer_operation(n.op, n.a->type, wide(a), wide(b)));
    }

    static Wide integer_operation(BinaryOp op, Type type, Wide a, Wide b) {
        // Two's complement: of any width that has room, the bits are those of the number.
        const Wide count = b & (ir::bits(type) - 1);
        switch (op) {
            case BinaryOp::Add: return a + b;
            case BinaryOp::Sub: return a - b;
            case BinaryOp::Mul: {
                Wide product = 0;
                if (__builtin_mul_overflow(a, b, &product)) throw Error("a number does not fit 64 bits");
                return product;
            }
            case BinaryOp::Div: return b == 0 ? 0 : floor_divide(a, b);
            case BinaryOp::Mod: return b == 0 ? 0 : a - floor_divide(a, b) * b;
            case BinaryOp::Min: return b < a ? b : a;
            case BinaryOp::Max: return a < b ? b : a;
            case BinaryOp::BitAnd: return a & b;
            case BinaryOp::BitOr: return a | b;
            case BinaryOp::BitXor: return a ^ b;
            case BinaryOp::Shl: return a * (Wide{1} << count);
            case BinaryOp::Shr: return a >> count;
            default: throw std::logic_error("not an operator of integers");
        }
    }

    Value conversion(Type to, const ir::Cast& n) {
        const Value a = (*this)(n.a);
        if (!ir::is_int(to)) return cast(to, a);
        const Type from = n.a->type;
        const bool is_free =
            to != Type::UInt64 && ir::is_int(from) && least(from) >= least(to) && greatest(from) <= greatest(to);
        return {wide_type(to), is_free ? a.i : cast(to, a, n.saturate).i, 0};
    }

    const std::function<Value(const ir::Expr&)>& leaf_;
    std::map<ir::VarId, Value> lets_;
};

}  // namespace

Value evaluate_exactly(const ir::Expr& e, const std::function<Value(const ir::Expr&)>& leaf) {
    return Exact(leaf)(e);
}

}  // namespace pipec::reference
