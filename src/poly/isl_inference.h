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
};

/// Infers and proves; what could not be proved is in `findings`, in the order of the stages. An operand in `wrapping`
/// may have any value of its type; every other one is proved not to wrap.
Inference infer(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes, DomainMode mode,
                const std::set<const ir::Node*>& wrapping);

}  // namespace pipec::poly
