// poly::analyze: the questions in their order, and what becomes of isl's failures.
#include <fmt/format.h>

#include "poly/diagnostics.h"
#include "poly/isl_inference.h"
#include "poly/isl_sizes.h"
#include "poly/isl_sums.h"
#include "poly/memory.h"
#include "poly/model.h"

namespace pipec::poly {

namespace {

constexpr std::size_t kMaxFindings = 20;

/// A question that was given up.
struct GivenUp {
    SourceRange range;
    std::string question, reason;

    void report(Diagnostics& diags) const { diags.report(diag::AnalysisBudget, range, question, reason); }
};

GivenUp given_up(const IslContext& isl, const isl::exception& failure, const Options& options) {
    const std::string reason =
        isl.is_budget(failure)
            ? fmt::format("more than {} steps; simpler indices or explicit ranges may help", options.max_operations)
        : dynamic_cast<const NumberTooLarge*>(&failure) != nullptr ? failure.what()
                                                                   : std::string("isl says: ") + failure.what();
    return {isl.question_range(), isl.question(), reason};
}

/// The operands that may wrap, by what was found.
void add_wrapping(const std::vector<Finding>& findings, std::set<const ir::Node*>& wrapping) {
    for (const Finding& finding : findings) {
        if (finding.wraps != nullptr) wrapping.insert(finding.wraps);
    }
}

/// Boxes first: they are what code likes best. Exact sets only when something could not be proved with boxes. An
/// operand that may wrap is a mistake as a rule; a program that is right all the same is accepted.
std::optional<Inference> infer_domains(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes,
                                       const Options& options, Diagnostics& diags) {
    constexpr int kMostRounds = 4;  // of finding operands that may wrap
    std::set<const ir::Node*> wrapping;
    std::vector<Finding> findings;
    std::optional<GivenUp> too_expensive;
    for (int round = 0; round < kMostRounds; ++round) {
        std::set<const ir::Node*> next = wrapping;
        Inference boxes = infer(isl, pipeline, sizes, DomainMode::Box, wrapping);
        if (boxes.findings.empty()) return boxes;
        add_wrapping(boxes.findings, next);
        if (round == 0) findings = std::move(boxes.findings);
        try {
            Inference exact = infer(isl, pipeline, sizes, DomainMode::Exact, wrapping);
            if (exact.findings.empty()) return exact;
            add_wrapping(exact.findings, next);
            if (round == 0) findings = std::move(exact.findings);
        } catch (const isl::exception& failure) {
            rethrow_exhaustion(failure);
            if (!isl.is_budget(failure)) throw;
            if (round == 0) too_expensive = given_up(isl, failure, options);  // what boxes could not prove is left
            isl.give_up();
        }
        if (next.size() == wrapping.size()) break;
        wrapping = std::move(next);
    }
    if (findings.size() > kMaxFindings) findings.resize(kMaxFindings);
    for (const Finding& finding : findings) finding.report(diags);
    if (too_expensive) too_expensive->report(diags);
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
        model.casts = std::move(inference->casts);
        warn_of_overflowing_sums(isl, pipeline, *sizes, model.domains, diags);
        return model;
    } catch (const isl::exception& failure) {
        rethrow_exhaustion(failure);
        given_up(isl, failure, options).report(diags);
        return std::nullopt;
    }
}

}  // namespace pipec::poly
