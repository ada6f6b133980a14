// Pictures of a report as SVG that stands in a page of HTML and takes its colours from the page's style.
#pragma once

#include <string>
#include <string_view>

#include "driver/explain/explain_report.h"

namespace pipec::driver::explain {

/// Text for HTML: its special characters as entities, and no control characters.
std::string escaped(std::string_view text);

/// Inputs and stages, a box around those of each kernel, and who reads whom.
std::string graph_picture(const PipelineReport& report);

/// The tile of a group in its last two dimensions, and around it what it computes of each stage, to scale. Empty where
/// there is no tile.
std::string tile_picture(const GroupReport& group);

}  // namespace pipec::driver::explain
