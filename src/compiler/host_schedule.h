// The schedules of a compilation for the host.
#pragma once

#include <optional>
#include <vector>

#include "compiler/settings.h"
#include "fusion/cpu.h"
#include "fusion/inline.h"
#include "fusion/schedule_json.h"

namespace pipec::compiler {

/// What the host's cost model finds best on a processor, by pipeline: cheap stages inside of their readers, and groups
/// that are computed tile by tile.
fusion::Schedules host_schedules(const std::vector<fusion::Inlined>& pipelines, const fusion::Cpu& cpu);

/// The same, or what a file says of pipelines that it has; every stage of every pipeline is in it. Throws
/// fusion::ScheduleError.
fusion::Schedules host_schedules(const std::vector<fusion::Inlined>& pipelines, const std::optional<TextFile>& file,
                                 const fusion::Cpu& cpu);

}  // namespace pipec::compiler
