#include "codegen/emit/host/host_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/emit/c/c_types.h"
#include "codegen/emit/host/host_stage.h"
#include "codegen/grouped.h"
#include "fusion/inline.h"
#include "poly/dependences.h"

namespace pipec::codegen {

namespace {

HostProgram::Tiled tiled_group(const HostProgram& program, const std::vector<poly::Dependence>& dependences,
                               const std::vector<int>& stages, const fusion::GroupSchedule& schedule) {
    auto group = poly::make_group(program.pipeline, program.model, dependences, stages);
    if (const auto* illegal = std::get_if<poly::Illegal>(&group)) throw impossible(schedule, illegal->reason);
    HostProgram::Tiled result{std::get<poly::Group>(std::move(group)), {}};
    auto tiles = plan::host_tiles(program.pipeline, fusion::group_shape(program.pipeline, program.model, result.group),
                                  schedule);
    if (const auto* reason = std::get_if<plan::Refusal>(&tiles)) throw impossible(schedule, *reason);
    result.tiles = std::get<plan::HostTiles>(std::move(tiles));
    return result;
}

}  // namespace

HostProgram host_program(const Unit& unit, const fusion::Schedule& schedule) {
    fusion::Inlined inlined =
        fusion::inline_stages(*unit.pipeline, *unit.model, fusion::inlined_stages(*unit.pipeline, schedule));
    HostProgram program{std::move(inlined.pipeline), std::move(inlined.model), {}};
    const fusion::OrderedGroups ordered = fusion::order_groups(program.pipeline, schedule);
    std::optional<std::vector<poly::Dependence>> dependences;
    for (std::size_t g = 0; g < ordered.stages.size(); ++g) {
        HostProgram::Group& group = program.groups.emplace_back();
        group.stages = ordered.stages[g];
        if (ordered.number[g] < 0) continue;
        const fusion::GroupSchedule& wanted = schedule.groups[static_cast<std::size_t>(ordered.number[g])];
        if (wanted.strategy == fusion::Strategy::Stage) continue;
        if (!dependences) dependences = poly::find_dependences(program.pipeline, program.model);
        group.tiled = tiled_group(program, *dependences, group.stages, wanted);
    }
    return program;
}

const plan::HostTiles::Member* scratch_of(const HostProgram& program, std::size_t stage) {
    for (const HostProgram::Group& group : program.groups) {
        if (!group.tiled) continue;
        const std::vector<int>& stages = group.tiled->group.stages;
        const auto found = std::find(stages.begin(), stages.end(), static_cast<int>(stage));
        if (found == stages.end()) continue;
        const auto& member = group.tiled->tiles.members[static_cast<std::size_t>(found - stages.begin())];
        return member.in_scratch ? &member : nullptr;
    }
    return nullptr;
}

Regions assign_regions(const HostProgram& program) {
    std::vector<bool> in_tiles;
    for (std::size_t i = 0; i < program.pipeline.stages.size(); ++i) {
        in_tiles.push_back(scratch_of(program, i) != nullptr);
    }
    std::vector<std::vector<int>> turns;
    std::int64_t scratch = 0;
    for (const HostProgram::Group& group : program.groups) {
        if (group.tiled) {
            turns.push_back(group.stages);
            scratch = std::max(scratch, group.tiled->tiles.scratch);
        } else {
            for (const int stage : group.stages) turns.push_back({stage});
        }
    }
    return assign_regions(program.pipeline, turns, std::move(in_tiles), scratch);
}

void write_group(Writer& out, const Unit& unit, const CodeNames& names, const HostProgram::Tiled& tiled,
                 std::int64_t scratch, const HostRun& run) {
    const ir::Pipeline& pipeline = *unit.pipeline;
    const poly::Group& group = tiled.group;
    const auto rank = static_cast<std::size_t>(group.rank);
    std::vector<std::string> members;
    for (const int stage : group.stages) members.push_back(names.stages[static_cast<std::size_t>(stage)]);
    out.open("");
    out.line("// Tiles of {}.", fmt::join(members, ", "));
    out.line("int64_t from[{0}], to[{0}];", rank);
    out.line("std::fill(from, from + {}, INT64_MAX);", rank);
    out.line("std::fill(to, to + {}, INT64_MIN);", rank);
    const auto domain = [&](int stage) { return run.domain(static_cast<std::size_t>(stage)); };
    for (std::size_t m = 0; m < group.stages.size(); ++m) {
        if (tiled.tiles.members[m].in_scratch) continue;
        if (run.window) {
            out.open(fmt::format("if (const auto box = {}; has_points(box))", domain(group.stages[m])));
        } else {
            out.open("");
            out.line("const auto box = {};", domain(group.stages[m]));
        }
        for (std::size_t d = 0; d < group.alignment[m].size(); ++d) {
            const poly::Alignment& alignment = group.alignment[m][d];
            if (alignment.dim < 0) continue;
            out.line("extend(from[{0}], to[{0}], box.lo[{1}], box.hi[{1}], {2}, {3});", alignment.dim, d,
                     alignment.scale, poly::tile_unit(group, alignment.dim));
        }
        out.close();
    }
    out.line("const int64_t size[] = {{{}}};", fmt::join(tiled.tiles.size, ", "));
    out.add("for_tiles(crew, from, to, size, [&](const auto& first, [[maybe_unused]] int thread) {");
    out.indent();
    if (tiled.tiles.scratch > 0) {
        out.line("unsigned char* const memory = scratch + size_t(thread) * {};", scratch);
    }
    for (std::size_t m = 0; m < group.stages.size(); ++m) {
        const auto stage = static_cast<std::size_t>(group.stages[m]);
        const plan::HostTiles::Member& member = tiled.tiles.members[m];
        if (member.in_scratch) {
            std::vector<std::string> origin;
            for (std::size_t d = 0; d < member.extent.size(); ++d) {
                const poly::Alignment& alignment = group.alignment[m][d];
                origin.push_back(member.whole[d]
                                     ? fmt::format("{}", member.extent[d].first * member.strides[d])
                                     : fmt::format("(first[{}] / {} + {}) * {}", alignment.dim, alignment.scale,
                                                   member.extent[d].first, member.strides[d]));
            }
            out.line("const {} {}{{reinterpret_cast<{}*>(memory + {}), static_cast<std::ptrdiff_t>(-({})), {{}}}};",
                     names.stage_views[stage], names.stages[stage], storage_type(pipeline.stages[stage].type),
                     member.offset, fmt::join(origin, " + "));
        }
        out.open("");
        out.line("auto box = {};", domain(group.stages[m]));
        for (std::size_t d = 0; d < member.extent.size(); ++d) {
            const poly::Alignment& alignment = group.alignment[m][d];
            if (member.whole[d]) continue;
            out.line("clip(box, {}, first[{}] / {} + {}, {});", d, alignment.dim, alignment.scale,
                     member.extent[d].first, member.extent[d].count);
        }
        out.add(stage_call(unit, names, stage, "box"));
        out.close();
    }
    out.outdent();
    out.add("});");
    out.close();
}

void write_run(Writer& out, const Regions& regions, const std::vector<std::string>& fits, const std::string& run) {
    out.line("const bool dense = {};", fmt::join(fits, " && "));
    out.line("unsigned char* const region = static_cast<unsigned char*>(workspace);");
    out.line("const int threads = {};", regions.scratch > 0
                                            ? fmt::format("threads_of(bytes - plan.scratch, {})", regions.scratch)
                                            : "max_threads()");
    out.line("const auto run = dense ? {0}<true> : {0}<false>;", run);
    out.line("run(*args, plan, region, threads);");
    out.line("return PIPE_OK;");
    out.close();
    out.blank();
}

}  // namespace pipec::codegen
