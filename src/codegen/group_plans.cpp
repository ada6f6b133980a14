#include "codegen/group_plans.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "codegen/grouped.h"
#include "codegen/kernel/shared_memory.h"
#include "codegen/lower.h"
#include "codegen/strategies/register/register_tile.h"
#include "codegen/strategies/shared/tile_vectors.h"
#include "fusion/group_fields.h"
#include "plan/make_plan.h"
#include "plan/plan_print.h"

namespace pipec::codegen {

using fusion::GroupSchedule;
using fusion::Strategy;

namespace {

std::string members_text(const ir::Pipeline& pipeline, const std::vector<int>& stages) {
    std::vector<std::string> names;
    for (const int stage : stages) names.push_back(pipeline.stages.at(static_cast<std::size_t>(stage)).name);
    return fmt::format("{}", fmt::join(names, ", "));
}

/// How a scan goes along its lines, and which members do not go to memory.
std::string scan_text(const ir::Pipeline& pipeline, const poly::Group& group) {
    const ir::Stage& scan = pipeline.stages.at(static_cast<std::size_t>(group.stages.front()));
    const ir::VarId along = scan.dims.at(static_cast<std::size_t>(scan.scan->dim)).var;
    std::vector<int> unstored;
    std::set_difference(group.stages.begin(), group.stages.end(), group.live_outs.begin(), group.live_outs.end(),
                        std::back_inserter(unstored));
    std::string text = fmt::format("  along {}, each point as soon as `{}` is known there\n",
                                   pipeline.variables.at(static_cast<std::size_t>(along)).name, scan.name);
    if (!unstored.empty()) text += fmt::format("  not stored: {}\n", members_text(pipeline, unstored));
    return text;
}

std::string group_text(Grouped& grouped, const Grouped::Group& group) {
    const ir::Pipeline& pipeline = grouped.program.pipeline;
    std::string text =
        fmt::format("group {}: {}\n", members_text(pipeline, group.stages), fusion::name(group.schedule.strategy));
    if (group.schedule.strategy == Strategy::Stage) return text + "  through global memory, without tiles\n";
    if (group.schedule.strategy == Strategy::Scan) return text + scan_text(pipeline, aligned(grouped, group));
    const auto plans = group_plans(grouped.program, aligned(grouped, group), group.schedule);
    if (const auto* reason = std::get_if<plan::Refusal>(&plans)) throw impossible(group.schedule, *reason);
    bool first = true;
    for (const GroupPlan& one : std::get<std::vector<GroupPlan>>(plans)) {
        if (!std::exchange(first, false)) text += "  where arrays are not aligned for that\n";
        text += plan::to_string(pipeline, one.shape, one.plan);
    }
    return text;
}

/// "  choices: block_order xyz, direction forward": of a group, what `pinned` says.
std::string choices_text(const GroupSchedule& pinned) {
    std::vector<std::string> choices;
    for (const fusion::Field field : fusion::kFields) {
        if (fusion::is_choice(field) && has(pinned.strategy, field) && !is_auto(field, pinned))
            choices.push_back(fmt::format("{} {}", fusion::name(field), value_text(field, pinned)));
    }
    return choices.empty() ? "" : fmt::format("  choices: {}\n", fmt::join(choices, ", "));
}

}  // namespace

std::variant<std::vector<GroupPlan>, plan::Refusal> group_plans(kernel::Program& program, const poly::Group& group,
                                                                const GroupSchedule& schedule) {
    // Single columns where arrays are not aligned for vectors.
    std::vector<GroupSchedule> schedules{schedule};
    const bool tiles = has(schedule.strategy, fusion::Field::Vector);
    if (tiles && schedule.vector > 1) schedules.emplace_back(schedule).vector = 1;
    if (auto reason = plan::check_schedule(schedule, group.rank)) return *reason;
    std::vector<GroupPlan> plans;
    for (const GroupSchedule& one : schedules) {
        fusion::GroupShape shape = fusion::group_shape(program.pipeline, program.model,
                                                       tiles ? with_vectors(program, group, one.vector) : group);
        auto plan = plan::make_plan(shape, one);
        if (auto* reason = std::get_if<plan::Refusal>(&plan)) return std::move(*reason);
        auto& asked = std::get<plan::Plan>(plan);
        if (!asked.registers) {
            plans.push_back({std::move(shape), std::move(asked)});
            continue;
        }
        for (plan::Plan& variant : register_tile_plans(program, shape, asked))
            plans.push_back({shape, std::move(variant)});
    }
    return plans;
}

std::optional<plan::Refusal> plan_refusal(kernel::Program& program, const poly::Group& group,
                                          const GroupSchedule& schedule) {
    const auto plans = group_plans(program, group, schedule);
    if (const auto* reason = std::get_if<plan::Refusal>(&plans)) return *reason;
    const std::string_view what = schedule.strategy == Strategy::Stream ? "its windows" : "its tiles";
    for (const GroupPlan& one : std::get<std::vector<GroupPlan>>(plans)) {
        if (auto reason = shared_refusal(one.plan.shared.bytes, program.target, what)) return reason;
    }
    const plan::Tiles& tiles = std::get<std::vector<GroupPlan>>(plans).front().plan.tiles;
    return blocks_refusal(program.target, schedule.choices, tiles.threads());
}

std::string plan_text(const std::vector<Unit>& units, const SourceManager& sources, const CudaOptions& options) {
    std::string text;
    for (const Unit& unit : units) {
        Grouped grouped = group_by_schedule(unit, options);
        const auto given = options.schedules.find(grouped.program.pipeline.name);
        const fusion::Schedule decided = pinned(lower(unit, sources, options),
                                                given == options.schedules.end() ? fusion::Schedule{} : given->second);
        std::vector<std::string> groups;
        for (const Grouped::Group& group : grouped.groups) {
            groups.push_back(group_text(grouped, group));
            if (group.number >= 0)
                groups.back() += choices_text(decided.groups[static_cast<std::size_t>(group.number)]);
        }
        text += fmt::format("{}plan of {}\n{}", text.empty() ? "" : "\n", grouped.program.pipeline.name,
                            fmt::join(groups, "\n"));
    }
    return text;
}

}  // namespace pipec::codegen
