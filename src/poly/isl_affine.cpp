// The translation; see isl_affine.h for what it means.
#include "poly/isl_affine.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "poly/isl_affine_limits.h"

namespace pipec::poly {

using ir::BinaryOp;
using ir::UnaryOp;

namespace {

/// Quotients that a piece of an index may have. Each multiplies the cases of isl's proofs and the size of its numbers,
/// so that the count of its operations says nothing about their time any more.
constexpr isl_size kMostQuotients = 4;

/// Of a function of indices: extents of deep pyramids have many that are nested, which cost little.
isl_size most_quotients(const isl::pw_aff& value) {
    const std::vector<Name> names = names_in(value);
    const auto is_size = [](Name n) { return n.kind == Name::Kind::Size; };
    if (std::all_of(names.begin(), names.end(), is_size)) return 0;
    isl_size most = 0;
    value.foreach_piece([&](const isl::set&, const isl::multi_aff& piece) {
        most = std::max(most, isl_aff_dim(piece.at(0).get(), isl_dim_div));
    });
    return most;
}

/// a where `cond` holds, b where it fails; both sets are given, so nothing is complemented.
isl::pw_aff choose(const Truth& cond, const isl::pw_aff& a, const isl::pw_aff& b) {
    return a.intersect_domain(cond.holds).union_add(b.intersect_domain(cond.fails));
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

/// Looks an expression up or translates it, collecting the obligations that arise on the way. The tables' elements stay
/// where they are when others are added.
template <class T, class F>
const T& AffineTranslator::remembered(std::unordered_map<ir::Expr, Translated<T>>& known, const ir::Expr& e, F f) {
    auto found = known.find(e);
    if (found == known.end()) {
        std::vector<int> outer = std::exchange(open_obligations_, {});
        T result = f();
        std::sort(open_obligations_.begin(), open_obligations_.end());
        open_obligations_.erase(std::unique(open_obligations_.begin(), open_obligations_.end()),
                                open_obligations_.end());
        Translated<T> translated{std::move(result), std::exchange(open_obligations_, std::move(outer))};
        found = known.emplace(e, std::move(translated)).first;
    }
    open_obligations_.insert(open_obligations_.end(), found->second.no_wrap.begin(), found->second.no_wrap.end());
    return found->second.value;
}

isl::pw_aff AffineTranslator::value(const ir::Expr& e) {
    return remembered(values_, e, [&] { return limited(e, compute(e)); });
}

const Truth& AffineTranslator::truth(const ir::Expr& e) {
    return remembered(conditions_, e, [&] { return limited(e, compute_truth(e)); });
}

/// `result`, or the opaque value of `e` where that would be one of too many pieces or quotients.
isl::pw_aff AffineTranslator::limited(const ir::Expr& e, isl::pw_aff result) {
    const auto pieces = static_cast<std::size_t>(isl_pw_aff_n_piece(result.get()));
    const bool few = pieces <= kMostPiecesOfData || (pieces <= kMostPieces && !has_opaque(result));
    if (few && most_quotients(result) <= kMostQuotients) return result;
    open_obligations_.clear();  // nothing of what was translated counts any more
    return make_opaque(e);
}

Translated<isl::pw_aff> AffineTranslator::integer(const ir::Expr& e) {
    open_obligations_.clear();
    isl::pw_aff result = value(e);
    return {std::move(result), std::exchange(open_obligations_, {})};
}

Translated<isl::pw_aff> AffineTranslator::index(const ir::Expr& e) {
    // A cast to a narrower type agrees with its operand modulo 2^n, as sums do.
    ir::Expr sum = e;
    for (const auto* cast = ir::as<ir::Cast>(sum); cast != nullptr && !opaques_.known(without_lets(sum));
         cast = ir::as<ir::Cast>(sum)) {
        if (cast->saturate || !ir::is_int(cast->a->type) || ir::bits(cast->a->type) < ir::bits(sum->type)) break;
        sum = cast->a;
    }
    Translated<isl::pw_aff> plain = integer(e);
    if (!has_opaque(plain.value) || (sum == e && fits(ranges_.unwrapped(e), e->type))) return plain;
    // What is remembered was translated without the terms; it is right, and serves everything but this index.
    auto remembered_values = std::exchange(values_, {});
    prefers_known_ = true;
    Translated<isl::pw_aff> result = integer(sum);
    prefers_known_ = false;
    values_ = std::move(remembered_values);
    return result;
}

Translated<isl::pw_aff> AffineTranslator::exact_integer(const ir::Expr& e) {
    open_obligations_.clear();
    isl::pw_aff result = operand(e);
    return {std::move(result), std::exchange(open_obligations_, {})};
}

void AffineTranslator::assume(const ir::Expr& condition) {
    AffineTranslator exact(isl_, ranges_, Integers::Exact);
    exact.opaques_ = opaques_;
    isl::set set = exact.launch_condition(condition);
    opaques_ = exact.opaques_;
    std::vector<Name> params = names_in(set);
    std::erase_if(params, [](Name n) { return n.kind != Name::Kind::Opaque; });
    if (!params.empty()) facts_.push_back({std::move(set), std::move(params)});
}

void AffineTranslator::bind(ir::VarId var, const ir::Expr& value) {
    if (const ir::Expr before = let_value(var); before != nullptr && before != value) without_lets_.clear();
    lets_.insert_or_assign(var, value);
    ranges_.bind(var, value);
}

isl::set AffineTranslator::with_opaque_bounds(isl::set set) const {
    constexpr Wide kFar = static_cast<Wide>(1) << 65;  // no type reaches as far
    std::vector<Name> known;
    std::vector<bool> used(facts_.size(), false);
    // A fact may bring in further values.
    for (bool again = true; again;) {
        again = false;
        for (const Name name : names_in(set)) {
            if (name.kind != Name::Kind::Opaque || std::find(known.begin(), known.end(), name) != known.end()) continue;
            known.push_back(name);
            again = true;
            const IntRange range = ranges_.integer(opaque(name.index));
            const isl::pw_aff value = isl_.value(name);
            if (range.lo > -kFar) set = set.intersect(value.ge_set(constant(range.lo)));
            if (range.hi < kFar) set = set.intersect(value.le_set(constant(range.hi)));
            for (std::size_t f = 0; f < facts_.size(); ++f) {
                const std::vector<Name>& about = facts_[f].opaques;
                if (used[f] || std::find(about.begin(), about.end(), name) == about.end()) continue;
                used[f] = true;
                set = set.intersect(facts_[f].set);
            }
        }
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

int Opaques::number(const ir::Expr& e, const ir::Expr& plain) {
    const ir::Node* key = unique_.get(canonical_.get(plain)).get();
    const auto [known, is_new] = numbers_.try_emplace(key, static_cast<int>(expressions_.size()));
    if (is_new) expressions_.push_back(e);
    return known->second;
}

std::optional<int> Opaques::known(const ir::Expr& plain) {
    const auto known = numbers_.find(unique_.get(canonical_.get(plain)).get());
    return known == numbers_.end() ? std::nullopt : std::optional(known->second);
}

/// `e` with what lets give their variables in the place of these: `y + m` in a condition and `y + g(y, x)` in an index
/// are equal where m is g(y, x). Nodes stay shared.
ir::Expr AffineTranslator::without_lets(const ir::Expr& e) {
    if (const auto known = without_lets_.find(e); known != without_lets_.end()) return known->second;
    ir::Expr result;
    if (const auto* let = ir::as<ir::Let>(e)) {
        bind(let->var, let->value);
        result = without_lets(let->body);
    } else if (const auto* var = ir::as<ir::Variable>(e)) {
        const ir::Expr value = let_value(var->id);
        result = value ? without_lets(value) : e;
    } else {
        result = ir::map_children(e, [&](const ir::Expr& operand) { return without_lets(operand); });
    }
    return without_lets_.emplace(e, std::move(result)).first->second;
}

/// The parameter that stands for `e`, the same for equal expressions.
isl::pw_aff AffineTranslator::make_opaque(const ir::Expr& e) {
    const Name name{Name::Kind::Opaque, opaques_.number(e, without_lets(e))};
    if (described_.insert(name.index).second) {
        describe(e, name);
        tie_to_float_conditions(e, name);
    }
    return isl_.value(name);
}

/// The parameter of a sum, product or let that is opaque already. A fact says that it equals the sum wherever that does
/// not wrap.
std::optional<isl::pw_aff> AffineTranslator::known_opaque(const ir::Expr& e) {
    const auto* n = ir::as<ir::Binary>(e);
    const auto* var = ir::as<ir::Variable>(e);
    const bool wraps_around =
        n != nullptr && (n->op == BinaryOp::Add || n->op == BinaryOp::Sub || n->op == BinaryOp::Mul);
    if (!wraps_around && (var == nullptr || !lets_.contains(var->id))) return {};
    const std::optional<int> number = opaques_.known(without_lets(e));
    if (!number) return {};
    const Name name{Name::Kind::Opaque, *number};
    const isl::pw_aff opaque = isl_.value(name);
    const auto [at, is_new] = linked_.try_emplace(*number, false);
    bool& linked = at->second;
    if (is_new) {
        const std::size_t before = open_obligations_.size();
        const isl::pw_aff sum = wraps_around ? compute_binary(e, *n) : value(lets_.at(var->id));
        linked = open_obligations_.size() == before && isl_pw_aff_n_piece(sum.get()) == 1;
        open_obligations_.resize(before);
        if (linked) {
            const IntRange type = type_range(e->type);
            const isl::set wraps = sum.lt_set(constant(type.lo)).unite(sum.gt_set(constant(type.hi)));
            facts_.push_back({opaque.eq_set(sum).unite(wraps), {name}});
        }
    }
    if (!linked) return {};
    return opaque;
}

isl::pw_aff AffineTranslator::operand(const ir::Expr& e) {
    const std::size_t before = open_obligations_.size();
    const isl::pw_aff result = value(e);
    if (integers_ == Integers::Exact || fits(ranges_.unwrapped(e), e->type)) return result;
    if (may_wrap_.contains(e.get()) || has_opaque(result)) {
        open_obligations_.resize(before);
        return make_opaque(e);
    }
    obligations_.push_back({e, result});
    open_obligations_.push_back(static_cast<int>(obligations_.size()) - 1);
    return result;
}

/// An operand of a minimum: in few pieces where it depends on data, so that what bounds it is not lost with them.
isl::pw_aff AffineTranslator::plain_operand(const ir::Expr& e) {
    constexpr int kFewPieces = 2;
    const std::size_t before = open_obligations_.size();
    isl::pw_aff result = operand(e);
    if (isl_pw_aff_n_piece(result.get()) <= kFewPieces || !has_opaque(result)) return result;
    open_obligations_.resize(before);
    return make_opaque(e);
}

isl::pw_aff AffineTranslator::compute(const ir::Expr& e) {
    if (prefers_known_) {
        if (auto known = known_opaque(e)) return *known;
    }
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
                              const Truth& cond = truth(n.cond);
                              if (!n.otherwise) return value(n.then).intersect_domain(cond.holds);
                              if (!cond.exact) return make_opaque(e);
                              return choose(cond, value(n.then), value(n.otherwise));
                          },
                          [&](const ir::Let& n) {
                              bind(n.var, n.value);
                              return value(n.body);
                          },
                          [&](const auto&) { return make_opaque(e); },
                      },
                      e->value);
}

/// A product with a parameter of few values, or a quotient by one, as the steps of a pyramid are: what is affine for
/// each of them. Null for other expressions.
ir::Expr AffineTranslator::for_each_value(const ir::Expr& e, const ir::Binary& n) {
    constexpr Wide kFewValues = 4;  // each is a piece of a bound, of which a launch computes six at most
    const bool is_product = n.op == BinaryOp::Mul;
    if (!is_product && n.op != BinaryOp::Div && n.op != BinaryOp::Mod) return nullptr;
    // The parameter itself: its value, not what an operation makes of it, is asked for.
    const auto parameter_in = [&](ir::Expr operand) -> ir::Expr {
        const IntRange range = ranges_.integer(operand);
        if (range.lo >= range.hi || range.hi - range.lo >= kFewValues || range.lo < (is_product ? 0 : 1))
            return nullptr;
        for (const auto* cast = ir::as<ir::Cast>(operand); cast != nullptr; cast = ir::as<ir::Cast>(operand)) {
            if (!ir::is_int(cast->a->type) || !fits(ranges_.integer(cast->a), operand->type)) return nullptr;
            operand = cast->a;
        }
        const bool is_parameter = ir::as<ir::SizeRef>(operand) != nullptr || ir::as<ir::ParamRef>(operand) != nullptr;
        return is_parameter ? operand : nullptr;
    };
    const ir::Expr left = is_product ? parameter_in(n.a) : nullptr;
    const ir::Expr parameter = left ? left : parameter_in(n.b);
    const ir::Expr& other = left ? n.b : n.a;
    if (!parameter || ranges_.integer(other).lo == ranges_.integer(other).hi) return nullptr;
    const IntRange range = ranges_.integer(parameter);
    ir::Expr result;
    for (Wide k = range.hi; k >= range.lo; --k) {
        const auto number = [k](ir::Type type) { return ir::int_constant(type, static_cast<std::int64_t>(k)); };
        const ir::Expr one = ir::binary(n.op, other, number(e->type), e->range);
        const ir::Expr is_it = ir::binary(BinaryOp::Eq, parameter, number(parameter->type));
        result = result ? ir::select(is_it, one, result, e->range) : one;
    }
    return result;
}

isl::pw_aff AffineTranslator::compute_binary(const ir::Expr& e, const ir::Binary& n) {
    if (const ir::Expr choice = for_each_value(e, n)) return value(choice);
    // A divisor, mask or count matters by its value, which may have wrapped.
    const IntRange b = ranges_.integer(n.b);
    const bool constant_b = b.lo == b.hi;
    switch (n.op) {
        case BinaryOp::Add: return value(n.a).add(value(n.b));
        case BinaryOp::Sub: return value(n.a).sub(value(n.b));
        case BinaryOp::Mul: {
            // A factor matters modulo 2^n only.
            const auto factor = [&](const ir::Expr& operand) -> std::optional<isl::val> {
                const IntRange range = ranges_.unwrapped(operand);
                if (range.lo != range.hi || !fits(range, ir::Type::Int64)) return std::nullopt;
                return val(range.lo);
            };
            if (const auto times = factor(n.b)) return value(n.a).scale(*times);
            if (const auto times = factor(n.a)) return value(n.b).scale(*times);
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
        case BinaryOp::Min: return plain_operand(n.a).min(plain_operand(n.b));
        case BinaryOp::Max: return plain_operand(n.a).max(plain_operand(n.b));
        case BinaryOp::BitAnd: {
            // a & (2^k - 1) = a mod 2^k, in two's complement also for a < 0.
            if (const auto k = mask_bits(b)) return operand(n.a).mod(val(static_cast<Wide>(1) << *k));
            if (const auto k = mask_bits(ranges_.integer(n.a))) {
                return operand(n.b).mod(val(static_cast<Wide>(1) << *k));
            }
            return make_opaque(e);
        }
        case BinaryOp::BitXor: {
            // a ^ 2^k: the partner of a butterfly, 2^k more or less.
            if (!constant_b || b.lo <= 0 || b.lo >= kIndexLimit || (b.lo & (b.lo - 1)) != 0) return make_opaque(e);
            const isl::pw_aff a = operand(n.a);
            const isl::pw_aff bit = a.scale_down(val(b.lo)).floor().mod(val(2));
            return a.add(constant(b.lo)).sub(bit.scale(val(2 * b.lo)));
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
        const Truth& a = truth(n.a);
        // Data that decide a number decide little else: sums and places of such numbers have as many cases as terms.
        const bool of_data = has_opaque(names_in(a.holds));
        return a.exact && !of_data ? choose(a, constant(1), constant(0)) : make_opaque(e);
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

}  // namespace pipec::poly
