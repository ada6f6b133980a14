// What the values of an output are, and whether the image file that they are written to shows them.
#pragma once

#include <string>
#include <vector>

#include "runner/convert.h"
#include "runner/execute.h"

namespace pipec::runner {

/// Looks at the values of an output before they are converted: the range for the report, and what the file loses.
void judge(const Array& values, const Array& stored, Scaling scaling, BufferReport& report,
           std::vector<std::string>& warnings);

}  // namespace pipec::runner
