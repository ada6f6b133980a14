// Expressions out of isl objects; see isl_to_ir.h.
#include "poly/isl_to_ir.h"

#include <isl/constraint.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <vector>

#include "ir/build.h"

namespace pipec::poly {

namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::Type;

/// (sum of params[i] * p_i + sum of divs[j] * floor_j + constant) / denominator; the floors are the aff's own.
struct Linear {
    std::vector<long> params, divs;
    long constant = 0;
    long denominator = 1;
};

long number(isl_val* value) {
    return to_long(isl::manage(value));
}

/// A constant of an expression. Expressions are Int32: one that is cut to it would be another number.
Expr integer(long value) {
    if (value < INT32_MIN || value > INT32_MAX) throw NumberTooLarge("a number in it does not fit 32 bits");
    return ir::int_constant(Type::Int32, value);
}

Linear linear(const isl::aff& aff) {
    const isl::val denominator = isl::manage(isl_aff_get_denominator_val(aff.get()));
    const auto scaled = [&](isl_val* v) { return number(isl_val_mul(v, denominator.copy())); };
    Linear result;
    result.denominator = to_long(denominator);
    for (int i = 0; i < isl_aff_dim(aff.get(), isl_dim_param); ++i) {
        result.params.push_back(scaled(isl_aff_get_coefficient_val(aff.get(), isl_dim_param, i)));
    }
    for (int i = 0; i < isl_aff_dim(aff.get(), isl_dim_div); ++i) {
        result.divs.push_back(scaled(isl_aff_get_coefficient_val(aff.get(), isl_dim_div, i)));
    }
    result.constant = scaled(isl_aff_get_constant_val(aff.get()));
    return result;
}

/// a += factor * b, both without denominator.
void add_scaled(Linear& a, const Linear& b, long factor) {
    const auto add = [factor](long& to, long from) {
        long product = 0;
        if (__builtin_mul_overflow(factor, from, &product) || __builtin_add_overflow(to, product, &to)) {
            throw NumberTooLarge();
        }
    };
    for (std::size_t i = 0; i < b.params.size(); ++i) add(a.params[i], b.params[i]);
    for (std::size_t i = 0; i < b.divs.size(); ++i) add(a.divs[i], b.divs[i]);
    add(a.constant, b.constant);
}

/// True when every non-constant term of `b`, times `factor`, is a term of `a`.
bool contains(const Linear& a, const Linear& b, long factor) {
    for (std::size_t i = 0; i < b.params.size(); ++i) {
        if (b.params[i] != 0 && a.params[i] != factor * b.params[i]) return false;
    }
    for (std::size_t i = 0; i < b.divs.size(); ++i) {
        if (b.divs[i] != 0 && a.divs[i] != factor * b.divs[i]) return false;
    }
    return true;
}

/// A sum as it is written: variables first, positive terms before negative ones, the constant last.
class Sum {
public:
    void add(long factor, Expr e) {
        if (factor != 0) terms_.emplace_back(factor, std::move(e));
    }
    void add(long constant) { constant_ += constant; }

    [[nodiscard]] Expr build() const {
        Expr result;
        for (const bool negative : {false, true}) {
            for (const auto& [factor, e] : terms_) {
                if ((factor < 0) != negative) continue;
                if (!result && negative && constant_ > 0) result = integer(constant_);
                const long size = std::labs(factor);
                const Expr term = size == 1 ? e : ir::binary(BinaryOp::Mul, integer(size), e);
                if (!result) {
                    result = negative ? ir::unary(ir::UnaryOp::Neg, term) : term;
                } else {
                    result = ir::binary(negative ? BinaryOp::Sub : BinaryOp::Add, result, term);
                }
            }
        }
        const bool constant_used = constant_ > 0 && std::none_of(terms_.begin(), terms_.end(), is_positive);
        if (!result) return integer(constant_);
        if (constant_ == 0 || constant_used) return result;
        return ir::binary(constant_ > 0 ? BinaryOp::Add : BinaryOp::Sub, result, integer(std::labs(constant_)));
    }

    /// The terms of one sign, made positive: `a - b + 1 >= 0` reads `a + 1 >= b`.
    [[nodiscard]] Sum part(bool negative) const {
        Sum result;
        for (const auto& [factor, e] : terms_) {
            if ((factor < 0) == negative) result.add(std::labs(factor), e);
        }
        return result;
    }
    [[nodiscard]] bool empty() const { return terms_.empty(); }
    [[nodiscard]] long constant() const { return constant_; }

private:
    static bool is_positive(const std::pair<long, Expr>& term) { return term.first > 0; }

