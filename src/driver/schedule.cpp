#include "driver/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "codegen/lower.h"
#include "cost/tile_work.h"
#include "driver/automatic_schedule.h"
#include "driver/files.h"
#include "fusion/grow_groups.h"
#include "fusion/inline.h"

namespace pipec::driver {
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

void change(const ScheduleOptions& options, GroupSchedule& group) {
    for (const Field field : options.changed) {
        if (has(group.strategy, field)) copy_field(field, options.values, group);
    }
}

/// What is fused in a trial, with the facts of its stages where they are asked for.
struct Trial {
    fusion::Inlined program;
    std::vector<fusion::StageFacts> stages;
};
Trial trial_of(const ScheduleOptions& options, fusion::Inlined program) {
    Trial trial{std::move(program), {}};
    if (!options.overlap_threshold) return trial;
    const auto& [pipeline, model] = trial.program;
    trial.stages =
        fusion::stage_facts(pipeline, model, poly::find_dependences(pipeline, model), fusion::usual_sizes(pipeline));
    return trial;
}

/// How a group is to run for a trial, or why it cannot.
std::variant<GroupSchedule, std::string> propose(const ScheduleOptions& options, const Trial& trial,
                                                 const poly::Group& group, const fusion::Target& target,
                                                 const SourceManager& sources, bool fast_math,
                                                 codegen::MadeGroups& made) {
    GroupSchedule proposed = fusion::default_group(*options.strategy, group.rank);
    change(options, proposed);
    if (options.overlap_threshold && group.stages.size() > 1) {
        const auto work = cost::tile_work(fusion::group_facts(group, trial.stages), proposed);
        if (work && work->redundant > *options.overlap_threshold) return "its tiles overlap too much";
    }
    const auto& [pipeline, model] = trial.program;
    if (auto reason = made.refusal(pipeline, model, target, fast_math, group, proposed, sources))
        return std::move(*reason);
    return proposed;
}

/// As many stages in a kernel as can be, with the strategy of the options.
Schedules trials(const ScheduleOptions& options, const std::vector<fusion::Inlined>& prepared,
                 const fusion::Target& target, const SourceManager& sources, bool fast_math,
                 codegen::MadeGroups& made) {
    Schedules result;
    bool is_possible = *options.strategy == fusion::Strategy::Stage;
    std::string refusal;
    for (const fusion::Inlined& one : prepared) {
        Schedule& schedule = result[one.pipeline.name] = fusion::stage_schedule(one.pipeline);
        if (*options.strategy == fusion::Strategy::Stage) continue;
        const Trial trial = trial_of(options, inlined(one, schedule));
        const auto accepted = [&](const poly::Group& group) -> std::optional<GroupSchedule> {
            auto proposal = propose(options, trial, group, target, sources, fast_math, made);
            if (auto* proposed = std::get_if<GroupSchedule>(&proposal)) return *proposed;
            refusal = std::get<std::string>(proposal);
            return std::nullopt;
        };
        schedule.groups = fusion::grow_groups(trial.program.pipeline, trial.program.model, accepted);
        is_possible = is_possible || !schedule.groups.empty();
    }
    if (!is_possible && !refusal.empty()) {
        throw ScheduleError(fmt::format("`{}` is impossible for every stage: {}", name(*options.strategy), refusal));
    }
    return result;
}

/// Refuses options that no group has.
void check_changes(const ScheduleOptions& options, const Schedules& schedules) {
    for (const Field field : options.changed) {
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

/// The schedule with every stage in a group, in the order in which they run.
Schedule completed(const ir::Pipeline& pipeline, const Schedule& schedule) {
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

}  // namespace

std::vector<fusion::Inlined> schedulable(const Compilation& compilation) {
    std::vector<fusion::Inlined> result;
    for (std::size_t i = 0; i < compilation.pipelines.size(); ++i) {
        fusion::Inlined& prepared = result.emplace_back(compilation.pipelines[i], compilation.models.at(i));
        codegen::widen_narrow_accumulates(prepared.pipeline, prepared.model);
    }
    return result;
}

Schedules make_schedules(const ScheduleOptions& options, const Compilation& compilation, const SourceManager& sources,
                         bool fast_math, codegen::MadeGroups* made) {
    codegen::MadeGroups none;
    codegen::MadeGroups& kept = made == nullptr ? none : *made;
    const std::vector<fusion::Inlined> prepared = schedulable(compilation);
    Schedules schedules;
    if (options.file) {
        schedules = fusion::schedules_from_json(read_source(*options.file), *options.file, pipelines_of(prepared));
    } else if (options.strategy && !options.automatic.cost_model) {
        schedules = trials(options, prepared, compilation.target, sources, fast_math, kept);
    } else if (options.automatic.cost_model != CostModelName::None) {
        std::optional<OnlyStrategy> only;
        if (options.strategy) only = {*options.strategy, [&](GroupSchedule& group) { change(options, group); }};
        schedules =
            automatic_schedules(options.automatic, prepared, compilation.target, sources, fast_math, kept, only);
    }
    for (const fusion::Inlined& one : prepared) {
        const auto [entry, is_new] = schedules.try_emplace(one.pipeline.name);
        Schedule& schedule = entry->second;
        if (is_new) schedule = fusion::stage_schedule(one.pipeline);
        schedule = completed(inlined(one, schedule).pipeline, schedule);
        for (GroupSchedule& group : schedule.groups) change(options, group);
    }
    // Where a model has the choice, it may find no group of the strategy worth its while.
    if (!options.strategy || !options.automatic.cost_model) check_changes(options, schedules);
    return schedules;
}

}  // namespace pipec::driver
