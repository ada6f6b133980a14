#include "codegen/emit/host/host_window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/emit/c/c_types.h"
#include "codegen/wrapper/window_api.h"
#include "codegen/wrapper/wrapper.h"

namespace pipec::codegen {

int HostWindows::region_count(const Regions& of_stages) const {
    return of_stages.count +
           static_cast<int>(std::count_if(regions.begin(), regions.end(), [](int r) { return r >= 0; }));
}

HostWindows host_windows(const Unit& analysed, const HostProgram& program, const Regions& regions, CodeNames& names) {
    HostWindows result{window_unit(analysed, program.pipeline, names), {}, {}, {}};
    for (const std::string& buffer : names.buffers) result.held.push_back(names.taken.add(buffer + "_held"));
    int next = regions.count;
    for (const ir::Output& output : analysed.pipeline->outputs) {
        const bool kept = is_kept(*analysed.pipeline, output.stage);
        result.kept.push_back(kept ? names.taken.add(output.buffer.name + "_kept") : "");
        result.regions.push_back(kept ? next++ : -1);
    }
    return result;
}

void write_window_plan(Writer& out, const Unit& unit, const HostWindows& windows, const CodeNames& names,
                       const Regions& regions) {
    const ir::Pipeline& pipeline = *unit.pipeline;
    std::vector<std::string> spaces;
    for (const std::string& kept : windows.kept) {
        if (!kept.empty()) spaces.push_back(kept);
    }
    const int count = windows.region_count(regions);
    out.add("// The same about a launch of windows; stages are where windows need them.");
    out.open("struct WindowPlan : Plan");
    out.line("Parts parts;");
    if (!windows.held.empty()) out.line("Held {};", fmt::join(windows.held, ", "));
    if (!spaces.empty()) out.line("Space {};", fmt::join(spaces, ", "));
    if (count > 0) out.line("size_t window_regions[{}];", count);
    out.close(";");
    out.blank();

    out.open(
        fmt::format("[[maybe_unused]] pipe_status plan_window(const {0}_args& args, const {0}_window& window, "
                    "Report& report, WindowPlan& plan)",
                    names.prefix));
    out.line("Parts& parts = plan.parts;");
    check_status(out, "make_parts(args, window, report, plan, parts)");
    write_holds(out, pipeline, names, windows.held);
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        const ir::Stage& stage = pipeline.stages[i];
        const bool in_tiles = !regions.in_tiles.empty() && regions.in_tiles[i];
        if (stage.output >= 0) {
            const auto output = static_cast<std::size_t>(stage.output);
            if (windows.regions[output] < 0) continue;
            place_part(out, stage, names.stages[i], "plan." + windows.kept[output],
                       fmt::format("plan.window_regions[{}]", windows.regions[output]));
        } else if (in_tiles || regions.of_stage[i] >= 0) {
            place_part(out, stage, names.stages[i], "plan." + names.stages[i],
                       in_tiles ? "" : fmt::format("plan.window_regions[{}]", regions.of_stage[i]));
        }
    }
    const std::string total = regions.scratch > 0 ? "plan.scratch" : "plan.workspace";
    if (count > 0)
        check_status(out, fmt::format("stack_regions(report, plan.window_regions, {}, {})", count, total));
    else
        out.line("{} = 0;", total);
    if (regions.scratch > 0) out.line("plan.workspace = plan.scratch + size_t(max_threads()) * {};", regions.scratch);
    out.line("return PIPE_OK;");
    out.close();
    out.blank();
}

void write_window_views(Writer& out, const Unit& unit, const HostWindows& windows, const CodeNames& names) {
    const std::size_t inputs = unit.pipeline->inputs.size();
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        if (i >= inputs && windows.regions[i - inputs] >= 0) {
            out.line("const auto {0} = view_of<{1}<dense>>(workspace + plan.window_regions[{2}], plan.{3});",
                     names.buffers[i], names.views[i], windows.regions[i - inputs], windows.kept[i - inputs]);
            continue;
        }
        out.line("[[maybe_unused]] const auto {} = view_of<{}<dense>>(args.{}, plan.{});", names.buffers[i],
                 names.views[i], names.fields.buffers[i].data, windows.held[i]);
    }
}

void write_window_copies(Writer& out, const Unit& unit, const HostWindows& windows, const CodeNames& names) {
    const ir::Pipeline& pipeline = *unit.pipeline;
    for (std::size_t o = 0; o < pipeline.outputs.size(); ++o) {
        if (windows.regions[o] < 0) continue;
        const std::size_t i = pipeline.inputs.size() + o;
        const std::string to = fmt::format("view_of<{}<dense>>(args.{}, plan.{})", names.views[i],
                                           names.fields.buffers[i].data, windows.held[i]);
        const std::size_t rank = pipeline.outputs[o].buffer.rank();
        if (rank == 0) {
            out.line("if (plan.{}.array.points > 0) {}() = {}();", windows.held[i], to, names.buffers[i]);
            continue;
        }
        out.line("copy_window(crew, domain_of_window<{}>(plan.{}), {}, {});", rank, windows.held[i], to,
                 names.buffers[i]);
    }
}

void write_window_api(Writer& out, const Unit& unit, const HostWindows& windows, const CodeNames& names,
                      const Regions& regions, const std::string& space) {
    write_window_queries(out, names, space, "WindowPlan");
    open_window_launch(out, names, space, "WindowPlan");
    const std::string needed =
        regions.scratch > 0 ? fmt::format("plan.scratch + {}", regions.scratch) : "plan.workspace";
    check_status(out, fmt::format("check_workspace(report, workspace, bytes, {}, 64)", needed));
    out.line("if (stream != nullptr) return report.fail(PIPE_ERROR_DEVICE, -1, -1);");
    std::vector<std::string> fits;
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        fits.push_back(fmt::format("fits<{}::{}<true>>(plan.{})", space, names.views[i], windows.held[i]));
    }
    for (std::size_t o = 0; o < windows.kept.size(); ++o) {
        if (windows.kept[o].empty()) continue;
        fits.push_back(fmt::format("fits<{}::{}<true>>(plan.{})", space, names.views[unit.pipeline->inputs.size() + o],
                                   windows.kept[o]));
    }
    write_run(out, regions, fits, space + "::run_window");
}

}  // namespace pipec::codegen
