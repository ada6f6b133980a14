// A slice is read by the next ones, as many as the scan reads back. A launch that computes several slices, while its
// blocks read those before, has all of these in memory.
#include "codegen/strategies/scan/kept_slices.h"

#include <unordered_map>

#include "codegen/kernel/kernel_build.h"
#include "codegen/strategies/scan/shared_slices.h"
#include "ir/build.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Accesses to one scan.
class Folding {
public:
    Folding(const kernel::Program& program, const kernel::KeptSlices& kept)
        : source_{ir::Source::Kind::Stage, kept.stage}, slices_(kept.slices) {
        const ir::Stage& stage = program.pipeline.stages.at(static_cast<std::size_t>(kept.stage));
        dim_ = static_cast<std::size_t>(stage.scan->dim);
        first_ = program.model.domains.at(static_cast<std::size_t>(kept.stage)).box[dim_].lo;
    }

    void apply(kernel::Body& body) {
        for (kernel::Stmt& stmt : body) std::visit([&](auto& n) { apply(n); }, stmt.value);
    }

private:
    void apply(kernel::Define& n) { n.value = value(n.value); }
    void apply(kernel::Variable& n) { n.value = value(n.value); }
    void apply(kernel::Assign& n) { n.value = value(n.value); }
    void apply(kernel::Load& n) { place(n.array, n.indices); }
    void apply(kernel::Store& n) {
        place(n.array, n.indices);
        for (ir::Expr& e : n.values) e = value(e);
        n.guard = value(n.guard);
    }
    void apply(kernel::Atomic& n) {
        place(n.array, n.indices);
        n.value = value(n.value);
    }
    void apply(kernel::Shuffle& n) { n.value = value(n.value), n.amount = value(n.amount); }
    void apply(kernel::Copy& n) { place(n.to, n.to_indices), place(n.from, n.from_indices); }
    void apply(kernel::For& n) {
        n.lo = value(n.lo), n.hi = value(n.hi), n.step = value(n.step);
        apply(n.body);
    }
    void apply(kernel::If& n) {
        n.condition = value(n.condition);
        apply(n.then), apply(n.otherwise);
    }
    template <class Other>
    void apply(Other&) {}  // barriers and the like

    void place(ir::Source array, std::vector<ir::Expr>& indices) {
        for (ir::Expr& index : indices) index = value(index);
        if (array == source_) indices[dim_] = folded(indices[dim_]);
    }

    [[nodiscard]] ir::Expr folded(const ir::Expr& index) const {
        return sum(first_, ir::binary(BinaryOp::Mod, difference(index, first_), constant(slices_)));
    }

    /// Nodes stay shared.
    ir::Expr value(const ir::Expr& e) {
        if (!e) return e;
        if (const auto known = done_.find(e); known != done_.end()) return known->second;
        ir::Expr result = ir::map_children(e, [&](const ir::Expr& child) { return value(child); });
        if (const auto* read = ir::as<ir::Read>(result); read != nullptr && read->source == source_) {
            std::vector<ir::Expr> indices = read->indices;
            indices[dim_] = folded(indices[dim_]);
            result = ir::read(source_, e->type, std::move(indices), e->range);
        }
        return done_.emplace(e, std::move(result)).first->second;
    }

    const ir::Source source_;
    const std::int64_t slices_;
    std::size_t dim_ = 0;
    ir::Expr first_;
    std::unordered_map<ir::Expr, ir::Expr> done_;
};

}  // namespace

void find_kept_slices(kernel::Program& program) {
    for (std::size_t s = 0; s < program.pipeline.stages.size(); ++s) {
        const auto index = static_cast<int>(s);
        const auto scan = program.pipeline.stages[s].scan;
        if (!scan || scan->across.empty()) continue;
        const auto last = ir::last_slices_read(program.pipeline, index);
        if (!last) continue;
        const std::int64_t slices =
            plan::kept_slices(slice_strip(program, index), slice_patch(program, index), scan->distance, *last);
        const poly::Interval& box = program.model.domains.at(s).box[static_cast<std::size_t>(scan->dim)];
        const auto length = constant_extent(box.lo, box.hi);
        if (length && *length <= slices) continue;
        program.kept.push_back({index, *last, slices});
    }
}

void fold_kept_slices(kernel::Program& program) {
    for (const kernel::KeptSlices& kept : program.kept) {
        Folding folding(program, kept);
        for (kernel::Step& step : program.steps) {
            for (kernel::Kernel& kernel : step.variants) folding.apply(kernel.body);
        }
    }
    for (const kernel::KeptSlices& kept : program.kept) {
        const auto s = static_cast<std::size_t>(kept.stage);
        poly::Interval& box =
            program.model.domains.at(s).box[static_cast<std::size_t>(program.pipeline.stages[s].scan->dim)];
        box.hi = ir::binary(BinaryOp::Min, box.hi, sum(box.lo, constant(kept.slices)));
    }
}

}  // namespace pipec::codegen
