#include "fusion/shared_strips.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fusion/conditions.h"
#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "fusion/made_stages.h"
#include "fusion/written_columns.h"
#include "ir/build.h"
#include "ir/linear_sum.h"
#include "ir/reduction.h"
#include "ir/visit.h"
#include "poly/group.h"
#include "poly/value_ranges.h"

namespace pipec::fusion {

namespace {

using ir::BinaryOp;
using ir::Type;

/// Loops over fewer terms that come in an order are written out.
constexpr double kLeastTerms = ir::kBlockTerms + 1;
/// Shorter sides of a window save too little for values that go through memory.
constexpr double kLeastSide = 3;
/// Longer ranges are no windows, but lengths that nobody knows.
constexpr std::int64_t kMostTurns = 512;

ir::Expr added(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Add, a, b);
}
ir::Expr times(const ir::Expr& a, std::int64_t factor) {
    return factor == 1 ? a : ir::binary(BinaryOp::Mul, a, ir::int_constant(Type::Int32, factor));
}

/// Of s * x + v, the s of the first such sum in `e`; 0 where there is none.
std::int64_t step_of(const ir::Expr& e, ir::VarId x, ir::VarId v) {
    std::int64_t result = 0;
    ir::any_node(e, [&](const ir::Expr& node) {
        if (node->type != Type::Int32 || ir::as<ir::Binary>(node) == nullptr) return false;
        ir::LinearSum sum;
        sum.add(node, 1);
        const std::int64_t of_x = sum.factor_of(x), of_v = sum.factor_of(v);
        if (of_x == 0 || of_v == 0 || of_x % of_v != 0) return false;
        result = of_x / of_v;
        return true;
    });
    return std::max<std::int64_t>(result, 0);
}

/// `e` with `sum` for step * x + v. Null where x or v is in it in another way.
class AsSum {
public:
    AsSum(ir::VarId x, std::int64_t step, ir::VarId v, ir::VarId sum)
        : x_(x),
          step_(step),
          v_(v),
          sum_(ir::variable(sum, Type::Int32)),
          either_{{x, nullptr, nullptr}, {v, nullptr, nullptr}} {}

    ir::Expr of(const ir::Expr& e) {
        if (const auto known = known_.find(e); known != known_.end()) return known->second;
        ir::Expr result = replaced(e);
        known_.emplace(e, result);
        return result;
    }

private:
    ir::Expr replaced(const ir::Expr& e) {
        if (!ir::uses_variable(e, either_)) return e;
        if (ir::as<ir::Variable>(e) != nullptr) return nullptr;
        if (const auto* b = ir::as<ir::Binary>(e); e->type == Type::Int32 && b != nullptr) {
            ir::LinearSum sum;
            sum.add(e, 1);
            if (const std::int64_t factor = sum.factor_of(v_); factor != 0 && step_ * factor == sum.factor_of(x_)) {
                std::erase_if(sum.terms, [&](const auto& term) {
                    const auto* variable = ir::as<ir::Variable>(term.first);
                    return variable != nullptr && (variable->id == x_ || variable->id == v_);
                });
                sum.add(sum_, factor);
                const ir::Expr rest = sum.expr();
                return ir::uses_variable(rest, either_) ? nullptr : rest;
            }
        }
        bool possible = true;
        const ir::Expr result = ir::map_children(e, [&](const ir::Expr& child) {
            const ir::Expr changed = possible ? of(child) : nullptr;
            possible = possible && changed != nullptr;
            return possible ? changed : child;
        });
        return possible ? result : nullptr;
    }

    ir::VarId x_;
    std::int64_t step_;
    ir::VarId v_;
    ir::Expr sum_;
    std::vector<ir::Range> either_;
    std::unordered_map<ir::Expr, ir::Expr> known_;
};

class Strips {
public:
    Strips(const ir::Pipeline& pipeline, const poly::Model& model)
        : made_({pipeline, model}), sizes_(usual_sizes(pipeline)), ranges_(poly::ranges_within(pipeline, &model)) {}

