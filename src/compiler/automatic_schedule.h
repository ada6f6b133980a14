// Schedules that a cost model finds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "compiler/code_check.h"
#include "compiler/settings.h"
#include "fusion/automatic.h"
#include "fusion/inline.h"
#include "fusion/schedule_json.h"

namespace pipec::compiler {

/// The sizes that costs are counted for, by pipeline and index. Throws fusion::ScheduleError for a size that none has.
std::vector<std::vector<std::int64_t>> tuned_sizes(const ModelRequest& request,
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
/// The model that is asked for, on the target of `check`. Throws fusion::ScheduleError for a profile that is none.
AutomaticModel automatic_model(const ModelRequest& request, const CodeCheck& check,
                               const std::optional<OnlyStrategy>& only = {});

/// The schedules of pipelines as code generation prepares them. Throws fusion::ScheduleError, also for sizes that do
/// not fit.
fusion::Schedules automatic_schedules(const ModelRequest& request, const std::vector<fusion::Inlined>& pipelines,
                                      const CodeCheck& check, const std::optional<OnlyStrategy>& only = {});

}  // namespace pipec::compiler
