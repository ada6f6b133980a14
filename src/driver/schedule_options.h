// Options about schedules, as `pipec` and its commands share them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/settings.h"

namespace CLI {
class App;
}

namespace pipec::driver {

struct ScheduleOptions {
    std::string gpu;                    ///< --gpu (driver/gpu_option.h)
    compiler::ScheduleRequest request;  ///< --schedule, --strategy, --cost-model and what belongs to them
};

/// Declares the options on `app`, which then fills `options` when it parses. `usual_gpu` as in add_gpu_option. Files
/// have their names only.
void add_schedule_options(CLI::App& app, ScheduleOptions& options, std::string_view usual_gpu,
                          const std::string& group);

/// Reads the files that are named. Throws FileError.
void read_files(compiler::ScheduleRequest& request);

/// The option that was given; nothing where none was.
std::optional<std::string> first_given(const ScheduleOptions& options);

/// What is wrong with options that are each correct, as a sentence.
std::optional<std::string> inconsistency(const ScheduleOptions& options);

}  // namespace pipec::driver
