// From a checked pipeline to kernel IR.
#pragma once

#include <vector>

#include "codegen/cuda.h"
#include "codegen/kernel_ir.h"

namespace pipec::codegen {

/// The steps of a launch. Stages that cost less to compute again than to keep are computed inside of their readers.
kernel::Program lower(const Unit& unit, const SourceManager& sources, const CudaOptions& options = {});

/// The step that computes `value` at every point of a stage's domain (its definition, or what an `accumulate` starts
/// from). Adds variables to the program's pipeline.
kernel::Step stage_step(kernel::Program& program, int stage, const ir::Expr& value, const SourceManager& sources);

/// The steps of an `accumulate`: what it starts from, then its updates.
std::vector<kernel::Step> accumulate_steps(kernel::Program& program, int stage, const SourceManager& sources,
                                           const CudaOptions& options);

/// The comment lines of a stage: where and how the program defines it, and what is computed inside of it.
std::vector<std::string> stage_comments(const ir::Stage& stage, const SourceManager& sources);

}  // namespace pipec::codegen
