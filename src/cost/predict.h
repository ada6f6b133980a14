// What the default cost model says of a whole schedule, group by group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/time_cost.h"
#include "fusion/gpu.h"
#include "fusion/group_facts.h"
#include "fusion/inline.h"
#include "fusion/schedule.h"
#include "poly/dependences.h"

namespace pipec::cost {

using fusion::Gpu;
using fusion::GroupFacts;
using fusion::GroupSchedule;
using fusion::Schedule;

struct PredictedGroup {
    GroupSchedule schedule;
    std::optional<GroupFacts> facts;     ///< none for stages that cannot be aligned
    std::optional<TimePrediction> time;  ///< none where the model knows nothing of it
};

struct Predicted {
    fusion::Inlined program;  ///< what inlining left: the stages that groups are about
    std::vector<poly::Dependence> dependences;
    std::vector<PredictedGroup> groups;  ///< in the order in which they run, stages that the schedule does not name too
    [[nodiscard]] double seconds() const;
};

/// `sizes` by index; empty: usual_sizes. Throws ScheduleError.
Predicted predict(const ir::Pipeline& pipeline, const poly::Model& model, const Schedule& schedule, const Gpu& gpu,
                  const std::vector<std::int64_t>& sizes = {});

}  // namespace pipec::cost
