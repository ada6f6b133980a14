// The kernel with which a stage is measured by itself (paper, section "Automatic Fusion for GPUs"): "global memory
// loads are replaced with shared memory loads, loops perform a single iteration, and the outermost loop is nested
// inside a loop with a large number of iterations", executed "by one thread block, with one thread".
#pragma once

#include <string>

#include "codegen/kernel/kernel_ir.h"
#include "fusion/inline.h"

namespace pipec::driver {

/// The size of such a program that says how often the loop runs; no size of the pipeline has this name.
std::string iterations_name(const ir::Pipeline& pipeline);

/// A pipeline without inputs and with one output element, called `name`, whose launch is that kernel for a pure stage.
/// Its other sizes and its parameters are those of the stage's pipeline; all sizes are the caller's to give.
codegen::kernel::Program profile_program(const ir::Pipeline& pipeline, int stage, const fusion::Target& target,
                                         const std::string& name, bool fast_math);

}  // namespace pipec::driver
