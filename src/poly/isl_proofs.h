// The questions about one stage that isl must answer with "never", and what to tell the person when it does not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/pipeline.h"
#include "poly/isl_accesses.h"
#include "poly/isl_sizes.h"
#include "support/diagnostics.h"

namespace pipec::poly {

/// A failed proof: to be reported unless a more exact analysis succeeds.
struct Finding {
    SourceRange range;
    int stage;
    const ir::Node* wraps;  ///< the operand that may wrap, where it is about that
    std::function<void(Diagnostics&)> report;
};

/// lo <= v < hi for every dimension v of a stage, and the points in it: the box, or, in exact mode, fewer.
struct StageDomain {
    std::vector<Bounds> box;
    isl::set points;  ///< over the stage's variables and the sizes
    bool is_box = true;
};

/// The reads, one from another, that ask for the points of a stage that are in `points` (a set over the stage's
/// dimensions, sizes and other values), by what they ask for in dimension `dim`; nearest first.
using NeededBy = std::function<std::vector<DiagnosticNote>(std::size_t dim, const isl::set& points)>;

/// Proofs for one stage. Every function appends to `findings`; a place in the source is reported once.
class StageProofs {
public:
    StageProofs(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes, int stage,
                const StageDomain& domain, const StageAccesses& accesses, const AffineTranslator& affine,
                NeededBy needed_by, std::vector<Finding>& findings)
        : isl_(isl),
          pipeline_(pipeline),
          sizes_(sizes),
          stage_(stage),
          domain_(domain),
          accesses_(accesses),
          affine_(affine),
          needed_by_(std::move(needed_by)),
          findings_(findings) {}

    /// Every `if` without `else` is covered.
    void prove_cases();
    /// No operand wraps whose value matters.
    void prove_no_wrap();
    /// bounds.lo <= index < bounds.hi in dimension `dim` of accesses under one guard, whose indices there are constants
    /// apart, the least one first: below the bounds where the first one is not, above them where the last one is not. A
    /// message is about one of these, and mentions the others that are out of bounds, too.
    void prove_in_bounds(const std::vector<const Access*>& accesses, std::size_t dim, const Bounds& bounds);

private:
    isl::set points(int guard) const;
    isl::set possible(const isl::set& violation) const;
    /// Which of the bounds are looked at.
    struct Ends {
        bool first = true, last = true;
    };
    isl::set out_of_bounds(const Access& access, std::size_t dim, const Bounds& bounds, Ends ends) const;
    void prove_in_bounds(const Access& access, std::size_t dim, const Bounds& bounds, Ends ends,
                         const std::vector<const Access*>& others);
    void no_wrap(int obligation, int guard);
    void add(SourceRange range, std::function<void(Diagnostics&)> report, const ir::Node* wraps = nullptr);
    std::string example(const isl::set& violation, std::vector<Name> relevant) const;
    std::vector<DiagnosticNote> context_notes(const std::vector<Name>& relevant, const isl::set& violation) const;
    std::string clamped(const Access& access, std::size_t dim, const Bounds& bounds) const;
    std::string advice(const Access& access, std::size_t dim, const Bounds& bounds, const isl::set& violation) const;
    SourceRange place(SourceRange range) const;
    const ir::Stage& stage() const { return pipeline_.stages[static_cast<std::size_t>(stage_)]; }

    IslContext& isl_;
    const ir::Pipeline& pipeline_;
    const SizeContext& sizes_;
    int stage_;
    const StageDomain& domain_;
    const StageAccesses& accesses_;
    const AffineTranslator& affine_;
    NeededBy needed_by_;
    std::vector<Finding>& findings_;
};

}  // namespace pipec::poly
