// The translation; see isl_affine.h for what it means.
#include "poly/isl_affine.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::poly {

using ir::BinaryOp;
using ir::UnaryOp;

namespace {

bool has_opaque(const isl::pw_aff& value) {
    const std::vector<Name> names = names_in(value);
    return std::any_of(names.begin(), names.end(), [](Name n) { return n.kind == Name::Kind::Opaque; });
}

/// a where `cond`, b where not; both conditions are given, so nothing is complemented.
isl::pw_aff choose(const isl::set& cond, const isl::pw_aff& a, const isl::set& otherwise, const isl::pw_aff& b) {
    return a.intersect_domain(cond).union_add(b.intersect_domain(otherwise));
}

/// k where the mask is 2^k - 1, k > 0.
std::optional<int> mask_bits(const IntRange& mask) {
    if (mask.lo != mask.hi) return std::nullopt;
    for (int k = 1; k < 62; ++k) {
        if (mask.lo == (static_cast<Wide>(1) << k) - 1) return k;
    }
    return std::nullopt;
}

}  // namespace

/// Looks an expression up or translates it, collecting the obligations that arise on the way.
template <class T, class F>
T AffineTranslator::remembered(std::map<std::pair<const ir::Node*, bool>, Translated<T>>& known, const ir::Expr& e,
                               bool truth, F f) {
    const std::pair key{e.get(), truth};
    auto found = known.find(key);
    if (found == known.end()) {
        std::vector<int> outer = std::exchange(open_obligations_, {});
        T result = f();
        std::sort(open_obligations_.begin(), open_obligations_.end());
        open_obligations_.erase(std::unique(open_obligations_.begin(), open_obligations_.end()),
                                open_obligations_.end());
        found = known.emplace(key, Translated<T>{result, std::exchange(open_obligations_, std::move(outer))}).first;
    }
    open_obligations_.insert(open_obligations_.end(), found->second.no_wrap.begin(), found->second.no_wrap.end());
    return found->second.value;
}

isl::pw_aff AffineTranslator::value(const ir::Expr& e) {
    return remembered(values_, e, true, [&] { return compute(e); });
}

isl::set AffineTranslator::truth_set(const ir::Expr& e, bool truth) {
    return remembered(conditions_, e, truth, [&] { return compute_truth(e, truth); });
}

Translated<isl::pw_aff> AffineTranslator::integer(const ir::Expr& e) {
    open_obligations_.clear();
    isl::pw_aff result = value(e);
    return {std::move(result), std::exchange(open_obligations_, {})};
}

Translated<isl::pw_aff> AffineTranslator::exact_integer(const ir::Expr& e) {
    open_obligations_.clear();
    isl::pw_aff result = operand(e);
    return {std::move(result), std::exchange(open_obligations_, {})};
}

Translated<isl::set> AffineTranslator::condition(const ir::Expr& e, bool truth) {
    open_obligations_.clear();
    isl::set result = truth_set(e, truth);
    return {std::move(result), std::exchange(open_obligations_, {})};
}

void AffineTranslator::bind(ir::VarId var, const ir::Expr& value) {
    lets_.insert_or_assign(var, value);
    ranges_.bind(var, value);
}

isl::set AffineTranslator::with_opaque_bounds(isl::set set) const {
    constexpr Wide kFar = static_cast<Wide>(1) << 65;  // no type reaches as far
    for (const Name name : names_in(set)) {
        if (name.kind != Name::Kind::Opaque) continue;
        const IntRange range = ranges_.integer(opaque(name.index));
        const isl::pw_aff value = isl_.value(name);
        if (range.lo > -kFar) set = set.intersect(value.ge_set(constant(range.lo)));
        if (range.hi < kFar) set = set.intersect(value.le_set(constant(range.hi)));
    }
    return set;
}

isl::val AffineTranslator::val(Wide v) const {
    // isl takes a long; the bounds of uint64 and negated ones of int64 are wider.
    constexpr long kPart = 1L << 62;
    const auto part = [&](Wide w) { return isl::val(isl_.ctx(), static_cast<long>(w)); };
    return part(v / kPart).mul(part(kPart)).add(part(v % kPart));
}

isl::pw_aff AffineTranslator::constant(Wide v) const {
    return isl_.everything().pw_aff_on_domain(val(v));
}

/// The parameter that stands for `e`, the same for structurally equal expressions.
isl::pw_aff AffineTranslator::make_opaque(const ir::Expr& e) {
    const auto [number, is_new] = opaque_numbers_.try_emplace(unique_.get(e).get(), static_cast<int>(opaques_.size()));
    if (is_new) opaques_.push_back(e);
    return isl_.value({Name::Kind::Opaque, number->second});
}

