#include "fusion/prefix_scans.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fusion/conditions.h"
#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "fusion/lane_terms.h"
#include "fusion/made_stages.h"
#include "ir/build.h"
#include "ir/linear_sum.h"
#include "ir/reduction.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

using ir::Type;

/// A range of a reduction that ends `beyond` values behind the index of a dimension: u in lo..v + beyond.
struct Prefix {
    std::size_t range = 0, dim = 0;
    std::int64_t beyond = 0;
};

/// The dimensions of a stage, and the points that it has.
struct Points {
    std::vector<ir::Dimension> dims;
    std::vector<poly::Interval> box;
};

ir::Expr moved(const ir::Expr& e, std::int64_t by) {
    const auto [base, offset] = ir::with_offset(e);
    const ir::Expr sum = ir::int_constant(Type::Int32, offset + by);
    return offset + by == 0 ? base : ir::binary(ir::BinaryOp::Add, base, sum);
}

class PrefixScans {
public:
    PrefixScans(const ir::Pipeline& pipeline, const poly::Model& model)
        : made_({pipeline, model}), sizes_(usual_sizes(pipeline)) {}

    Inlined run() {
        return made_.with_changed([&](ir::Stage& stage, const poly::Domain& domain) {
            auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure == nullptr || stage.scan || domain.guard || stage.dims.empty()) return;
            points_ = {stage.dims, domain.box};
            if (become_scan(stage, domain.box, kSelf)) return;
            known_.clear();
            pure->value = with_scans(stage, pure->value);
        });
    }

