#include "fusion/separate_points.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fusion/group_facts.h"
#include "fusion/instructions.h"
#include "fusion/made_stages.h"
#include "ir/build.h"
#include "ir/unique_nodes.h"
#include "ir/visit.h"
#include "ir/without_lets.h"

namespace pipec::fusion {

namespace {

/// Each point is a total in a register of one thread, beside what its terms read, and a stage that the search for
/// groups has to place.
constexpr std::int64_t kMostSeparate = 16;
/// Dimensions of which any may be separated.
constexpr std::size_t kMostDims = 4;
/// Nodes of all points together.
constexpr std::int64_t kMostNodes = 4000;
/// Points of a stage that has fewer than a GPU has threads, so that its sums are shared out in any case.
constexpr double kFewPoints = 1 << 12;
/// Terms that a sum must have, for usual sizes.
constexpr double kManyTerms = 1 << 10;
/// The part of the points' work that is left when equal terms are computed once.
constexpr double kWorthIt = 0.67;
/// Instructions that a load stands for.
constexpr double kLoadWork = 4;

/// An expression at a point: variables have values, conditions over them are decided.
class AtPoint {
public:
    explicit AtPoint(std::map<ir::VarId, ir::Expr> values) : values_(std::move(values)) {}

    ir::Expr of(const ir::Expr& e) {
        if (!e) return e;
        if (const auto known = known_.find(e); known != known_.end()) return known->second;
        ir::Expr result = rebuilt(e);
        known_.emplace(e, result);
        return result;
    }

private:
    ir::Expr rebuilt(const ir::Expr& e) {
        if (const auto* variable = ir::as<ir::Variable>(e)) {
            const auto value = values_.find(variable->id);
            return value == values_.end() ? e : value->second;
        }
        // (What is not chosen may be large.)
        if (const auto* n = ir::as<ir::Select>(e); n != nullptr && n->otherwise) {
            if (const auto chosen = ir::as_int(of(n->cond))) return of(*chosen != 0 ? n->then : n->otherwise);
        }
        const ir::Expr same = ir::map_children(e, [this](const ir::Expr& child) { return of(child); });
        return same == e ? e : ir::folded(same);
    }

    std::map<ir::VarId, ir::Expr> values_;
    std::unordered_map<ir::Expr, ir::Expr> known_;
};

/// The work of terms that are computed once for each turn of the loops of long reductions.
class TermWork {
public:
    explicit TermWork(const std::vector<std::int64_t>& sizes) : sizes_(sizes) {}

    /// Of the terms in `e`, without those that were counted before.
    double add(const ir::Expr& e, std::unordered_set<ir::Expr>& counted) {
        double work = 0;
        walk(e, 1, counted, work);
        return work;
    }

private:
    void walk(const ir::Expr& e, double terms, std::unordered_set<ir::Expr>& counted, double& work) {
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            for (const ir::Range& range : reduce->ranges) terms *= usual_extent(range.lo, range.hi, sizes_);
            return walk(reduce->body, terms, counted, work);
        }
        if (!counted.insert(e).second) return;
        if (terms >= kManyTerms) work += ir::as<ir::Read>(e) != nullptr ? kLoadWork : instructions(e);
        if (ir::as<ir::Read>(e) != nullptr) return;
        ir::for_each_child(*e, [&](const ir::Expr& child) { walk(child, terms, counted, work); });
    }

    const std::vector<std::int64_t>& sizes_;
};

class Separating {
public:
    Separating(const ir::Pipeline& pipeline, const poly::Model& model)
        : made_({pipeline, model}), sizes_(usual_sizes(pipeline)) {}

    Inlined run() {
        return made_.with_changed([&](ir::Stage& stage, const poly::Domain& domain) {
            auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure != nullptr && !stage.scan && !domain.guard && ir::has_reduction(pure->value)) {
                separate(stage, *pure, domain);
            }
        });
    }

private:
    using Point = std::map<ir::VarId, ir::Expr>;

    /// The points of short dimensions, each with the stage's value there.
    struct Points {
        Places others;  ///< the dimensions that are left
        std::vector<Point> points{1};
        std::vector<ir::Expr> values{};
        double part = 1;  ///< of their work, when equal terms are computed once
    };

