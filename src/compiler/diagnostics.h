// The diagnostics of src/compiler (declared in diagnostics.def) as pipec::diag constants.
#pragma once

#include <string>

#include "support/diagnostics.h"

namespace pipec::diag {
#define PIPEC_DIAGNOSTIC(...) PIPEC_DECLARE_DIAGNOSTIC(__VA_ARGS__);
#include "compiler/diagnostics.def"
#undef PIPEC_DIAGNOSTIC
}  // namespace pipec::diag
