// What the tests of the examples share: which programs, which sizes, and the comparison with the interpreter.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/pipeline.h"
#include "support_lib/data.h"
#include "support_lib/run.h"

namespace pipec::testing {

using Sizes = std::map<std::string, std::int64_t>;

/// Every program in examples/.
std::vector<std::string> example_files();

/// Legal sizes for a pipeline, whatever its size parameters are: the two largest cycle through these pairs.
std::vector<Sizes> legal_sizes(const ir::Pipeline& pipeline, const std::vector<std::pair<int, int>>& pairs);

/// Prime, minimal, tiny, and no multiple of anything.
const std::vector<std::pair<int, int>>& odd_pairs();

using Results = std::map<std::string, reference::Array>;
/// Runs a pipeline that was compiled, on images in a layout. `run` counts the runs of the pipeline.
using Runner = std::function<Results(const reference::Arguments&, Layout, int run)>;

/// Compares with the interpreter, on values as images have them and on extreme ones, with every layout.
void check_pipeline(const ir::Pipeline& pipeline, const std::vector<Sizes>& sizes, const Runner& runner);

}  // namespace pipec::testing
