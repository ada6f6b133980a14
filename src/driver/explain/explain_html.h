// A report as one page of HTML that needs nothing else: no script, no font, no network.
#pragma once

#include <string>
#include <vector>

#include "driver/explain/explain_report.h"

namespace pipec::driver::explain {

/// `title` names the program.
std::string to_html(const std::string& title, const std::vector<PipelineReport>& reports);

}  // namespace pipec::driver::explain
