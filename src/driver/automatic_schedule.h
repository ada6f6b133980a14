// Schedules that a cost model finds.
#pragma once

#include <vector>

#include "driver/automatic_options.h"
#include "fusion/inline.h"
#include "fusion/schedule_json.h"
#include "support/source.h"

namespace pipec::driver {

/// The schedules of pipelines as code generation prepares them. Throws fusion::ScheduleError for a description of a GPU
/// or sizes that do not fit, and FileError for a file that cannot be read.
fusion::Schedules automatic_schedules(const AutomaticOptions& options, const std::vector<fusion::Inlined>& pipelines,
                                      const SourceManager& sources, bool fast_math);

}  // namespace pipec::driver
