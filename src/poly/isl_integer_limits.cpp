// Limits of integers that are the same at all points: `if k == 0 then at(y, x) else clamp(at(y, x - 1) + 1, 0, H - 1)`
// is at most H - 1 where `at` is. They say what stages hold that have too many pieces, or whose values data choose.
//
// A limit is a function of the sizes. Of any expression the least value is nowhere greater than the greatest one, so
// that the two exclude no launch.
#include <algorithm>
#include <functional>
#include <utility>

#include "ir/visit.h"
#include "poly/isl_affine.h"
#include "poly/isl_affine_limits.h"

namespace pipec::poly {

using ir::BinaryOp;

namespace {

bool is_of_sizes(const isl::pw_aff& value) {
    return std::ranges::all_of(names_in(value), [](Name n) { return n.kind == Name::Kind::Size; });
}

}  // namespace

auto AffineTranslator::integer_limit(const ir::Expr& e, bool upper) -> std::optional<IntegerLimit> {
    auto& known = integer_limits_[upper ? 1 : 0];
    if (const auto found = known.find(e); found != known.end()) return found->second;
    auto limit = limit_by_operation(e, upper);
    // One of many pieces decides nothing that its interval does not.
    if (limit && limit->is_open) return known.emplace(e, std::move(limit)).first->second;
    if (!limit || isl_pw_aff_n_piece(limit->value.get()) > static_cast<isl_size>(kMostPiecesOfData))
        limit = limit_by_interval(e, upper);
    return known.emplace(e, std::move(limit)).first->second;
}

auto AffineTranslator::limit_by_interval(const ir::Expr& e, bool upper) -> std::optional<IntegerLimit> {
    const IntRange range = ranges_.integer(e), type = type_range(e->type);
    const Wide end = upper ? range.hi : range.lo;
    const bool says_nothing = end == (upper ? type.hi : type.lo) && ir::bits(e->type) >= 32;
    if (says_nothing || end < -kFarthestLimit || end > kFarthestLimit) return std::nullopt;
    return IntegerLimit{constant(end)};
}

/// The first or the last value of a variable. That of an empty range counts as the first one.
auto AffineTranslator::limit_of_range(const ir::Expr& lo, const ir::Expr& hi, bool upper)
    -> std::optional<IntegerLimit> {
    const auto first = integer_limit(lo, upper);
    if (first && first->is_open) return std::nullopt;
    if (!upper || !first) return first;
    const auto end = integer_limit(hi, true);
    if (!end || end->is_open) return std::nullopt;
    return IntegerLimit{first->value.max(end->value.add_constant(-1)), first->in_domain || end->in_domain};
}

/// Of `e` where a condition holds that compares it: `if 0 <= i < V then i else V - 1`.
auto AffineTranslator::limit_where(const ir::Expr& condition, const ir::Expr& e, bool upper)
    -> std::optional<IntegerLimit> {
    const auto plain = integer_limit(e, upper);
    if (plain && plain->is_open) return plain;
    std::optional<IntegerLimit> compared;
    const ir::Expr own = without_lets(e);
    const auto is_own = [&](const ir::Expr& side) { return ir::structurally_equal(side, own); };
    const std::function<void(const ir::Expr&)> look = [&](const ir::Expr& part) {
        const auto* n = ir::as<ir::Binary>(part);
        if (n == nullptr) return;
        if (n->op == BinaryOp::And) return look(n->a), look(n->b);
        if (!ir::is_comparison(n->op) || n->op == BinaryOp::Ne || compared) return;
        const bool mirrored = !is_own(n->a);
        const ir::Expr& end = mirrored ? n->a : n->b;
        if (n->a->type != e->type || (mirrored && !is_own(n->b))) return;
        const bool less = (n->op == BinaryOp::Lt || n->op == BinaryOp::Le) != mirrored;
        if (n->op != BinaryOp::Eq && less != upper) return;
        auto limit = integer_limit(end, upper);
        if (!limit || limit->is_open) return;
        const bool strict = n->op == BinaryOp::Lt || n->op == BinaryOp::Gt;
        if (strict) limit->value = limit->value.add_constant(val(upper ? -1 : 1));
        compared = limit;
    };
    look(without_lets(condition));
    if (!compared) return plain;
    if (plain) {
        compared->value = upper ? plain->value.min(compared->value) : plain->value.max(compared->value);
        compared->in_domain = compared->in_domain || plain->in_domain;
    }
    // The condition may never hold: the least value must not be greater than the greatest one.
    const auto other = upper ? limit_where(condition, e, false) : integer_limit(e, true);
    if (other && !other->is_open)
        compared->value = upper ? compared->value.max(other->value) : compared->value.min(other->value);
    compared->value = compared->value.coalesce();
    return compared;
}

auto AffineTranslator::limit_by_operation(const ir::Expr& e, bool upper) -> std::optional<IntegerLimit> {
    if (!ir::is_int(e->type) || !fits(ranges_.unwrapped(e), e->type)) return std::nullopt;
    using Limit = std::optional<IntegerLimit>;
    const auto both = [](const Limit& a, const Limit& b, auto combine) -> Limit {
        if (!a || !b) return std::nullopt;
        if (a->is_open) return a;
        if (b->is_open) return b;
        return IntegerLimit{combine(a->value, b->value).coalesce(), a->in_domain || b->in_domain};
    };
    const auto greater = [](const isl::pw_aff& a, const isl::pw_aff& b) { return a.max(b); };
    const auto less = [](const isl::pw_aff& a, const isl::pw_aff& b) { return a.min(b); };
    const auto of_constant = [&](const ir::Expr& x) -> std::optional<Wide> {
        const IntRange range = ranges_.unwrapped(x);
        if (range.lo != range.hi || range.lo < -kFarthestLimit || range.lo > kFarthestLimit) return std::nullopt;
        return range.lo;
    };
    if (ir::as<ir::SizeRef>(e) != nullptr) return IntegerLimit{value(e)};
    if (const auto* n = ir::as<ir::Variable>(e)) {
        if (const ir::Expr given = let_value(n->id)) return integer_limit(given, upper);
        const auto range = dimensions_.find(n->id);
        if (range == dimensions_.end()) return std::nullopt;
        auto limit = limit_of_range(range->second.first, range->second.second, upper);
        if (limit) limit->in_domain = true;
        return limit;
    }
    if (const auto* n = ir::as<ir::Let>(e)) {
        bind(n->var, n->value);
        return integer_limit(n->body, upper);
    }
    if (const auto* n = ir::as<ir::Select>(e)) {
        const Limit then = limit_where(n->cond, n->then, upper);
        if (!n->otherwise) return then;
        const Limit otherwise = integer_limit(n->otherwise, upper);
        if (then && then->is_open) return otherwise;
        if (otherwise && otherwise->is_open) return then;
        return upper ? both(then, otherwise, greater) : both(then, otherwise, less);
    }
    if (const auto* n = ir::as<ir::Cast>(e)) {
        if (ir::is_int(n->a->type)) {
            return fits(ranges_.integer(n->a), e->type) ? integer_limit(n->a, upper) : std::nullopt;
        }
        const CastLimits limits = limits_of_cast(e);
        const auto& limit = upper ? limits.greatest : limits.least;
        return limit && is_of_sizes(*limit) ? Limit(IntegerLimit{*limit}) : std::nullopt;
    }
    if (const auto* n = ir::as<ir::Read>(e)) return limit_of_stage(*n, upper);
    if (const auto* n = ir::as<ir::Reduce>(e)) {
        if (!ir::gives_place(n->op)) return std::nullopt;
        const ir::Range& range = n->ranges.at(static_cast<std::size_t>(n->place));
        return limit_of_range(range.lo, range.hi, upper);
    }
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return std::nullopt;
    switch (n->op) {
        case BinaryOp::Min:
        case BinaryOp::Max: {
            const Limit a = integer_limit(n->a, upper), b = integer_limit(n->b, upper);
            const bool least = (n->op == BinaryOp::Min) != upper;  // the other one says how far the result is at least
            if (a && a->is_open) return least && open_wins_ ? a : b;
            if (b && b->is_open) return least && open_wins_ ? b : a;
            // A minimum is at most either one.
            const bool either = (n->op == BinaryOp::Min) == upper;
            if (either && (!a || !b)) return a ? a : b;
            return n->op == BinaryOp::Max ? both(a, b, greater) : both(a, b, less);
        }
        case BinaryOp::Add: {
            const auto sum = [](const isl::pw_aff& x, const isl::pw_aff& y) { return x.add(y); };
            return both(integer_limit(n->a, upper), integer_limit(n->b, upper), sum);
        }
        case BinaryOp::Sub: {
            const auto difference = [](const isl::pw_aff& x, const isl::pw_aff& y) { return x.sub(y); };
            return both(integer_limit(n->a, upper), integer_limit(n->b, !upper), difference);
        }
        case BinaryOp::Mul:
        case BinaryOp::Div: {
            const bool product = n->op == BinaryOp::Mul;
            const bool left = product && of_constant(n->a).has_value();
            const auto factor = of_constant(left ? n->a : n->b);
            if (!factor || *factor == 0 || (!product && *factor < 0)) return std::nullopt;
            Limit limit = integer_limit(left ? n->b : n->a, upper == (*factor > 0));
            if (limit && !limit->is_open)
                limit->value =
                    product ? limit->value.scale(val(*factor)) : limit->value.scale_down(val(*factor)).floor();
            return limit;
        }
        case BinaryOp::Mod: {
            // From 0 to the divisor less 1, whatever is divided.
            if (ranges_.integer(n->b).lo <= 0) return std::nullopt;
            if (!upper) return IntegerLimit{constant(0)};
            Limit limit = integer_limit(n->b, true);
            if (limit && !limit->is_open) limit->value = limit->value.add_constant(-1);
            return limit;
        }
        default: return std::nullopt;
    }
}

/// By induction: the limit of the definition where what it reads of itself has that limit, too. It is looked for first
/// with nothing said of these reads: a clamp gives it whatever it clamps, and so does the other branch of a choice. In
/// `max(n(x - 1), v)` the other operand gives it, in `min(max(n(x - 1), 0), v)` the last one does.
auto AffineTranslator::limit_of_scan(int stage, const ir::Expr& definition, bool upper) -> std::optional<IntegerLimit> {
    auto& scans = scan_limits_[upper ? 1 : 0];
    if (const auto found = scans.find(stage); found != scans.end()) return found->second;
    const auto with = [&](std::optional<IntegerLimit> of_reads) {
        // What is found under a hypothesis holds there alone, also where a budget ends the search.
        auto outer_limits = std::exchange(integer_limits_, {});
        auto outer_scans = scan_limits_;
        const auto restore = [&] {
            integer_limits_ = std::move(outer_limits), scan_limits_ = std::move(outer_scans);
            open_wins_ = false;
        };
        scans.insert_or_assign(stage, std::move(of_reads));
        try {
            auto result = integer_limit(definition, upper);
            restore();
            return result;
        } catch (...) {
            restore();
            throw;
        }
    };
    std::optional<IntegerLimit> found;
    for (const bool open_wins : {false, true}) {
        open_wins_ = open_wins;
        const auto limit = with(IntegerLimit{constant(0), false, true});
        if (!limit || limit->is_open) continue;
        const auto step = with(limit);
        if (!step || step->is_open) continue;
        if (isl_pw_aff_n_piece(step->value.get()) > static_cast<isl_size>(kMostPiecesOfData)) continue;
        const isl::set beyond = upper ? step->value.gt_set(limit->value) : step->value.lt_set(limit->value);
        if (!beyond.is_empty()) continue;
        found = limit;
        break;
    }
    scans.insert_or_assign(stage, found);
    return found;
}

/// Of all points of a stage, by its definition.
auto AffineTranslator::limit_of_stage(const ir::Read& read, bool upper) -> std::optional<IntegerLimit> {
    if (pipeline_ == nullptr || read.source.kind != ir::Source::Kind::Stage) return std::nullopt;
    const ir::Stage& stage = pipeline_->stages.at(static_cast<std::size_t>(read.source.index));
    const auto* pure = std::get_if<ir::Pure>(&stage.definition);
    if (pure == nullptr || !ir::is_int(stage.type)) return std::nullopt;
    for (const ir::Dimension& dim : stage.dims) {
        if (dim.is_explicit() && ir::is_uniform(dim.lo) && ir::is_uniform(dim.hi))
            dimensions_.insert_or_assign(dim.var, std::pair(dim.lo, dim.hi));
    }
    return stage.scan ? limit_of_scan(read.source.index, pure->value, upper) : integer_limit(pure->value, upper);
}

/// What the limits say beyond the interval. Where `name` is tied to the indices of a read already, no limit counts that
/// the stage's range gives: the read may stand in a condition that is not evaluated where it would leave that range.
void AffineTranslator::describe_limits(const ir::Expr& e, Name name, bool is_tied) {
    const IntRange known = ranges_.integer(e);
    for (const bool upper : {false, true}) {
        const auto limit = integer_limit(e, upper);
        if (!limit || (is_tied && limit->in_domain) || names_in(limit->value).empty()) continue;
        const isl::pw_aff described = isl_.value(name), end = limit->value;
        const isl::set fact = upper ? described.le_set(end).unite(end.lt_set(constant(known.lo)))
                                    : described.ge_set(end).unite(end.gt_set(constant(known.hi)));
        facts_.push_back({fact.coalesce(), {name}});
    }
}

}  // namespace pipec::poly
