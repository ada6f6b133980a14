#include "codegen/emit/host/host_nest.h"

#include <algorithm>

#include "codegen/emit/c/wide_expr.h"
#include "codegen/emit/host/host_points.h"
#include "codegen/expr/both_sides.h"
#include "codegen/expr/exact_expr.h"
#include "codegen/expr/interior.h"
#include "codegen/expr/rewrite.h"
#include "codegen/expr/strides.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "ir/widen.h"

namespace pipec::codegen {

namespace {

/// Reductions that are written out do not make longer code than this, in nodes.
constexpr std::int64_t kLongestInner = 2000;
/// Reductions of more terms stay loops, through which points go together (host_strip.h), or one of them: as straight
/// lines they take the C++ compiler long, and are no faster.
constexpr std::int64_t kMostWritten = 8;
/// Dimensions of no more points have no interior.
constexpr std::int64_t kPlanes = 16;

/// A launch computes it in 64 bits.
bool is_computable(const ir::Pipeline& pipeline, const ir::Expr& bound) {
    return is_wide(bound) && !may_overflow(pipeline, ir::widened(bound));
}

}  // namespace

bool Nest::is_unrolled(std::size_t dim) const {
    return std::find(order.begin(), order.end(), dim) > order.begin() + static_cast<std::ptrdiff_t>(vector);
}

std::optional<std::int64_t> constant_extent(const poly::Domain& domain, std::size_t dim) {
    const auto lo = ir::as_int(domain.box[dim].lo), hi = ir::as_int(domain.box[dim].hi);
    if (!lo || !hi) return std::nullopt;
    return std::max<std::int64_t>(0, *hi - *lo);
}

Nest nest_of(const ir::Pipeline& pipeline, const poly::Model& model, std::size_t stage) {
    Nest nest;
    for (const int dim : memory_order(pipeline, {ir::Source::Kind::Stage, static_cast<int>(stage)})) {
        nest.order.push_back(static_cast<std::size_t>(dim));
    }
    const poly::Domain& domain = model.domains.at(stage);
    nest.vector = nest.order.empty() ? 0 : nest.order.size() - 1;
    while (nest.vector > 0 && constant_extent(domain, nest.order[nest.vector]).value_or(kUnrolled + 1) <= kUnrolled) {
        --nest.vector;
    }
    return nest;
}

bool InnerCode::is_everywhere() const {
    for (std::size_t d = 0; d < limits.size(); ++d) {
        if (is_limited(d)) return false;
    }
    return true;
}

namespace {

/// Branches in what a point evaluates.
std::int64_t branches(const Interior& interior) {
    std::int64_t count = interior.guard ? 1 : 0;
    ir::for_each_node(interior.value, [&](const ir::Expr& e) { count += ir::as<ir::Select>(e) != nullptr ? 1 : 0; });
    return count;
}

}  // namespace

std::optional<InnerCode> inner_code(ir::Pipeline& pipeline, const poly::Model& model, std::size_t index,
                                    const Nest& nest) {
    const ir::Stage& stage = pipeline.stages.at(index);
    const poly::Domain& domain = model.domains.at(index);
    const ir::Expr value = std::get<ir::Pure>(stage.definition).value;
    if (stage.dims.empty()) return std::nullopt;
    Rewriter rewriter(pipeline);
    rewriter.write_out_at_most(kMostWritten);
    if (both_sides_are_safe(pipeline, model, static_cast<int>(index))) rewriter.compute_both_sides();
    for (std::size_t d = 0; d < stage.dims.size(); ++d) rewriter.index(stage.dims[d].var, domain.box[d]);
    // What does not change along a row is computed once for each, and a clamped row is as fast as others. Branches are
    // not; but of a few planes none is an edge.
    std::vector<bool> along(stage.dims.size(), false), all = along;
    along[nest.order[nest.vector]] = true;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
        const auto extent = constant_extent(domain, d);
        all[d] = along[d] || (!nest.is_unrolled(d) && (!extent || *extent > kPlanes));
    }
    Interior interior = find_interior(rewriter, stage, domain, value, domain.guard, along);
    if (branches(interior) > 0) {
        Interior more = find_interior(rewriter, stage, domain, value, domain.guard, all);
        if (branches(more) < branches(interior)) interior = std::move(more);
    }
    if (ir::node_count(interior.value) > std::max(kLongestInner, ir::node_count(value))) return std::nullopt;
    InnerCode result{interior.value, interior.guard, {}, {}};
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
        const auto limit = [&](const ir::Expr& bound, const ir::Expr& own) {
            const auto sum = rewriter.linear(own);
            const bool same = ir::structurally_equal(bound, sum ? rewriter.expr(*sum) : own);
            return same ? nullptr : bound;
        };
        const poly::Interval limits{limit(interior.box[d].lo, domain.box[d].lo),
                                    limit(interior.box[d].hi, domain.box[d].hi)};
        for (const ir::Expr& e : {limits.lo, limits.hi}) {
            if (e && !is_computable(pipeline, e)) return std::nullopt;
        }
        result.limits.push_back(limits);
    }
    if (!result.guard) result.row = find_row_code(pipeline, rewriter, stage, domain, nest, result.value);
    return result;
}

}  // namespace pipec::codegen
