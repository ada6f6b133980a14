// The schedules of a compilation for a GPU: from a file, from a strategy that is tried, or from a cost model.
#pragma once

#include "compiler/code_check.h"
#include "compiler/settings.h"
#include "fusion/inline.h"
#include "fusion/schedule_json.h"

namespace pipec::compiler {

/// What `request` asks for, by pipeline; every stage of every pipeline is in it. Throws fusion::ScheduleError.
fusion::Schedules make_schedules(const ScheduleRequest& request, const std::vector<fusion::Inlined>& prepared,
                                 const CodeCheck& check);

/// A schedule with every stage in a group, in the order in which they run. Throws fusion::ScheduleError.
fusion::Schedule completed(const fusion::Inlined& prepared, const fusion::Schedule& schedule);

}  // namespace pipec::compiler
