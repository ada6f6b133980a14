// The best few schedules of a pipeline by a cost model, where somebody measures which one is really the fastest.
//
// Costs of groups add up, so a schedule differs from the one that is best for its grouping in one group only: what such
// a change gains is learnt from one measurement, and changes of several groups can be put together afterwards.
// Groupings are the best one, the best ones of single strategies, and the best ones without some group of the best one.
#pragma once

#include <cstddef>
#include <vector>

#include "fusion/automatic.h"

namespace pipec::fusion {

struct Alternative {
    Schedule schedule;
    double cost = 0;           ///< the model's, of the whole schedule
    std::size_t grouping = 0;  ///< equal for schedules with the same groups
    int changed = -1;          ///< the group (of schedule.groups) that is not the best one for its grouping; -1: none
};

/// At most `count` schedules, no two alike, the cheapest first; for every group that is chosen code can be generated.
/// Of each grouping, and of each strategy for one of its groups, the best are among them before others that differ in
/// tiles only.
std::vector<Alternative> alternatives(const ir::Pipeline& pipeline, const poly::Model& model, const CostModel& cost,
                                      const IsLegal& legal, const FusionOptions& options, std::size_t count);

/// `base` with the changes of others of its grouping: of several changes of one group, the first.
Schedule combined(const Alternative& base, const std::vector<const Alternative*>& others);

}  // namespace pipec::fusion
