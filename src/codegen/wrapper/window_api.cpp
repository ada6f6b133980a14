#include "codegen/wrapper/window_api.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/emit/c/c_types.h"
#include "codegen/wrapper/wrapper.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

void write_window_plan_call(Writer& out, const std::string& space, const std::string& plan,
                            const std::string& failure) {
    out.line("{}::{} plan{{}};", space, plan);
    out.line("if (const pipe_status status = {}::plan_window(*args, *window, report, plan)) return {};", space,
             failure);
}

}  // namespace

void check_status(Writer& out, const std::string& call) {
    out.line("if (const pipe_status status = {}) return status;", call);
}

bool is_kept(const ir::Pipeline& pipeline, int stage) {
    const ir::Stage& output = pipeline.stages[static_cast<std::size_t>(stage)];
    if (output.scan || std::holds_alternative<ir::Accumulate>(output.definition)) return true;
    const ir::Source source{ir::Source::Kind::Stage, stage};
    return std::any_of(pipeline.stages.begin(), pipeline.stages.end(), [&](const ir::Stage& reader) {
        const std::vector<ir::Expr> all = ir::expressions(reader);
        return std::any_of(all.begin(), all.end(), [&](const ir::Expr& e) { return ir::reads(e, source); });
    });
}

void write_holds(Writer& out, const ir::Pipeline& pipeline, const CodeNames& names,
                 const std::vector<std::string>& held) {
    const std::size_t inputs = pipeline.inputs.size();
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        const std::size_t rank = buffer_at(pipeline, i).rank();
        const WindowFields fields = window_fields(names.fields.buffers[i]);
        if (rank == 0) {
            out.line("plan.{}.array.points = {};", held[i],
                     i < inputs ? "1" : fmt::format("window.{} != 0", fields.wanted));
            continue;
        }
        check_status(out,
                     fmt::format("hold(report, buffers, {0}, window.{1}, window.{2}, args.{3}, parts.{4}, plan.{5})", i,
                                 fields.lo, fields.hi, names.fields.buffers[i].stride, names.buffers[i], held[i]));
    }
}

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
        check_status(out, fmt::format("bound(report, {}, {}, {}, {})", c_string(stage.name), rank, box, space));
    } else {
        check_status(out, fmt::format("place(report, {}, {}, sizeof({}), {}, {}, {})", c_string(stage.name), rank,
                                      storage_type(stage.type), box, space, region));
    }
    out.close();
}

void write_window_pointers(Writer& out, const ir::Pipeline& pipeline, const CodeNames& names,
                           const std::vector<std::string>& held, const std::string& plan) {
    const std::size_t buffers = names.buffers.size();
    out.open(
        fmt::format("[[maybe_unused]] pipe_status check_window_pointers([[maybe_unused]] const {}_args& args, "
                    "[[maybe_unused]] Report& report, [[maybe_unused]] const {}& plan)",
                    names.prefix, plan));
    for (std::size_t i = 0; i < buffers; ++i) {
        out.open(fmt::format("if (plan.{}.array.points > 0)", held[i]));
        check_status(out, fmt::format("check_pointer(report, buffers, {}, args.{})", i, names.fields.buffers[i].data));
        out.close();
    }
    out.line("const Array* const arrays[] = {{");
    out.indent();
    for (std::size_t i = 0; i < buffers; ++i) out.line("&plan.{}.array,", held[i]);
    out.outdent();
    out.line("}};");
    out.line("const Hull hulls[] = {{");
    out.indent();
    for (std::size_t i = 0; i < buffers; ++i) {
        out.line("hull_of(buffers[{}], args.{}, *arrays[{}]),", i, names.fields.buffers[i].data, i);
    }
    out.outdent();
    out.line("}};");
    out.open(fmt::format("for (int output = {}; output < {}; ++output)", pipeline.inputs.size(), buffers));
    out.open("for (int other = 0; other < output; ++other)");
    out.line("if (arrays[output]->points == 0 || arrays[other]->points == 0) continue;");
    check_status(out, "check_overlap(report, buffers, output, hulls[output], other, hulls[other])");
    out.close();
    out.close();
    out.line("return PIPE_OK;");
    out.close();
    out.blank();
}

