// Interval arithmetic on expressions. Float ends are computed as the program computes them: rounding is monotone, so
// the rounded operation on the ends bounds the rounded operation on everything between.
#include "poly/value_ranges.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/reduction.h"
#include "ir/visit.h"
#include "ir/widen.h"
#include "poly/range_arithmetic.h"
#include "poly/stage_ranges.h"

namespace pipec::poly {

namespace {

using ir::BinaryOp;
using ir::Builtin;
using ir::Type;
using ir::UnaryOp;

/// The factors of a square, as far as that is seen without comparing expressions of any size.
bool are_same(const ir::Expr& a, const ir::Expr& b) {
    const auto is_value = [](const ir::Expr& e) {
        return ir::as<ir::Read>(e) != nullptr || ir::as<ir::Variable>(e) != nullptr;
    };
    return a == b || (is_value(a) && is_value(b) && ir::structurally_equal(a, b));
}

/// A term `if i == 3 and j == 4 then value else 0`.
struct Alternative {
    std::vector<std::pair<ir::Expr, std::int64_t>> place;  ///< what equals which constants
    ir::Expr value;
};

/// Adds the equations that `condition` is made of; false where it is made of others, too.
bool add_place(const ir::Expr& condition, Alternative& to) {
    const auto* n = ir::as<ir::Binary>(condition);
    if (n == nullptr) return false;
    if (n->op == BinaryOp::And) return add_place(n->a, to) && add_place(n->b, to);
    if (n->op != BinaryOp::Eq) return false;
    const auto left = ir::as_int(n->a), right = ir::as_int(n->b);
    if (left.has_value() == right.has_value()) return false;
    to.place.emplace_back(left ? n->b : n->a, left ? *left : *right);
    return true;
}

std::optional<Alternative> alternative(const ir::Expr& term) {
    const auto* choice = ir::as<ir::Select>(term);
    if (choice == nullptr || !choice->otherwise || ir::as_int(choice->otherwise) != 0) return std::nullopt;
    Alternative result{{}, choice->then};
    return add_place(choice->cond, result) ? std::optional(result) : std::nullopt;
}

/// Adds the terms of a sum; false where one is no alternative.
bool add_terms(const ir::Expr& e, std::vector<Alternative>& to) {
    if (const auto* n = ir::as<ir::Binary>(e); n != nullptr && n->op == BinaryOp::Add) {
        return add_terms(n->b, to) && add_terms(n->a, to);  // a sum is long on its left side
    }
    auto term = alternative(e);
    if (term) to.push_back(std::move(*term));
    return term.has_value();
}

/// The terms of a sum of which at most one is not 0, as an element of a table is chosen by an index that is not known
/// when the program is compiled: each asks for other constants. None of any other sum.
std::vector<Alternative> alternatives(const ir::Binary& sum) {
    std::vector<Alternative> terms;
    if (!add_terms(sum.b, terms) || !add_terms(sum.a, terms)) return {};
    std::set<std::vector<std::int64_t>> places;
    for (const Alternative& term : terms) {
        std::vector<std::int64_t> constants;
        for (std::size_t i = 0; i < term.place.size(); ++i) {
            const auto& [what, constant] = term.place[i];
            const bool same = term.place.size() == terms.front().place.size() &&
                              ir::structurally_equal(what, terms.front().place[i].first);
            if (!same) return {};
            constants.push_back(constant);
        }
        if (!places.insert(constants).second) return {};
    }
    return terms;
}

}  // namespace

ValueRanges::ValueRanges(const ir::Pipeline& pipeline, std::vector<IntRange> sizes, std::vector<ValueRange> params)
    : pipeline_(pipeline), sizes_(std::move(sizes)), params_(std::move(params)) {}

void ValueRanges::bind(ir::VarId var, ValueRange range) {
    const auto [bound, is_new] = variables_.try_emplace(var, range);
    if (!assumed_.empty()) bound_before_.emplace_back(var, is_new ? std::nullopt : std::optional(bound->second));
    // What was asked before a variable had a range counts for all values of its type.
    if (is_new ? asked_unbound_.erase(var) == 0 : bound->second == range) return;
    bound->second = range;
    known_.clear();
    known_unwrapped_.clear();
    if (!assumed_.empty()) remember_assumed();
}

void ValueRanges::know_last_stage_as(const ValueRange& values) {
    stages_.back() = values;
    known_.clear();
    known_unwrapped_.clear();
}

void ValueRanges::bind_index(ir::VarId var, const ir::Expr& lo, const ir::Expr& hi) {
    constexpr Wide kFirst = 1 - kIndexLimit, kLast = kIndexLimit - 1;
    const Wide first = std::clamp(integer(ir::widened(lo)).lo, kFirst, kLast);
    bind(var, IntRange{first, std::clamp(integer(ir::widened(hi)).hi - 1, first, kLast)});
}

void ValueRanges::bind(ir::VarId var, const ir::Expr& value) {
    lets_.insert_or_assign(var, value);
    bind(var, of(value));
}

IntRange ValueRanges::integer(const ir::Expr& e) {
    return std::get<IntRange>(of(e));
}

FloatRange ValueRanges::real(const ir::Expr& e) {
    return std::get<FloatRange>(of(e));
}

ValueRange ValueRanges::of(const ir::Expr& e) {
    if (const auto found = known_.find(e); found != known_.end()) return found->second;
    const ValueRange result = std::visit([&](const auto& n) { return node(*e, n); }, e->value);
    known_.insert_or_assign(e, result);
    return result;
}

/// What a sum of integers comes to at most, where none of its terms' sums can wrap: a count of conditions is as small
/// as its range.
std::optional<IntRange> ValueRanges::total(const ir::Reduce& n, ir::Type type) {
    constexpr Wide kMostTerms = Wide{1} << 62;
    Wide count = 1;
    for (const ir::Range& range : n.ranges) {
        bind_index(range.var, range.lo, range.hi);
        const Wide length = integer(ir::widened(range.hi)).hi - integer(ir::widened(range.lo)).lo;
        count *= std::max<Wide>(0, length);
        if (count > kMostTerms) return std::nullopt;
    }
    const IntRange term = integer(n.body);
    const IntRange all{std::min<Wide>(0, term.lo * count), std::max<Wide>(0, term.hi * count)};
    const IntRange fits = type_range(type);
    return all.lo >= fits.lo && all.hi <= fits.hi ? std::optional(all) : std::nullopt;
}

/// Of few terms as if they were written one after the other.
ValueRange ValueRanges::reduction(const ir::Reduce& n, ir::Type type) {
    const std::vector<ir::Expr> terms = ir::terms_at(n.ranges, n.body, kMostTermNodes);
    if (terms.empty()) {
        const bool adds = n.op == ir::ReduceOp::Sum && ir::is_int(type);
        const std::optional<IntRange> sum = adds ? total(n, type) : std::nullopt;
        return sum ? ValueRange(*sum) : type_range_of(type);
    }
    ir::Expr all = terms.front();
    for (std::size_t i = 1; i < terms.size(); ++i) all = ir::binary(ir::fold_op(n.op), all, terms[i]);
    return of(all);
}

ValueRange ValueRanges::read(const ir::Read& read, ir::Type type) {
    if (read.source.kind != ir::Source::Kind::Stage) return type_range_of(type);
    if (knows_stages_ && !found_) {
        found_ =
            std::make_shared<const StageRanges>(stage_ranges(pipeline_, sizes_, params_, boxes_, believes_floats_));
        stages_ = found_->values;
    }
    const auto stage = static_cast<std::size_t>(read.source.index);
    return stage < stages_.size() ? stages_[stage] : type_range_of(type);
}

std::optional<IntRange> ValueRanges::chosen_term(const ir::Expr& e) {
    const auto* sum = ir::as<ir::Binary>(e);
    return sum != nullptr && sum->op == BinaryOp::Add && ir::is_int(e->type) ? chosen_term(*sum) : std::nullopt;
}

std::optional<IntRange> ValueRanges::chosen_term(const ir::Binary& sum) {
    const std::vector<Alternative> terms = alternatives(sum);
    if (terms.empty()) return std::nullopt;
    IntRange result{0, 0};
    for (const Alternative& term : terms) result = hull(result, unwrapped(term.value));
    return result;
}

template <class F>
auto ValueRanges::within(const Given& given, const ir::Expr& e, F range_of) -> decltype(range_of(e)) {
    std::vector<Assumed> assumed;
    assume_of(given, assumed);
    if (!assumed.empty()) assumed = occurrences(assumed, e);
    if (assumed.empty()) return range_of(e);
    // Of what contains these parts something else is known elsewhere.
    auto known = std::exchange(known_, {});
    auto known_unwrapped = std::exchange(known_unwrapped_, {});
    const std::size_t bound = bound_before_.size();
    begin_assuming(std::move(assumed));
    const auto result = range_of(e);
    assumed_.pop_back();
    for (; bound_before_.size() > bound; bound_before_.pop_back()) {
        const auto& [var, range] = bound_before_.back();
        if (range)
            variables_.insert_or_assign(var, *range);
        else
            variables_.erase(var);
    }
    known_ = std::move(known);
    known_unwrapped_ = std::move(known_unwrapped);
    return result;
}

ValueRange ValueRanges::of(const ir::Expr& e, const std::vector<Given>& given) {
    const std::function<ValueRange(std::size_t)> from = [&](std::size_t i) -> ValueRange {
        if (i == given.size()) return of(e);
        return within(given[i], e, [&](const ir::Expr&) { return from(i + 1); });
    };
    return from(0);
}

IntRange ValueRanges::unwrapped(const ir::Expr& e) {
    if (const auto found = known_unwrapped_.find(e); found != known_unwrapped_.end()) return found->second;
    const IntRange result = [&]() -> IntRange {
        if (const auto chosen = chosen_term(e)) return *chosen;
        if (const auto* n = ir::as<ir::Unary>(e); n && n->op == UnaryOp::Neg) {
            return exact_negation(unwrapped(n->a));
        }
        if (const auto* n = ir::as<ir::Variable>(e)) {
            const auto let = lets_.find(n->id);
            return let == lets_.end() ? integer(e) : unwrapped(let->second);
        }
        if (const auto* n = ir::as<ir::Let>(e)) {
            bind(n->var, n->value);
            return unwrapped(n->body);
        }
        if (const auto* n = ir::as<ir::Select>(e)) {
            const auto range = [&](const ir::Expr& branch) { return unwrapped(branch); };
            const IntRange then = within({n->cond, true}, n->then, range);
            return n->otherwise ? hull(then, within({n->cond, false}, n->otherwise, range)) : then;
        }
        if (const auto* n = ir::as<ir::Binary>(e)) {
            switch (n->op) {
                case BinaryOp::Add: return exact_sum(unwrapped(n->a), unwrapped(n->b));
                case BinaryOp::Sub: return exact_sum(unwrapped(n->a), exact_negation(unwrapped(n->b)));
                case BinaryOp::Mul:
                    if (are_same(n->a, n->b)) return square(unwrapped(n->a));
                    return exact_product(unwrapped(n->a), unwrapped(n->b));
                default: break;
            }
        }
        return integer(e);
    }();
    known_unwrapped_.insert_or_assign(e, result);
    return result;
}

/// `H * min(640 / H, 640 / W)`, by which an image is scaled to fit, is 640 at most, but for its two roundings.
double ValueRanges::most_of_scaled(ir::Type type, const ir::Expr& factor, const ir::Expr& scale) {
    if (type == Type::Float16) return kInfinity;
    if (const auto* variable = ir::as<ir::Variable>(scale)) {
        const auto let = lets_.find(variable->id);
        return let == lets_.end() ? kInfinity : most_of_scaled(type, factor, let->second);
    }
    const auto* n = ir::as<ir::Binary>(scale);
    if (n == nullptr) return kInfinity;
    if (n->op == BinaryOp::Min) {
        return std::min(most_of_scaled(type, factor, n->a), most_of_scaled(type, factor, n->b));
    }
    constexpr std::int64_t kMostNodes = 16;
    if (n->op != BinaryOp::Div || ir::node_count(factor) > kMostNodes || !ir::structurally_equal(n->b, factor)) {
        return kInfinity;
    }
    const FloatRange by = real(factor), quotient = real(n->a);
    if (!(by.lo > 0) || by.nan || quotient.nan || has_infinity(by) || has_infinity(quotient)) return kInfinity;
    // Each rounding adds half a unit in the last place, relative to a normal number, or what the least one is.
    const bool single = type == Type::Float32;
    const double unit = single ? 0x1p-23 : 0x1p-52, least = single ? 0x1p-126 : 0x1p-1022;
    return std::max(ir::round_to(type, std::max(quotient.hi, 0.0) * (1 + 4 * unit)),
                    ir::round_to(type, by.hi * least * 2));
}

template <class T>
ValueRange ValueRanges::node(const ir::Node& node, const T& n) {
    const Type type = node.type;
    if constexpr (std::is_same_v<T, ir::IntConstant>) {
        const Wide value =
            ir::is_unsigned_int(type) ? static_cast<Wide>(static_cast<std::uint64_t>(n.value)) : Wide{n.value};
        return IntRange{value, value};
    } else if constexpr (std::is_same_v<T, ir::FloatConstant>) {
        return std::isnan(n.value) ? kAnyFloat : FloatRange{n.value, n.value, false};
    } else if constexpr (std::is_same_v<T, ir::Variable>) {
        // What a condition says of a part of a let's value says something of the let.
        if (const auto let = lets_.find(n.id); let != lets_.end() && !assumed_.empty()) return of(let->second);
        const auto found = variables_.find(n.id);
        if (found != variables_.end()) return found->second;
        asked_unbound_.insert(n.id);
        return type_range_of(type);
    } else if constexpr (std::is_same_v<T, ir::SizeRef>) {
        return sizes_.at(static_cast<std::size_t>(n.index));
    } else if constexpr (std::is_same_v<T, ir::ParamRef>) {
        return params_.empty() ? type_range_of(type) : params_.at(static_cast<std::size_t>(n.index));
    } else if constexpr (std::is_same_v<T, ir::Unary>) {
        if (ir::is_float(type)) {
            const FloatRange a = real(n.a);
            return FloatRange{-a.hi, -a.lo, a.nan};
        }
        const IntRange a = n.op == UnaryOp::Neg ? unwrapped(n.a) : integer(n.a);
        if (n.op == UnaryOp::Not) return IntRange{1 - a.hi, 1 - a.lo};
        const Wide shift = n.op == UnaryOp::BitNot ? 1 : 0;
        const IntRange result{-a.hi - shift, -a.lo - shift};
        return fits(result, type) ? result : type_range(type);
    } else if constexpr (std::is_same_v<T, ir::Binary>) {
        if (ir::is_float(n.a->type)) {
            if (!ir::is_float(type)) return IntRange{0, 1};
            if (n.op == BinaryOp::Mul && are_same(n.a, n.b)) return square(type, real(n.a));
            FloatRange result = float_binary(n.op, type, real(n.a), real(n.b));
            if (n.op == BinaryOp::Mul) {
                const double most = std::min(most_of_scaled(type, n.a, n.b), most_of_scaled(type, n.b, n.a));
                result.hi = std::max(result.lo, std::min(result.hi, most));
            }
            return result;
        }
        if (ir::is_comparison(n.op)) return comparison(n.op, integer(n.a), integer(n.b));
        if (n.op == BinaryOp::Add || n.op == BinaryOp::Sub || n.op == BinaryOp::Mul) {
            if (const auto chosen = n.op == BinaryOp::Add ? chosen_term(n) : std::nullopt) {
                return fits(*chosen, type) ? *chosen : type_range(type);
            }
            // Wrapping is consistent modulo 2^n: only the last result must fit.
            const IntRange a = unwrapped(n.a), b = unwrapped(n.b);
            const bool is_square = n.op == BinaryOp::Mul && are_same(n.a, n.b);
            const IntRange result = is_square               ? square(a)
                                    : n.op == BinaryOp::Mul ? exact_product(a, b)
                                    : n.op == BinaryOp::Add ? exact_sum(a, b)
                                                            : exact_sum(a, exact_negation(b));
            return fits(result, type) ? result : type_range(type);
        }
        const IntRange result = int_binary(n.op, integer(n.a), integer(n.b), type);
        return fits(result, type) ? result : type_range(type);  // least / -1
    } else if constexpr (std::is_same_v<T, ir::Cast>) {
        if (ir::is_float(n.a->type)) {
            const FloatRange a = real(n.a);
            if (!ir::is_float(type)) return cast_to_int(type, a);
            return FloatRange{ir::round_to(type, a.lo), ir::round_to(type, a.hi), a.nan};
        }
        const IntRange a = integer(n.a);
        if (ir::is_float(type)) {
            return FloatRange{to_float(type, a.lo), to_float(type, a.hi), false};
        }
        const IntRange bounds = type_range(type);
        if (n.saturate) return IntRange{std::clamp(a.lo, bounds.lo, bounds.hi), std::clamp(a.hi, bounds.lo, bounds.hi)};
        return fits(a, type) ? a : bounds;
    } else if constexpr (std::is_same_v<T, ir::Call>) {
        if (n.fn == Builtin::IsNan) return IntRange{0, 1};
        if (ir::is_float(type)) return float_call(n.fn, type, real(n.args.at(0)), real(n.args.back()));
        if (ir::is_of_halves(n.fn)) return type_range(type);
        const IntRange a = integer(n.args.at(0));  // Abs of integers; the least value wraps to itself
        const Wide hi = std::max(a.lo < 0 ? -a.lo : a.lo, a.hi < 0 ? -a.hi : a.hi);
        const Wide lo = a.lo <= 0 && a.hi >= 0 ? 0 : std::min(a.lo < 0 ? -a.lo : a.lo, a.hi < 0 ? -a.hi : a.hi);
        return fits({lo, hi}, type) ? IntRange{lo, hi} : type_range(type);
    } else if constexpr (std::is_same_v<T, ir::Select>) {
        const auto range = [&](const ir::Expr& branch) { return of(branch); };
        const ValueRange then = within({n.cond, true}, n.then, range);
        return n.otherwise ? hull(then, within({n.cond, false}, n.otherwise, range)) : then;
    } else if constexpr (std::is_same_v<T, ir::Let>) {
        bind(n.var, n.value);
        return of(n.body);
    } else if constexpr (std::is_same_v<T, ir::Reduce>) {
        if (!ir::gives_place(n.op)) return reduction(n, type);
        const ir::Range& range = n.ranges.at(static_cast<std::size_t>(n.place));
        const IntRange lo = integer(range.lo), hi = integer(range.hi);
        return IntRange{lo.lo, std::max(lo.hi, hi.hi - 1)};
    } else {
        return read(n, type);
    }
}

Wide most_points(ValueRanges& ranges, const ir::Range& loop) {
    const auto [from, first] = ir::with_offset(loop.lo);
    const auto [to, last] = ir::with_offset(loop.hi);
    if (ir::structurally_equal(from, to)) return last - first;
    return ranges.integer(loop.hi).hi - ranges.integer(loop.lo).lo;
}

ValueRanges ranges_within(const ir::Pipeline& pipeline, const Model* within) {
    std::vector<IntRange> sizes(pipeline.sizes.size(), kSizeRange);
    std::vector<ValueRange> params;
    for (const ir::ScalarParameter& param : pipeline.params) params.push_back(type_range_of(param.type));
    const auto take = [](auto& ranges, const std::vector<std::optional<KnownRange>>& known) {
        for (std::size_t i = 0; i < std::min(ranges.size(), known.size()); ++i) {
            if (known[i]) ranges[i] = IntRange{known[i]->least, known[i]->greatest};
        }
    };
    if (within != nullptr) {
        take(sizes, within->size_ranges);
        take(params, within->param_ranges);
    }
    return {pipeline, std::move(sizes), std::move(params)};
}

}  // namespace pipec::poly