    std::vector<std::pair<long, Expr>> terms_;
    long constant_ = 0;
};

/// One affine function with its integer divisions.
class AffReader {
public:
    explicit AffReader(const isl::aff& aff) : aff_(aff) {
        const isl::space space = isl::manage(isl_aff_get_domain_space(aff.get()));
        for (int i = 0; i < isl_aff_dim(aff.get(), isl_dim_param); ++i) {
            const char* text = isl_space_get_dim_name(space.get(), isl_dim_param, static_cast<unsigned>(i));
            const int index = std::atoi(text + 1);
            const auto kind = static_cast<Name::Kind>(text[0]);
            names_.push_back(kind == Name::Kind::Size       ? ir::size_ref(index)
                             : kind == Name::Kind::Variable ? ir::variable(index, Type::Int32)
                                                            : nullptr);
        }
        for (int i = 0; i < isl_aff_dim(aff.get(), isl_dim_div); ++i) {
            divs_.push_back(flattened(linear(isl::manage(isl_aff_get_div(aff.get(), i)))));
        }
    }

    [[nodiscard]] Linear value() const { return linear(aff_); }

    /// The sum times its denominator. x - 4 * floor(x / 4) becomes x % 4.
    [[nodiscard]] Sum sum(Linear l) const {
        Sum result;
        for (std::size_t j = l.divs.size(); j-- > 0;) {
            const Linear& div = divs_[j];
            const long factor = l.divs[j] == 0 || l.divs[j] % div.denominator != 0 ? 0 : -l.divs[j] / div.denominator;
            if (factor == 0) continue;
            Linear rest = l;
            rest.divs[j] = 0;
            if (!contains(rest, div, factor)) continue;
            add_scaled(rest, div, -factor);
            l = rest;
            result.add(factor, quotient(BinaryOp::Mod, div));
        }
        for (std::size_t i = 0; i < l.params.size(); ++i) {
            if (l.params[i] != 0 && !names_[i]) throw std::logic_error("a bound or a condition depends on data");
            result.add(l.params[i], names_[i]);
        }
        for (std::size_t j = 0; j < l.divs.size(); ++j) {
            if (l.divs[j] != 0) result.add(l.divs[j], quotient(BinaryOp::Div, divs_[j]));
        }
        result.add(l.constant);
        return result;
    }

private:
    /// floor((floor(a / m) + b) / n) = floor((a + m b) / (m n)) for integers a and b.
    [[nodiscard]] Linear flattened(Linear div) const {
        for (std::size_t j = 0; j < divs_.size(); ++j) {
            if (div.divs[j] != 1 || divs_[j].denominator > INT32_MAX / div.denominator) continue;
            div.divs[j] = 0;
            const Linear& inner = divs_[j];
            const long m = inner.denominator;
            for (long& c : div.params) c *= m;
            for (long& c : div.divs) c *= m;
            div.constant *= m;
            div.denominator *= m;
            add_scaled(div, inner, 1);
        }
        return div;
    }

    [[nodiscard]] Expr quotient(BinaryOp op, const Linear& div) const {
        return ir::binary(op, sum(div).build(), integer(div.denominator));
    }

