#include "codegen/emit/cuda/cuda_window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "codegen/emit/c/window_runtime.h"
#include "codegen/emit/cuda/cuda_kernel.h"
#include "codegen/emit/cuda/cuda_launch.h"
#include "codegen/emit/cuda/cuda_runtime.h"
#include "codegen/lower.h"
#include "codegen/wrapper/window_api.h"
#include "codegen/wrapper/wrapper.h"
#include "fusion/schedule.h"
#include "ir/build.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

std::string unused_name(const ir::Pipeline& pipeline, std::string name) {
    const auto taken = [&] {
        return std::any_of(pipeline.stages.begin(), pipeline.stages.end(),
                           [&](const ir::Stage& stage) { return stage.name == name; });
    };
    while (taken()) name += "_";
    return name;
}

/// Outputs that are more than their windows become stages in the workspace, and copies of them.
void keep_outputs(ir::Pipeline& pipeline, poly::Model& model, WindowProgram& window) {
    for (std::size_t o = 0; o < pipeline.outputs.size(); ++o) {
        const int index = pipeline.outputs[o].stage;
        if (!is_kept(*window.analysed.pipeline, index)) continue;
        ir::Stage copy;
        ir::Stage& stage = pipeline.stages[static_cast<std::size_t>(index)];
        copy.name = stage.name;
        copy.type = stage.type;
        copy.range = stage.range;
        copy.output = static_cast<int>(o);
        std::vector<ir::Expr> indices;
        for (const ir::Dimension& dim : stage.dims) {
            const std::string name = pipeline.variables.at(static_cast<std::size_t>(dim.var)).name;
            const ir::VarId var = ir::new_variable(pipeline, name);
            copy.dims.push_back({var, dim.lo, dim.hi, dim.range});
            indices.push_back(ir::variable(var, ir::Type::Int32));
        }
        copy.definition = ir::Pure{ir::read({ir::Source::Kind::Stage, index}, stage.type, indices)};
        stage.output = -1;
        stage.name = unused_name(pipeline, stage.name + ".kept");
        window.kept.emplace(stage.name, index);
        pipeline.outputs[o].stage = static_cast<int>(pipeline.stages.size());
        model.domains.push_back(model.domains.at(static_cast<std::size_t>(index)));
        pipeline.stages.push_back(std::move(copy));
    }
}

/// Domains end at sizes of their own.
void cut_domains(ir::Pipeline& pipeline, poly::Model& model, WindowProgram& window) {
    const std::size_t analysed = window.analysed.pipeline->stages.size();
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        const ir::Stage& stage = pipeline.stages[i];
        if (std::holds_alternative<ir::Accumulate>(stage.definition)) continue;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            poly::Interval& interval = model.domains.at(i).box[d];
            if (ir::as_int(interval.lo) && ir::as_int(interval.hi)) continue;
            const auto cut = [&](bool last) {
                const std::string& dim = pipeline.variables.at(static_cast<std::size_t>(stage.dims[d].var)).name;
                const int size = static_cast<int>(pipeline.sizes.size());
                pipeline.sizes.push_back({fmt::format("{}_{}_{}", stage.name, dim, last ? "end" : "begin"), {}});
                WindowProgram::End end{size};
                end.dim = d;
                end.last = last;
                (i < analysed ? end.stage : end.output) = i < analysed ? static_cast<int>(i) : stage.output;
                window.ends.push_back(end);
                (last ? interval.hi : interval.lo) = ir::size_ref(size);
            };
            // A scan's points wait for those before them, and those of a slice for all of the slices before.
            if (stage.scan && stage.scan->is_across(d)) continue;
            const bool scanned = stage.scan && static_cast<std::size_t>(stage.scan->dim) == d;
            if (!scanned || stage.scan->step < 0) cut(false);
            if (!scanned || stage.scan->step > 0) cut(true);
        }
    }
}

/// Stage after stage. What an accumulate reads stays a stage: its code may read images beyond what it needs of them, as
/// far as they are known to exist.
fusion::Schedule window_schedule(const ir::Pipeline& pipeline, const poly::Model& model) {
    std::set<std::string> read;
    for (const ir::Stage& stage : pipeline.stages) {
        if (!std::holds_alternative<ir::Accumulate>(stage.definition)) continue;
        for (const int source : stages_read(stage)) read.insert(pipeline.stages[static_cast<std::size_t>(source)].name);
    }
    fusion::Schedule schedule = fusion::stage_schedule(pipeline, model);
    std::erase_if(schedule.inlined, [&](const std::string& name) { return read.count(name) > 0; });
    return schedule;
}

/// The part of a stage of the program, as an expression.
std::string part_of(const WindowProgram& window, const WindowUnit& parts, const ir::Stage& stage) {
    const std::vector<ir::Stage>& analysed = window.analysed.pipeline->stages;
    const auto part = [&](std::size_t i) { return "plan.parts." + parts.stages[i]; };
    if (const auto kept = window.kept.find(stage.name); kept != window.kept.end()) {
        return part(static_cast<std::size_t>(kept->second));
    }
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < analysed.size(); ++i) {
        const std::string& name = analysed[i].name;
        if (stage.name == name) return part(i);
        // An accumulate of a narrow type has one of a wider type before it.
        const bool wider = stage.name.starts_with(name + ".wide") || stage.name.starts_with(name + ".kept.wide");
        if (wider && (!found || name.size() > analysed[*found].name.size())) found = i;
    }
    if (!found) throw std::logic_error(fmt::format("`{}` is part of no stage", stage.name));
    return part(*found);
}

