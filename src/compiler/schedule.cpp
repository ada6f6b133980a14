#include "compiler/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "compiler/automatic_schedule.h"
#include "cost/tile_work.h"
#include "fusion/grow_groups.h"
#include "fusion/inline.h"
#include "fusion/strategy.h"

namespace pipec::compiler {
namespace {

using fusion::Field;
using fusion::GroupSchedule;
using fusion::Schedule;
using fusion::ScheduleError;
using fusion::Schedules;

std::vector<ir::Pipeline> pipelines_of(const std::vector<fusion::Inlined>& prepared) {
    std::vector<ir::Pipeline> result;
    for (const fusion::Inlined& one : prepared) result.push_back(one.pipeline);
    return result;
}

fusion::Inlined inlined(const fusion::Inlined& prepared, const Schedule& schedule) {
    const std::vector<int> stages = fusion::inlined_stages(prepared.pipeline, schedule);
    return fusion::inline_stages(prepared.pipeline, prepared.model, stages);
}

void change(const ScheduleRequest& request, GroupSchedule& group) {
    const auto has_other = [&](Field field) { return request.changed.contains(field) && has(group.strategy, field); };
    if (has_other(Field::Block) || has_other(Field::Tile) || has_other(Field::Vector) || has_other(Field::Prefetch))
        fusion::forget_choices_of_tiles(group);
    for (const Field field : request.changed) {
        if (has(group.strategy, field)) copy_field(field, request.values, group);
    }
}

/// What is fused in a trial, with the facts of its stages where they are asked for.
struct Trial {
    fusion::Inlined program;
    std::vector<poly::Dependence> dependences;
    std::vector<fusion::StageFacts> stages;
};
Trial trial_of(const ScheduleRequest& request, fusion::Inlined program) {
    Trial trial{std::move(program), {}, {}};
    const auto& [pipeline, model] = trial.program;
    trial.dependences = poly::find_dependences(pipeline, model);
    if (!request.overlap_threshold) return trial;
    trial.stages = fusion::stage_facts(pipeline, model, trial.dependences, fusion::usual_sizes(pipeline));
    return trial;
}

/// How a group is to run for a trial, or why it cannot.
std::variant<GroupSchedule, std::string> propose(const ScheduleRequest& request, const Trial& trial,
                                                 const poly::Group& group, const CodeCheck& check) {
    GroupSchedule proposed = fusion::default_group(*request.strategy, group.rank);
    change(request, proposed);
    if (request.overlap_threshold && group.stages.size() > 1) {
        const auto work = cost::tile_work(fusion::group_facts(group, trial.stages), proposed);
        if (work && work->redundant > *request.overlap_threshold) return "its tiles overlap too much";
    }
    const auto& [pipeline, model] = trial.program;
    if (auto refused = check.refusal(pipeline, model, trial.dependences, group, proposed)) return refused->reason;
    return proposed;
}

/// As many stages in a kernel as can be, with the strategy of the request.
Schedules trials(const ScheduleRequest& request, const std::vector<fusion::Inlined>& prepared, const CodeCheck& check) {
    Schedules result;
    bool is_possible = *request.strategy == fusion::Strategy::Stage;
    std::string refusal;
    for (const fusion::Inlined& one : prepared) {
        Schedule& schedule = result[one.pipeline.name] = fusion::stage_schedule(one.pipeline, one.model);
        if (*request.strategy == fusion::Strategy::Stage) continue;
        const Trial trial = trial_of(request, inlined(one, schedule));
        const auto accepted = [&](const poly::Group& group) -> std::optional<GroupSchedule> {
            auto proposal = propose(request, trial, group, check);
            if (auto* proposed = std::get_if<GroupSchedule>(&proposal)) return *proposed;
            refusal = std::get<std::string>(proposal);
            return std::nullopt;
        };
        schedule.groups = fusion::grow_groups(trial.program.pipeline, trial.program.model, trial.dependences, accepted);
        is_possible = is_possible || !schedule.groups.empty();
    }
    if (!is_possible && !refusal.empty()) {
        throw ScheduleError(fmt::format("`{}` is impossible for every stage: {}", name(*request.strategy), refusal));
    }
    return result;
}

/// Refuses options that no group has.
void check_changes(const ScheduleRequest& request, const Schedules& schedules) {
    for (const Field field : request.changed) {
        const auto has_field = [&](const auto& entry) {
            const std::vector<GroupSchedule>& groups = entry.second.groups;
            return std::any_of(groups.begin(), groups.end(),
                               [&](const GroupSchedule& group) { return has(group.strategy, field); });
        };
        if (std::any_of(schedules.begin(), schedules.end(), has_field)) continue;
        throw ScheduleError(fmt::format(
            "`{}` would change nothing: no group of the schedule has it, and `--strategy` makes groups that do",
            option_name(field)));
    }
}

}  // namespace

Schedule completed(const fusion::Inlined& prepared, const Schedule& schedule) {
    const ir::Pipeline pipeline = inlined(prepared, schedule).pipeline;
    Schedule result{schedule.inlined, {}, schedule.origin};
    const fusion::OrderedGroups ordered = fusion::order_groups(pipeline, schedule);
    for (std::size_t g = 0; g < ordered.stages.size(); ++g) {
        const int number = ordered.number[g];
        if (number >= 0) {
            result.groups.push_back(schedule.groups[static_cast<std::size_t>(number)]);
            continue;
        }
        GroupSchedule& group = result.groups.emplace_back();
        for (const int stage : ordered.stages[g]) {
            group.stages.push_back(pipeline.stages[static_cast<std::size_t>(stage)].name);
        }
    }
    return result;
}

Schedules make_schedules(const ScheduleRequest& request, const std::vector<fusion::Inlined>& prepared,
                         const CodeCheck& check) {
    Schedules schedules;
    if (request.file) {
        schedules = fusion::schedules_from_json(request.file->text, request.file->name, pipelines_of(prepared));
    } else if (request.strategy && !request.model.cost_model) {
        schedules = trials(request, prepared, check);
    } else if (request.model.cost_model != CostModelName::None) {
        std::optional<OnlyStrategy> only;
        if (request.strategy) only = {*request.strategy, [&](GroupSchedule& group) { change(request, group); }};
        schedules = automatic_schedules(request.model, prepared, check, only);
    }
    for (const fusion::Inlined& one : prepared) {
        const auto [entry, is_new] = schedules.try_emplace(one.pipeline.name);
        Schedule& schedule = entry->second;
        if (is_new) schedule = fusion::stage_schedule(one.pipeline, one.model);
        schedule = completed(one, schedule);
        for (GroupSchedule& group : schedule.groups) change(request, group);
    }
    // Where a model has the choice, it may find no group of the strategy worth its while.
    if (!request.strategy || !request.model.cost_model) check_changes(request, schedules);
    return schedules;
}

}  // namespace pipec::compiler