    Inlined run() {
        return made_.with_changed([&](ir::Stage& stage, const poly::Domain& domain) {
            auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure == nullptr || stage.scan || domain.guard) return;
            Places points;
            for (std::size_t d = 0; d < stage.dims.size(); ++d) {
                points.push_back({stage.dims[d].var, domain.box[d].lo, domain.box[d].hi, false});
            }
            known_.clear();
            pure->value = changed(stage, points, pure->value);
        });
    }

private:
    /// `e` is evaluated at all of these points. (What is not may read out of bounds elsewhere.)
    ir::Expr changed(const ir::Stage& stage, const Places& points, const ir::Expr& e) {
        if (const auto known = known_.find(e); known != known_.end()) return known->second;
        ir::Expr result = e;
        if (ir::as<ir::Reduce>(e) != nullptr) {
            result = window(stage, points, nullptr, e);
        } else if (const auto* select = ir::as<ir::Select>(e); select != nullptr && select->otherwise) {
            const ir::Expr cond = changed(stage, points, select->cond);
            if (cond != select->cond) result = ir::select(cond, select->then, select->otherwise, e->range);
        } else if (const auto* logical = ir::as<ir::Binary>(e); logical != nullptr && ir::is_logical(logical->op)) {
            if (const ir::Expr sum = in_columns(stage, points, e)) {
                result = sum;
            } else if (const ir::Expr a = changed(stage, points, logical->a); a != logical->a) {
                result = ir::binary(logical->op, a, logical->b, e->range);
            }
        } else {
            const ir::Expr sum = in_columns(stage, points, e);
            result =
                sum ? sum : ir::map_children(e, [&](const ir::Expr& child) { return changed(stage, points, child); });
        }
        known_.emplace(e, result);
        return result;
    }

    /// A window that is written out as one of its columns, where the stage's points share them; null where not.
    ir::Expr in_columns(const ir::Stage& stage, const Places& points, const ir::Expr& e) {
        const auto* whole = ir::as<ir::Binary>(e);
        if (whole == nullptr || parts_.count(e) > 0) return nullptr;
        const std::vector<int> order = ir::memory_order(made_.all().pipeline, stage);
        for (auto inner = order.rbegin(); inner != order.rend(); ++inner) {
            const Place& x = points[static_cast<std::size_t>(*inner)];
            const ir::VarId u = made_.variable_like(x.var, "");
            const auto columns = written_columns(e, x.var, ir::variable(u, Type::Int32));
            if (!columns) continue;
            const auto count = static_cast<double>(columns->factors.size()), step = static_cast<double>(columns->step);
            if (count < kLeastSide * step || turns({x.var, x.lo, x.hi}) * step < 2 * count) continue;
            const auto place_of = [&](const ir::Expr& bound, std::int64_t shift) {
                return added(times(bound, columns->step), ir::int_constant(Type::Int32, shift));
            };
            Places places = points;
            places[static_cast<std::size_t>(*inner)] = {u, place_of(x.lo, columns->first),
                                                        place_of(x.hi, columns->last() + 1 - columns->step), false};
            const ir::Expr some = all_of(nullptr, x.lo, x.hi);
            const ir::Expr read = strip_of(stage, std::move(places), columns->column, some, e->range);
            if (read == nullptr) continue;
            ir::Expr result;
            const auto add = [&](const ir::Expr& term, std::int64_t factor) {
                const ir::Expr all = columns->op == BinaryOp::Add ? times(term, factor) : term;
                result = result ? ir::binary(columns->op, result, all, e->range) : all;
            };
            for (std::size_t i = 0; i < columns->factors.size(); ++i) {
                const ir::Expr at =
                    place_of(ir::variable(x.var, Type::Int32), columns->first + static_cast<std::int64_t>(i));
                add(ir::substitute(read, {{u, at}}), columns->factors[i]);
            }
            for (const auto& [term, factor] : columns->others) add(changed(stage, points, term), factor);
            return result;
        }
        // Its parts have no columns either.
        for (ir::Expr part = whole->a;;) {
            const auto* b = ir::as<ir::Binary>(part);
            if (b == nullptr || b->op != whole->op || !parts_.insert(part).second) break;
            part = b->a;
        }
        return nullptr;
    }

