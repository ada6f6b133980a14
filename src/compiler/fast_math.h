// What -ffast-math takes for granted, and where a program says otherwise.
#pragma once

#include <vector>

#include "ir/pipeline.h"
#include "support/diagnostics.h"

namespace pipec::compiler {

/// Warns where a program counts on infinities or NaN.
void warn_of_finite_math(const std::vector<ir::Pipeline>& pipelines, Diagnostics& diags);

}  // namespace pipec::compiler
