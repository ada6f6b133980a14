#include "frontend/elaborate_fold.h"

#include <cmath>

namespace pipec::elab {

namespace {

std::optional<double> arithmetic(ir::BinaryOp op, double x, double y) {
    switch (op) {
        case ir::BinaryOp::Add: return x + y;
        case ir::BinaryOp::Sub: return x - y;
        case ir::BinaryOp::Mul: return x * y;
        case ir::BinaryOp::Div: return x / y;
        case ir::BinaryOp::Min: return std::fmin(x, y);
        case ir::BinaryOp::Max: return std::fmax(x, y);
        default: return std::nullopt;
    }
}

std::optional<bool> comparison(ir::BinaryOp op, double x, double y) {
    switch (op) {
        case ir::BinaryOp::Eq: return x == y;
        case ir::BinaryOp::Ne: return x != y;
        case ir::BinaryOp::Lt: return x < y;
        case ir::BinaryOp::Le: return x <= y;
        case ir::BinaryOp::Gt: return x > y;
        case ir::BinaryOp::Ge: return x >= y;
        default: return std::nullopt;
    }
}

/// (x + 2) - 1 as x + 1, and x + -1 as x - 1: what unrolled sums make of indices, readable again. Null for all else.
/// Integer addition wraps, so it is associative.
ir::Expr fold_offset(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b, SourceRange range) {
    if (op != ir::BinaryOp::Add && op != ir::BinaryOp::Sub) return nullptr;
    const auto offset = ir::as_int(b);
    if (!offset) return nullptr;
    const auto negated = [](std::int64_t value) {
        return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value));
    };
    std::int64_t sum = op == ir::BinaryOp::Add ? *offset : negated(*offset);
    ir::Expr base = a;
    if (const auto* inner = ir::as<ir::Binary>(a);
        inner != nullptr && (inner->op == ir::BinaryOp::Add || inner->op == ir::BinaryOp::Sub)) {
        if (const auto first = ir::as_int(inner->b)) {
            const std::int64_t signed_first = inner->op == ir::BinaryOp::Add ? *first : negated(*first);
            sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(signed_first));
            base = inner->a;
        }
    }
    sum = ir::wrap_to(a->type, sum);
    const bool negative = ir::is_signed_int(a->type) && sum < 0 && sum != ir::int_min(a->type);
    return ir::binary(negative ? ir::BinaryOp::Sub : ir::BinaryOp::Add, base,
                      ir::int_constant(a->type, negative ? -sum : sum, b->range), range);
}

}  // namespace

ir::Expr fold_binary(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b, SourceRange range) {
    const auto* x = ir::as<ir::FloatConstant>(a);
    const auto* y = ir::as<ir::FloatConstant>(b);
    if (x != nullptr && y != nullptr) {
        if (const auto result = comparison(op, x->value, y->value)) return ir::bool_constant(*result, range);
        // One operation on values of a narrower type in double, then rounded, is correctly rounded.
        if (const auto result = arithmetic(op, x->value, y->value)) {
            return ir::float_constant(a->type, *result, range);
        }
    }
    if (ir::is_int(a->type)) {
        if (const ir::Expr sum = fold_offset(op, a, b, range)) return sum;
    }
    return ir::binary(op, a, b, range);
}

ir::Expr fold_cast(ir::Type to, const ir::Expr& a, bool saturate, SourceRange range) {
    const auto* f = ir::as<ir::FloatConstant>(a);
    if (f == nullptr || !ir::is_int(to)) return ir::cast(to, a, range, saturate && ir::is_int(a->type));
    if (std::isnan(f->value)) return ir::int_constant(to, 0, range);
    const double whole = std::trunc(f->value);
    const auto greatest = static_cast<double>(ir::int_max(to));  // rounds up for 64 bits: >= is then exact
    if (whole >= greatest) return ir::int_constant(to, static_cast<std::int64_t>(ir::int_max(to)), range);
    if (whole <= static_cast<double>(ir::int_min(to))) return ir::int_constant(to, ir::int_min(to), range);
    if (ir::is_unsigned_int(to)) {
        return ir::int_constant(to, static_cast<std::int64_t>(static_cast<std::uint64_t>(whole)), range);
    }
    return ir::int_constant(to, static_cast<std::int64_t>(whole), range);
}

std::optional<double> math(ir::Builtin fn, const std::vector<double>& args) {
    const double x = args[0];
    const double y = args.size() > 1 ? args[1] : 0;
    switch (fn) {
        case ir::Builtin::Abs: return std::fabs(x);
        case ir::Builtin::Sqrt: return std::sqrt(x);
        case ir::Builtin::Rsqrt: return 1 / std::sqrt(x);
        case ir::Builtin::Exp: return std::exp(x);
        case ir::Builtin::Exp2: return std::exp2(x);
        case ir::Builtin::Log: return std::log(x);
        case ir::Builtin::Log2: return std::log2(x);
        case ir::Builtin::Pow: return std::pow(x, y);
        case ir::Builtin::Sin: return std::sin(x);
        case ir::Builtin::Cos: return std::cos(x);
        case ir::Builtin::Tan: return std::tan(x);
        case ir::Builtin::Asin: return std::asin(x);
        case ir::Builtin::Acos: return std::acos(x);
        case ir::Builtin::Atan: return std::atan(x);
        case ir::Builtin::Atan2: return std::atan2(x, y);
        case ir::Builtin::Sinh: return std::sinh(x);
        case ir::Builtin::Cosh: return std::cosh(x);
        case ir::Builtin::Tanh: return std::tanh(x);
        case ir::Builtin::Hypot: return std::hypot(x, y);
        case ir::Builtin::Floor: return std::floor(x);
        case ir::Builtin::Ceil: return std::ceil(x);
        case ir::Builtin::Round: return std::nearbyint(x);
        case ir::Builtin::Trunc: return std::trunc(x);
        case ir::Builtin::IsNan:
        case ir::Builtin::MinHalves:
        case ir::Builtin::MaxHalves: return std::nullopt;
    }
    return std::nullopt;
}

ir::Expr fold_call(ir::Builtin fn, std::vector<ir::Expr> args, SourceRange range) {
    std::vector<double> values;
    for (const ir::Expr& arg : args) {
        if (const auto* f = ir::as<ir::FloatConstant>(arg)) values.push_back(f->value);
    }
    if (values.size() == args.size()) {
        if (fn == ir::Builtin::IsNan) return ir::bool_constant(std::isnan(values[0]), range);
        if (const auto result = math(fn, values)) return ir::float_constant(args[0]->type, *result, range);
    }
    return ir::call(fn, std::move(args), range);
}

}  // namespace pipec::elab
