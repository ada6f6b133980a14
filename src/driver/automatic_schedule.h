// Schedules that a cost model finds.
#pragma once

#include <cstdint>
#include <vector>

#include "driver/automatic_options.h"
#include "fusion/gpu.h"
#include "fusion/inline.h"
#include "fusion/schedule_json.h"
#include "support/source.h"

namespace pipec::driver {

/// The one place where it is decided for which GPU costs are counted: what the options name, else fusion::default_gpu
/// of the device that is here. Throws fusion::ScheduleError and FileError.
fusion::Gpu target_gpu(const AutomaticOptions& options);

/// The sizes that costs are counted for, by pipeline and index. Throws fusion::ScheduleError for a size that none has.
std::vector<std::vector<std::int64_t>> tuned_sizes(const AutomaticOptions& options,
                                                   const std::vector<fusion::Inlined>& pipelines);

/// The schedules of pipelines as code generation prepares them. Throws fusion::ScheduleError for a description of a GPU
/// or sizes that do not fit, and FileError for a file that cannot be read.
fusion::Schedules automatic_schedules(const AutomaticOptions& options, const std::vector<fusion::Inlined>& pipelines,
                                      const SourceManager& sources, bool fast_math);

}  // namespace pipec::driver
