#include "poly/clamp_casts.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "ir/build.h"
#include "ir/visit.h"
#include "poly/isl_sizes.h"
#include "poly/isl_to_ir.h"
#include "poly/stage_ranges.h"
#include "poly/value_ranges.h"

namespace pipec::poly {

namespace {

/// `cast` within a range, whose ends are left out where the type has them anyway.
ir::Expr clamped(ir::Expr cast, const CastRange& range) {
    const ir::Type type = cast->type;
    const SourceRange place = cast->range;
    const IntRange all = type_range(type);
    ir::Expr result = std::move(cast);
    if (range.lo > all.lo) {
        result = ir::binary(ir::BinaryOp::Max, std::move(result), ir::int_constant(type, range.lo), place);
    }
    if (range.hi < all.hi) {
        result = ir::binary(ir::BinaryOp::Min, std::move(result), ir::int_constant(type, range.hi), place);
    }
    return result;
}

/// Limits of casts over the sizes and what the casts stand inside of, as proofs find them (isl_float_limits.cpp).
class Limits {
public:
    Limits(const ir::Pipeline& pipeline, const Model& model) : isl_(0) {
        const auto sizes = size_context(isl_, pipeline);
        if (!sizes) return;
        KnownBoxes boxes;
        for (const Domain& domain : model.domains) boxes.emplace_back(domain.box);
        ProgramValues values(isl_, pipeline, *sizes, boxes);
        for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
            const ir::Stage& stage = pipeline.stages[s];
            bind_points(values.ranges, stage, model.domains[s].box);
            if (const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition)) {
                for (const ir::Update& update : accumulate->updates) {
                    for (const ir::Range& loop : update.domain) bind(loop, values.ranges);
                }
            }
            for (const ir::Expr& e : ir::expressions(stage)) note(e, values);
        }
    }

    ir::Expr clamped(const ir::Expr& cast, ir::Expr made) const {
        const auto found = limits_.find(cast.get());
        if (found == limits_.end()) return made;
        const auto& [least, greatest] = found->second;
        if (least) made = ir::binary(ir::BinaryOp::Max, std::move(made), least, cast->range);
        if (greatest) made = ir::binary(ir::BinaryOp::Min, std::move(made), greatest, cast->range);
        return made;
    }
    [[nodiscard]] bool empty() const { return limits_.empty(); }

private:
    static void bind(const ir::Range& loop, ValueRanges& ranges) {
        const Wide first = ranges.integer(loop.lo).lo;
        ranges.bind(loop.var, IntRange{first, std::max(first, ranges.integer(loop.hi).hi - 1)});
    }

    void note(const ir::Expr& root, ProgramValues& values) {
        // Parents come first: what casts mention is bound by then.
        ir::for_each_node(root, [&](const ir::Expr& e) {
            if (const auto* let = ir::as<ir::Let>(e)) values.affine.bind(let->var, let->value);
            if (const auto* reduce = ir::as<ir::Reduce>(e)) {
                for (const ir::Range& loop : reduce->ranges) bind(loop, values.ranges);
            }
            const CastLimits limits = values.affine.limits_of_cast(e);
            if (!limits.least && !limits.greatest) return;
            limits_[e.get()] = {limits.least ? to_expr(*limits.least) : nullptr,
                                limits.greatest ? to_expr(*limits.greatest) : nullptr};
        });
    }

    IslContext isl_;
    std::unordered_map<const ir::Node*, std::pair<ir::Expr, ir::Expr>> limits_;
};

/// The reads behind conditions on floats whose indices data decide: such conditions are a part of their proofs
/// (isl_float_conditions.cpp), and floats that are not rounded as the language says may pass them all the same.
class GuardedReads {
public:
    explicit GuardedReads(const ir::Pipeline& pipeline) {
        for (const ir::Stage& stage : pipeline.stages) {
            for (const ir::Expr& e : ir::expressions(stage)) walk(e, false);
            const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition);
            if (accumulate == nullptr) continue;
            for (const ir::Update& update : accumulate->updates) {
                if (!update.guard || !compares_floats(update.guard)) continue;
                for (const ir::Expr& index : update.indices) {
                    walk(index, true);
                    if (is_of_data(index)) indices_.insert(index.get());
                }
                walk(update.value, true);
            }
        }
    }

    [[nodiscard]] bool empty() const { return reads_.empty() && indices_.empty(); }
    [[nodiscard]] bool has(const ir::Expr& read) const { return reads_.contains(read.get()); }
    /// Of an update.
    [[nodiscard]] bool has_index(const ir::Expr& index) const { return indices_.contains(index.get()); }
    [[nodiscard]] bool is_of_data(const ir::Expr& index) const {
        return ir::any_node(index, [&](const ir::Expr& e) {
            const auto* cast = ir::as<ir::Cast>(e);
            const auto* variable = ir::as<ir::Variable>(e);
            return ir::as<ir::Read>(e) != nullptr || (cast != nullptr && ir::is_float(cast->a->type)) ||
                   (variable != nullptr && lets_of_data_.contains(variable->id));
        });
    }