    /// Of a window whose length a parameter says, the most that it may have: the parameter's default has code of its
    /// own.
    [[nodiscard]] double turns(const ir::Range& range) {
        if (const poly::IntRange most = ranges_.integer(ir::binary(BinaryOp::Sub, range.hi, range.lo));
            most.hi <= kMostTurns && most.hi > most.lo) {
            return static_cast<double>(std::max<poly::Wide>(0, most.hi));
        }
        const auto lo = evaluate(range.lo, sizes_), hi = evaluate(range.hi, sizes_);
        return lo && hi ? static_cast<double>(std::max<std::int64_t>(0, *hi - *lo)) : 0;
    }
    /// Terms of a reduction, with those that are its whole term; 0 where nobody knows.
    [[nodiscard]] double terms(const ir::Expr& e) {
        double result = 1;
        for (const auto* loop = ir::as<ir::Reduce>(e); loop != nullptr; loop = ir::as<ir::Reduce>(loop->body)) {
            for (const ir::Range& range : loop->ranges) result *= turns(range);
        }
        return result;
    }

    /// A reduction as a loop over one of its variables of what the others and the loops in it give, if that is shared.
    /// `reached`: there are points; null where there are some for all sizes.
    ir::Expr window(const ir::Stage& stage, const Places& points, const ir::Expr& reached, const ir::Expr& e) {
        const auto* reduce = ir::as<ir::Reduce>(e);
        if (reduce == nullptr || ir::gives_place(reduce->op)) return e;
        // In any order, the variables of loops in it are its own.
        const bool free = !ir::depends_on_order(reduce->op, e->type);
        std::vector<ir::Range> ranges = reduce->ranges;
        ir::Expr body = reduce->body;
        for (const auto* inner = ir::as<ir::Reduce>(body); free && inner != nullptr && inner->op == reduce->op;
             inner = ir::as<ir::Reduce>(body)) {
            ranges.insert(ranges.end(), inner->ranges.begin(), inner->ranges.end());
            body = inner->body;
        }
        const bool dependent = std::ranges::any_of(ranges, [&](const ir::Range& range) {
            return ir::uses_variable(range.lo, ranges) || ir::uses_variable(range.hi, ranges);
        });
        if (dependent || (ranges.size() > 1 && !free)) return e;
        // The last variable goes along the lanes: strips across them have no halo there, and in registers neighbours
        // exchange strips instead of all that they are made of. (The minimum of 9 x 9 bytes took 26 us of an H200 so,
        // and 30 with the first variable; the mean of 25 x 25 54 us and 67.)
        for (std::size_t r = ranges.size(); r-- > 0;) {
            std::vector<ir::Range> others = ranges;
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(r));
            const ir::Expr strip =
                others.empty() ? body : ir::reduce_nest(reduce->op, std::move(others), body, e->range);
            const ir::Expr read = shared(stage, points, reached, ranges[r], strip);
            if (read != nullptr) return ir::reduce_like(*reduce, {ranges[r]}, read, e->range);
        }
        return e;
    }

    /// A read of a stage that has the values of `strip`, the term of a loop over `outer`; null where each point needs
    /// its own, or nothing is saved.
    ir::Expr shared(const ir::Stage& stage, const Places& points, const ir::Expr& reached, const ir::Range& outer,
                    const ir::Expr& strip) {
        const double count = turns(outer), all = terms(strip);
        const auto* inner = ir::as<ir::Reduce>(strip);
        if (inner == nullptr || std::min(count, all) < kLeastSide) return nullptr;
        if (ir::depends_on_order(inner->op, inner->body->type) && count * all < kLeastTerms) return nullptr;
        const bool same_everywhere = variables_of(outer.lo).empty() && variables_of(outer.hi).empty();
        if (!same_everywhere || !never_empty(outer.lo, outer.hi)) return nullptr;
        const std::set<ir::VarId> used = free_variables(strip);
        for (std::size_t d = 0; d < points.size(); ++d) {
            const ir::VarId x = points[d].var;
            if (used.count(x) == 0) continue;
            const std::int64_t step = step_of(strip, x, outer.var);
            if (step == 0 || turns({x, points[d].lo, points[d].hi}) * static_cast<double>(step) < 2 * count) continue;
            if (count < kLeastSide * static_cast<double>(step) &&
                !are_blocks(stage, points, d, static_cast<double>(step), count))
                continue;
            const ir::VarId sum = made_.variable_like(x, "");
            const ir::Expr value = AsSum(x, step, outer.var, sum).of(strip);
            if (value == nullptr) continue;
            Places places = points;
            // From step * lo + outer.lo to step * (hi - 1) + outer.hi - 1.
            const ir::Expr last = added(outer.hi, ir::int_constant(Type::Int32, -step));
            places[d] = {sum, added(times(points[d].lo, step), outer.lo), added(times(points[d].hi, step), last),
                         false};
            // Where there is no window, a strip may lie out of bounds.
            const ir::Expr some = all_of(reached, points[d].lo, points[d].hi);
            const ir::Expr read = strip_of(stage, std::move(places), value, some, strip->range);
            if (read == nullptr) continue;
            const ir::Expr at = added(times(ir::variable(x, Type::Int32), step), ir::variable(outer.var, Type::Int32));
            return ir::substitute(read, {{sum, at}});
        }
        return nullptr;
    }

    /// A read of a stage with `value` at those of `places` that it depends on; null where it depends on others.
    ir::Expr strip_of(const ir::Stage& stage, Places places, const ir::Expr& value, ir::Expr reached,
                      SourceRange range) {
        const std::set<ir::VarId> needed = free_variables(value);
        for (const Place& place : places) {
            if (needed.count(place.var) == 0) reached = all_of(reached, place.lo, place.hi);
        }
        std::erase_if(places, [&](const Place& place) { return needed.count(place.var) == 0; });
        if (places.size() != needed.size()) return nullptr;
        const ir::Expr inner = window(stage, places, reached, value);
        ir::Expr read = made_.make_in_order(stage, "strip", inner, places, reached, range);
        made_.made(ir::as<ir::Read>(read)->source.index).alone = false;
        return read;
    }

    /// Strips side by side in memory, of windows of which each point has its own: neighbouring threads then read
    /// neighbouring elements, which are apart by a window's width otherwise. Channels may lie between them.
    bool are_blocks(const ir::Stage& stage, const Places& points, std::size_t dim, double step, double count) const {
        if (step > count) return false;
        const std::vector<int> order = ir::memory_order(made_.all().pipeline, stage);
        for (auto inner = order.rbegin(); inner != order.rend(); ++inner) {
            if (static_cast<std::size_t>(*inner) == dim) return true;
            const Place& place = points[static_cast<std::size_t>(*inner)];
            const auto lo = ir::as_int(place.lo), hi = ir::as_int(place.hi);
            if (!lo || !hi || *hi - *lo > poly::kChannels) return false;
        }
        return false;
    }

    bool never_empty(const ir::Expr& lo, const ir::Expr& hi) {
        return ranges_.integer(ir::binary(BinaryOp::Sub, hi, lo)).lo >= 1;
    }
    /// `reached`, and lo < hi; null for what always holds.
    ir::Expr all_of(const ir::Expr& reached, const ir::Expr& lo, const ir::Expr& hi) {
        if (never_empty(lo, hi)) return reached;
        const ir::Expr some = ir::binary(BinaryOp::Lt, lo, hi);
        return reached ? ir::binary(BinaryOp::And, reached, some) : some;
    }

    MadeStages made_;
    std::vector<std::int64_t> sizes_;
    poly::ValueRanges ranges_;
    std::unordered_map<ir::Expr, ir::Expr> known_;
    std::unordered_set<ir::Expr> parts_;  ///< of windows that were looked at
};

}  // namespace

Inlined shared_strips(const ir::Pipeline& pipeline, const poly::Model& model) {
    return Strips(pipeline, model).run();
}

}  // namespace pipec::fusion
