// Options about schedules, as `pipec` and `pipec run` share them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "driver/automatic_options.h"
#include "fusion/group_fields.h"
#include "fusion/schedule.h"

namespace CLI {
class App;
}

namespace pipec::driver {

struct ScheduleOptions {
    std::string gpu;                           ///< --gpu (driver/gpu_option.h)
    std::optional<std::string> file;           ///< --schedule
    std::optional<fusion::Strategy> strategy;  ///< --strategy
    std::optional<double> overlap_threshold;   ///< --overlap-threshold
    AutomaticOptions automatic;                ///< --cost-model and what belongs to it
    std::set<fusion::Field> changed;           ///< fields that are given, for every group that has them
    fusion::GroupSchedule values;              ///< what they are given as
};

/// --frac-reg
std::string option_name(fusion::Field field);

/// Declares the options on `app`, which then fills `options` when it parses. `usual_gpu` as in add_gpu_option.
void add_schedule_options(CLI::App& app, ScheduleOptions& options, std::string_view usual_gpu,
                          const std::string& group);

/// The option that was given; nothing where none was.
std::optional<std::string> first_given(const ScheduleOptions& options);

/// What is wrong with options that are each correct, as a sentence.
std::optional<std::string> inconsistency(const ScheduleOptions& options);

}  // namespace pipec::driver
