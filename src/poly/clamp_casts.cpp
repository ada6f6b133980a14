#include "poly/clamp_casts.h"

#include <algorithm>
#include <functional>
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
        Diagnostics none;
        const auto sizes = size_context(isl_, pipeline, none);
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

}  // namespace

ir::Pipeline clamp_casts(const ir::Pipeline& pipeline, const Model& model) {
    ir::Pipeline result = pipeline;
    std::unordered_map<const ir::Node*, const CastRange*> ranges;
    for (const CastRange& range : model.casts) ranges.emplace(range.cast.get(), &range);
    const Limits limits(pipeline, model);
    if (ranges.empty() && limits.empty()) return result;
    std::unordered_map<const ir::Node*, ir::Expr> done;  // shared nodes stay shared
    const std::function<ir::Expr(const ir::Expr&)> rewritten = [&](const ir::Expr& e) {
        if (const auto known = done.find(e.get()); known != done.end()) return known->second;
        ir::Expr made = ir::map_children(e, rewritten);
        if (const auto range = ranges.find(e.get()); range != ranges.end()) made = clamped(made, *range->second);
        made = limits.clamped(e, made);
        done.emplace(e.get(), made);
        return made;
    };
    const auto rewrite = [&](ir::Expr& e) {
        if (e) e = rewritten(e);
    };
    for (ir::Stage& stage : result.stages) {
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
            for (ir::Expr& index : update.indices) rewrite(index);
            rewrite(update.value);
        }
    }
    return result;
}

}  // namespace pipec::poly
