// poly::analyze: the questions in their order, and what becomes of isl's failures.
#include <fmt/format.h>

#include "poly/diagnostics.h"
#include "poly/isl_inference.h"
#include "poly/isl_sizes.h"
#include "poly/model.h"

namespace pipec::poly {

namespace {

constexpr std::size_t kMaxFindings = 20;

void report_failure(const IslContext& isl, const isl::exception& failure, const Options& options, Diagnostics& diags) {
    const bool budget = dynamic_cast<const isl::exception_quota*>(&failure) != nullptr;
    diags.report(
        diag::AnalysisBudget, isl.question_range(), isl.question(),
        budget ? fmt::format("more than {} steps; simpler indices or explicit ranges may help", options.max_operations)
        : dynamic_cast<const NumberTooLarge*>(&failure) != nullptr ? failure.what()
                                                                   : std::string("isl says: ") + failure.what());
}

/// Boxes first: they are what code likes best. Exact sets only when something could not be proved with boxes.
std::optional<Inference> infer_domains(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes,
                                       const Options& options, Diagnostics& diags) {
    Inference boxes = infer(isl, pipeline, sizes, DomainMode::Box);
    if (boxes.findings.empty()) return boxes;
    std::vector<Finding> findings = std::move(boxes.findings);
    std::optional<isl::exception_quota> failure;
    try {
        Inference exact = infer(isl, pipeline, sizes, DomainMode::Exact);
        if (exact.findings.empty()) return exact;
        findings = std::move(exact.findings);
    } catch (const isl::exception_quota& exceeded) {
        failure = exceeded;  // what the boxes could not prove remains unproved
    }
    if (findings.size() > kMaxFindings) findings.resize(kMaxFindings);
    for (const Finding& finding : findings) finding.report(diags);
    if (failure) report_failure(isl, *failure, options, diags);
    return std::nullopt;
}

}  // namespace

std::optional<Model> analyze(const ir::Pipeline& pipeline, Diagnostics& diags, const Options& options) {
    IslContext isl(options.max_operations);
    try {
        isl.begin_question(pipeline.range, "the sizes of `" + pipeline.name + "`");
        const auto sizes = size_context(isl, pipeline, diags);
        if (!sizes) return std::nullopt;
        Model model;
        model.sizes = solve_sizes(pipeline, isl);
        model.checks = pipeline.where;
        auto inference = infer_domains(isl, pipeline, *sizes, options, diags);
        if (!inference) return std::nullopt;
        model.domains = std::move(inference->domains);
        model.footprints = std::move(inference->footprints);
        return model;
    } catch (const isl::exception& failure) {
        report_failure(isl, failure, options, diags);
        return std::nullopt;
    }
}

}  // namespace pipec::poly