    isl::aff aff_;
    std::vector<Expr> names_;  ///< null: of values that depend on data, with which no bound is written
    std::vector<Linear> divs_;
};

Expr to_expr(const isl::aff& aff) {
    const AffReader reader(aff);
    const Linear l = reader.value();
    const Expr numerator = reader.sum(l).build();
    if (l.denominator == 1) return numerator;
    return ir::binary(BinaryOp::Div, numerator, integer(l.denominator));
}

/// aff >= 0 or aff = 0, with every term on the side where it is positive.
Expr to_comparison(const isl::aff& aff, bool equality) {
    const AffReader reader(aff);
    const Sum sum = reader.sum(reader.value());
    Sum left = sum.part(false), right = sum.part(true);
    const long c = sum.constant();
    if (equality) {
        (c > 0 ? left : right).add(std::labs(c));
        if (left.empty()) std::swap(left, right);
        return ir::binary(BinaryOp::Eq, left.build(), right.build());
    }
    if (left.empty()) {  // c - right >= 0
        left.add(c);
        return ir::binary(BinaryOp::Le, right.build(), left.build());
    }
    if (right.empty() || c != -1) {
        (right.empty() || c < 0 ? right : left).add(right.empty() ? -c : std::labs(c));
        return ir::binary(BinaryOp::Ge, left.build(), right.build());
    }
    return ir::binary(BinaryOp::Gt, left.build(), right.build());
}

Expr conjunction(const isl::basic_set& set) {
    Expr result;
    const auto visit = [&](isl_constraint* taken) {
        const isl::aff aff = isl::manage(isl_constraint_get_aff(taken));
        const bool equality = isl_constraint_is_equality(taken) == isl_bool_true;
        isl_constraint_free(taken);
        const Expr term = to_comparison(aff, equality);
        if (ir::as_int(term) == 1) return;
        result = result ? ir::binary(BinaryOp::And, result, term) : term;
    };
    isl_constraint_list* list = isl_basic_set_get_constraint_list(set.get());
    const isl_size count = isl_constraint_list_n_constraint(list);
    for (isl_size i = 0; i < count; ++i) visit(isl_constraint_list_get_constraint(list, i));
    isl_constraint_list_free(list);
    return result ? result : ir::bool_constant(true);
}

/// The pieces of an integer function, whole everywhere: isl may write R / 3 where R is a multiple of 3, and its
/// comparisons take functions for whole, so that 2 is not greater than 4 / 3.
std::vector<std::pair<isl::set, isl::aff>> pieces(const isl::pw_aff& value) {
    std::vector<std::pair<isl::set, isl::aff>> result;
    value.foreach_piece(
        [&](const isl::set& set, const isl::multi_aff& aff) { result.emplace_back(set, aff.at(0).floor()); });
    return result;
}

}  // namespace

Expr to_expr(const isl::pw_aff& value) {
    const auto parts = pieces(value);
    if (parts.empty()) return ir::int_constant(Type::Int32, 0);
    isl::pw_aff least = parts[0].second, greatest = parts[0].second;
    Expr min, max;
    for (const auto& [set, aff] : parts) {
        const Expr e = to_expr(aff);
        min = min ? ir::binary(BinaryOp::Min, min, e) : e;
        max = max ? ir::binary(BinaryOp::Max, max, e) : e;
        least = least.min(aff);
        greatest = greatest.max(aff);
    }
    if (value.ne_set(greatest).is_empty()) return max;
    if (value.ne_set(least).is_empty()) return min;
    Expr result;
    for (auto it = parts.rbegin(); it != parts.rend(); ++it) {
        const Expr e = to_expr(it->second);
        result = result ? ir::select(to_condition(it->first), e, result) : e;
    }
    return result;
}

Expr to_condition(const isl::set& set) {
    Expr result;
    isl::manage(isl_set_compute_divs(set.copy())).foreach_basic_set([&](const isl::basic_set& part) {
        const Expr e = conjunction(part);
        result = result ? ir::binary(BinaryOp::Or, result, e) : e;
    });
    return result ? result : ir::bool_constant(false);
}

isl::pw_aff simplify(const IslContext& isl, const isl::pw_aff& value, const isl::set& context,
                     const std::optional<isl::pw_aff>& outside) {
    const isl::set undefined = context.subtract(value.domain()).coalesce();
    const bool total = undefined.is_empty();
    const auto stands_for = [&](const isl::pw_aff& candidate) {
        if (!value.ne_set(candidate).intersect(context).is_empty()) return false;
        return total || !outside || candidate.gt_set(*outside).intersect(undefined).is_empty();
    };
    const isl::pw_aff reduced = value.gist(context).coalesce();
    std::vector<isl::pw_aff> candidates;
    for (const auto& [set, aff] : pieces(reduced)) {
        const auto same = [&](const isl::pw_aff& c) { return c.plain_is_equal(aff); };
        if (std::none_of(candidates.begin(), candidates.end(), same)) candidates.emplace_back(aff);
    }
    for (const isl::pw_aff& candidate : candidates) {
        if (stands_for(candidate)) return candidate;
    }
    if (candidates.size() >= 2 && candidates.size() <= 4) {
        isl::pw_aff least = candidates[0], greatest = candidates[0];
        for (const isl::pw_aff& candidate : candidates) {
            least = least.min(candidate);
            greatest = greatest.max(candidate);
        }
        if (stands_for(greatest)) return greatest;
        if (stands_for(least)) return least;
    }
    if (total) return reduced;
    const isl::pw_aff filler = outside ? *outside : isl.constant(0);
    return value.intersect_domain(context)
        .union_add(filler.intersect_domain(context.subtract(value.domain())))
        .coalesce();
}

