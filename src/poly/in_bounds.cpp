#include "poly/in_bounds.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "poly/isl_accesses.h"
#include "poly/isl_proofs.h"
#include "poly/isl_sizes.h"
#include "poly/memory.h"

namespace pipec::poly {

namespace {

Bounds bounds_of(const Interval& interval, AffineTranslator& affine) {
    return {affine.integer(interval.lo).value, affine.integer(interval.hi).value, interval.lo, interval.hi};
}

bool is_in_bounds(IslContext& isl, const ir::Pipeline& pipeline, const Model& model, const SizeContext& sizes,
                  ProgramValues& values, std::size_t index) {
    const ir::Stage& stage = pipeline.stages[index];
    isl.begin_question(stage.range, stage.name);
    StageDomain domain{{}, sizes.assumed, true};
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
        const Bounds bounds = bounds_of(model.domains[index].box[d], values.affine);
        const isl::pw_aff var = isl.value({Name::Kind::Variable, stage.dims[d].var});
        domain.points = domain.points.intersect(var.ge_set(bounds.lo)).intersect(var.lt_set(bounds.hi));
        domain.box.push_back(bounds);
        values.ranges.bind_index(stage.dims[d].var, bounds.lo_expr, bounds.hi_expr);
    }
    const StageAccesses found = find_accesses(isl, pipeline, static_cast<int>(index), values.affine, values.ranges);
    std::vector<Finding> findings;
    const NeededBy nobody = [](std::size_t, const isl::set&) { return std::vector<DiagnosticNote>{}; };
    StageProofs proofs(isl, pipeline, sizes, static_cast<int>(index), domain, found, values.affine, nobody, findings);
    proofs.prove_cases();
    proofs.prove_no_wrap();
    for (const Access& access : found.accesses) {
        const auto source = static_cast<std::size_t>(access.source.index);
        const bool is_input = access.source.kind == ir::Source::Kind::Input;
        if (!is_input && model.domains[source].guard) return false;
        for (std::size_t d = 0; d < access.values.size() && findings.empty(); ++d) {
            const Bounds bounds =
                is_input ? sizes.inputs[source][d] : bounds_of(model.domains[source].box[d], values.affine);
            proofs.prove_in_bounds({&access}, d, bounds);
        }
    }
    return findings.empty();
}

}  // namespace

bool are_in_bounds(const ir::Pipeline& pipeline, const Model& model, const std::vector<std::size_t>& stages,
                   const Options& options) {
    IslContext isl(options.max_operations);
    try {
        isl.begin_question(pipeline.range, "the sizes");
        // Domains are known, also of ranges that the program states.
        ir::Pipeline inferred = pipeline;
        for (ir::Stage& stage : inferred.stages) {
            for (ir::Dimension& dim : stage.dims) dim.lo = dim.hi = nullptr;
        }
        const auto sizes = size_context(isl, inferred);
        if (!sizes) return false;
        KnownBoxes known;
        for (const Domain& domain : model.domains) known.emplace_back(domain.box);
        ProgramValues values(isl, inferred, *sizes, known);
        return std::ranges::all_of(
            stages, [&](std::size_t s) { return is_in_bounds(isl, inferred, model, *sizes, values, s); });
    } catch (const isl::exception& failure) {
        rethrow_exhaustion(failure);
        return false;
    }
}

}  // namespace pipec::poly
