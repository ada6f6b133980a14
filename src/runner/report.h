// What a person or a script is told about a run.
#pragma once

#include <string>

#include "runner/execute.h"

namespace pipec::runner {

/// A small table, ending in a newline.
std::string text(const Report& report);

/// {"pipeline", "target", "device", "inputs": [...], "outputs": [...], "run_ms": [...], "min_ms", "median_ms",
/// "workspace_bytes"}, and "tiles": {"count", "rows", "columns"} of a run in tiles.
std::string json(const Report& report);

}  // namespace pipec::runner
