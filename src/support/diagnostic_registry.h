// Every diagnostic that the compiler declares, for the test that each has a golden file and for `--list-diagnostics`.
#pragma once

#include <vector>

#include "support/diagnostics.h"

namespace pipec {

/// All declared diagnostics, in the order of the modules.
std::vector<DiagnosticInfo> all_diagnostics();

}  // namespace pipec
