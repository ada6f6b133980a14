#include "random_expr.h"

namespace pipec::test {

using ir::BinaryOp;
using ir::Builtin;
using ir::Expr;
using ir::Type;
using ir::UnaryOp;

RandomExpr::RandomExpr(unsigned seed, Options options) : random_(seed), options_(options) {
    for (int i = 0; i < options.sizes; ++i) pipeline.sizes.push_back({"S" + std::to_string(i), {}});
    for (int t = 0; t <= static_cast<int>(Type::Float64); ++t) {
        const auto type = static_cast<Type>(t);
        pipeline.params.push_back({"p_" + std::string(ir::name(type)), type, nullptr, {}});
    }
    for (int i = 0; i < options.variables; ++i) {
        index_variables.push_back(ir::new_variable(pipeline, std::string(1, static_cast<char>('x' + i))));
    }
}

Value RandomExpr::any(Type type) {
    if (type == Type::Bool) return reference::boolean(chance(50));
    if (ir::is_float(type)) {
        if (chance(5)) return reference::real(type, std::numeric_limits<double>::quiet_NaN());
        if (chance(60)) return reference::real(type, one_of(float_edges(type)));
        if (chance(50)) return reference::real(type, pick(-1000, 1000) / 8.0);
        return reference::real(type, std::ldexp(pick(-1000, 1000), pick(-140, 120)));
    }
    if (chance(40)) return number(type, one_of(edges(type)));
    if (chance(60)) return number(type, Wide{pick(-20, 20)});
    return number(type, static_cast<Wide>(random_() >> pick(0, 63)));
}

ValueRange RandomExpr::any_range(Type type) {
    if (!ir::is_float(type)) {
        const Wide a = wide(any(type)), b = chance(30) ? a : wide(any(type));
        return IntRange{std::min(a, b), std::max(a, b)};
    }
    double ends[2];
    for (double& end : ends) {
        do end = any(type).f;
        while (std::isnan(end));
    }
    if (chance(20)) ends[1] = ends[0];
    return FloatRange{std::min(ends[0], ends[1]), std::max(ends[0], ends[1]), chance(20)};
}

Value RandomExpr::inside(Type type, const ValueRange& range) {
    if (const auto* i = std::get_if<IntRange>(&range)) {
        if (chance(40)) return number(type, chance(50) ? i->lo : i->hi);
        if (chance(60)) {
            const Wide v = wide(any(type));
            if (i->lo <= v && v <= i->hi) return number(type, v);
        }
        const Wide span = i->hi - i->lo + 1;
        return number(type, i->lo + static_cast<Wide>(random_()) % span);
    }
    const auto& f = std::get<FloatRange>(range);
    if (f.nan && chance(20)) return reference::real(type, std::numeric_limits<double>::quiet_NaN());
    if (chance(40)) return reference::real(type, chance(50) ? f.lo : f.hi);
    const Value v = any(type);
    if (f.lo <= v.f && v.f <= f.hi) return v;
    if (f.lo <= 0 && f.hi >= 0 && chance(50)) return reference::real(type, chance(50) ? 0.0 : -0.0);
    return reference::real(type, f.lo);
}

Expr RandomExpr::constant(Type type) {
    if (type == Type::Bool) return ir::bool_constant(chance(50));
    const Value v = any(type);
    if (ir::is_float(type)) return ir::float_constant(type, v.f);
    if (chance(40)) return ir::int_constant(type, pick(1, 9));
    if (chance(25)) return ir::int_constant(type, (std::int64_t{1} << pick(1, 62)) - pick(0, 1));
    return ir::int_constant(type, v.i);
}

Expr RandomExpr::leaf(Type type) {
    std::vector<Expr> in_scope;
    for (const auto& [var, of] : lets_) {
        if (of == type) in_scope.push_back(ir::variable(var, type));
    }
    if (!in_scope.empty() && chance(50)) return one_of(in_scope);
    if (chance(25)) return constant(type);
    const bool affine = ir::is_int(type) && chance(75);
    if (affine && !index_variables.empty() && chance(65)) {
        return ir::cast(type, ir::variable(one_of(index_variables), Type::Int32), {}, chance(20));
    }
    if (affine && !pipeline.sizes.empty()) {
        return ir::cast(type, ir::size_ref(pick(0, static_cast<int>(pipeline.sizes.size()) - 1)), {}, chance(20));
    }
    return ir::param_ref(static_cast<int>(type), type);
}

Expr RandomExpr::of(Type type, int depth) {
    return type == Type::Bool ? boolean(depth) : ir::is_float(type) ? real(type, depth) : integer(type, depth);
}

Expr RandomExpr::let(Type type, int depth) {
    const Type of_value = chance(60) ? type : chance(70) ? one_of(kIntegerTypes) : Type::Bool;
    const Expr value = of(of_value, depth - 1);
    const ir::VarId var = ir::new_variable(pipeline, "l" + std::to_string(pipeline.variables.size()), of_value);
    lets_.emplace_back(var, of_value);
    const Expr body = of(type, depth - 1);
    lets_.pop_back();
    return ir::let(var, value, body);
}

Expr RandomExpr::integer(Type type, int depth) {
    if (depth <= 0) return leaf(type);
    const auto second = [&] { return chance(options_.constants) ? constant(type) : integer(type, depth - 1); };
    switch (pick(0, 15)) {
        case 0:
        case 1:
        case 2: return ir::binary(one_of(std::array{BinaryOp::Add, BinaryOp::Sub}), integer(type, depth - 1), second());
        case 3: return ir::binary(BinaryOp::Mul, integer(type, depth - 1), second());
        case 4: return ir::binary(BinaryOp::Mul, second(), integer(type, depth - 1));
        case 5:
        case 6: return ir::binary(one_of(std::array{BinaryOp::Div, BinaryOp::Mod}), integer(type, depth - 1), second());
        case 7: return ir::binary(one_of(std::array{BinaryOp::Min, BinaryOp::Max}), integer(type, depth - 1), second());
        case 8:
            return ir::binary(one_of(std::array{BinaryOp::BitAnd, BinaryOp::BitAnd, BinaryOp::BitOr, BinaryOp::BitXor}),
                              integer(type, depth - 1), second());
        case 9:
            return ir::binary(
                one_of(std::array{BinaryOp::Shl, BinaryOp::Shr}), integer(type, depth - 1),
                chance(70) ? ir::int_constant(type, pick(0, ir::bits(type) + 2)) : integer(type, depth - 1));
        case 10: {
            if (chance(40)) return ir::unary(UnaryOp::BitNot, integer(type, depth - 1));
            if (chance(50) || !ir::is_signed_int(type)) return ir::unary(UnaryOp::Neg, integer(type, depth - 1));
            return ir::call(Builtin::Abs, {integer(type, depth - 1)});
        }
        case 11: return ir::select(boolean(depth - 1), integer(type, depth - 1), integer(type, depth - 1));
        case 12: return let(type, depth);
        case 13:
            if (options_.floats && chance(50)) return ir::cast(type, real(one_of(kFloatTypes), depth - 1));
            if (chance(20)) return ir::cast(type, boolean(depth - 1));
            [[fallthrough]];
        default: return ir::cast(type, integer(one_of(kIntegerTypes), depth - 1), {}, chance(30));
    }
}

Expr RandomExpr::real(Type type, int depth) {
    if (depth <= 0) return leaf(type);
    const auto second = [&] { return chance(options_.constants) ? constant(type) : real(type, depth - 1); };
    constexpr std::array kBinary{BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul,
                                 BinaryOp::Div, BinaryOp::Min, BinaryOp::Max};
    constexpr std::array kCalls{Builtin::Abs,  Builtin::Sqrt,  Builtin::Rsqrt, Builtin::Exp,   Builtin::Exp2,
                                Builtin::Log,  Builtin::Log2,  Builtin::Sin,   Builtin::Cos,   Builtin::Tan,
                                Builtin::Asin, Builtin::Acos,  Builtin::Atan,  Builtin::Sinh,  Builtin::Cosh,
                                Builtin::Tanh, Builtin::Floor, Builtin::Ceil,  Builtin::Round, Builtin::Trunc};
    switch (pick(0, 11)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4: return ir::binary(one_of(kBinary), real(type, depth - 1), second());
        case 5: return ir::unary(UnaryOp::Neg, real(type, depth - 1));
        case 6:
        case 7: return ir::call(one_of(kCalls), {real(type, depth - 1)});
        case 8:
            return ir::call(one_of(std::array{Builtin::Pow, Builtin::Hypot, Builtin::Atan2}),
                            {real(type, depth - 1), second()});
        case 9: return ir::select(boolean(depth - 1), real(type, depth - 1), real(type, depth - 1));
        case 10: return ir::cast(type, real(one_of(kFloatTypes), depth - 1));
        default: return ir::cast(type, integer(one_of(kIntegerTypes), depth - 1));
    }
}

Expr RandomExpr::boolean(int depth) {
    if (depth <= 0) return chance(70) ? ir::param_ref(0, Type::Bool) : constant(Type::Bool);
    constexpr std::array kComparisons{BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt,
                                      BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge};
    switch (pick(0, 9)) {
        case 0:
            return ir::binary(one_of(std::array{BinaryOp::And, BinaryOp::Or}), boolean(depth - 1), boolean(depth - 1));
        case 1: return ir::unary(UnaryOp::Not, boolean(depth - 1));
        case 2:
            return ir::binary(one_of(std::array{BinaryOp::Eq, BinaryOp::Ne}), boolean(depth - 1), boolean(depth - 1));
        case 3: return ir::select(boolean(depth - 1), boolean(depth - 1), boolean(depth - 1));
        case 4:
            if (options_.floats) {
                const Type type = one_of(kFloatTypes);
                return ir::binary(one_of(kComparisons), real(type, depth - 1), real(type, depth - 1));
            }
            [[fallthrough]];
        case 5: return let(Type::Bool, depth);
        default: {
            const Type type = one_of(kIntegerTypes);
            const Expr b = chance(options_.constants) ? constant(type) : integer(type, depth - 1);
            return ir::binary(one_of(kComparisons), integer(type, depth - 1), b);
        }
    }
}

}  // namespace pipec::test