std::optional<isl::pw_aff> affine_extremum(const IslContext& isl, const isl::set& set, Name index, bool greatest,
                                           const isl::set& context, const std::optional<isl::pw_aff>& outside) {
    constexpr std::size_t kMaxCandidates = 12;
    const isl::set values = set.intersect(context).coalesce();
    const isl::set tuple = as_tuple(isl, values, {index});
    const auto has_bound = greatest ? isl_set_dim_has_upper_bound : isl_set_dim_has_lower_bound;
    if (has_bound(tuple.get(), isl_dim_set, 0) != isl_bool_true) return std::nullopt;
    std::vector<isl::pw_aff> candidates;
    tuple.foreach_basic_set([&](const isl::basic_set& part) {
        if (candidates.size() >= kMaxCandidates) return;
        const isl::set convex(part);
        const isl::pw_aff bound =
            isl::manage(greatest ? isl_set_dim_max(convex.copy(), 0) : isl_set_dim_min(convex.copy(), 0));
        for (const auto& [where, aff] : pieces(bound.gist(context).coalesce())) {
            const auto same = [&](const isl::pw_aff& c) { return c.plain_is_equal(aff); };
            if (std::none_of(candidates.begin(), candidates.end(), same)) candidates.emplace_back(aff);
        }
    });
    const isl::pw_aff value = isl.value(index);
    std::optional<isl::set> sizes;  // for which there is a value at all
    for (const isl::pw_aff& candidate : candidates) {
        const isl::set beyond = greatest ? value.gt_set(candidate) : value.lt_set(candidate);
        if (!values.is_disjoint(beyond)) continue;
        if (!sizes) sizes = project_out(isl, values, {index}).coalesce();
        const isl::set attained = project_out(isl, values.intersect(value.eq_set(candidate)), {index}).coalesce();
        if (!sizes->is_subset(attained)) continue;
        if (outside && !context.subtract(*sizes).is_disjoint(candidate.gt_set(*outside))) continue;
        return candidate;
    }
    return std::nullopt;
}

namespace {

/// A bound of the only dimension of a convex set that one of its constraints gives, as a function of sizes.
struct PartBound {
    isl::pw_aff value;
    isl::val typical;  ///< for sizes of a thousand
};

std::optional<PartBound> bound_by(const IslContext& isl, isl_constraint* constraint, bool greatest) {
    const auto factor = isl::manage(isl_constraint_get_coefficient_val(constraint, isl_dim_set, 0));
    const bool equality = isl_constraint_is_equality(constraint) == isl_bool_true;
    if (factor.is_zero() || (!equality && factor.is_pos() == greatest)) return std::nullopt;
    // factor * i + rest >= 0: i is at most rest / -factor, or at least -rest / factor.
    isl::pw_aff rest = isl.constant(0);
    isl::val typical = isl::manage(isl_constraint_get_constant_val(constraint));
    rest = rest.add_constant(typical);
    for (isl_size p = 0; p < isl_constraint_dim(constraint, isl_dim_param); ++p) {
        const auto c = isl::manage(isl_constraint_get_coefficient_val(constraint, isl_dim_param, p));
        if (c.is_zero()) continue;
        const char* text = isl_constraint_get_dim_name(constraint, isl_dim_param, static_cast<unsigned>(p));
        const Name name{static_cast<Name::Kind>(text[0]), std::atoi(text + 1)};
        rest = rest.add(isl.value(name).scale(c));
        typical = typical.add(c.mul(isl::val(isl.ctx(), 1000L)));
    }
    const isl::val divisor = factor.neg();
    const isl::pw_aff quotient = rest.scale(divisor.inv());
    return PartBound{greatest ? quotient.floor() : quotient.ceil(), typical.div(divisor)};
}

/// The tightest bound, for typical sizes, that a constraint without quotients gives.
std::optional<isl::pw_aff> bound_of_part(const IslContext& isl, const isl::basic_set& part, bool greatest) {
    std::optional<PartBound> best;
    isl_basic_set* plain = isl_basic_set_remove_divs(part.copy());
    isl_constraint_list* list = isl_basic_set_get_constraint_list(plain);
    isl_basic_set_free(plain);
    const isl_size count = isl_constraint_list_n_constraint(list);
    for (isl_size i = 0; i < count; ++i) {
        isl_constraint* constraint = isl_constraint_list_get_constraint(list, i);
        const auto bound = bound_by(isl, constraint, greatest);
        isl_constraint_free(constraint);
        if (!bound) continue;
        if (!best || (greatest ? bound->typical.lt(best->typical) : bound->typical.gt(best->typical))) best = bound;
    }
    isl_constraint_list_free(list);
    return best ? std::optional(best->value) : std::nullopt;
}

}  // namespace

