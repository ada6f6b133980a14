// A report as JSON, for programs: docs/explain.md lists the members.
#pragma once

#include <string>
#include <vector>

#include "driver/explain/explain_report.h"

namespace pipec::driver::explain {

std::string to_json(const std::vector<PipelineReport>& reports);

}  // namespace pipec::driver::explain
