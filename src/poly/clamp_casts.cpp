#include "poly/clamp_casts.h"

#include <functional>
#include <unordered_map>

#include "ir/build.h"
#include "ir/visit.h"
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

}  // namespace

ir::Pipeline clamp_casts(const ir::Pipeline& pipeline, const Model& model) {
    ir::Pipeline result = pipeline;
    std::unordered_map<const ir::Node*, const CastRange*> ranges;
    for (const CastRange& range : model.casts) ranges.emplace(range.cast.get(), &range);
    if (ranges.empty()) return result;
    std::unordered_map<const ir::Node*, ir::Expr> done;  // shared nodes stay shared
    const std::function<ir::Expr(const ir::Expr&)> rewritten = [&](const ir::Expr& e) {
        if (const auto known = done.find(e.get()); known != done.end()) return known->second;
        ir::Expr made = ir::map_children(e, rewritten);
        if (const auto range = ranges.find(e.get()); range != ranges.end()) made = clamped(made, *range->second);
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
