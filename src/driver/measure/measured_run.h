// pipec-run as a measuring instrument: one compiled pipeline, run on the GPU in a process of its own. A kernel that
// breaks its context breaks nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "driver/native/tool.h"
#include "driver/run/run_steps.h"
#include "ir/pipeline.h"
#include "poly/model.h"
#include "runner/options.h"

namespace pipec::driver {

/// The run failed; what() is pipec-run's message.
struct RunFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct MeasuredRun {
    double milliseconds = 0;                                   ///< of a launch, the mean of all batches
    std::map<std::string, std::vector<std::int64_t>> extents;  ///< of inputs and outputs
    std::map<std::string, std::size_t> different;              ///< elements of outputs that are not as expected
};

/// Runs and waits. Throws RunFailed, and Interrupted.
MeasuredRun measured_run(const std::string& runner, const OpenFile& object, const std::string& pipeline,
                         runner::Options options);

/// Gives the run a size that no extent determines, or the parameter that it is, unless that is given already.
void give_size(const ir::Pipeline& pipeline, std::size_t size, std::int64_t value, runner::Options& options);

/// Has every input made of random values, for these sizes (by index). Throws RunError where an extent is below 1.
void use_random_inputs(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<std::int64_t>& sizes,
                       runner::Options& options);

/// The sizes (by index) that inputs of these extents determine; others are what `sizes` has.
std::vector<std::int64_t> solved_sizes(const ir::Pipeline& pipeline, const poly::Model& model,
                                       const std::map<std::string, std::vector<std::int64_t>>& extents,
                                       std::vector<std::int64_t> sizes);

/// The GPU that `wish` means ("auto", "gpu" or a number), which nvcc compiles for. Throws ToolError, which says for
/// what one is needed, and RunError for "cpu".
PresentGpu gpu_to_measure_on(const std::string& wish, const std::string& runner, const std::string& nvcc);

/// The values of `--size`, by name, where options are about sizes of this pipeline; the usual one where there is none.
/// Throws RunError for names that there are not, and values that are no sizes.
std::vector<std::int64_t> chosen_sizes(const ir::Pipeline& pipeline, const std::vector<runner::NamedValue>& given);

}  // namespace pipec::driver
