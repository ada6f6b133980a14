// What comparisons of floats say of integers that are made of them: where `0 <= v` and `v < 1`, `int32(v * 256)` is 0
// to 255.
//
// The comparison and the integer are both opaque values. A fact ties them together: of an integer that is L to H
// everywhere, and at most h where the comparison c, 0 or 1, holds,
//     integer <= h + (H - h) * (1 - c)
// says so in one inequality. A fact holds whatever data are, and so wherever the two values are mentioned: where the
// program does not evaluate one of them, it has the value that some data would give it.
#include <algorithm>
#include <utility>

#include "ir/build.h"
#include "ir/visit.h"
#include "poly/isl_affine.h"
#include "poly/isl_affine_limits.h"

namespace pipec::poly {

namespace {

/// Conditions and integers that are looked at, and the conditions that say something of one integer.
constexpr std::size_t kMostOfFloats = 32, kMostTies = 6;

bool is_made_of_floats(const ir::Expr& e) {
    return ir::any_node(e, [](const ir::Expr& node) {
        const auto* cast = ir::as<ir::Cast>(node);
        return cast != nullptr && ir::is_float(cast->a->type) && ir::is_int(node->type);
    });
}

/// Whether a side of a comparison occurs in an expression.
bool have_common_part(const ir::Expr& comparison, const ir::Expr& e) {
    const auto* n = ir::as<ir::Binary>(comparison);
    return n != nullptr && ir::any_node(e, [&](const ir::Expr& node) {
               return ir::structurally_equal(node, n->a) || ir::structurally_equal(node, n->b);
           });
}

IntRange common(const IntRange& a, const IntRange& b) {
    return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}

}  // namespace

void AffineTranslator::tie_to_float_conditions(const ir::Expr& e, Name name) {
    if (integers_ == Integers::Exact) return;
    const auto* comparison = ir::as<ir::Binary>(e);
    if (comparison != nullptr && ir::is_comparison(comparison->op) && ir::is_float(comparison->a->type)) {
        if (float_conditions_.size() >= kMostOfFloats || !is_small(e)) return;
        float_conditions_.push_back({name, e, {}});
        for (OfFloats& integer : of_floats_) tie(float_conditions_.back(), float_conditions_.size() - 1, integer);
        return;
    }
    ir::Expr value = e;
    if (const auto* read = ir::as<ir::Read>(e)) {
        if (pipeline_ == nullptr || read->source.kind != ir::Source::Kind::Stage) return;
        const ir::Stage& stage = pipeline_->stages.at(static_cast<std::size_t>(read->source.index));
        const auto* pure = std::get_if<ir::Pure>(&stage.definition);
        value = pure == nullptr ? nullptr : definition_at(*read, stage, pure->value);
    }
    if (!value || !ir::is_int(e->type) || ir::bits(e->type) > 32 || !is_small(value) || !is_made_of_floats(value))
        return;
    if (of_floats_.size() >= kMostOfFloats) return;
    of_floats_.push_back({name, value, {}});
    for (std::size_t c = 0; c < float_conditions_.size(); ++c) tie(float_conditions_[c], c, of_floats_.back());
}

/// Whether the float that is cut off to an integer is 0 or more where one condition is so, and the other one holds,
/// of what is no NaN.
bool AffineTranslator::makes_natural(const OfFloats& condition, bool is_so, const OfFloats& other,
                                     const OfFloats& integer) {
    const auto* cast = ir::as<ir::Cast>(without_lets(integer.value));
    if (cast == nullptr || !ir::is_float(cast->a->type)) return false;
    const auto range = std::get<FloatRange>(
        ranges_.of(cast->a, {{without_lets(condition.value), is_so}, {without_lets(other.value), true}}));
    return range.lo >= 0 && !range.nan;
}

/// `v < R` of `int32(v)`, where R is a size: what intervals do not say. `natural`: a condition, and whether it holds,
/// that makes v 0 or more, and cutting it off the same as rounding down.
bool AffineTranslator::tie_by_limits(const OfFloats& condition, const OfFloats& integer,
                                     std::optional<std::pair<Name, bool>> natural) {
    const auto comparison = without_lets(condition.value), value = without_lets(integer.value);
    const auto* n = ir::as<ir::Binary>(comparison);
    const auto* cast = ir::as<ir::Cast>(value);
    if (cast == nullptr || value->type != ir::Type::Int32 || !ir::is_float(cast->a->type)) return false;
    // What is compared may be rounded already: then it is whole, and further rounding changes nothing.
    struct Number {
        ir::Expr value;
        bool down = false, nearest = false;  ///< how it becomes a whole number; toward 0 where neither
    };
    std::vector<Number> numbers{{cast->a}};
    bool any_nearest = false;
    while (const auto* call = ir::as<ir::Call>(numbers.back().value)) {
        const bool rounds = call->fn == ir::Builtin::Floor || call->fn == ir::Builtin::Ceil ||
                            call->fn == ir::Builtin::Round || call->fn == ir::Builtin::Trunc;
        if (!rounds) break;
        any_nearest = any_nearest || call->fn == ir::Builtin::Ceil || call->fn == ir::Builtin::Round;
        numbers.back().down = true, numbers.back().nearest = false;
        numbers.push_back({call->args[0], call->fn == ir::Builtin::Floor, any_nearest});
    }
    bool ties = false;
    for (const bool mirrored : {false, true}) {
        const ir::Expr &v = mirrored ? n->b : n->a, &end = mirrored ? n->a : n->b;
        const auto number =
            std::ranges::find_if(numbers, [&](const Number& one) { return ir::structurally_equal(v, one.value); });
        if (number == numbers.end() || std::get<FloatRange>(ranges_.of(end)).nan) continue;
        if (n->op == ir::BinaryOp::Eq || n->op == ir::BinaryOp::Ne) continue;
        const bool less = (n->op == ir::BinaryOp::Lt || n->op == ir::BinaryOp::Le) != mirrored;
        for (const bool holds : {true, false}) {
            const bool upper = less == holds;
            const bool strict = (n->op == ir::BinaryOp::Lt || n->op == ir::BinaryOp::Gt) == holds;
            auto limit = float_limit(end, upper);
            const IntRange type = type_range(ir::Type::Int32);
            if (!limit || limit->lo <= type.lo || limit->hi >= type.hi || limit->lo == limit->hi) continue;
            const std::vector<Name> names = names_in(limit->value);
            if (!std::ranges::all_of(names, [](Name name) { return name.kind == Name::Kind::Size; })) continue;
            // Below a whole number the next one is less; what is cut off toward 0 may still be 0, as NaN is.
            if (upper && strict && !number->nearest) limit->value = limit->value.add_constant(-1);
            const bool cut_off = upper && holds && !number->down;
            if (natural && !cut_off) continue;
            const bool may_be_zero = !natural && (!holds || cut_off);
            if (upper && may_be_zero && limit->lo < 1) limit->value = limit->value.max(constant(0));
            if (!upper && !holds && limit->hi > 0) limit->value = limit->value.min(constant(0));
            const isl::pw_aff is = isl_.value(condition.name);
            isl::pw_aff not_so = holds ? isl_.constant(1).sub(is) : is;
            if (natural) {
                const isl::pw_aff other = isl_.value(natural->first);
                not_so = not_so.add(natural->second ? isl_.constant(1).sub(other) : other);
            }
            const isl::pw_aff described = isl_.value(integer.name);
            const Wide far = type.hi - type.lo;
            const isl::pw_aff end_of_it = limit->value.add(not_so.scale(val(upper ? far : -far)));
            facts_.push_back({upper ? described.le_set(end_of_it) : described.ge_set(end_of_it), {integer.name}});
            ties = true;
        }
    }
    return ties;
}

void AffineTranslator::tie(const OfFloats& condition, std::size_t number, OfFloats& integer) {
    if (integer.conditions.size() >= kMostTies) return;
    const auto range = [&](const std::vector<ValueRanges::Given>& given) {
        return std::get<IntRange>(ranges_.of(integer.value, given));
    };
    const IntRange known = ranges_.integer(opaque(integer.name.index));
    const IntRange by_condition[] = {common(known, range({{condition.value, false}})),
                                     common(known, range({{condition.value, true}}))};
    bool ties = tie_by_limits(condition, integer);
    for (const bool holds : {false, true}) {
        const IntRange& narrower = by_condition[holds ? 1 : 0];
        if (narrower == known || narrower.lo > narrower.hi) continue;
        add_range_where(integer, narrower, {{condition.name, holds}});
        ties = true;
    }
    // Two may say together what neither says alone: `-1 <= v` and `v <= 1` of `v * v`.
    for (const std::size_t c : integer.conditions) {
        const OfFloats& other = float_conditions_[c];
        for (const bool holds : {false, true}) {
            if (makes_natural(other, holds, condition, integer))
                tie_by_limits(condition, integer, std::pair(other.name, holds));
            if (makes_natural(condition, holds, other, integer))
                tie_by_limits(other, integer, std::pair(condition.name, holds));
            for (const bool other_holds : {false, true}) {
                const IntRange apart = common(by_condition[holds ? 1 : 0], range({{other.value, other_holds}}));
                const IntRange both = common(apart, range({{condition.value, holds}, {other.value, other_holds}}));
                if (both == apart || both.lo > both.hi) continue;
                add_range_where(integer, both, {{condition.name, holds}, {other.name, other_holds}});
                ties = true;
            }
        }
    }
    if (ties || have_common_part(without_lets(condition.value), without_lets(integer.value)))
        integer.conditions.push_back(number);
}

void AffineTranslator::add_range_where(const OfFloats& integer, const IntRange& range,
                                       const std::vector<std::pair<Name, bool>>& where) {
    const IntRange known = type_range(opaque(integer.name.index)->type);
    isl::pw_aff others = isl_.constant(0);  // how many of the conditions are not so
    for (const auto& [name, holds] : where) {
        const isl::pw_aff value = isl_.value(name);
        others = others.add(holds ? isl_.constant(1).sub(value) : value);
    }
    const isl::pw_aff described = isl_.value(integer.name);
    if (range.hi < known.hi) {
        const isl::pw_aff most = others.scale(val(known.hi - range.hi)).add(constant(range.hi));
        facts_.push_back({described.le_set(most), {integer.name}});
    }
    if (range.lo > known.lo) {
        const isl::pw_aff least = others.scale(val(known.lo - range.lo)).add(constant(range.lo));
        facts_.push_back({described.ge_set(least), {integer.name}});
    }
}

}  // namespace pipec::poly
