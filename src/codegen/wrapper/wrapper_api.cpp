// The tables of a pipeline, and its public functions but launch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/emit/c/c_types.h"
#include "codegen/wrapper/wrapper.h"
#include "ir/build.h"
#include "ir/print.h"

namespace pipec::codegen {

namespace {

/// An element of a parameter's field: bool as 0 or 1, float16 as its bits.
std::string default_text(const ir::ScalarParameter& param) {
    if (const auto* c = ir::as<ir::FloatConstant>(param.default_value)) {
        if (param.type == ir::Type::Float16) return fmt::format("0x{:04x}", half_bits(c->value));
        return float_literal(param.type, c->value);
    }
    const auto* c = ir::as<ir::IntConstant>(param.default_value);
    if (param.type == ir::Type::Bool) return c->value != 0 ? "1" : "0";
    return int_literal(param.type, c->value);
}

void buffer_table(Writer& out, const ir::Pipeline& pipeline, const CodeNames& names) {
    const std::size_t count = buffer_count(pipeline);
    for (std::size_t i = 0; i < count; ++i) {
        const ir::Buffer& buffer = buffer_at(pipeline, i);
        if (buffer.rank() == 0) continue;
        std::vector<std::string> texts;
        std::vector<std::int64_t> fixed;
        for (const ir::Expr& extent : buffer.extents) {
            texts.push_back(c_string(ir::to_string(pipeline, extent)));
            fixed.push_back(ir::as_int(extent).value_or(0));
        }
        out.line("const int order_{}[] = {{{}}};", i, fmt::join(buffer.order, ", "));
        out.line("const int64_t fixed_extent_{}[] = {{{}}};", i, fmt::join(fixed, ", "));
        out.line("const char* const extent_text_{}[] = {{{}}};", i, fmt::join(texts, ", "));
    }
    out.line("const pipe_buffer_info buffers[] = {{");
    out.indent();
    for (std::size_t i = 0; i < count; ++i) {
        const ir::Buffer& buffer = buffer_at(pipeline, i);
        const ArgumentNames::Buffer& fields = names.fields.buffers[i];
        const std::string args = names.prefix + "_args";
        const std::string tables = buffer.rank() == 0 ? "nullptr, nullptr, nullptr"
                                                      : fmt::format("order_{0}, fixed_extent_{0}, extent_text_{0}", i);
        const std::string offsets = buffer.rank() == 0 ? "0, 0"
                                                       : fmt::format("offsetof({0}, {1}), offsetof({0}, {2})", args,
                                                                     fields.extent, fields.stride);
        out.line("{{{}, {}, {}, {}, {}, offsetof({}, {}), {}}},", c_string(buffer.name), pipe_type_name(buffer.type),
                 buffer.rank(), i < pipeline.inputs.size() ? 0 : 1, tables, args, fields.data, offsets);
    }
    out.outdent();
    out.line("}};");
}

/// Number of rows; none: no table.
std::size_t scalar_table(Writer& out, const std::string& table, const std::vector<std::string>& rows) {
    if (rows.empty()) return 0;
    out.line("[[maybe_unused]] const pipe_scalar_info {}[] = {{", table);  // a version of a pipeline has no interface
    out.indent();
    for (const std::string& row : rows) out.add(row + ",");
    out.outdent();
    out.line("}};");
    return rows.size();
}

}  // namespace

void write_tables(Writer& out, const Unit& unit, const CodeNames& names) {
    const ir::Pipeline& pipeline = *unit.pipeline;
    const std::string args = names.prefix + "_args";
    buffer_table(out, pipeline, names);
    std::vector<std::string> params, sizes;
    for (std::size_t i = 0; i < pipeline.params.size(); ++i) {
        const ir::ScalarParameter& param = pipeline.params[i];
        params.push_back(fmt::format("{{{}, {}, {}, offsetof({}, {})}}", c_string(param.name),
                                     pipe_type_name(param.type), param.default_value ? 1 : 0, args,
                                     names.fields.params[i]));
    }
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
        if (names.fields.sizes[i].empty()) continue;
        sizes.push_back(fmt::format("{{{}, PIPE_INT64, 0, offsetof({}, {})}}", c_string(pipeline.sizes[i].name), args,
                                    names.fields.sizes[i]));
    }
    scalar_table(out, "parameters", params);
    scalar_table(out, "explicit_sizes", sizes);
    out.blank();
}

