// Domains from the outputs upward, and the proofs that go with them.
//
// Stages are taken in reverse order, so that the needs of all readers of a stage are known when it is reached:
//
//     need(p) = union over readers s and reads p(I) in s of { I(v) : v in domain(s), guard(v) }
//
// In box mode the domain of p is the hull of need(p), dimension by dimension; in exact mode it is need(p) itself. A
// read of a dimension with an inferred range is in bounds by construction; of all others (inputs, explicit ranges) it
// is proved.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/pipeline.h"
#include "poly/isl_proofs.h"
#include "poly/isl_sizes.h"
#include "poly/model.h"

namespace pipec::poly {

enum class DomainMode { Box, Exact };

struct Inference {
    std::vector<Domain> domains;
    std::vector<InputFootprint> footprints;
    std::vector<CastRange> casts;
    std::vector<Finding> findings;
    KnownBoxes boxes;  ///< of the stages all of whose readers were looked at
    /// Whether the domains lie in the boxes that were taken for granted. Where they do not, nothing here is proved.
    bool within_known = true;
};

/// Infers and proves; what could not be proved is in `findings`, in the order of the stages. An operand in `wrapping`
/// may have any value of its type; every other one is proved not to wrap.
///
/// What a stage gives follows from where it is computed, and where it is computed from what indices into it can be,
/// which other stages give. `known` is what an earlier inference found, and decides what stages give here. Where the
/// domains that follow lie in it, everything holds, stage by stage: points in the known box give values in the ranges
/// that were found for it, so that indices made of these stay where they were taken to be.
Inference infer(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes, DomainMode mode,
                const std::set<const ir::Node*>& wrapping, const KnownBoxes& known = {});

}  // namespace pipec::poly
