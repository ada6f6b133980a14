#include "fusion/strided_terms.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fusion/conditions.h"
#include "ir/build.h"
#include "ir/linear_sum.h"
#include "ir/reduction.h"
#include "ir/visit.h"
#include "ir/without_lets.h"
#include "poly/stage_ranges.h"
#include "poly/value_ranges.h"

namespace pipec::fusion {

namespace {

using ir::BinaryOp;
using ir::Type;

ir::Expr constant(std::int64_t value) {
    return ir::int_constant(Type::Int32, value);
}
ir::Expr plus(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Add, a, b);
}
ir::Expr minus(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Sub, a, b);
}

/// `dividend` % period == remainder.
struct Residue {
    ir::Expr dividend;
    std::int64_t period = 0, remainder = 0;
};

std::optional<Residue> residue(const ir::Expr& condition) {
    const auto* equal = ir::as<ir::Binary>(condition);
    if (equal == nullptr || (equal->op != BinaryOp::Eq && equal->op != BinaryOp::Ne)) return std::nullopt;
    for (const auto& [left, right] : {std::pair{equal->a, equal->b}, std::pair{equal->b, equal->a}}) {
        const auto* mod = ir::as<ir::Binary>(left);
        const auto remainder = ir::as_int(right);
        if (mod == nullptr || mod->op != BinaryOp::Mod || !remainder || left->type != Type::Int32) continue;
        const auto period = ir::as_int(mod->b);
        if (!period || *period < 2 || *remainder < 0 || *remainder >= *period) continue;
        if (equal->op == BinaryOp::Eq) return Residue{mod->a, *period, *remainder};
        if (*period == 2) return Residue{mod->a, 2, 1 - *remainder};
    }
    return std::nullopt;
}

bool is_identity(const ir::Expr& e, ir::ReduceOp op) {
    return e && ir::structurally_equal(e, ir::identity(op, e->type));
}

/// Terms and when they count: elsewhere they are the reduction's identity.
struct Chosen {
    std::vector<ir::Expr> conditions;
    ir::Expr term;
};

Chosen chosen_terms(ir::Expr body, ir::ReduceOp op) {
    Chosen result;
    for (;;) {
        const auto* select = ir::as<ir::Select>(body);
        if (select == nullptr || !is_identity(select->otherwise, op)) break;
        const std::vector<ir::Expr> all = conjuncts(select->cond, true);
        result.conditions.insert(result.conditions.end(), all.begin(), all.end());
        body = select->then;
    }
    result.term = std::move(body);
    return result;
}

class Strides {
public:
    Strides(const ir::Pipeline& pipeline, const poly::Model& model)
        : pipeline_(pipeline), ranges_(poly::ranges_within(pipeline_, &model)) {
        for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) {
            ir::Stage& stage = pipeline_.stages[s];
            auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure == nullptr || !ir::has_reduction(pure->value)) continue;
            poly::bind_points(ranges_, stage, model.domains.at(s).box);
            known_.clear();
            pure->value = changed(pure->value);
        }
    }
    ir::Pipeline result() && { return std::move(pipeline_); }