VersionSpace version_space(const SizeVersion& version, const CodeNames& names, const std::string& space) {
    std::vector<std::string> conditions;
    for (const ir::KnownSize& known : version.known) {
        const std::string& name = names.sizes.at(static_cast<std::size_t>(known.size));
        conditions.push_back(fmt::format("plan.{} == {}", name, known.value));
    }
    for (const ir::KnownSize& most : version.most) {
        const std::string& name = names.sizes.at(static_cast<std::size_t>(most.size));
        conditions.push_back(fmt::format("plan.{} <= {}", name, most.value));
    }
    return {fmt::format("{}", fmt::join(conditions, " && ")), space};
}

std::string version_text(const SizeVersion& version, const ir::Pipeline& of) {
    std::vector<std::string> values;
    for (const ir::KnownSize& known : version.known) {
        values.push_back(fmt::format("{} = {}", of.sizes.at(static_cast<std::size_t>(known.size)).name, known.value));
    }
    for (const ir::KnownSize& most : version.most) {
        const std::string& name = of.sizes.at(static_cast<std::size_t>(most.size)).name;
        values.push_back(fmt::format("{} <= {}", name, most.value));
    }
    return fmt::format("{}", fmt::join(values, ", "));
}

void write_version_workspace_size(Writer& out, const CodeNames& names) {
    out.open(fmt::format("[[maybe_unused]] size_t version_workspace_size(const {}_args* args)", names.prefix));
    out.line("Report report(nullptr, 0);");
    out.line("Plan plan{{}};");
    out.line("return make_plan(*args, report, plan) == PIPE_OK ? plan.workspace : SIZE_MAX;");
    out.close();
    out.blank();
}

void write_api(Writer& out, const Unit& unit, const CodeNames& names, const std::string& space,
               const std::string& target, const VersionSpaces& versions) {
    const ir::Pipeline& pipeline = *unit.pipeline;
    const std::string& name = names.prefix;

    out.open(fmt::format("void {0}_defaults({0}_args* args)", name));
    out.line("if (args == nullptr) return;");
    out.line("*args = {}_args{{}};", name);
    for (std::size_t i = 0; i < pipeline.params.size(); ++i) {
        if (!pipeline.params[i].default_value) continue;
        out.line("args->{} = {};", names.fields.params[i], default_text(pipeline.params[i]));
    }
    out.close();
    out.blank();

    out.open(fmt::format("pipe_status {0}_resolve({0}_args* args)", name));
    out.line("if (args == nullptr) return PIPE_ERROR_NULL;");
    out.line("Report report(nullptr, 0);");
    out.line("{}::Plan plan{{}};", space);
    out.line("if (const pipe_status status = {}::resolve_shapes(*args, report, plan)) return status;", space);
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        const std::size_t rank = buffer_at(pipeline, i).rank();
        if (rank == 0) continue;
        const ArgumentNames::Buffer& fields = names.fields.buffers[i];
        if (i >= pipeline.inputs.size()) {
            out.line("std::copy(plan.{0}.extent, plan.{0}.extent + {1}, args->{2});", names.buffers[i], rank,
                     fields.extent);
        }
        out.line("std::copy(plan.{0}.stride, plan.{0}.stride + {1}, args->{2});", names.buffers[i], rank,
                 fields.stride);
    }
    out.line("return PIPE_OK;");
    out.close();
    out.blank();

    out.open(fmt::format("pipe_status {0}_check(const {0}_args* args, char* message, size_t size)", name));
    out.line("Report report(message, size);");
    out.line("if (args == nullptr) return report.fail(PIPE_ERROR_NULL, -1, -1, \"the arguments are null\");");
    out.line("{}::Plan plan{{}};", space);
    out.line("if (const pipe_status status = {}::make_plan(*args, report, plan)) return status;", space);
    out.line("return {}::check_pointers(*args, report, plan);", space);
    out.close();
    out.blank();

    out.open(fmt::format("size_t {0}_workspace_size(const {0}_args* args)", name));
    out.line("if (args == nullptr) return SIZE_MAX;");
    out.line("Report report(nullptr, 0);");
    out.line("{}::Plan plan{{}};", space);
    if (versions.empty()) {
        out.line("return {}::make_plan(*args, report, plan) == PIPE_OK ? plan.workspace : SIZE_MAX;", space);
    } else {
        out.line("if ({}::make_plan(*args, report, plan) != PIPE_OK) return SIZE_MAX;", space);
        for (const VersionSpace& version : versions) {
            out.line("if ({}) return {}::version_workspace_size(args);", version.condition, version.space);
        }
        out.line("return plan.workspace;");
    }
    out.close();
    out.blank();

    std::size_t explicit_sizes = 0;
    for (const std::string& field : names.fields.sizes) explicit_sizes += field.empty() ? 0 : 1;
    const std::size_t params = pipeline.params.size();
    out.open(fmt::format("const pipe_info* {}_info(void)", name));
    out.line("static const pipe_info info = {{");
    out.indent();
    out.line("1, {}, {}, {}::buffers,", c_string(pipeline.name), names.buffers.size(), space);
    out.line("{}, {},", params, params > 0 ? space + "::parameters" : "nullptr");
    out.line("{}, {},", explicit_sizes, explicit_sizes > 0 ? space + "::explicit_sizes" : "nullptr");
    out.line("sizeof({}_args), \"{}\",", name, target);
    out.line("[](void* args) {{ {0}_defaults(static_cast<{0}_args*>(args)); }},", name);
    out.line("[](void* args) {{ return {0}_resolve(static_cast<{0}_args*>(args)); }},", name);
    out.line(
        "[](const void* args, char* message, size_t size) {{ return {0}_check(static_cast<const {0}_args*>(args), "
        "message, size); }},",
        name);
    out.line("[](const void* args) {{ return {0}_workspace_size(static_cast<const {0}_args*>(args)); }},", name);
    out.line(
        "[](const void* args, void* workspace, size_t bytes, void* stream) {{ return {0}_launch(static_cast<const "
        "{0}_args*>(args), workspace, bytes, static_cast<CUstream_st*>(stream)); }},",
        name);
    out.outdent();
    out.line("}};");
    out.line("return &info;");
    out.close();
    out.blank();
}