    void separate(const ir::Stage& stage, ir::Pure& pure, const poly::Domain& domain) {
        if (usual_points(domain.box, sizes_) > kFewPoints) return;
        std::vector<std::size_t> is_short;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            const auto& [lo, hi] = domain.box[d];
            if (ir::as_int(lo) && ir::as_int(hi)) is_short.push_back(d);
        }
        if (is_short.empty() || is_short.size() > kMostDims) return;
        const ir::Expr flat = ir::WithoutLets().of(pure.value);
        std::optional<Points> best;
        for (std::size_t chosen = 1; chosen < std::size_t{1} << is_short.size(); ++chosen) {
            std::vector<bool> apart(stage.dims.size(), false);
            for (std::size_t i = 0; i < is_short.size(); ++i) apart[is_short[i]] = (chosen >> i & 1) != 0;
            std::optional<Points> points = points_of(stage, domain, apart);
            if (points && evaluate(*points, flat) && (!best || points->part < best->part)) best = std::move(points);
        }
        if (best && best->part <= kWorthIt) pure.value = chosen_among(stage, *best, pure.value->range);
    }

    /// Of the dimensions that are `apart`; none where there are too many.
    static std::optional<Points> points_of(const ir::Stage& stage, const poly::Domain& domain,
                                           const std::vector<bool>& apart) {
        Points result;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            const auto& [lo, hi] = domain.box[d];
            const ir::VarId var = stage.dims[d].var;
            if (!apart[d]) {
                result.others.push_back({var, lo, hi, stage.output >= 0});
                continue;
            }
            const std::int64_t first = *ir::as_int(lo), count = *ir::as_int(hi) - first;
            if (count < 1 || count * static_cast<std::int64_t>(result.points.size()) > kMostSeparate)
                return std::nullopt;
            std::vector<Point> more;
            for (const Point& point : result.points) {
                for (std::int64_t i = 0; i < count; ++i) {
                    more.push_back(point);
                    more.back()[var] = ir::int_constant(ir::Type::Int32, first + i);
                }
            }
            result.points = std::move(more);
        }
        return result;
    }

    /// False where no point has a long sum, or where all of them are too large.
    bool evaluate(Points& points, const ir::Expr& value) const {
        ir::UniqueExpressions unique;
        TermWork work(sizes_);
        std::unordered_set<ir::Expr> all;
        double together = 0, apart = 0;
        std::int64_t nodes = 0;
        for (const Point& point : points.points) {
            const ir::Expr& here = points.values.emplace_back(unique.get(AtPoint(point).of(value)));
            nodes += ir::node_count(here);
            if (nodes > kMostNodes) return false;
            std::unordered_set<ir::Expr> own;
            apart += work.add(here, own);
            together += work.add(here, all);
        }
        points.part = apart == 0 ? 1 : together / apart;
        return apart > 0;
    }

    /// At each point a read of the stage that has its value.
    ir::Expr chosen_among(const ir::Stage& stage, const Points& points, SourceRange range) {
        ir::Expr result;
        for (std::size_t p = points.points.size(); p-- > 0;) {
            const ir::Expr read = made_.make(stage, "point", points.values[p], points.others, nullptr, range);
            ir::Expr here = ir::bool_constant(true);
            for (const auto& [var, at] : points.points[p]) {
                const ir::Expr is_at = ir::binary(ir::BinaryOp::Eq, ir::variable(var, ir::Type::Int32), at);
                here = ir::binary(ir::BinaryOp::And, here, is_at);
            }
            result = result ? ir::select(here, read, result) : read;
        }
        return result;
    }

    MadeStages made_;
    std::vector<std::int64_t> sizes_;
};

}  // namespace

Inlined separate_points(const ir::Pipeline& pipeline, const poly::Model& model) {
    const bool any = std::ranges::any_of(pipeline.stages, [](const ir::Stage& stage) {
        return std::ranges::any_of(ir::expressions(stage), [](const ir::Expr& e) { return ir::has_reduction(e); });
    });
    return any ? Separating(pipeline, model).run() : Inlined{pipeline, model};
}

}  // namespace pipec::fusion
