#include "fusion/instructions.h"

#include <cmath>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Of integers (measured as instructions(Builtin) is): by a constant there is a product and a shift.
constexpr double kDivision = 39, kRemainder = 32, kDivisionByConstant = 4, kRemainderByConstant = 7;
/// A function of doubles takes so many times the instructions of the one of floats: its polynomial is longer, and its
/// instructions run at half the rate.
constexpr double kDoubleFunction = 8;

double division(const ir::Binary& n, bool is_float) {
    if (is_float) {
        const auto* divisor = ir::as<ir::FloatConstant>(n.b);
        int exponent = 0;
        if (divisor == nullptr) return kFloatDivision;
        // Powers of two are multiplied with.
        return std::abs(std::frexp(divisor->value, &exponent)) == 0.5 ? 1 : kFloatDivisionByConstant;
    }
    const bool quotient = n.op == ir::BinaryOp::Div;
    const auto divisor = ir::as_int(n.b);
    if (!divisor) return quotient ? kDivision : kRemainder;
    const bool shift = *divisor > 0 && (*divisor & (*divisor - 1)) == 0;
    return shift ? 1 : quotient ? kDivisionByConstant : kRemainderByConstant;
}

}  // namespace

double instructions(ir::Builtin function) {
    switch (function) {
        case ir::Builtin::Abs:
        case ir::Builtin::Floor:
        case ir::Builtin::Ceil:
        case ir::Builtin::Round:
        case ir::Builtin::Trunc:
        case ir::Builtin::IsNan:
        case ir::Builtin::MinHalves:
        case ir::Builtin::MaxHalves: return 1;
        case ir::Builtin::Exp2: return 4;
        case ir::Builtin::Exp: return 8;
        case ir::Builtin::Sqrt: return 11;
        case ir::Builtin::Cosh:
        case ir::Builtin::Tanh: return 15;
        case ir::Builtin::Atan: return 18;
        case ir::Builtin::Rsqrt:
        case ir::Builtin::Tan:
        case ir::Builtin::Asin:
        case ir::Builtin::Acos:
        case ir::Builtin::Sinh: return 23;
        case ir::Builtin::Sin:
        case ir::Builtin::Cos: return 25;
        case ir::Builtin::Hypot: return 26;
        case ir::Builtin::Log: return 26;
        case ir::Builtin::Log2: return 28;
        case ir::Builtin::Atan2: return 45;
        case ir::Builtin::Pow: return 80;
    }
    return 1;
}

double instructions(const ir::Expr& e) {
    const bool is_wide = ir::bits(e->type) == 64;
    const double wide = is_wide ? 2 : 1;
    return std::visit(
        ir::overloaded{[&](const ir::Binary& n) {
                           const bool divides = n.op == ir::BinaryOp::Div || n.op == ir::BinaryOp::Mod;
                           return (divides ? division(n, ir::is_float(e->type)) : 1) * wide;
                       },
                       [&](const ir::Unary&) { return wide; },
                       [&](const ir::Cast& n) { return n.exact ? 0 : wide; },  // part of loads and stores
                       [&](const ir::Select&) { return wide; },
                       [&](const ir::Call& n) {
                           const double one = instructions(n.fn);
                           return one * (one > 1 && is_wide ? kDoubleFunction : wide);
                       },
                       [&](const ir::Reduce& n) { return ir::gives_place(n.op) ? 2 * wide : wide; },  // folding one in
                       [](const auto&) { return 0.0; }},
        e->value);
}

double half_rate_part(const ir::Expr& e) {
    const auto of = [](ir::BinaryOp op, bool floats) -> double {
        switch (op) {
            // One instruction adds three numbers, or the unit for products adds; another one joins three by bits, and a
            // comparison joins its result to a condition.
            case ir::BinaryOp::Add:
            case ir::BinaryOp::Sub: return floats ? 0 : 0.75;
            case ir::BinaryOp::BitAnd:
            case ir::BinaryOp::BitOr:
            case ir::BinaryOp::BitXor:
            case ir::BinaryOp::And:
            case ir::BinaryOp::Or: return 0.5;
            case ir::BinaryOp::Mul: return 0;
            case ir::BinaryOp::Div:
            case ir::BinaryOp::Mod: return floats ? 0 : 0.5;
            default: return 1;
        }
    };
    return std::visit(
        ir::overloaded{
            [&](const ir::Binary& n) { return of(n.op, ir::is_float(n.a->type)); },
            [&](const ir::Unary& n) { return n.op == ir::UnaryOp::Neg && ir::is_float(e->type) ? 0.0 : 1.0; },
            [&](const ir::Cast& n) { return n.exact || ir::is_float(e->type) || ir::is_float(n.a->type) ? 0.0 : 1.0; },
            [](const ir::Select&) { return 1.0; },
            [&](const ir::Call& n) { return n.fn == ir::Builtin::IsNan || !ir::is_float(e->type) ? 1.0 : 0.0; },
            [&](const ir::Reduce& n) {
                return ir::gives_place(n.op) || n.op == ir::ReduceOp::Any || n.op == ir::ReduceOp::All
                           ? 1.0
                           : of(ir::fold_op(n.op), ir::is_float(e->type));
            },
            [](const auto&) { return 0.0; }},
        e->value);
}

}  // namespace pipec::fusion
