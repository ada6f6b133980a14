// Limits of floats that become indices: `int32(clamp(v, -3, R + 2))` is at most R + 2, as long as float32 has that
// number.
//
// A limit is a function of indices and sizes that a float is not beyond, unless it is NaN. Its values are integers,
// which every rounding to an integer keeps; a float32 keeps those up to 2^24, and is less than kFarOff beyond others.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "ir/build.h"
#include "ir/visit.h"
#include "poly/isl_affine.h"
#include "poly/isl_affine_limits.h"

namespace pipec::poly {

using ir::BinaryOp;
using ir::Builtin;

namespace {

constexpr Wide kExact = 1 << 24;  // integers up to it are float32
constexpr Wide kFarOff = 512;     // up to kFarthestLimit, rounding changes less than that

/// n / 1024 where the float is that, exactly, and no large number.
std::optional<long> in_1024ths(double factor) {
    const double scaled = factor * 1024;
    if (!(std::fabs(scaled) <= 1 << 20) || scaled != std::trunc(scaled)) return std::nullopt;
    return static_cast<long>(scaled);
}

}  // namespace

/// What a float of the type can be where the number before it was rounded is not beyond `limit`.
auto AffineTranslator::rounded(FloatLimit limit, ir::Type type, bool upper) const -> std::optional<FloatLimit> {
    if (limit.lo < -kFarthestLimit || limit.hi > kFarthestLimit || type == ir::Type::Float16) return std::nullopt;
    if (type == ir::Type::Float64) return limit;
    const auto farther = [&](const isl::set& where) {
        const Wide off = upper ? kFarOff : -kFarOff;
        limit.value = limit.value.intersect_domain(where.complement())
                          .union_add(limit.value.add_constant(val(off)).intersect_domain(where));
    };
    const bool far_up = limit.hi > kExact, far_down = limit.lo < -kExact;
    const isl::pw_aff value = limit.value;
    if (far_up) farther(value.gt_set(constant(kExact)));
    if (far_down) farther(value.lt_set(constant(-kExact)));
    if (far_up && upper) limit.hi += kFarOff;
    if (far_down && !upper) limit.lo -= kFarOff;
    return limit;
}

/// `limit` times n / d, up or down to an integer.
auto AffineTranslator::scaled(FloatLimit limit, long n, long d, bool upper) const -> FloatLimit {
    const isl::pw_aff value = limit.value.scale(val(n)).scale_down(val(d));
    const Wide a = limit.lo * n, b = limit.hi * n;
    return {upper ? value.ceil() : value.floor(), std::min(a, b) / d - 1, std::max(a, b) / d + 1};
}

auto AffineTranslator::float_limit(const ir::Expr& e, bool upper) -> std::optional<FloatLimit> {
    if (auto found = limit_by_operator(e, upper)) return found;
    const auto range = std::get<FloatRange>(ranges_.of(e));
    const double end = upper ? range.hi : range.lo;
    if (!(std::fabs(end) <= static_cast<double>(kExact))) return std::nullopt;
    const Wide number = static_cast<Wide>(upper ? std::ceil(end) : std::floor(end));
    return FloatLimit{constant(number), number, number};
}

auto AffineTranslator::limit_by_operator(const ir::Expr& e, bool upper) -> std::optional<FloatLimit> {
    const auto both = [](const auto& a, const auto& b, bool greater) -> std::optional<FloatLimit> {
        if (!a || !b) return std::nullopt;
        if (greater) return FloatLimit{a->value.max(b->value), std::max(a->lo, b->lo), std::max(a->hi, b->hi)};
        return FloatLimit{a->value.min(b->value), std::min(a->lo, b->lo), std::min(a->hi, b->hi)};
    };
    const auto may_be_nan = [&](const ir::Expr& x) { return std::get<FloatRange>(ranges_.of(x)).nan; };
    if (const auto* n = ir::as<ir::Variable>(e)) {
        const ir::Expr given = let_value(n->id);
        return given ? float_limit(given, upper) : std::nullopt;
    }
    if (const auto* n = ir::as<ir::Let>(e)) {
        bind(n->var, n->value);
        return float_limit(n->body, upper);
    }
    if (const auto* n = ir::as<ir::Select>(e)) {
        const auto then = float_limit(n->then, upper);
        return n->otherwise ? both(then, float_limit(n->otherwise, upper), upper) : then;
    }
    if (const auto* n = ir::as<ir::Cast>(e)) {
        if (!ir::is_float(n->a->type)) return limit_of_integer(n->a, e->type, upper);
        const auto limit = float_limit(n->a, upper);
        return limit ? rounded(*limit, e->type, upper) : std::nullopt;
    }
    if (const auto* n = ir::as<ir::Call>(e)) {
        const bool rounds =
            n->fn == Builtin::Floor || n->fn == Builtin::Ceil || n->fn == Builtin::Round || n->fn == Builtin::Trunc;
        return rounds ? float_limit(n->args[0], upper) : std::nullopt;
    }
    if (const auto* n = ir::as<ir::Unary>(e)) {
        const auto limit = float_limit(n->a, !upper);
        return limit ? std::optional(FloatLimit{limit->value.neg(), -limit->hi, -limit->lo}) : std::nullopt;
    }
    if (const auto* n = ir::as<ir::Read>(e)) return limit_of_read(e, *n, upper);
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return std::nullopt;
    switch (n->op) {
        case BinaryOp::Min:
        case BinaryOp::Max: {
            const auto a = float_limit(n->a, upper), b = float_limit(n->b, upper);
            // A minimum is at most either one. The other operand is the result where one is NaN.
            const bool either = (n->op == BinaryOp::Min) == upper;
            if (!either) return both(a, b, upper);
            const bool by_a = a && !may_be_nan(n->a), by_b = b && !may_be_nan(n->b);
            return by_a && by_b ? both(a, b, !upper) : by_a ? a : by_b ? b : std::nullopt;
        }
        case BinaryOp::Add:
        case BinaryOp::Sub: {
            const bool minus = n->op == BinaryOp::Sub;
            const auto a = float_limit(n->a, upper), b = float_limit(n->b, upper != minus);
            if (!a || !b) return std::nullopt;
            const FloatLimit sum = minus ? FloatLimit{a->value.sub(b->value), a->lo - b->hi, a->hi - b->lo}
                                         : FloatLimit{a->value.add(b->value), a->lo + b->lo, a->hi + b->hi};
            return rounded(sum, e->type, upper);
        }
        case BinaryOp::Mul:
        case BinaryOp::Div: {
            const bool product = n->op == BinaryOp::Mul;
            const bool left = product && ir::as<ir::FloatConstant>(n->a) != nullptr;
            const auto* c = ir::as<ir::FloatConstant>(left ? n->a : n->b);
            if (c == nullptr && product) return limit_of_part(*n, e->type, upper);
            if (c == nullptr || c->value == 0 || !std::isfinite(c->value)) return std::nullopt;
            auto number = in_1024ths(product ? c->value : 1 / c->value);
            long divisor = 1024;
            // 1 / 3 is no float, but 3 is.
            if (!product && (!number || static_cast<double>(*number) / 1024 * c->value != 1)) {
                const auto whole = in_1024ths(c->value);
                if (!whole || *whole % 1024 != 0) return std::nullopt;
                number = *whole < 0 ? -1 : 1;
                divisor = std::abs(*whole / 1024);
            }
            if (!number) return std::nullopt;
            const auto limit = float_limit(left ? n->b : n->a, upper == (*number > 0));
            return limit ? rounded(scaled(*limit, *number, divisor, upper), e->type, upper) : std::nullopt;
        }
        default: return std::nullopt;
    }
}

/// Of u * w with u from 0 to 1, `clamp(v, 0, 1) * (N - 1)`: it lies between 0 and w.
auto AffineTranslator::limit_of_part(const ir::Binary& product, ir::Type type, bool upper)
    -> std::optional<FloatLimit> {
    const auto is_part = [&](const ir::Expr& u) {
        const auto range = std::get<FloatRange>(ranges_.of(u));
        return range.lo >= 0 && range.hi <= 1;
    };
    if (!is_part(product.a) && !is_part(product.b)) return std::nullopt;
    auto limit = float_limit(is_part(product.a) ? product.b : product.a, upper);
    if (!limit) return std::nullopt;
    const isl::pw_aff zero = constant(0);
    limit->value = upper ? limit->value.max(zero) : limit->value.min(zero);
    for (Wide* end : {&limit->lo, &limit->hi}) *end = upper ? std::max<Wide>(*end, 0) : std::min<Wide>(*end, 0);
    return rounded(*limit, type, upper);
}

auto AffineTranslator::limit_of_integer(const ir::Expr& e, ir::Type type, bool upper) -> std::optional<FloatLimit> {
    if (!ir::is_int(e->type)) return std::nullopt;
    const IntRange range = ranges_.unwrapped(e);
    if (!fits(range, e->type)) return std::nullopt;
    std::vector<int> outer = std::exchange(open_obligations_, {});
    const isl::pw_aff given = value(e);
    const bool certain = std::exchange(open_obligations_, std::move(outer)).empty();
    if (!certain || has_opaque(given)) return std::nullopt;
    return rounded({given, range.lo, range.hi}, type, upper);
}

/// Of a stage, by its definition. Where indices decide it, the points may lie outside of the stage's domain, as those
/// of a condition do that is not evaluated everywhere: a limit there must not contradict the range of the domain.
auto AffineTranslator::limit_of_read(const ir::Expr& e, const ir::Read& read, bool upper) -> std::optional<FloatLimit> {
    if (pipeline_ == nullptr || read.source.kind != ir::Source::Kind::Stage) return std::nullopt;
    const ir::Stage& stage = pipeline_->stages.at(static_cast<std::size_t>(read.source.index));
    const auto* pure = std::get_if<ir::Pure>(&stage.definition);
    if (pure == nullptr || inside_definitions_ >= kMostStages) return std::nullopt;
    const ir::Expr there = definition_at(read, stage, pure->value);
    if (!there) return std::nullopt;
    ++inside_definitions_;
    auto limit = float_limit(there, upper);
    --inside_definitions_;
    if (!limit) return limit;
    const std::vector<Name> names = names_in(limit->value);
    const bool of_sizes = std::all_of(names.begin(), names.end(), [](Name n) { return n.kind == Name::Kind::Size; });
    const auto range = std::get<FloatRange>(ranges_.of(there)), known = std::get<FloatRange>(ranges_.of(e));
    return of_sizes || (range.lo >= known.lo && range.hi <= known.hi) ? limit : std::nullopt;
}

/// The limits of a float that becomes an int32; NaN becomes 0.
auto AffineTranslator::cast_limit(const ir::Cast& cast, bool upper) -> std::optional<isl::pw_aff> {
    const auto limit = float_limit(cast.a, upper);
    const IntRange bounds = type_range(ir::Type::Int32);
    if (!limit || limit->lo < bounds.lo || limit->hi > bounds.hi) return std::nullopt;
    const auto range = std::get<FloatRange>(ranges_.of(cast.a));
    if (range.nan && (upper ? limit->lo < 0 : limit->hi > 0)) return std::nullopt;
    const bool plain = limit->lo == limit->hi || names_in(limit->value).empty();  // its interval says the same
    if (plain || isl_pw_aff_n_piece(limit->value.get()) > static_cast<isl_size>(kMostPiecesOfData)) return std::nullopt;
    return limit->value;
}

void AffineTranslator::describe_cast(const ir::Expr& e, Name name) {
    const CastLimits limits = limits_of_cast(e);
    const isl::pw_aff described = isl_.value(name);
    if (limits.least) facts_.push_back({described.ge_set(*limits.least), {name}});
    if (limits.greatest) facts_.push_back({described.le_set(*limits.greatest), {name}});
}

CastLimits AffineTranslator::limits_of_cast(const ir::Expr& e) {
    const auto* cast = ir::as<ir::Cast>(e);
    if (cast == nullptr || e->type != ir::Type::Int32 || !ir::is_float(cast->a->type) || !is_small(cast->a)) return {};
    return {cast_limit(*cast, false), cast_limit(*cast, true)};
}

}  // namespace pipec::poly