private:
    bool compares_floats(const ir::Expr& condition) const {
        return ir::any_node(condition, [&](const ir::Expr& e) {
            const auto* n = ir::as<ir::Binary>(e);
            const auto* variable = ir::as<ir::Variable>(e);
            return (n != nullptr && ir::is_comparison(n->op) && ir::is_float(n->a->type)) ||
                   (variable != nullptr && lets_of_floats_.contains(variable->id));
        });
    }

    void walk(const ir::Expr& e, bool guarded) {
        if (!seen_.insert({e.get(), guarded}).second) return;
        if (const auto* let = ir::as<ir::Let>(e)) {
            if (is_of_data(let->value)) lets_of_data_.insert(let->var);
            if (compares_floats(let->value)) lets_of_floats_.insert(let->var);
        }
        if (const auto* read = ir::as<ir::Read>(e); read != nullptr && guarded) {
            if (std::ranges::any_of(read->indices, [&](const ir::Expr& index) { return is_of_data(index); })) {
                reads_.insert(e.get());
            }
        }
        const auto* select = ir::as<ir::Select>(e);
        const auto* binary = ir::as<ir::Binary>(e);
        if (select != nullptr) {
            const bool inside = guarded || compares_floats(select->cond);
            walk(select->cond, guarded);
            walk(select->then, inside);
            if (select->otherwise) walk(select->otherwise, inside);
        } else if (binary != nullptr && ir::is_logical(binary->op)) {
            walk(binary->a, guarded);
            walk(binary->b, guarded || compares_floats(binary->a));
        } else {
            ir::for_each_child(*e, [&](const ir::Expr& child) { walk(child, guarded); });
        }
    }

    std::set<std::pair<const ir::Node*, bool>> seen_;  ///< whether behind such a condition
    std::set<const ir::Node*> reads_, indices_;
    std::set<ir::VarId> lets_of_data_, lets_of_floats_;
};

/// An index within lo <= index < hi.
ir::Expr in_bounds(const ir::Expr& index, const Interval& bounds) {
    const ir::Expr last = ir::binary(ir::BinaryOp::Sub, bounds.hi, ir::int_constant(ir::Type::Int32, 1));
    return ir::binary(ir::BinaryOp::Min, ir::binary(ir::BinaryOp::Max, index, bounds.lo, index->range), last,
                      index->range);
}

std::vector<Interval> bounds_of(const ir::Pipeline& pipeline, const Model& model, const ir::Source& source) {
    const auto index = static_cast<std::size_t>(source.index);
    if (source.kind == ir::Source::Kind::Stage) return model.domains.at(index).box;
    std::vector<Interval> result;
    for (const ir::Expr& extent : pipeline.inputs.at(index).extents) {
        result.push_back({ir::int_constant(ir::Type::Int32, 0), extent});
    }
    return result;
}

}  // namespace

ir::Pipeline clamp_casts(const ir::Pipeline& pipeline, const Model& model) {
    ir::Pipeline result = pipeline;
    std::unordered_map<const ir::Node*, const CastRange*> ranges;
    for (const CastRange& range : model.casts) ranges.emplace(range.cast.get(), &range);
    const Limits limits(pipeline, model);
    const GuardedReads guarded(pipeline);
    if (ranges.empty() && limits.empty() && guarded.empty()) return result;
    std::unordered_map<const ir::Node*, ir::Expr> done;  // shared nodes stay shared
    const std::function<ir::Expr(const ir::Expr&)> rewritten = [&](const ir::Expr& e) {
        if (const auto known = done.find(e.get()); known != done.end()) return known->second;
        ir::Expr made = ir::map_children(e, rewritten);
        if (guarded.has(e)) {
            const auto* read = ir::as<ir::Read>(made);
            const std::vector<Interval> bounds = bounds_of(pipeline, model, read->source);
            std::vector<ir::Expr> indices = read->indices;
            for (std::size_t d = 0; d < indices.size(); ++d) {
                if (guarded.is_of_data(ir::as<ir::Read>(e)->indices[d]))
                    indices[d] = in_bounds(indices[d], bounds.at(d));
            }
            made = ir::read(read->source, e->type, std::move(indices), e->range);
        }
        if (const auto range = ranges.find(e.get()); range != ranges.end()) made = clamped(made, *range->second);
        made = limits.clamped(e, made);
        done.emplace(e.get(), made);
        return made;
    };
    const auto rewrite = [&](ir::Expr& e) {
        if (e) e = rewritten(e);
    };
    for (std::size_t s = 0; s < result.stages.size(); ++s) {
        ir::Stage& stage = result.stages[s];
        if (auto* pure = std::get_if<ir::Pure>(&stage.definition)) {
            rewrite(pure->value);
            continue;
        }
        auto& accumulate = std::get<ir::Accumulate>(stage.definition);
        rewrite(accumulate.init);
        for (ir::Update& update : accumulate.updates) {
            for (ir::Range& range : update.domain) {
                rewrite(range.lo);
                rewrite(range.hi);
            }
            rewrite(update.guard);
            for (std::size_t d = 0; d < update.indices.size(); ++d) {
                ir::Expr& index = update.indices[d];
                const bool clamps = guarded.has_index(index);
                rewrite(index);
                if (clamps) index = in_bounds(index, model.domains.at(s).box.at(d));
            }
            rewrite(update.value);
        }
    }
    return result;
}

}  // namespace pipec::poly
