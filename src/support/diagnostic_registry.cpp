#include "support/diagnostic_registry.h"

namespace pipec {

std::vector<DiagnosticInfo> all_diagnostics() {
    return {
#define PIPEC_DIAGNOSTIC(Name, SeverityName, Id, Format, ...) {#Name, Severity::SeverityName, Id},
#include "compiler/diagnostics.def"
#include "driver/diagnostics.def"
#include "frontend/diagnostics.def"
#include "poly/diagnostics.def"
#undef PIPEC_DIAGNOSTIC
    };
}

}  // namespace pipec