isl::pw_aff AffineTranslator::operand(const ir::Expr& e) {
    const isl::pw_aff result = value(e);
    if (fits(ranges_.unwrapped(e), e->type)) return result;
    if (has_opaque(result)) return make_opaque(e);
    obligations_.push_back({e, result});
    open_obligations_.push_back(static_cast<int>(obligations_.size()) - 1);
    return result;
}

isl::pw_aff AffineTranslator::compute(const ir::Expr& e) {
    return std::visit(ir::overloaded{
                          [&](const ir::IntConstant&) {
                              const IntRange range = ranges_.integer(e);
                              return fits(range, ir::Type::Int64) ? constant(range.lo) : make_opaque(e);
                          },
                          [&](const ir::Variable& n) {
                              const auto let = lets_.find(n.id);
                              return let == lets_.end() ? isl_.value({Name::Kind::Variable, n.id}) : value(let->second);
                          },
                          [&](const ir::SizeRef& n) {
                              return isl_.value({Name::Kind::Size, n.index});
                          },
                          [&](const ir::Unary& n) {
                              if (n.op == UnaryOp::Neg) return value(n.a).neg();
                              if (n.op == UnaryOp::BitNot && ir::is_signed_int(e->type))
                                  return operand(n.a).neg().add_constant(-1);
                              return make_opaque(e);
                          },
                          [&](const ir::Binary& n) { return compute_binary(e, n); },
                          [&](const ir::Cast& n) { return compute_cast(e, n); },
                          [&](const ir::Call& n) {
                              const bool is_abs = n.fn == ir::Builtin::Abs && ir::is_int(e->type);
                              if (!is_abs || ranges_.integer(n.args[0]).lo == ir::int_min(e->type))
                                  return make_opaque(e);
                              const isl::pw_aff a = operand(n.args[0]);
                              return a.max(a.neg());
                          },
                          [&](const ir::Select& n) {
                              const isl::set cond = truth_set(n.cond, true);
                              if (!n.otherwise) return value(n.then).intersect_domain(cond);
                              return choose(cond, value(n.then), truth_set(n.cond, false), value(n.otherwise));
                          },
                          [&](const ir::Let& n) {
                              bind(n.var, n.value);
                              return value(n.body);
                          },
                          [&](const auto&) { return make_opaque(e); },
                      },
                      e->value);
}

isl::pw_aff AffineTranslator::compute_binary(const ir::Expr& e, const ir::Binary& n) {
    const IntRange b = ranges_.unwrapped(n.b);
    const bool constant_b = b.lo == b.hi;
    switch (n.op) {
        case BinaryOp::Add: return value(n.a).add(value(n.b));
        case BinaryOp::Sub: return value(n.a).sub(value(n.b));
        case BinaryOp::Mul: {
            const IntRange a = ranges_.unwrapped(n.a);
            if (constant_b && fits(b, ir::Type::Int64)) return value(n.a).scale(val(b.lo));
            if (a.lo == a.hi && fits(a, ir::Type::Int64)) return value(n.b).scale(val(a.lo));
            return make_opaque(e);
        }
        case BinaryOp::Div:
        case BinaryOp::Mod: {
            if (!constant_b || b.lo == -1 || !fits(b, ir::Type::Int64)) return make_opaque(e);
            if (b.lo == 0) return constant(0);
            // For d < 0: floor(a / d) = floor(-a / -d), a mod d = -(-a mod -d).
            const isl::pw_aff a = b.lo > 0 ? operand(n.a) : operand(n.a).neg();
            const isl::val d = val(b.lo > 0 ? b.lo : -b.lo);
            if (n.op == BinaryOp::Div) return a.scale_down(d).floor();
            return b.lo > 0 ? a.mod(d) : a.mod(d).neg();
        }
        case BinaryOp::Min: return operand(n.a).min(operand(n.b));
        case BinaryOp::Max: return operand(n.a).max(operand(n.b));
        case BinaryOp::BitAnd: {
            // a & (2^k - 1) = a mod 2^k, in two's complement also for a < 0.
            if (const auto k = mask_bits(b)) return operand(n.a).mod(val(static_cast<Wide>(1) << *k));
            if (const auto k = mask_bits(ranges_.unwrapped(n.a))) {
                return operand(n.b).mod(val(static_cast<Wide>(1) << *k));
            }
            return make_opaque(e);
        }
        case BinaryOp::Shl: {
            if (!constant_b || b.lo < 0 || b.lo >= std::min(ir::bits(e->type), 62)) return make_opaque(e);
            const IntRange a = ranges_.unwrapped(n.a);
            const Wide factor = static_cast<Wide>(1) << b.lo;
            const Wide limit = static_cast<Wide>(1) << 62;
            const bool small = a.lo > -limit && a.hi < limit;
            if (!small || !fits({a.lo * factor, a.hi * factor}, e->type)) return make_opaque(e);
            return value(n.a).scale(val(factor));
        }
        case BinaryOp::Shr:
            if (!constant_b || b.lo < 0 || b.lo >= std::min(ir::bits(e->type), 62)) return make_opaque(e);
            return operand(n.a).scale_down(val(static_cast<Wide>(1) << b.lo)).floor();
        default: return make_opaque(e);
    }
}

