// Names for one pipeline's code, each once.
#include "codegen/emit/c/code_names.h"

#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/runtime.h"

namespace pipec::codegen {

CodeNames code_names(const Unit& unit, const std::string& prefix, const std::vector<std::string_view>& reserved) {
    const ir::Pipeline& pipeline = *unit.pipeline;
    CodeNames names;
    names.prefix = prefix;
    names.fields = argument_names(unit);
    for (const std::string_view name : helper_names()) names.taken.reserve(name);
    for (const std::string_view name : runtime_names()) names.taken.reserve(name);
    for (const std::string_view name : reserved) names.taken.reserve(name);

    // Those that the person chose come first and so stay as they are.
    for (std::size_t i = 0; i < buffer_count(pipeline); ++i) {
        names.buffers.push_back(names.taken.add(buffer_at(pipeline, i).name));
    }
    for (const ir::SizeParameter& size : pipeline.sizes) names.sizes.push_back(names.taken.add(size.name));
    for (const ir::ScalarParameter& param : pipeline.params) names.params.push_back(names.taken.add(param.name));
    for (const ir::Stage& stage : pipeline.stages) {
        const std::size_t buffer = pipeline.inputs.size() + static_cast<std::size_t>(stage.output);
        names.stages.push_back(stage.output >= 0 ? names.buffers[buffer] : names.taken.add(stage.name));
    }
    for (const std::string& buffer : names.buffers) names.views.push_back(names.taken.add(buffer + "_view"));
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        const int output = pipeline.stages[i].output;
        const std::size_t buffer = pipeline.inputs.size() + static_cast<std::size_t>(output);
        names.stage_views.push_back(output >= 0 ? names.views[buffer] : names.taken.add(names.stages[i] + "_view"));
        names.functions.push_back(names.taken.add("compute_" + names.stages[i]));
    }
    return names;
}

std::string size_origin(const Unit& unit, const poly::SizeSolution& solution) {
    if (solution.from == poly::SizeSolution::From::Explicit) return "the arguments";
    return "`" + buffer_at(*unit.pipeline, buffer_number(*unit.pipeline, solution)).name + "`";
}

const ir::Buffer& buffer_at(const ir::Pipeline& pipeline, std::size_t number) {
    if (number < pipeline.inputs.size()) return pipeline.inputs[number];
    return pipeline.outputs.at(number - pipeline.inputs.size()).buffer;
}

std::size_t buffer_count(const ir::Pipeline& pipeline) {
    return pipeline.inputs.size() + pipeline.outputs.size();
}

std::size_t buffer_number(const ir::Pipeline& pipeline, const poly::SizeSolution& solution) {
    const auto buffer = static_cast<std::size_t>(solution.buffer);
    return solution.from == poly::SizeSolution::From::Output ? pipeline.inputs.size() + buffer : buffer;
}

}  // namespace pipec::codegen