std::string launch_signature(const CodeNames& names) {
    return fmt::format(
        "pipe_status {0}_launch(const {0}_args* args, void* workspace, size_t bytes, CUstream_st* stream)",
        names.prefix);
}

std::string version_launch_signature(const CodeNames& names) {
    return fmt::format(
        "pipe_status version_launch(const {}_args* args, void* workspace, size_t bytes, CUstream_st* stream)",
        names.prefix);
}

void write_parameters(Writer& out, const ir::Pipeline& pipeline, const CodeNames& names, Helpers& helpers) {
    for (std::size_t i = 0; i < pipeline.params.size(); ++i) {
        const ir::ScalarParameter& param = pipeline.params[i];
        const std::string field = "args." + names.fields.params[i];
        out.line("[[maybe_unused]] const {} {} = {};", value_type(param.type), names.params[i],
                 param.type == ir::Type::Bool      ? field + " != 0"
                 : param.type == ir::Type::Float16 ? fmt::format("{}({})", helpers.use("half_to_float"), field)
                                                   : field);
    }
}

void write_launch_checks(Writer& out, const std::string& space, int alignment, const std::string& needed,
                         const VersionSpaces& versions) {
    out.line("Report report(nullptr, 0);");
    out.line("if (args == nullptr) return report.fail(PIPE_ERROR_NULL, -1, -1);");
    out.line("{}::Plan plan{{}};", space);
    out.line("if (const pipe_status status = {}::make_plan(*args, report, plan)) return status;", space);
    out.line("if (const pipe_status status = {}::check_pointers(*args, report, plan)) return status;", space);
    for (const VersionSpace& version : versions) {
        out.line("if ({}) return {}::version_launch(args, workspace, bytes, stream);", version.condition,
                 version.space);
    }
    out.line("if (const pipe_status status = check_workspace(report, workspace, bytes, {}, {})) return status;", needed,
             alignment);
}

}  // namespace pipec::codegen
