// A pipeline as kernels are made of it: what its schedule inlines is gone, and its groups stand in the order of their
// launch.
#pragma once

#include <vector>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/kernel/kernel_ir.h"
#include "codegen/made_groups.h"
#include "fusion/schedule.h"
#include "poly/dependences.h"
#include "poly/group.h"

namespace pipec::codegen {

struct Grouped {
    struct Group {
        std::vector<int> stages;         ///< by index in the program's pipeline
        fusion::GroupSchedule schedule;  ///< its stages are not looked at
        int number = -1;                 ///< in the schedule; -1: in none
    };
    kernel::Program program;  ///< without steps
    std::vector<Group> groups;
    std::vector<poly::Dependence> dependences;  ///< none where each stage is a group
    const MadeGroups::Made* made = nullptr;     ///< what there is of the groups' code
};

/// Throws fusion::ScheduleError.
Grouped group_by_schedule(const Unit& unit, const CudaOptions& options);

/// A group whose stages are aligned. Throws fusion::ScheduleError where they cannot be.
poly::Group aligned(const Grouped& grouped, const Grouped::Group& group);

/// The error that a group's schedule is impossible.
fusion::ScheduleError impossible(const fusion::GroupSchedule& schedule, const std::string& reason);

}  // namespace pipec::codegen
