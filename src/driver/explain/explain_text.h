// A report as text for a terminal.
#pragma once

#include <string>
#include <vector>

#include "driver/explain/explain_report.h"

namespace pipec::driver::explain {

std::string to_text(const std::vector<PipelineReport>& reports);

}  // namespace pipec::driver::explain
