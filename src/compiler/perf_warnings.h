// -Wperf: what keeps a program from running fast on a GPU with the schedule in force.
#pragma once

#include "compiler/passes.h"
#include "compiler/settings.h"
#include "support/diagnostics.h"

namespace pipec::compiler {

/// Warns of stages that cannot share a kernel, of reads that threads cannot do together, of what few threads compute,
/// of updates that go to global memory one by one, and of types wider than what is kept in them. `schedules` has every
/// pipeline; `request` says for which sizes. Throws fusion::ScheduleError.
void warn_of_performance(const Prepared& prepared, const fusion::Schedules& schedules, const fusion::Target& target,
                         const ModelRequest& request, Diagnostics& diags);

}  // namespace pipec::compiler
