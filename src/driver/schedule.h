// The schedules of a compilation for cuda: from a file, from a strategy that is tried, or the default.
#pragma once

#include "driver/compile.h"
#include "driver/schedule_options.h"
#include "fusion/inline.h"
#include "fusion/schedule_json.h"

namespace pipec::driver {

/// The pipelines that schedules are about: as code generation prepares them.
std::vector<fusion::Inlined> schedulable(const Compilation& compilation);

/// What the options ask for on the compilation's target, by pipeline; every stage of every pipeline is in it. Throws
/// fusion::ScheduleError, and FileError for a file that cannot be read. `fast_math` as in codegen::CudaOptions. What is
/// made of groups to learn whether they are possible goes to `made`, where there is one.
fusion::Schedules make_schedules(const ScheduleOptions& options, const Compilation& compilation,
                                 const SourceManager& sources, bool fast_math = false,
                                 codegen::MadeGroups* made = nullptr);

}  // namespace pipec::driver
