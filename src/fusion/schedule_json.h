// Schedules in files, for people to read and to change: docs/schedules.md describes the form.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/schedule.h"
#include "ir/pipeline.h"

namespace pipec::fusion {

/// Schedules by the name of their pipeline.
using Schedules = std::map<std::string, Schedule>;

/// The schedules of these pipelines, in their order. Of a group only what its strategy has is written.
std::string to_json(const Schedules& schedules, const std::vector<ir::Pipeline>& pipelines);

/// Reads what to_json() writes; a group's parameters may be left out. Throws ScheduleError, whose message begins with
/// the file's name and the place in it, for all that is no schedule of these pipelines by its form or its names.
/// Whether a group is possible is for code generation to say.
Schedules schedules_from_json(std::string_view text, const std::string& file,
                              const std::vector<ir::Pipeline>& pipelines);

}  // namespace pipec::fusion
