// Computing a stage inside of its readers instead of keeping it in memory.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::fusion {

struct Inlined {
    ir::Pipeline pipeline;
    poly::Model model;  ///< the domains of the stages that are left; what it says of sizes and inputs stays true
};

/// What computing a node of an expression costs, without what it is made of, in simple arithmetic operations.
std::int64_t operations(const ir::Expr& node);

/// The stages (by index) that cost less to compute again wherever they are read than to write and read back: pure,
/// without loops, and either read at one point for each point of their only reader (for each term, where that is a
/// reduction), or cheap. Reductions are among them where one loop of their reader then computes several
/// (merged_reductions): it reads what their terms share once, and what only these terms read needs no memory. And any
/// stage of which almost nothing is read (sparse_stages.h).
std::vector<int> cheap_stages(const ir::Pipeline& pipeline, const poly::Model& model);

/// More of them: the stages that could do so if reading what they read costs little.
std::vector<int> repeatable_stages(const ir::Pipeline& pipeline, const poly::Model& model);

/// What a stage takes values of, and what is computed inside of it on the way.
struct StageSources {
    std::set<ir::Source> read;
    std::set<int> inside;
};

/// Of each stage of a pipeline that has all its stages, where those in `inside` (sorted) are computed inside of their
/// readers.
std::vector<StageSources> stage_sources(const ir::Pipeline& pipeline, const std::vector<int>& inside);

/// Replaces every read of the given stages, which must be pure and no outputs, by their definition. Their names and
/// definitions are noted in the readers (ir::Stage::includes).
ir::Pipeline with_inlined(const ir::Pipeline& pipeline, const std::vector<int>& stages);

/// The same with what is known of the stages.
Inlined inline_stages(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<int>& stages);

}  // namespace pipec::fusion
