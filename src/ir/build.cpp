#include "ir/build.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

namespace pipec::ir {

namespace {

template <class T>
Expr node(Type type, SourceRange range, T value) {
    return std::make_shared<const Node>(Node{type, range, std::move(value)});
}

/// The value of an unsigned type is the zero-extended bit pattern: compare and divide it as uint64.
std::uint64_t bits_of(std::int64_t value) {
    return static_cast<std::uint64_t>(value);
}

/// Floor division; 0 for a zero divisor. The caller wraps the result (least / -1).
std::int64_t floor_div(Type type, std::int64_t a, std::int64_t b) {
    if (b == 0) return 0;
    if (is_unsigned_int(type)) return static_cast<std::int64_t>(bits_of(a) / bits_of(b));
    if (b == -1) return static_cast<std::int64_t>(0 - bits_of(a));
    const std::int64_t quotient = a / b;
    return a % b != 0 && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

std::int64_t floor_mod(Type type, std::int64_t a, std::int64_t b) {
    if (b == 0) return 0;
    return static_cast<std::int64_t>(bits_of(a) - bits_of(floor_div(type, a, b)) * bits_of(b));
}

bool less(Type type, std::int64_t a, std::int64_t b) {
    return is_unsigned_int(type) ? bits_of(a) < bits_of(b) : a < b;
}

/// Folds an operator on two integer (or Bool) constants of `type`.
std::int64_t fold(BinaryOp op, Type type, std::int64_t a, std::int64_t b) {
    const std::uint64_t ua = bits_of(a);
    const std::uint64_t ub = bits_of(b);
    const unsigned shift = static_cast<unsigned>(ub) & static_cast<unsigned>(bits(type) - 1);
    switch (op) {
        case BinaryOp::Add: return static_cast<std::int64_t>(ua + ub);
        case BinaryOp::Sub: return static_cast<std::int64_t>(ua - ub);
        case BinaryOp::Mul: return static_cast<std::int64_t>(ua * ub);
        case BinaryOp::Div: return floor_div(type, a, b);
        case BinaryOp::Mod: return floor_mod(type, a, b);
        case BinaryOp::Min: return less(type, b, a) ? b : a;
        case BinaryOp::Max: return less(type, a, b) ? b : a;
        case BinaryOp::BitAnd: return a & b;
        case BinaryOp::BitOr: return a | b;
        case BinaryOp::BitXor: return a ^ b;
        case BinaryOp::Shl: return static_cast<std::int64_t>(ua << shift);
        case BinaryOp::Shr: return is_unsigned_int(type) ? static_cast<std::int64_t>(ua >> shift) : a >> shift;
        case BinaryOp::Eq: return a == b ? 1 : 0;
        case BinaryOp::Ne: return a != b ? 1 : 0;
        case BinaryOp::Lt: return less(type, a, b) ? 1 : 0;
        case BinaryOp::Le: return less(type, b, a) ? 0 : 1;
        case BinaryOp::Gt: return less(type, b, a) ? 1 : 0;
        case BinaryOp::Ge: return less(type, a, b) ? 0 : 1;
        case BinaryOp::And: return a & b;
        case BinaryOp::Or: return a | b;
    }
    return 0;
}

/// Identities that hold for every value of an integer or Bool operand; null where none applies.
Expr simplify(BinaryOp op, const Expr& a, const Expr& b) {
    const auto left = as_int(a);
    const auto right = as_int(b);
    switch (op) {
        case BinaryOp::Add:
            if (right == 0) return a;
            if (left == 0) return b;
            break;
        case BinaryOp::Sub:
        case BinaryOp::Shl:
        case BinaryOp::Shr:
            if (right == 0) return a;
            break;
        case BinaryOp::Mul:
            if (right == 1) return a;
            if (left == 1) return b;
            if (right == 0) return b;
            if (left == 0) return a;
            break;
        case BinaryOp::Div:
            if (right == 1) return a;
            break;
        case BinaryOp::And:
            if (left == 1) return b;
            if (right == 1 || left == 0) return a;
            break;
        case BinaryOp::Or:
            if (left == 0) return b;
            if (right == 0 || left == 1) return a;
            break;
        default: break;
    }
    return nullptr;
}

/// Nearest float16 value, ties to even, as a double.
double round_to_half(double value) {
    if (!std::isfinite(value) || value == 0) return value;
    int exponent = 0;
    std::frexp(value, &exponent);                   // |value| = m * 2^exponent, m in [0.5, 1)
    const int lsb = std::max(exponent - 11, -24);   // weight of the last of 11 bits; subnormals end at 2^-24
    const double scaled = std::ldexp(value, -lsb);  // exact: a power of two
    const double rounded = std::nearbyint(scaled);  // ties to even in the default rounding mode
    const double result = std::ldexp(rounded, lsb);
    if (std::fabs(result) > 65504.0) return std::copysign(std::numeric_limits<double>::infinity(), value);
    return result == 0 ? std::copysign(0.0, value) : result;
}

}  // namespace

std::int64_t wrap_to(Type type, std::int64_t value) {
    switch (type) {
        case Type::Int8: return static_cast<std::int8_t>(value);
        case Type::Int16: return static_cast<std::int16_t>(value);
        case Type::Int32: return static_cast<std::int32_t>(value);
        case Type::UInt8: return static_cast<std::uint8_t>(value);
        case Type::UInt16: return static_cast<std::uint16_t>(value);
        case Type::UInt32: return static_cast<std::uint32_t>(value);
        default: return value;
    }
}

double round_to(Type type, double value) {
    if (type == Type::Float32) return static_cast<double>(static_cast<float>(value));
    if (type == Type::Float16) return round_to_half(value);
    return value;
}

std::optional<std::int64_t> as_int(const Expr& e) {
    if (const auto* c = as<IntConstant>(e)) return c->value;
    return std::nullopt;
}

std::pair<Expr, std::int64_t> with_offset(const Expr& e) {
    const auto* n = as<Binary>(e);
    const auto by = n != nullptr ? as_int(n->b) : std::nullopt;
    if (by && n->op == BinaryOp::Add) return {n->a, *by};
    if (by && n->op == BinaryOp::Sub) return {n->a, -*by};
    return {e, 0};
}

Expr int_constant(Type type, std::int64_t value, SourceRange range) {
    assert(is_int(type) || type == Type::Bool);
    return node(type, range, IntConstant{wrap_to(type, value)});
}

Expr float_constant(Type type, double value, SourceRange range) {
    assert(is_float(type));
    return node(type, range, FloatConstant{round_to(type, value)});
}

Expr bool_constant(bool value, SourceRange range) {
    return node(Type::Bool, range, IntConstant{value ? 1 : 0});
}

Expr constant(Type type, std::int64_t value, SourceRange range) {
    return is_float(type) ? float_constant(type, static_cast<double>(value), range) : int_constant(type, value, range);
}

Expr variable(VarId id, Type type, SourceRange range) {
    return node(type, range, Variable{id});
}

Expr size_ref(int index, SourceRange range) {
    return node(Type::Int32, range, SizeRef{index});
}

Expr param_ref(int index, Type type, SourceRange range) {
    return node(type, range, ParamRef{index});
}

Expr unary(UnaryOp op, Expr a, SourceRange range) {
    assert(op == UnaryOp::Not ? a->type == Type::Bool : op == UnaryOp::BitNot ? is_int(a->type) : is_numeric(a->type));
    const Type type = a->type;
    if (const auto value = as_int(a)) {
        switch (op) {
            case UnaryOp::Neg: return int_constant(type, static_cast<std::int64_t>(0 - bits_of(*value)), range);
            case UnaryOp::BitNot: return int_constant(type, ~*value, range);
            case UnaryOp::Not: return bool_constant(*value == 0, range);
        }
    }
    if (const auto* f = as<FloatConstant>(a)) return float_constant(type, -f->value, range);
    return node(type, range, Unary{op, std::move(a)});
}

Expr binary(BinaryOp op, Expr a, Expr b, SourceRange range) {
    assert(a->type == b->type);
    const Type operand = a->type;
    assert(!is_logical(op) || operand == Type::Bool);
    assert(is_logical(op) || op == BinaryOp::Eq || op == BinaryOp::Ne || operand != Type::Bool);
    assert(op < BinaryOp::Mod || op == BinaryOp::Min || op == BinaryOp::Max || op > BinaryOp::Shr || is_int(operand));
    const Type type = is_comparison(op) || is_logical(op) ? Type::Bool : operand;
    if (!is_float(operand)) {
        const auto left = as_int(a);
        const auto right = as_int(b);
        if (left && right) return int_constant(type, fold(op, operand, *left, *right), range);
        if (Expr simple = simplify(op, a, b)) return simple;
    }
    return node(type, range, Binary{op, std::move(a), std::move(b)});
}

Expr cast(Type to, Expr a, SourceRange range, bool saturate) {
    assert(to != Type::Bool);
    if (a->type == to) return a;
    if (const auto value = as_int(a)) {
        if (is_float(to)) {
            const double exact =
                a->type == Type::UInt64 ? static_cast<double>(bits_of(*value)) : static_cast<double>(*value);
            // int64 -> float32 must round once: through double it may round twice.
            if (to == Type::Float32 && a->type != Type::UInt64) {
                return float_constant(to, static_cast<double>(static_cast<float>(*value)), range);
            }
            if (to == Type::Float64 || std::fabs(exact) < 9007199254740992.0) return float_constant(to, exact, range);
        } else if (!saturate) {
            return int_constant(to, *value, range);
        } else if (a->type != Type::UInt64 && to != Type::UInt64) {
            const auto high = static_cast<std::int64_t>(int_max(to));
            return int_constant(to, *value < int_min(to) ? int_min(to) : *value > high ? high : *value, range);
        }
    }
    if (const auto* f = as<FloatConstant>(a); f != nullptr && is_float(to)) return float_constant(to, f->value, range);
    return node(to, range, Cast{std::move(a), saturate && is_int(to)});
}

Expr exact_cast(Type to, Expr a, SourceRange range) {
    assert(is_int(to) && is_int(a->type));
    if (a->type == to) return a;
    if (const auto* inner = as<Cast>(a); inner != nullptr && inner->exact && inner->a->type == to) return inner->a;
    return as_int(a) ? cast(to, std::move(a), range) : node(to, range, Cast{std::move(a), false, true});
}

Expr call(Builtin fn, std::vector<Expr> args, SourceRange range) {
    assert(args.size() == static_cast<std::size_t>(arity(fn)));
    assert(args.size() < 2 || args[0]->type == args[1]->type);
    const Type operand = args[0]->type;
    assert(is_float(operand) || (fn == Builtin::Abs && is_signed_int(operand)) ||
           (is_of_halves(fn) && operand == Type::UInt32));
    return node(fn == Builtin::IsNan ? Type::Bool : operand, range, Call{fn, std::move(args)});
}

Expr select(Expr cond, Expr then, Expr otherwise, SourceRange range) {
    assert(cond->type == Type::Bool && (!otherwise || then->type == otherwise->type));
    if (const auto value = as_int(cond)) {
        if (*value != 0) return then;
        if (otherwise) return otherwise;
    }
    const Type type = then->type;
    return node(type, range, Select{std::move(cond), std::move(then), std::move(otherwise)});
}

Expr folded(const Expr& e) {
    if (const auto* n = as<Unary>(e)) return unary(n->op, n->a, e->range);
    if (const auto* n = as<Binary>(e)) return binary(n->op, n->a, n->b, e->range);
    if (const auto* n = as<Cast>(e)) {
        return n->exact ? exact_cast(e->type, n->a, e->range) : cast(e->type, n->a, e->range, n->saturate);
    }
    if (const auto* n = as<Select>(e)) return select(n->cond, n->then, n->otherwise, e->range);
    return e;
}

Expr read(Source source, Type type, std::vector<Expr> indices, SourceRange range) {
    for ([[maybe_unused]] const Expr& index : indices) assert(index->type == Type::Int32);
    return node(type, range, Read{source, std::move(indices)});
}

Expr let(VarId var, Expr value, Expr body, SourceRange range) {
    const Type type = body->type;
    return node(type, range, Let{var, std::move(value), std::move(body)});
}

Expr reduce(ReduceOp op, std::vector<Range> ranges, Expr body, SourceRange range, int place) {
    assert((op == ReduceOp::Any || op == ReduceOp::All) == (body->type == Type::Bool));
    const Type type = gives_place(op) ? Type::Int32 : body->type;
    return node(type, range, Reduce{op, std::move(ranges), std::move(body), place});
}

Expr reduce_like(const Reduce& like, std::vector<Range> ranges, Expr body, SourceRange range) {
    return reduce(like.op, std::move(ranges), std::move(body), range, like.place);
}

Expr identity(ReduceOp op, Type type) {
    switch (op) {
        case ReduceOp::Sum: return constant(type, 0);
        case ReduceOp::Prod: return constant(type, 1);
        case ReduceOp::Any: return bool_constant(false);
        case ReduceOp::All: return bool_constant(true);
        case ReduceOp::Min:
        case ReduceOp::ArgMin:  // of its terms
            if (is_float(type)) return float_constant(type, std::numeric_limits<double>::infinity());
            return int_constant(type, static_cast<std::int64_t>(int_max(type)));
        case ReduceOp::Max:
        case ReduceOp::ArgMax:
            if (is_float(type)) return float_constant(type, -std::numeric_limits<double>::infinity());
            return int_constant(type, int_min(type));
    }
    return nullptr;
}

BinaryOp fold_op(ReduceOp op) {
    switch (op) {
        case ReduceOp::Sum: return BinaryOp::Add;
        case ReduceOp::Prod: return BinaryOp::Mul;
        case ReduceOp::Min:
        case ReduceOp::ArgMin: return BinaryOp::Min;  // of its terms
        case ReduceOp::Max:
        case ReduceOp::ArgMax: return BinaryOp::Max;
        case ReduceOp::Any: return BinaryOp::Or;
        case ReduceOp::All: return BinaryOp::And;
    }
    return BinaryOp::Add;
}

VarId new_variable(Pipeline& pipeline, std::string name, Type type, SourceRange range) {
    pipeline.variables.push_back({std::move(name), type, range});
    return static_cast<VarId>(pipeline.variables.size() - 1);
}

}  // namespace pipec::ir
