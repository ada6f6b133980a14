// poly::analyze: the questions in their order, and what becomes of isl's failures.
#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "ir/build.h"
#include "poly/diagnostics.h"
#include "poly/isl_inference.h"
#include "poly/isl_sizes.h"
#include "poly/isl_sums.h"
#include "poly/memory.h"
#include "poly/model.h"
#include "poly/stage_ranges.h"

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

/// What became of a program, with what was known of its domains before.
struct Attempt {
    std::optional<Inference> accepted;
    KnownBoxes boxes;  ///< what is known now
    bool within_known = true;
    std::vector<Finding> findings;
    std::optional<GivenUp> too_expensive;
};

/// Boxes first: they are what code likes best. Exact sets only when something could not be proved with boxes. An
/// operand that may wrap is a mistake as a rule; a program that is right all the same is accepted.
Attempt attempt(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes, const Options& options,
                const KnownBoxes& known) {
    constexpr int kMostRounds = 4;  // of finding operands that may wrap
    std::set<const ir::Node*> wrapping;
    Attempt result;
    const auto accept = [&](Inference& found) {
        if (!found.findings.empty() || !found.within_known) return false;
        result.boxes = std::move(found.boxes);
        result.accepted = std::move(found);
        return true;
    };
    for (int round = 0; round < kMostRounds; ++round) {
        std::set<const ir::Node*> next = wrapping;
        Inference boxes = infer(isl, pipeline, sizes, DomainMode::Box, wrapping, known);
        if (accept(boxes)) return result;
        add_wrapping(boxes.findings, next);
        if (round == 0) {
            result.boxes = std::move(boxes.boxes);
            result.within_known = boxes.within_known;
            result.findings = std::move(boxes.findings);
        }
        try {
            Inference exact = infer(isl, pipeline, sizes, DomainMode::Exact, wrapping, known);
            if (accept(exact)) return result;
            add_wrapping(exact.findings, next);
            if (round == 0) {
                result.within_known = result.within_known && exact.within_known;
                result.findings = std::move(exact.findings);
            }
        } catch (const isl::exception& failure) {
            rethrow_exhaustion(failure);
            if (!isl.is_budget(failure)) throw;
            if (round == 0)
                result.too_expensive = given_up(isl, failure, options);  // what boxes could not prove is left
            isl.give_up();
        }
        if (next.size() == wrapping.size()) break;
        wrapping = std::move(next);
    }
    return result;
}

/// Whether some domain ends at a number that is no size of an image: that of an index of which too little is known.
bool reaches_far(const ir::Pipeline& pipeline, const std::vector<Domain>& domains) {
    constexpr std::int64_t kFar = 1 << 24;
    const auto is_far = [](const ir::Expr& e) {
        const auto constant = ir::as_int(e);
        return constant && std::abs(*constant) >= kFar;
    };
    for (std::size_t s = 0; s < domains.size(); ++s) {
        for (std::size_t d = 0; d < domains[s].box.size(); ++d) {
            if (pipeline.stages[s].dims[d].is_explicit()) continue;
            if (is_far(domains[s].box[d].lo) || is_far(domains[s].box[d].hi)) return true;
        }
    }
    return false;
}

/// What stages give is found without knowing where they are computed, then, where that does not do, again with the
/// domains that followed.
std::optional<Inference> infer_domains(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes,
                                       const Options& options, Diagnostics& diags) {
    constexpr int kMostAttempts = 4;
    Attempt last = attempt(isl, pipeline, sizes, options, {});
    std::vector<ValueRange> values = stage_ranges(pipeline, sizes.ranges, sizes.params, {}, true).values;
    for (int again = 1; again < kMostAttempts; ++again) {
        if (last.accepted && !reaches_far(pipeline, last.accepted->domains)) break;
        const KnownBoxes known = last.boxes;
        std::vector<ValueRange> narrower = stage_ranges(pipeline, sizes.ranges, sizes.params, known, true).values;
        if (std::exchange(values, narrower) == narrower) break;
        Attempt next = attempt(isl, pipeline, sizes, options, known);
        if (!next.accepted && (last.accepted || !next.within_known)) break;
        last = std::move(next);
    }
    if (last.accepted) return std::move(last.accepted);
    std::vector<Finding>& findings = last.findings;
    if (findings.size() > kMaxFindings) findings.resize(kMaxFindings);
    for (const Finding& finding : findings) finding.report(diags);
    if (last.too_expensive) last.too_expensive->report(diags);
    return std::nullopt;
}

std::optional<KnownRange> known_range(const IntRange& range) {
    if (!fits(range, ir::Type::Int64)) return std::nullopt;
    return KnownRange{static_cast<std::int64_t>(range.lo), static_cast<std::int64_t>(range.hi)};
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
        for (const IntRange& range : sizes->ranges) model.size_ranges.push_back(known_range(range));
        for (const ValueRange& range : sizes->params) {
            const auto* integers = std::get_if<IntRange>(&range);
            model.param_ranges.push_back(integers == nullptr ? std::nullopt : known_range(*integers));
        }
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
