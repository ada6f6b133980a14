// Computing a stage inside of its readers instead of keeping it in memory.
#pragma once

#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::fusion {

struct Inlined {
    ir::Pipeline pipeline;
    poly::Model model;  ///< the domains of the stages that are left; what it says of sizes and inputs stays true
};

/// The stages (by index) that cost less to compute again wherever they are read than to write and read back: pure,
/// without loops, and either read at one point for each point of their only reader, or cheap.
std::vector<int> cheap_stages(const ir::Pipeline& pipeline);

/// Replaces every read of the given stages, which must be pure and no outputs, by their definition. Their names and
/// definitions are noted in the readers (ir::Stage::includes).
Inlined inline_stages(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<int>& stages);

}  // namespace pipec::fusion
