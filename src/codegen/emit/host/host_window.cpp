#include "codegen/emit/host/host_window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/emit/c/c_types.h"
#include "codegen/wrapper/wrapper.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

/// The workspace has all that is needed of such an output, which may be more than its window.
bool is_kept(const ir::Pipeline& pipeline, int stage) {
    const ir::Stage& output = pipeline.stages[static_cast<std::size_t>(stage)];
    if (output.scan || std::holds_alternative<ir::Accumulate>(output.definition)) return true;
    const ir::Source source{ir::Source::Kind::Stage, stage};
    return std::any_of(pipeline.stages.begin(), pipeline.stages.end(), [&](const ir::Stage& reader) {
        const std::vector<ir::Expr> all = ir::expressions(reader);
        return std::any_of(all.begin(), all.end(), [&](const ir::Expr& e) { return ir::reads(e, source); });
    });
}

void check(Writer& out, const std::string& call) {
    out.line("if (const pipe_status status = {}) return status;", call);
}

/// Places a stage's part in a region of the workspace, or notes it where only tiles hold it.
void place_part(Writer& out, const ir::Stage& stage, const std::string& part, const std::string& space,
                const std::string& region) {
    const std::size_t rank = stage.dims.size();
    out.open("");
    if (rank > 0) {
        out.line("int64_t box[{}][2];", rank);
        out.line("box_of(parts.{}, {}, box);", part, rank);
    }
    const char* const box = rank > 0 ? "box" : "nullptr";
    if (region.empty()) {
        check(out, fmt::format("bound(report, {}, {}, {}, {})", c_string(stage.name), rank, box, space));
    } else {
        check(out, fmt::format("place(report, {}, {}, sizeof({}), {}, {}, {})", c_string(stage.name), rank,
                               storage_type(stage.type), box, space, region));
    }
    out.close();
}

}  // namespace

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
    const std::size_t inputs = pipeline.inputs.size();
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
    check(out, "make_parts(args, window, report, plan, parts)");
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        const std::size_t rank = buffer_at(pipeline, i).rank();
        const WindowFields fields = window_fields(names.fields.buffers[i]);
        if (rank == 0) {
            out.line("plan.{}.array.points = {};", windows.held[i],
                     i < inputs ? "1" : fmt::format("window.{} != 0", fields.wanted));
            continue;
        }
        check(out,
              fmt::format("hold(report, buffers, {0}, window.{1}, window.{2}, args.{3}, parts.{4}, plan.{5})", i,
                          fields.lo, fields.hi, names.fields.buffers[i].stride, names.buffers[i], windows.held[i]));
    }
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
        check(out, fmt::format("stack_regions(report, plan.window_regions, {}, {})", count, total));
    else
        out.line("{} = 0;", total);
    if (regions.scratch > 0) out.line("plan.workspace = plan.scratch + size_t(max_threads()) * {};", regions.scratch);
    out.line("return PIPE_OK;");
    out.close();
    out.blank();

    out.open(
        fmt::format("[[maybe_unused]] pipe_status check_window_pointers(const {}_args& args, Report& report, const "
                    "WindowPlan& plan)",
                    names.prefix));
    const std::size_t buffers = names.buffers.size();
    for (std::size_t i = 0; i < buffers; ++i) {
        out.open(fmt::format("if (plan.{}.array.points > 0)", windows.held[i]));
        check(out, fmt::format("check_pointer(report, buffers, {}, args.{})", i, names.fields.buffers[i].data));
        out.close();
    }
    out.line("const Array* const arrays[] = {{");
    out.indent();
    for (std::size_t i = 0; i < buffers; ++i) out.line("&plan.{}.array,", windows.held[i]);
    out.outdent();
    out.line("}};");
    out.line("const Hull hulls[] = {{");
    out.indent();
    for (std::size_t i = 0; i < buffers; ++i) {
        out.line("hull_of(buffers[{}], args.{}, *arrays[{}]),", i, names.fields.buffers[i].data, i);
    }
    out.outdent();
    out.line("}};");
    out.open(fmt::format("for (int output = {}; output < {}; ++output)", inputs, buffers));
    out.open("for (int other = 0; other < output; ++other)");
    out.line("if (arrays[output]->points == 0 || arrays[other]->points == 0) continue;");
    check(out, "check_overlap(report, buffers, output, hulls[output], other, hulls[other])");
    out.close();
    out.close();
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
    const std::string& name = names.prefix;
    const auto plan = [&](const std::string& failure) {
        out.line("{}::WindowPlan plan{{}};", space);
        out.line("if (const pipe_status status = {}::plan_window(*args, *window, report, plan)) return {};", space,
                 failure);
    };
    out.open(
        fmt::format("pipe_status {0}_check_window(const {0}_args* args, const {0}_window* window, char* message, "
                    "size_t size)",
                    name));
    out.line("Report report(message, size);");
    out.line("if (args == nullptr) return report.fail(PIPE_ERROR_NULL, -1, -1, \"the arguments are null\");");
    out.line("if (window == nullptr) return report.fail(PIPE_ERROR_NULL, -1, -1, \"the window is null\");");
    plan("status");
    out.line("return {}::check_window_pointers(*args, report, plan);", space);
    out.close();
    out.blank();

    out.open(fmt::format("size_t {0}_window_workspace_size(const {0}_args* args, const {0}_window* window)", name));
    out.line("if (args == nullptr || window == nullptr) return SIZE_MAX;");
    out.line("Report report(nullptr, 0);");
    plan("(void)status, SIZE_MAX");
    out.line("return plan.workspace;");
    out.close();
    out.blank();

    out.open(
        fmt::format("pipe_status {0}_launch_window(const {0}_args* args, const {0}_window* window, void* workspace, "
                    "size_t bytes, CUstream_st* stream)",
                    name));
    out.line("Report report(nullptr, 0);");
    out.line("if (args == nullptr || window == nullptr) return report.fail(PIPE_ERROR_NULL, -1, -1);");
    plan("status");
    check(out, fmt::format("{}::check_window_pointers(*args, report, plan)", space));
    const std::string needed =
        regions.scratch > 0 ? fmt::format("plan.scratch + {}", regions.scratch) : "plan.workspace";
    check(out, fmt::format("check_workspace(report, workspace, bytes, {}, 64)", needed));
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
    out.line("const bool dense = {};", fmt::join(fits, " && "));
    out.line("unsigned char* const region = static_cast<unsigned char*>(workspace);");
    out.line("const int threads = {};", regions.scratch > 0
                                            ? fmt::format("threads_of(bytes - plan.scratch, {})", regions.scratch)
                                            : "max_threads()");
    out.line("const auto run = dense ? {0}::run_window<true> : {0}::run_window<false>;", space);
    out.line("run(*args, plan, region, threads);");
    out.line("return PIPE_OK;");
    out.close();
    out.blank();
}

}  // namespace pipec::codegen