private:
    ir::Expr changed(const ir::Expr& e) {
        if (const auto known = known_.find(e); known != known_.end()) return known->second;
        const ir::Expr result = ir::as<ir::Reduce>(e) != nullptr
                                    ? nest(e)
                                    : ir::map_children(e, [&](const ir::Expr& x) { return changed(x); });
        known_.emplace(e, result);
        return result;
    }

    /// Reductions each of which is the whole term of the one around it, from the outermost on.
    ir::Expr nest(const ir::Expr& e) {
        std::vector<ir::Expr> loops;
        ir::Expr body = e;
        for (const auto* loop = ir::as<ir::Reduce>(body); loop != nullptr; loop = ir::as<ir::Reduce>(body)) {
            if (!loops.empty() && loop->op != ir::as<ir::Reduce>(loops.front())->op) break;
            for (const ir::Range& range : loop->ranges) bind(range);
            loops.push_back(body);
            body = loop->body;
        }
        const ir::ReduceOp op = ir::as<ir::Reduce>(loops.front())->op;
        std::vector<std::vector<ir::Range>> ranges;
        for (const ir::Expr& loop : loops) ranges.push_back(ir::as<ir::Reduce>(loop)->ranges);

        if (ir::may_have_identity(op, body->type)) {
            const bool in_let = ir::as<ir::Let>(body) != nullptr;
            Chosen chosen = chosen_terms(in_let ? ir::WithoutLets().of(body) : body, op);
            bool found = false;
            for (std::size_t c = 0; c < chosen.conditions.size();) {
                const auto of = residue(chosen.conditions[c]);
                if (of && stride(*of, op, ranges, chosen, c)) {
                    found = true;
                } else {
                    ++c;
                }
            }
            if (found) {
                body = chosen.term;
                for (std::size_t c = chosen.conditions.size(); c-- > 0;) {
                    body = ir::select(chosen.conditions[c], body, ir::identity(op, body->type));
                }
            }
        }
        body = changed(body);
        for (std::size_t l = loops.size(); l-- > 0;) {
            body = ir::reduce_like(*ir::as<ir::Reduce>(loops[l]), ranges[l], body, loops[l]->range);
        }
        return body;
    }

    void bind(const ir::Range& range) {
        const poly::IntRange lo = ranges_.integer(range.lo), hi = ranges_.integer(range.hi);
        ranges_.bind(range.var, poly::IntRange{lo.lo, std::max(lo.lo, hi.hi - 1)});
    }

    /// Takes the condition number `which` out of `chosen`, where a range of the loops goes through what fulfils it.
    bool stride(const Residue& of, ir::ReduceOp op, std::vector<std::vector<ir::Range>>& loops, Chosen& chosen,
                std::size_t which) {
        if (!poly::fits(ranges_.unwrapped(of.dividend), Type::Int32)) return false;
        ir::LinearSum sum;
        sum.add(of.dividend, 1);
        for (std::vector<ir::Range>& ranges : loops) {
            for (ir::Range& range : ranges) {
                const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi);
                const std::int64_t sign = sum.factor_of(range.var);
                if ((sign != 1 && sign != -1) || !lo || !hi) continue;
                const std::int64_t count = *hi - *lo;
                if (count < 2 || count % of.period != 0 || used_in_bounds(range.var, loops)) continue;
                if (ir::depends_on_blocks(op, chosen.term->type) && count > ir::kBlockTerms) continue;
                if (in_other_terms(range, sum)) continue;
                // It will be a part of places and of the conditions before this one, where nothing may be read.
                const ir::Expr base = ir::substitute(of.dividend, {{range.var, constant(*lo)}});
                if (!ir::is_total(base) || ir::has_reads(base) || !fits_around(base, of)) continue;
                replace(of, range, sign, base, chosen, which);
                return true;
            }
        }
        return false;
    }

    /// The variable is in a term besides the one that is itself, as in i + i / 2.
    static bool in_other_terms(const ir::Range& range, const ir::LinearSum& sum) {
        return std::ranges::any_of(sum.terms, [&](const auto& term) {
            return ir::as<ir::Variable>(term.first) == nullptr && ir::uses_variable(term.first, {range});
        });
    }

    /// Some more or less of it does not wrap.
    bool fits_around(const ir::Expr& base, const Residue& of) {
        const poly::IntRange range = ranges_.unwrapped(base);
        return poly::fits({range.lo - of.period, range.hi + of.period}, Type::Int32) &&
               poly::fits({-range.hi - of.period, -range.lo + of.period}, Type::Int32);
    }

    static bool used_in_bounds(ir::VarId var, const std::vector<std::vector<ir::Range>>& loops) {
        const std::vector<ir::Range> wanted{{var, nullptr, nullptr}};
        return std::ranges::any_of(loops, [&](const std::vector<ir::Range>& ranges) {
            return std::ranges::any_of(ranges, [&](const ir::Range& range) {
                return ir::uses_variable(range.lo, wanted) || ir::uses_variable(range.hi, wanted);
            });
        });
    }

    /// The variable is lo + p * v + s from now on, v being the new one. With `base`, the dividend at lo, the condition
    /// base - (p * v + s) == r or base + p * v + s == r (mod p) gives s, and the dividend is r + p * q.
    void replace(const Residue& of, ir::Range& range, std::int64_t sign, const ir::Expr& base, Chosen& chosen,
                 std::size_t which) {
        const ir::Expr period = constant(of.period), remainder = constant(of.remainder);
        const ir::VarId old = range.var;
        const std::string name = pipeline_.variables[static_cast<std::size_t>(old)].name;
        const ir::VarId var = ir::new_variable(pipeline_, name, Type::Int32);
        const ir::Expr v = ir::variable(var, Type::Int32), lo = range.lo;
        range = {var, constant(0), constant((*ir::as_int(range.hi) - *ir::as_int(lo)) / of.period)};
        bind(range);

        const ir::Expr less = minus(base, remainder);
        const ir::Expr start = ir::binary(BinaryOp::Mod, sign < 0 ? less : minus(remainder, base), period);
        const ir::Expr place = plus(plus(ir::binary(BinaryOp::Mul, v, period), start), lo);
        const ir::Expr quotient = sign < 0
                                      ? minus(ir::binary(BinaryOp::Div, less, period), v)
                                      : plus(v, ir::binary(BinaryOp::Div, plus(less, constant(of.period - 1)), period));

        chosen.conditions.erase(chosen.conditions.begin() + static_cast<std::ptrdiff_t>(which));
        std::unordered_map<const ir::Node*, ir::Expr> memo;
        const auto moved = [&](const ir::Expr& e) {
            return ir::substitute(with_quotient(e, of, quotient, memo), {{old, place}});
        };
        for (ir::Expr& condition : chosen.conditions) condition = moved(condition);
        chosen.term = moved(chosen.term);
    }

    /// `e` with `quotient` for the dividend, or one that is a constant away from it, divided by the period.
    ir::Expr with_quotient(const ir::Expr& e, const Residue& of, const ir::Expr& quotient,
                           std::unordered_map<const ir::Node*, ir::Expr>& memo) {
        if (const auto known = memo.find(e.get()); known != memo.end()) return known->second;
        ir::Expr result;
        const auto* division = ir::as<ir::Binary>(e);
        if (division != nullptr && division->op == BinaryOp::Div && e->type == Type::Int32 &&
            ir::as_int(division->b) == of.period && poly::fits(ranges_.unwrapped(division->a), Type::Int32)) {
            if (const auto beyond = ir::constant_difference(division->a, of.dividend)) {
                result = plus(quotient, ir::binary(BinaryOp::Div, constant(of.remainder + *beyond), division->b));
            }
        }
        if (!result) {
            result = ir::map_children(e, [&](const ir::Expr& x) { return with_quotient(x, of, quotient, memo); });
        }
        memo.emplace(e.get(), result);
        return result;
    }

    ir::Pipeline pipeline_;
    poly::ValueRanges ranges_;
    std::unordered_map<ir::Expr, ir::Expr> known_;
};

}  // namespace

ir::Pipeline strided_terms(const ir::Pipeline& pipeline, const poly::Model& model) {
    return ir::has_reduction(pipeline) ? Strides(pipeline, model).result() : pipeline;
}

}  // namespace pipec::fusion