isl::pw_aff AffineTranslator::compute_cast(const ir::Expr& e, const ir::Cast& n) {
    if (n.a->type == ir::Type::Bool) {
        return choose(truth_set(n.a, true), constant(1), truth_set(n.a, false), constant(0));
    }
    if (ir::is_float(n.a->type)) return make_opaque(e);
    const isl::pw_aff a = operand(n.a);
    const IntRange range = ranges_.integer(n.a);
    const IntRange bounds = type_range(e->type);
    if (fits(range, e->type)) return a;
    if (!fits(bounds, ir::Type::Int64)) return make_opaque(e);
    if (n.saturate) return a.max(constant(bounds.lo)).min(constant(bounds.hi));
    if (ir::bits(e->type) > 16) return make_opaque(e);
    // Wrapping to n bits: ((a - lo) mod 2^n) + lo.
    return a.sub(constant(bounds.lo)).mod(val(bounds.hi - bounds.lo + 1)).add(constant(bounds.lo));
}

isl::set AffineTranslator::compare(BinaryOp op, const isl::pw_aff& a, const isl::pw_aff& b, bool truth) {
    switch (op) {
        case BinaryOp::Eq: return truth ? a.eq_set(b) : a.ne_set(b);
        case BinaryOp::Ne: return truth ? a.ne_set(b) : a.eq_set(b);
        case BinaryOp::Lt: return truth ? a.lt_set(b) : a.ge_set(b);
        case BinaryOp::Le: return truth ? a.le_set(b) : a.gt_set(b);
        case BinaryOp::Gt: return truth ? a.gt_set(b) : a.le_set(b);
        default: return truth ? a.ge_set(b) : a.lt_set(b);
    }
}

isl::set AffineTranslator::compute_truth(const ir::Expr& e, bool truth) {
    const auto opaque_set = [&] { return make_opaque(e).eq_set(constant(truth ? 1 : 0)); };
    return std::visit(
        ir::overloaded{
            [&](const ir::IntConstant& n) { return (n.value != 0) == truth ? isl_.everything() : isl_.nothing(); },
            [&](const ir::Variable& n) {
                const auto let = lets_.find(n.id);
                return let == lets_.end() ? opaque_set() : truth_set(let->second, truth);
            },
            [&](const ir::Unary& n) { return truth_set(n.a, !truth); },
            [&](const ir::Binary& n) {
                if (ir::is_logical(n.op)) {
                    const bool both = (n.op == BinaryOp::And) == truth;
                    const isl::set a = truth_set(n.a, truth);
                    const isl::set b = truth_set(n.b, truth);
                    return both ? a.intersect(b) : a.unite(b).coalesce();
                }
                if (n.a->type == ir::Type::Bool && (n.op == BinaryOp::Eq || n.op == BinaryOp::Ne)) {
                    const bool same = (n.op == BinaryOp::Eq) == truth;
                    return truth_set(n.a, true)
                        .intersect(truth_set(n.b, same))
                        .unite(truth_set(n.a, false).intersect(truth_set(n.b, !same)));
                }
                if (!ir::is_comparison(n.op) || !ir::is_int(n.a->type)) return opaque_set();
                return compare(n.op, operand(n.a), operand(n.b), truth);
            },
            [&](const ir::Select& n) {
                const isl::set then = truth_set(n.cond, true).intersect(truth_set(n.then, truth));
                if (!n.otherwise) return then;
                return then.unite(truth_set(n.cond, false).intersect(truth_set(n.otherwise, truth))).coalesce();
            },
            [&](const ir::Let& n) {
                bind(n.var, n.value);
                return truth_set(n.body, truth);
            },
            [&](const auto&) { return opaque_set(); },
        },
        e->value);
}

}  // namespace pipec::poly