void write_required(Writer& out, const WindowUnit& windows, const CodeNames& names, const std::string& space) {
    const ir::Pipeline& pipeline = *windows.unit.pipeline;
    out.open(fmt::format("pipe_status {0}_required(const {0}_args* args, {0}_window* window)", names.prefix));
    out.line("if (args == nullptr || window == nullptr) return PIPE_ERROR_NULL;");
    out.line("Report report(nullptr, 0);");
    out.line("{}::Plan plan{{}};", space);
    out.line("{}::Parts parts{{}};", space);
    out.line("if (const pipe_status status = {}::make_parts(*args, *window, report, plan, parts)) return status;",
             space);
    for (std::size_t i = 0; i < pipeline.inputs.size(); ++i) {
        if (pipeline.inputs[i].rank() == 0) continue;
        const WindowFields fields = window_fields(names.fields.buffers[i]);
        out.line("give_window(parts.{}, {}, window->{}, window->{});", names.buffers[i], pipeline.inputs[i].rank(),
                 fields.lo, fields.hi);
    }
    out.line("return PIPE_OK;");
    out.close();
    out.blank();
}

void write_window_info(Writer& out, const WindowUnit& windows, const CodeNames& names) {
    const ir::Pipeline& pipeline = *windows.unit.pipeline;
    const std::string& name = names.prefix;
    out.open(fmt::format("const pipe_window_info* {}_window_info(void)", name));
    if (!names.buffers.empty()) {
        out.line("static const pipe_window_fields fields[] = {{");
        out.indent();
        for (std::size_t i = 0; i < names.buffers.size(); ++i) {
            const WindowFields fields = window_fields(names.fields.buffers[i]);
            if (buffer_at(pipeline, i).rank() > 0) {
                out.line("{{offsetof({0}_window, {1}), offsetof({0}_window, {2})}},", name, fields.lo, fields.hi);
            } else if (i < pipeline.inputs.size()) {
                out.line("{{0, 0}},");
            } else {
                out.line("{{offsetof({}_window, {}), 0}},", name, fields.wanted);
            }
        }
        out.outdent();
        out.line("}};");
    }
    out.line("static const pipe_window_info info = {{");
    out.indent();
    out.line("1, sizeof({}_window), {},", name, names.buffers.empty() ? "nullptr" : "fields");
    const std::string args = fmt::format("static_cast<const {}_args*>(args)", name);
    const std::string window = fmt::format("static_cast<const {}_window*>(window)", name);
    out.line("[](const void* args, void* window) {{ return {0}_required({1}, static_cast<{0}_window*>(window)); }},",
             name, args);
    out.line(
        "[](const void* args, const void* window, char* message, size_t size) {{ return {}_check_window({}, {}, "
        "message, size); }},",
        name, args, window);
    out.line("[](const void* args, const void* window) {{ return {}_window_workspace_size({}, {}); }},", name, args,
             window);
    out.line(
        "[](const void* args, const void* window, void* workspace, size_t bytes, void* stream) {{ return "
        "{}_launch_window({}, {}, workspace, bytes, static_cast<CUstream_st*>(stream)); }},",
        name, args, window);
    out.outdent();
    out.line("}};");
    out.line("return &info;");
    out.close();
    out.blank();
}

void write_window_queries(Writer& out, const CodeNames& names, const std::string& space, const std::string& plan) {
    const std::string& name = names.prefix;
    out.open(
        fmt::format("pipe_status {0}_check_window(const {0}_args* args, const {0}_window* window, char* message, "
                    "size_t size)",
                    name));
    out.line("Report report(message, size);");
    out.line("if (args == nullptr) return report.fail(PIPE_ERROR_NULL, -1, -1, \"the arguments are null\");");
    out.line("if (window == nullptr) return report.fail(PIPE_ERROR_NULL, -1, -1, \"the window is null\");");
    write_window_plan_call(out, space, plan, "status");
    out.line("return {}::check_window_pointers(*args, report, plan);", space);
    out.close();
    out.blank();

    out.open(fmt::format("size_t {0}_window_workspace_size(const {0}_args* args, const {0}_window* window)", name));
    out.line("if (args == nullptr || window == nullptr) return SIZE_MAX;");
    out.line("Report report(nullptr, 0);");
    out.line("{}::{} plan{{}};", space, plan);
    out.line("return {}::plan_window(*args, *window, report, plan) == PIPE_OK ? plan.workspace : SIZE_MAX;", space);
    out.close();
    out.blank();
}

void open_window_launch(Writer& out, const CodeNames& names, const std::string& space, const std::string& plan) {
    out.open(
        fmt::format("pipe_status {0}_launch_window(const {0}_args* args, const {0}_window* window, void* workspace, "
                    "size_t bytes, CUstream_st* stream)",
                    names.prefix));
    out.line("Report report(nullptr, 0);");
    out.line("if (args == nullptr || window == nullptr) return report.fail(PIPE_ERROR_NULL, -1, -1);");
    write_window_plan_call(out, space, plan, "status");
    check_status(out, fmt::format("{}::check_window_pointers(*args, report, plan)", space));
}

}  // namespace pipec::codegen