private:
    /// Of a reduction.
    [[nodiscard]] std::optional<Prefix> find(const ir::Expr& e, const Points& points) const {
        const ir::Reduce& reduce = *ir::as<ir::Reduce>(e);
        const bool is_fold = reduce.op == ir::ReduceOp::Sum || reduce.op == ir::ReduceOp::Prod ||
                             reduce.op == ir::ReduceOp::Min || reduce.op == ir::ReduceOp::Max;
        if (!is_fold || ir::depends_on_blocks(reduce.op, e->type)) return std::nullopt;
        for (std::size_t r = reduce.ranges.size(); r-- > 0;) {
            const ir::Range& range = reduce.ranges[r];
            const auto [end, beyond] = ir::with_offset(range.hi);
            const auto* variable = ir::as<ir::Variable>(end);
            if (variable == nullptr || !variables_of(range.lo).empty()) continue;
            const auto dim = std::ranges::find(points.dims, variable->id, &ir::Dimension::var);
            if (dim == points.dims.end() || !stand_alone(reduce, r, variable->id)) continue;
            const auto d = static_cast<std::size_t>(dim - points.dims.begin());
            // At the first point the range is empty or goes on from there: then each point after it has one term more.
            const auto before = ir::constant_difference(points.box[d].lo, range.lo);
            if (!before || *before + beyond < 0) continue;
            const auto lo = evaluate(points.box[d].lo, sizes_), hi = evaluate(points.box[d].hi, sizes_);
            if (lo && hi && *hi - *lo < kLeastLaneTerms) continue;
            if (free_variables_known(e, points)) return Prefix{r, d, beyond};
        }
        return std::nullopt;
    }

    /// The variable of the dimension is in nothing but that range's end, and no other range needs that range's.
    static bool stand_alone(const ir::Reduce& reduce, std::size_t which, ir::VarId dim) {
        if (variables_of(reduce.body).count(dim) > 0) return false;
        for (std::size_t r = 0; r < reduce.ranges.size(); ++r) {
            if (r == which) continue;
            for (const ir::Expr& bound : {reduce.ranges[r].lo, reduce.ranges[r].hi}) {
                const std::set<ir::VarId> used = variables_of(bound);
                if (used.count(dim) > 0 || used.count(reduce.ranges[which].var) > 0) return false;
            }
        }
        return true;
    }

    /// All that it uses is what the stage's dimensions say.
    static bool free_variables_known(const ir::Expr& reduction, const Points& points) {
        return std::ranges::all_of(free_variables(reduction), [&](ir::VarId var) {
            return std::ranges::find(points.dims, var, &ir::Dimension::var) != points.dims.end();
        });
    }

    /// Makes a stage whose definition is such a reduction a scan, which reads itself as number `self`.
    bool become_scan(ir::Stage& stage, const std::vector<poly::Interval>& box, int self) {
        auto& pure = std::get<ir::Pure>(stage.definition);
        const auto* reduce = ir::as<ir::Reduce>(pure.value);
        const Points points{stage.dims, box};
        const auto prefix = reduce == nullptr ? std::nullopt : find(pure.value, points);
        if (!prefix) return false;
        const std::size_t d = prefix->dim;
        const ir::Expr v = ir::variable(stage.dims[d].var, Type::Int32);
        ir::Reduce all = *reduce;
        ir::Range& range = all.ranges[prefix->range];
        const poly::Interval terms{range.lo, moved(box[d].hi, prefix->beyond - 1)};
        if (all.ranges.size() > 1) all = of_parts(stage, all, prefix->range, terms);
        ir::Range& along = all.ranges.front();
        const ir::Expr last = moved(v, prefix->beyond - 1);
        const ir::Expr next = ir::substitute(all.body, {{along.var, last}});
        along.hi = moved(box[d].lo, prefix->beyond);
        const ir::Expr first = ir::reduce(all.op, all.ranges, all.body, pure.value->range);
        std::vector<ir::Expr> before;
        for (const ir::Dimension& dim : stage.dims) before.push_back(ir::variable(dim.var, Type::Int32));
        before[d] = moved(v, -1);
        const ir::Expr so_far =
            ir::read({ir::Source::Kind::Stage, self}, pure.value->type, std::move(before), pure.value->range);
        const ir::Expr value = ir::select(ir::binary(ir::BinaryOp::Eq, v, box[d].lo), first,
                                          ir::binary(ir::fold_op(all.op), so_far, next));
        const auto scan = ir::find_scan(stage, self, value).scan;
        if (!scan) return false;
        pure.value = value;
        stage.scan = scan;
        stage.dims[d].lo = box[d].lo, stage.dims[d].hi = box[d].hi;
        return true;
    }

    /// A reduction over one range of what a stage of its own reduces over the others.
    ir::Reduce of_parts(const ir::Stage& stage, const ir::Reduce& all, std::size_t which, const poly::Interval& terms) {
        std::vector<ir::Range> others = all.ranges;
        const ir::Range range = others[which];
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(which));
        const ir::Expr part = ir::reduce(all.op, others, all.body, all.body->range);
        Places places = used_places(part, {{range.var, terms.lo, terms.hi, false}});
        const ir::Expr read = made_.make_in_order(stage, "part", part, places, nullptr, all.body->range);
        scan_if_possible(read);
        ir::Reduce result = all;
        result.ranges = {range};
        result.body = read;
        return result;
    }

    /// The dimensions of the stage that `e` uses, and some places more.
    [[nodiscard]] Places used_places(const ir::Expr& e, const Places& more) const {
        const std::set<ir::VarId> used = variables_of(e);
        Places places;
        for (std::size_t d = 0; d < points_.dims.size(); ++d) {
            if (used.count(points_.dims[d].var) > 0)
                places.push_back({points_.dims[d].var, points_.box[d].lo, points_.box[d].hi, false});
        }
        places.insert(places.end(), more.begin(), more.end());
        return places;
    }

    /// Of the stage that is read there, which was just made.
    void scan_if_possible(const ir::Expr& read) {
        const int number = ir::as<ir::Read>(read)->source.index;
        if (made_.made(number).scan) return;
        ir::Stage stage = made_.made(number);
        const std::vector<poly::Interval> box = made_.all().model.domains.at(static_cast<std::size_t>(number)).box;
        const Points outer = std::exchange(points_, Points{stage.dims, box});
        if (become_scan(stage, box, number)) {
            stage.alone = false;
            made_.made(number) = std::move(stage);
        }
        points_ = outer;
    }

    /// `e` with reads of scans for reductions that are evaluated at all points.
    ir::Expr with_scans(const ir::Stage& stage, const ir::Expr& e) {
        if (const auto known = known_.find(e.get()); known != known_.end()) return known->second;
        ir::Expr result = changed(stage, e);
        known_.emplace(e.get(), result);
        return result;
    }

    ir::Expr changed(const ir::Stage& stage, const ir::Expr& e) {
        if (ir::as<ir::Reduce>(e) != nullptr) {
            const auto prefix = find(e, points_);
            if (!prefix) return e;
            const ir::VarId along = points_.dims[prefix->dim].var;
            Places places = used_places(e, {});
            // The scan's dimension is the innermost one, as it is where the reduction goes along memory.
            std::ranges::stable_partition(places, [&](const Place& place) { return place.var != along; });
            const ir::Expr read = made_.make_in_order(stage, "prefix", e, places, nullptr, e->range);
            scan_if_possible(read);
            return read;
        }
        if (const auto* select = ir::as<ir::Select>(e); select != nullptr && select->otherwise) {
            const ir::Expr cond = with_scans(stage, select->cond);
            return cond == select->cond ? e : ir::select(cond, select->then, select->otherwise, e->range);
        }
        if (const auto* binary = ir::as<ir::Binary>(e); binary != nullptr && ir::is_logical(binary->op)) {
            const ir::Expr a = with_scans(stage, binary->a);
            return a == binary->a ? e : ir::binary(binary->op, a, binary->b, e->range);
        }
        return ir::map_children(e, [&](const ir::Expr& child) { return with_scans(stage, child); });
    }

    MadeStages made_;
    std::vector<std::int64_t> sizes_;
    Points points_;  ///< of the stage that is being looked at
    std::unordered_map<const ir::Node*, ir::Expr> known_;
};

}  // namespace

Inlined prefix_scans(const ir::Pipeline& pipeline, const poly::Model& model) {
    return ir::has_reduction(pipeline) ? PrefixScans(pipeline, model).run() : Inlined{pipeline, model};
}

}  // namespace pipec::fusion
