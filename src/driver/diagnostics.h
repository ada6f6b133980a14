// The diagnostics of src/driver (declared in diagnostics.def) as pipec::diag constants.
#pragma once

#include <string>

#include "support/diagnostics.h"

namespace pipec::diag {
#define PIPEC_DIAGNOSTIC(...) PIPEC_DECLARE_DIAGNOSTIC(__VA_ARGS__);
#include "driver/diagnostics.def"
#undef PIPEC_DIAGNOSTIC
}  // namespace pipec::diag
