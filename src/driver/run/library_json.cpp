// The interface of pipelines as JSON: what the tables in generated code hold, and what only people need.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "driver/run/library.h"
#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/print.h"
#include "ir/type.h"

namespace pipec::driver {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson buffer(const ir::Pipeline& pipeline, const ir::Buffer& buffer) {
    OrderedJson extents = OrderedJson::array(), fixed = OrderedJson::array(), defaults;
    for (const ir::Expr& extent : buffer.extents) {
        const auto* size = ir::as<ir::SizeRef>(extent);
        const ir::Expr preset =
            size != nullptr ? pipeline.sizes.at(static_cast<std::size_t>(size->index)).default_value : nullptr;
        if (preset) defaults[ir::to_string(pipeline, extent)] = ir::to_string(pipeline, preset);
        extents.push_back(ir::to_string(pipeline, extent));
        fixed.push_back(ir::as_int(extent).value_or(0));
    }
    OrderedJson row = {{"name", buffer.name},
                       {"type", ir::name(buffer.type)},
                       {"extents", extents},
                       {"fixed", fixed},
                       {"order", buffer.order}};
    if (defaults.is_object()) row["defaults"] = defaults;
    return row;
}

/// A number or a bool; infinities and NaN, which JSON does not have, as text.
OrderedJson value_of(const ir::ScalarParameter& param) {
    if (const auto* c = ir::as<ir::IntConstant>(param.default_value)) {
        return param.type == ir::Type::Bool ? OrderedJson(c->value != 0) : OrderedJson(c->value);
    }
    const double value = ir::as<ir::FloatConstant>(param.default_value)->value;
    if (!std::isfinite(value)) return fmt::format("{}", value);
    // As short as it was written: 0.04 and not the float32 next to it.
    return param.type == ir::Type::Float32 ? std::stod(fmt::format("{}", static_cast<float>(value))) : value;
}

/// `definition` is the pipeline as it was written, `model` that of the one that is compiled.
OrderedJson interface_of(const ir::Pipeline& definition, const poly::Model& model) {
    OrderedJson inputs = OrderedJson::array(), outputs = OrderedJson::array(), parameters = OrderedJson::array(),
                sizes = OrderedJson::array(), where = OrderedJson::array();
    for (const ir::Buffer& input : definition.inputs) inputs.push_back(buffer(definition, input));
    for (const ir::Output& output : definition.outputs) outputs.push_back(buffer(definition, output.buffer));
    for (const ir::ScalarParameter& param : definition.params) {
        OrderedJson row = {{"name", param.name}, {"type", ir::name(param.type)}};
        if (param.default_value) row["default"] = value_of(param);
        parameters.push_back(row);
    }
    for (const poly::SizeSolution& solution : model.sizes) {
        const auto size = static_cast<std::size_t>(solution.size);
        if (solution.from != poly::SizeSolution::From::Explicit || ir::parameter_of(definition, size)) continue;
        sizes.push_back(definition.sizes.at(size).name);
    }
    for (const ir::Expr& condition : definition.where) where.push_back(ir::to_string(definition, condition));
    return {{"name", definition.name},  {"doc", definition.doc}, {"inputs", inputs}, {"outputs", outputs},
            {"parameters", parameters}, {"sizes", sizes},        {"where", where}};
}

/// What a phase is of, and by output the loops that are computed in parts.
OrderedJson phase_row(const compiler::PhaseOf& phase, const ir::Pipeline& pipeline) {
    OrderedJson parts = OrderedJson::object();
    for (const fusion::PartOutput& part : phase.parts) {
        OrderedJson loops = OrderedJson::array();
        for (const fusion::PartLoop& loop : part.loops) {
            loops.push_back({{"from", loop.from}, {"to", loop.to}, {"input", loop.input}, {"dim", loop.dim}});
        }
        parts[pipeline.outputs.at(static_cast<std::size_t>(part.output)).buffer.name] = loops;
    }
    return {{"of", phase.pipeline}, {"number", phase.number}, {"parts", parts}};
}

}  // namespace

std::string library_json(const LoadedProgram& program, const std::optional<WrittenObject>& object) {
    OrderedJson document = {{"version", 1}, {"pipelines", OrderedJson::array()}};
    for (std::size_t i = 0; i < program.checked.pipelines.size(); ++i) {
        OrderedJson row = interface_of(program.checked.definitions.at(i), program.checked.models.at(i));
        if (const compiler::PhaseOf* phase = program.checked.phase(i)) {
            row["phase"] = phase_row(*phase, program.checked.pipelines[i]);
        }
        document["pipelines"].push_back(std::move(row));
    }
    if (object) {
        OrderedJson row = {{"file", object->file},
                           {"pipeline", object->pipeline},
                           {"key", object->made.object.key},
                           {"target", object->made.gpu ? "cuda" : "host"}};
        if (const auto& gpu = object->made.gpu) {
            row["gpu"] = {{"number", gpu->number}, {"architecture", gpu->architecture}, {"name", gpu->name}};
        }
        document["object"] = row;
    }
    return document.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace pipec::driver
