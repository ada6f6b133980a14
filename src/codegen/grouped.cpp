#include "codegen/grouped.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/lower.h"
#include "fusion/inline.h"

namespace pipec::codegen {

namespace {

/// Pipelines with more groups than this in register tiles have few widths of accesses each: code grows with both.
constexpr std::ptrdiff_t kMostWithAllWidths = 12;

bool has_many_register_tiles(const fusion::Schedule& schedule) {
    return std::count_if(schedule.groups.begin(), schedule.groups.end(), [](const fusion::GroupSchedule& group) {
               return group.strategy == fusion::Strategy::RegisterTile;
           }) > kMostWithAllWidths;
}

bool has_backward_groups(const fusion::Schedule& schedule) {
    return std::any_of(schedule.groups.begin(), schedule.groups.end(), [](const fusion::GroupSchedule& group) {
        return group.choices.direction == fusion::Direction::Backward;
    });
}

}  // namespace

Grouped group_by_schedule(const Unit& unit, const CudaOptions& options) {
    ir::Pipeline pipeline = *unit.pipeline;
    poly::Model model = *unit.model;
    widen_narrow_accumulates(pipeline, model);
    const auto given = options.schedules.find(pipeline.name);
    const fusion::Schedule schedule =
        given == options.schedules.end() ? fusion::stage_schedule(pipeline, model) : given->second;
    fusion::Inlined inlined = fusion::inline_stages(pipeline, model, fusion::inlined_stages(pipeline, schedule));
    Grouped grouped{
        {std::move(inlined.pipeline), std::move(inlined.model), options.target, {}, options.fast_math}, {}, {}};
    kernel::Program& program = grouped.program;
    if (options.made != nullptr) grouped.made = options.made->find(program.pipeline, options.target, options.fast_math);
    if (grouped.made != nullptr) program = grouped.made->program;
    program.few_widths = has_many_register_tiles(schedule);
    const fusion::OrderedGroups groups = fusion::order_groups(program.pipeline, schedule);
    program.has_turns = groups.stages.size() > 1 || has_backward_groups(schedule);
    if (!schedule.groups.empty()) {
        grouped.dependences = grouped.made != nullptr ? grouped.made->dependences
                                                      : poly::find_dependences(program.pipeline, program.model);
    }
    for (std::size_t g = 0; g < groups.stages.size(); ++g) {
        const int number = groups.number[g];
        grouped.groups.push_back(
            {groups.stages[g], number < 0 ? fusion::GroupSchedule{} : schedule.groups[static_cast<std::size_t>(number)],
             number});
    }
    return grouped;
}

fusion::ScheduleError impossible(const fusion::GroupSchedule& schedule, const std::string& reason) {
    return fusion::ScheduleError(fmt::format("`{}` is impossible for the group of `{}`: {}", name(schedule.strategy),
                                             schedule.stages.front(), reason));
}

poly::Group aligned(const Grouped& grouped, const Grouped::Group& group) {
    auto result = poly::make_group(grouped.program.pipeline, grouped.program.model, grouped.dependences, group.stages);
    if (const auto* illegal = std::get_if<poly::Illegal>(&result)) throw impossible(group.schedule, illegal->reason);
    return std::get<poly::Group>(std::move(result));
}

}  // namespace pipec::codegen
