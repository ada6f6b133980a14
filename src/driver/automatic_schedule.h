// Schedules that a cost model finds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "codegen/made_groups.h"
#include "driver/automatic_options.h"
#include "fusion/automatic.h"
#include "fusion/inline.h"
#include "fusion/schedule_json.h"
#include "fusion/target.h"
#include "support/source.h"

namespace pipec::driver {

/// The sizes that costs are counted for, by pipeline and index. Throws fusion::ScheduleError for a size that none has.
std::vector<std::vector<std::int64_t>> tuned_sizes(const AutomaticOptions& options,
                                                   const std::vector<fusion::Inlined>& pipelines);

/// A cost model with the search that goes with it.
struct AutomaticModel {
    fusion::CostModel cost;
    fusion::IsLegal legal;  ///< whether code can be generated for a group
    fusion::FusionOptions options;
    std::string origin{};  ///< Schedule::origin of what it makes
};
/// Of groups, only those of one strategy; single stages may stay what they are.
struct OnlyStrategy {
    fusion::Strategy strategy;
    std::function<void(fusion::GroupSchedule& group)> change;  ///< sets what is not the model's to choose
};
/// The model that the options choose, for one GPU. `sources` and `made` stay where they are; `made` keeps the code of
/// the groups that are legal, null: nothing does.
AutomaticModel automatic_model(const AutomaticOptions& options, const fusion::Target& target,
                               const SourceManager& sources, bool fast_math, codegen::MadeGroups* made = nullptr,
                               const std::optional<OnlyStrategy>& only = {});

/// The schedules of pipelines as code generation prepares them. Throws fusion::ScheduleError for sizes that do not fit,
/// and FileError for a file that cannot be read.
fusion::Schedules automatic_schedules(const AutomaticOptions& options, const std::vector<fusion::Inlined>& pipelines,
                                      const fusion::Target& target, const SourceManager& sources, bool fast_math,
                                      codegen::MadeGroups& made, const std::optional<OnlyStrategy>& only = {});

}  // namespace pipec::driver