/// When a step has something to do: grids of constant extents are never empty.
std::string condition_of(const WindowProgram& window, const WindowUnit& parts, const CodeNames& names,
                         const kernel::Step& step) {
    const ir::Pipeline& pipeline = window.program.pipeline;
    for (const ir::Source source : parameters_of(window.program, step.variants.back()).writes) {
        if (source.kind != ir::Source::Kind::Stage) continue;
        const ir::Stage& stage = pipeline.stages[static_cast<std::size_t>(source.index)];
        if (stage.output < 0) return part_of(window, parts, stage) + ".needed";
        return fmt::format("plan.{}.array.points > 0",
                           names.buffers[pipeline.inputs.size() + static_cast<std::size_t>(stage.output)]);
    }
    throw std::logic_error("a step that writes no stage");
}

void write_window_plan(Writer& out, const WindowProgram& window, const WindowUnit& parts, const CodeNames& names,
                       const CodeNames& whole, const Regions& regions, const std::string& space) {
    const ir::Pipeline& pipeline = window.program.pipeline;
    std::vector<std::string> spaces;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        if (regions.of_stage[i] >= 0) spaces.push_back(names.stages[i]);
    }
    out.add("// Everything about a launch of windows that its arguments decide.");
    out.open("struct Plan");
    if (!names.sizes.empty()) out.line("int32_t {};", fmt::join(names.sizes, ", "));
    out.line("Parts parts;");
    if (!names.buffers.empty()) out.line("Held {};", fmt::join(names.buffers, ", "));
    if (!spaces.empty()) out.line("Space {};", fmt::join(spaces, ", "));
    if (regions.count > 0) out.line("size_t regions[{}];", regions.count);
    out.line("size_t workspace;");
    out.close(";");
    out.blank();

    out.open(
        fmt::format("[[maybe_unused]] pipe_status plan_window(const {0}_args& args, const {0}_window& window, "
                    "Report& report, Plan& plan)",
                    names.prefix));
    out.line("{}::Plan whole{{}};", space);
    out.line("Parts& parts = plan.parts;");
    check_status(out, "make_parts(args, window, report, whole, parts)");
    for (std::size_t i = 0; i < whole.sizes.size(); ++i) {
        out.line("plan.{} = whole.{};", names.sizes[i], whole.sizes[i]);
    }
    write_holds(out, pipeline, names, names.buffers);
    for (const WindowProgram::End& end : window.ends) {
        const std::string& size = names.sizes[static_cast<std::size_t>(end.size)];
        const char* const function = end.last ? "end_of" : "begin_of";
        if (end.stage >= 0) {
            out.line("plan.{} = {}(parts.{}, {});", size, function, parts.stages[static_cast<std::size_t>(end.stage)],
                     end.dim);
        } else {
            out.line("plan.{} = {}(plan.{}, {});", size, function,
                     names.buffers[pipeline.inputs.size() + static_cast<std::size_t>(end.output)], end.dim);
        }
    }
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        if (regions.of_stage[i] < 0) continue;
        const std::string part = part_of(window, parts, pipeline.stages[i]);
        place_part(out, pipeline.stages[i], part.substr(std::string("plan.parts.").size()), "plan." + names.stages[i],
                   fmt::format("plan.regions[{}]", regions.of_stage[i]));
    }
    if (regions.count > 0)
        out.line("return stack_regions(report, plan.regions, {}, plan.workspace);", regions.count);
    else
        out.line("return PIPE_OK;");
    out.close();
    out.blank();
}

}  // namespace

WindowProgram window_program(const Unit& analysed, const SourceManager& sources, const CudaOptions& options) {
    WindowProgram window{analysed, {*analysed.pipeline, *analysed.model, options.target}, {}, {}};
    ir::Pipeline pipeline = *analysed.pipeline;
    poly::Model model = *analysed.model;
    keep_outputs(pipeline, model, window);
    CudaOptions own = options;
    own.made = nullptr;
    own.schedules = {{pipeline.name, window_schedule(pipeline, model)}};  // as domains of whole images are
    cut_domains(pipeline, model, window);
    window.program = lower({&pipeline, &model}, sources, own);
    return window;
}

CodeNames write_window_code(Writer& out, const WindowProgram& window, const WindowUnit& parts, const CodeNames& whole,
                            const std::string& space, Helpers& helpers) {
    const kernel::Program& program = window.program;
    std::vector<std::string_view> reserved = device_names();
    reserved.insert(reserved.end(), window_runtime_names().begin(), window_runtime_names().end());
    CodeNames names = code_names({&program.pipeline, &program.model}, whole.prefix, reserved);
    names.fields = whole.fields;
    const std::vector<StepNames> functions = step_names(program, names);
    const Regions regions = assign_regions(program);
    out.line("namespace {}_window_code {{", whole.prefix);
    out.blank();
    out.line("using namespace {};", space);
    out.blank();
    write_window_plan(out, window, parts, names, whole, regions, space);
    write_window_pointers(out, program.pipeline, names, names.buffers, "Plan");
    write_view_types(out, program, names, regions);
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
        write_step(out, program, program.steps[i], names, functions[i], helpers);
    }
    write_run(out, program, names, functions, regions, helpers,
              [&](std::size_t step) { return condition_of(window, parts, names, program.steps[step]); });
    out.line("}}  // namespace {}_window_code", whole.prefix);
    out.blank();
    return names;
}

void write_window_launch(Writer& out, const WindowProgram& window, const CodeNames& names, const std::string& space) {
    open_window_launch(out, names, space, "Plan");
    write_device_run(out, window.program, names, assign_regions(window.program), space);
    out.close();
    out.blank();
}

}  // namespace pipec::codegen
