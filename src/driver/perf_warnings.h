// -Wperf: what keeps a program from running fast on a GPU with the schedule in force.
#pragma once

#include "driver/compile.h"
#include "driver/schedule_options.h"
#include "support/diagnostics.h"

namespace pipec::driver {

/// Warns of stages that cannot share a kernel, of reads that threads cannot do together, and of types wider than what
/// is kept in them. `schedules` has every pipeline; `options` say for which sizes. Throws fusion::ScheduleError.
void warn_of_performance(const Compilation& compilation, const fusion::Schedules& schedules,
                         const AutomaticOptions& options, Diagnostics& diags);

}  // namespace pipec::driver
