#include "support/diagnostic_registry.h"

namespace pipec {

std::vector<DiagnosticInfo> all_diagnostics() {
    return {
#define PIPEC_DIAGNOSTIC(Name, SeverityName, Id, Format, ...) {#Name, Severity::SeverityName, Id},
#include "frontend/diagnostics.def"
#include "poly/diagnostics.def"
#include "driver/diagnostics.def"
#undef PIPEC_DIAGNOSTIC
    };
}

}  // namespace pipec