std::vector<isl::pw_aff> bounds_of_parts(const IslContext& isl, const isl::set& set, Name index, bool greatest) {
    std::vector<isl::pw_aff> result;
    const auto add = [&](const isl::pw_aff& bound) {
        const auto same = [&](const isl::pw_aff& other) { return other.plain_is_equal(bound); };
        if (std::none_of(result.begin(), result.end(), same)) result.push_back(bound);
    };
    as_tuple(isl, set, {index}).foreach_basic_set([&](const isl::basic_set& part) {
        if (const auto bound = bound_of_part(isl, part, greatest)) {
            add(*bound);
            return;
        }
        const isl::set convex(part);
        add(isl::manage(greatest ? isl_set_dim_max(convex.copy(), 0) : isl_set_dim_min(convex.copy(), 0)));
    });
    return result;
}

namespace {

/// A function without its floors: |aff - (sum of slopes * sizes + constant)| <= slack.
struct Slopes {
    std::map<int, isl::val> sizes;
    isl::val constant, slack;
};

Slopes slopes(const isl::aff& aff) {
    Slopes result{{}, aff.constant_val(), isl::val(aff.ctx(), 0L)};
    const auto add = [&](int size, const isl::val& slope) {
        const auto [at, is_new] = result.sizes.try_emplace(size, slope);
        if (!is_new) at->second = at->second.add(slope);
    };
    for (const Name name : names_in(isl::pw_aff(aff))) {
        const isl::val slope = coefficient(aff, name);
        if (!slope.is_zero()) add(name.index, slope);
    }
    for (int k = 0; k < isl_aff_dim(aff.get(), isl_dim_div); ++k) {
        const isl::val factor = isl::manage(isl_aff_get_coefficient_val(aff.get(), isl_dim_div, k));
        if (factor.is_zero()) continue;
        const Slopes inner = slopes(isl::manage(isl_aff_get_div(aff.get(), k)));
        for (const auto& [size, slope] : inner.sizes) add(size, slope.mul(factor));
        result.constant = result.constant.add(inner.constant.mul(factor));
        result.slack = result.slack.add(factor.abs().mul(inner.slack.add(isl::val(aff.ctx(), 1L))));
    }
    return result;
}

}  // namespace

isl::pw_aff beyond_all(const IslContext& isl, const std::vector<isl::pw_aff>& bounds, bool greatest) {
    // Of lower bounds, the greatest of what is negated.
    const auto outward = [&](const isl::val& v) { return greatest ? v : v.neg(); };
    std::map<int, isl::val> steepest;
    std::optional<isl::val> farthest;
    std::vector<Slopes> all;
    for (const isl::pw_aff& bound : bounds) {
        for (const auto& [where, aff] : pieces(bound)) all.push_back(slopes(aff));
    }
    for (const Slopes& one : all) {
        const isl::val constant = outward(one.constant).add(one.slack).ceil();
        farthest = farthest ? farthest->max(constant) : constant;
        for (const auto& [size, slope] : one.sizes) {
            const isl::val up = outward(slope).ceil().max(isl::val(isl.ctx(), 0L));
            const auto [at, is_new] = steepest.try_emplace(size, up);
            if (!is_new) at->second = at->second.max(up);
        }
    }
    isl::pw_aff result = isl.constant(0);
    for (const auto& [size, slope] : steepest) {
        result = result.add(isl.value({Name::Kind::Size, size}).scale(outward(slope)));
    }
    return farthest ? result.add_constant(outward(*farthest)) : result;
}

}  // namespace pipec::poly
