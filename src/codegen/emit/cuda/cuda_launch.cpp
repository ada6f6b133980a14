// Launching: all over sizes in 64 bits, and nothing but a choice and a call for each step.
#include "codegen/emit/cuda/cuda_launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "codegen/emit/c/c_expr.h"
#include "codegen/emit/c/c_types.h"
#include "codegen/emit/cuda/launch_values.h"
#include "codegen/expr/strides.h"
#include "codegen/kernel/kernel_equal.h"
#include "codegen/kernel/shared_memory.h"
#include "codegen/wrapper/wrapper.h"

namespace pipec::codegen {

namespace {

using ir::Source;
using kernel::Layout;

/// The workspace of a device is aligned to this: what cudaMalloc gives.
constexpr int kWorkspaceAlignment = 256;

/// The variant for grids of any size.
const kernel::Kernel* find_variant(const kernel::Step& step, Layout layout) {
    const auto found = std::find_if(step.variants.begin(), step.variants.end(), [&](const kernel::Kernel& kernel) {
        return kernel.layout == layout && kernel.least_grid == 0;
    });
    return found == step.variants.end() ? nullptr : &*found;
}

Density density_of(const kernel::Step& step, const kernel::Kernel& kernel) {
    if (kernel.layout == Layout::General) return Density::General;
    const bool stands_for_both = kernel.layout == Layout::Dense && find_variant(step, Layout::General) == nullptr;
    return stands_for_both ? Density::Template : Density::Dense;
}

/// What the variants of a step use together.
struct StepInterface {
    std::set<Source> arrays;
    std::set<int> params;
    std::set<int> wide_sizes;  ///< those that grids and arguments are computed from
};

StepInterface interface_of(const kernel::Program& program, const kernel::Step& step) {
    StepInterface result;
    Uses uses;
    for (const kernel::Kernel& kernel : step.variants) {
        const KernelParameters parameters = parameters_of(program, kernel);
        result.arrays.insert(parameters.reads.begin(), parameters.reads.end());
        result.arrays.insert(parameters.writes.begin(), parameters.writes.end());
        result.params.insert(parameters.params.begin(), parameters.params.end());
        for (const ir::Expr& extent : kernel.grid) {
            if (extent) uses.add(extent);
        }
        if (kernel.repetitions) uses.add(kernel.repetitions);
        if (kernel.extent) uses.add(kernel.extent);
        for (const kernel::Argument& argument : parameters.arguments) uses.add(argument.value);
    }
    result.wide_sizes = uses.sizes();
    return result;
}

/// "dim3(32, 8)".
std::string block_text(const std::array<int, 3>& block) {
    std::size_t rank = 3;
    while (rank > 1 && block[rank - 1] == 1) --rank;
    return fmt::format("dim3({})", fmt::join(block.begin(), block.begin() + rank, ", "));
}

/// Launches one variant, which is called `function`, and returns what came of it.
void launch_variant(Writer& out, const kernel::Program& program, const kernel::Kernel& kernel, const CodeNames& names,
                    const std::string& function, Helpers& helpers) {
    const KernelParameters parameters = parameters_of(program, kernel);
    LaunchValues values(names, helpers);
    for (const ir::Expr& extent : kernel.grid) {
        if (extent) values.add(extent, "blocks");
    }
    if (kernel.repetitions) values.add(kernel.repetitions, "launches");
    if (kernel.extent) values.add(kernel.extent, "extent");
    for (const kernel::Argument& argument : parameters.arguments) {
        values.add(argument.value, program.pipeline.variables.at(static_cast<std::size_t>(argument.var)).name);
    }
    values.write(out);
    std::vector<std::string> grid, arguments;
    for (const ir::Expr& extent : kernel.grid) grid.push_back(extent ? values.text(extent) : "1");
    arguments = {"stream", function, "launch_grid", block_text(kernel.block)};
    for (const Source source : parameters.reads) {
        const std::string& name = source_name(names, source);
        arguments.push_back(source.kind == Source::Kind::Input ? name : fmt::format("read_only({})", name));
    }
    for (const Source source : parameters.writes) arguments.push_back(source_name(names, source));
    for (const int size : parameters.sizes) {
        arguments.push_back("plan." + names.sizes[static_cast<std::size_t>(size)]);
    }
    for (const int param : parameters.params) arguments.push_back(names.params[static_cast<std::size_t>(param)]);
    for (const kernel::Argument& argument : parameters.arguments) {
        const bool any = argument.least <= -kernel::kVariableLimit + 1;
        if (argument.repetition) {
            arguments.push_back("Argument{launched}");
            continue;
        }
        if (argument.divides) {
            arguments.push_back(fmt::format("Divides{{{}}}", values.text(argument.value)));
            continue;
        }
        arguments.push_back(fmt::format("Argument{{{}{}}}", values.text(argument.value),
                                        any ? "" : fmt::format(", {}", argument.least)));
    }
    out.line("const int64_t launch_grid[] = {{{}}};", fmt::join(grid, ", "));
    const std::int64_t dynamic = dynamic_bytes(kernel);
    if (kernel.least_grid > 0) {
        const std::string long_enough =
            kernel.extent ? fmt::format(" && {} >= {}", values.text(kernel.extent), kernel.least_extent) : "";
        out.line("if (launch_grid[0] >= {}{})", kernel.least_grid, long_enough);
        out.indent();
    }
    const std::string launch =
        fmt::format("launch{}({})", dynamic > 0 ? fmt::format("<{}>", dynamic) : "", fmt::join(arguments, ", "));
    if (kernel.repetitions) {
        out.open(fmt::format("for (int64_t launched = 0; launched < {}; ++launched)", values.text(kernel.repetitions)));
        out.line("if (const pipe_status status = {}) return status;", launch);
        out.close();
        out.line("return PIPE_OK;");
    } else {
        out.line("return {};", launch);
    }
    if (kernel.least_grid > 0) out.outdent();
}

std::vector<std::string> alignment_conditions(const kernel::Program& program, const kernel::Kernel& kernel,
                                              const CodeNames& names) {
    std::vector<std::string> conditions;
    for (const auto& [source, bytes] : parameters_of(program, kernel).widest) {
        if (source.kind == Source::Kind::Local) continue;
        conditions.push_back(fmt::format("{}.aligned({})", source_name(names, source), bytes));
    }
    return conditions;
}

/// A variant that is launched where all conditions hold.
struct Choice {
    const kernel::Kernel* kernel;
    std::string function;
    std::vector<std::string> conditions;
};

/// Launches the first of the choices whose conditions hold. Where all launches are the same, only the function is
/// chosen.
void launch_choices(Writer& out, const kernel::Program& program, const std::vector<Choice>& choices,
                    const CodeNames& names, Helpers& helpers) {
    const std::string chosen = "chosen_kernel";
    const auto launch = [&](const Choice& choice, const std::string& function) {
        Writer code;
        launch_variant(code, program, *choice.kernel, names, function, helpers);
        return code;
    };
    const auto condition = [](const Choice& choice) { return fmt::format("{}", fmt::join(choice.conditions, " && ")); };
    std::vector<Writer> launches;
    for (const Choice& choice : choices)
        launches.push_back(launch(choice, choices.size() > 1 ? chosen : choice.function));
    int chosen_before = 0;
    for (std::size_t i = 0; i < choices.size();) {
        std::size_t end = i + 1;
        while (end < choices.size() && launches[end].str() == launches[i].str()) ++end;
        if (end - i == 1) {
            out.open(choices[i].conditions.empty() ? "" : fmt::format("if ({})", condition(choices[i])));
            out.append(choices.size() > 1 ? launch(choices[i], choices[i].function) : launches[i]);
        } else {
            // Each choice has a name of its own: several may stand behind each other.
            const std::string function = chosen_before == 0 ? chosen : fmt::format("{}_{}", chosen, chosen_before + 1);
            ++chosen_before;
            out.line("const auto {} =", function);
            out.indent();
            for (std::size_t c = i; c < end; ++c) {
                const std::string test = choices[c].conditions.empty() ? "true" : condition(choices[c]);
                out.line("{} ? {} :{}", test, choices[c].function, c + 1 < end ? "" : " nullptr;");
            }
            out.outdent();
            out.open(fmt::format("if ({} != nullptr)", function));
            out.append(launch(choices[i], function));
        }
        out.close();
        i = end;
    }
}

/// Calls the form of run that the arrays allow.
void call_run(Writer& out, const kernel::Program& program, const CodeNames& names, const Regions& regions,
              const std::string& space) {
    const ir::Pipeline& pipeline = program.pipeline;
    std::vector<std::string> dense;
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        dense.push_back(fmt::format("is_dense<{0}::{1}<true>>(plan.{2})", space, names.views[i], names.buffers[i]));
    }
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        if (regions.of_stage[i] < 0) continue;
        dense.push_back(fmt::format("is_dense(plan.{}, {})", names.stages[i], pipeline.stages[i].dims.size()));
    }
    out.line("const bool dense = {};", fmt::join(dense, " && "));
    out.line("const unsigned char* const region = static_cast<const unsigned char*>(workspace);");
    out.line(
        "return dense ? {0}::run<true>(*args, plan, region, stream) : {0}::run<false>(*args, plan, region, stream);",
        space);
}

}  // namespace

std::vector<StepNames> step_names(const kernel::Program& program, CodeNames& names) {
    struct Written {
        const kernel::Kernel* kernel;
        Density density;
        std::string name;
        int store_bytes = 0;  ///< KernelFunction::store_bytes
    };
    std::unordered_map<std::size_t, std::vector<Written>> by_shape;
    std::vector<StepNames> result;
    for (const kernel::Step& step : program.steps) {
        StepNames step_names;
        const kernel::Kernel* before = nullptr;  // the variant before this one
        for (const kernel::Kernel& kernel : step.variants) {
            const kernel::Kernel* const wider = std::exchange(before, &kernel);
            const Density density = density_of(step, kernel);
            std::vector<Written>& written = by_shape[shape_of(kernel)];
            const auto equal = std::find_if(written.begin(), written.end(), [&](const Written& w) {
                return w.density == density && same_code(program, *w.kernel, kernel);
            });
            if (equal != written.end()) {
                step_names.kernels.push_back({equal->name, false, {}, equal->store_bytes});
                continue;
            }
            if (wider != nullptr && step_names.kernels.back().is_new && density == density_of(step, *wider) &&
                same_but_stores(program, *wider, kernel)) {
                KernelFunction& both = step_names.kernels.back();
                both.store_bytes = store_bytes(program, *wider);
                both.parts = {both.store_bytes, kernel.least_blocks};
                by_shape[shape_of(*wider)].back().store_bytes = both.store_bytes;
                written.push_back({&kernel, density, both.name, store_bytes(program, kernel)});
                step_names.kernels.push_back({both.name, false, {}, written.back().store_bytes});
                continue;
            }
            const bool taken = names.taken.has(identifier(kernel.name));
            const std::string name = names.taken.add(taken ? kernel.name + "_kernel" : kernel.name);
            step_names.kernels.push_back({name, true});
            written.push_back({&kernel, density, name});
        }
        const auto dense = std::ranges::find(step.variants, Layout::Dense, &kernel::Kernel::layout);
        step_names.launcher =
            names.taken.add("launch_" + (dense == step.variants.end() ? step.variants.back() : *dense).name);
        result.push_back(std::move(step_names));
    }
    return result;
}

void write_view_types(Writer& out, const kernel::Program& program, const CodeNames& names, const Regions& regions) {
    const ir::Pipeline& pipeline = program.pipeline;
    const auto alias = [&](const std::string& name, const std::string& element, bool is_buffer,
                           const std::vector<std::int64_t>& strides) {
        std::string arguments = fmt::format("{}, Offset<dense>", element);
        for (const std::int64_t stride : strides) {
            arguments += stride == 0 ? ", 0" : fmt::format(", {}{}", is_buffer ? "dense ? " : "", stride);
            if (stride != 0 && is_buffer) arguments += " : 0";
        }
        out.line("template <bool dense>");
        out.line("using {} = View<{}>;", name, arguments);
    };
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        const ir::Buffer& buffer = buffer_at(pipeline, i);
        const std::string_view constness = i < pipeline.inputs.size() ? "const " : "";
        alias(names.views[i], fmt::format("{}{}", constness, storage_type(buffer.type)), true, known_strides(buffer));
    }
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        if (regions.of_stage[i] < 0) continue;
        alias(names.stage_views[i], std::string(storage_type(pipeline.stages[i].type)), false,
              known_strides(pipeline, program.model, {Source::Kind::Stage, static_cast<int>(i)}));
    }
    out.blank();
}

void write_step(Writer& out, const kernel::Program& program, const kernel::Step& step, const CodeNames& names,
                const StepNames& functions, Helpers& helpers) {
    for (std::size_t i = 0; i < step.variants.size(); ++i) {
        const KernelFunction& function = functions.kernels[i];
        const kernel::Kernel& kernel = step.variants[i];
        if (!function.is_new) continue;
        write_kernel(out, program, kernel, names, function.name, density_of(step, kernel), function.parts, helpers);
    }
    const auto function = [&](const kernel::Kernel& kernel) {
        const auto i = static_cast<std::size_t>(&kernel - step.variants.data());
        const KernelFunction& found = functions.kernels[i];
        const bool is_template = density_of(step, kernel) == Density::Template;
        return found.name + (is_template             ? "<dense>"
                             : found.store_bytes > 0 ? fmt::format("<{}>", found.store_bytes)
                                                     : "");
    };
    const auto launch_layout = [&](Layout layout) {
        for (const kernel::Kernel& kernel : step.variants) {
            if (kernel.layout != layout || kernel.least_grid == 0) continue;
            out.open("");
            launch_variant(out, program, kernel, names, function(kernel), helpers);
            out.close();
        }
        const kernel::Kernel* kernel = find_variant(step, layout);
        if (kernel == nullptr) throw std::logic_error("a step without a kernel for every layout of arrays");
        launch_variant(out, program, *kernel, names, function(*kernel), helpers);
    };

    const StepInterface interface = interface_of(program, step);
    std::vector<std::string> parameters{"[[maybe_unused]] const Plan& plan", "CUstream_st* stream"};
    for (const Source source : interface.arrays) {
        parameters.push_back(
            fmt::format("const {}& {}", view_type(names, source, Density::Template), source_name(names, source)));
    }
    for (const int param : interface.params) {
        const auto i = static_cast<std::size_t>(param);
        parameters.push_back(fmt::format("{} {}", value_type(program.pipeline.params[i].type), names.params[i]));
    }
    const auto& kernels = functions.kernels;
    if (std::none_of(kernels.begin(), kernels.end(), [](const KernelFunction& f) { return f.is_new; })) {
        for (const std::string& line : step.variants.front().comments) out.line("// {}", line);
        out.line("// The code is that of {}.", kernels.back().name);
    }
    out.add("template <bool dense>");
    out.open(fmt::format("pipe_status {}({})", functions.launcher, fmt::join(parameters, ", ")));
    for (const int size : interface.wide_sizes) {
        out.line("[[maybe_unused]] const int64_t {0} = plan.{0};", names.sizes[static_cast<std::size_t>(size)]);
    }
    const bool has_wide =
        std::ranges::any_of(step.variants, [](const kernel::Kernel& kernel) { return kernel.layout == Layout::Wide; });
    const bool twins = find_variant(step, Layout::General) != nullptr;
    if (has_wide || twins) {
        out.open("if constexpr (dense)");
        std::vector<Choice> choices;
        for (const kernel::Kernel& kernel : step.variants) {
            if (kernel.layout != Layout::Wide) continue;
            choices.push_back({&kernel, function(kernel), alignment_conditions(program, kernel, names)});
        }
        launch_choices(out, program, choices, names, helpers);
        if (twins) {
            launch_layout(Layout::Dense);
            out.outdent();
            out.open("} else");
        } else {
            out.close();
        }
    }
    launch_layout(twins ? Layout::General : Layout::Dense);
    if (twins) out.close();
    out.close();
    out.blank();
}

void write_run(Writer& out, const kernel::Program& program, const CodeNames& names,
               const std::vector<StepNames>& functions, const Regions& regions, Helpers& helpers,
               const std::function<std::string(std::size_t step)>& condition) {
    const ir::Pipeline& pipeline = program.pipeline;
    out.add("// Launches one kernel after the other. `dense`: arrays are as the views and 32-bit offsets need them.");
    out.add("template <bool dense>");
    out.open(
        fmt::format("pipe_status run(const {}_args& args, const Plan& plan, [[maybe_unused]] const unsigned char* "
                    "workspace, CUstream_st* stream)",
                    names.prefix));
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        out.line("[[maybe_unused]] const auto {0} = view_of<{1}<dense>>(args.{2}, plan.{0});", names.buffers[i],
                 names.views[i], names.fields.buffers[i].data);
    }
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        if (regions.of_stage[i] < 0) continue;
        out.line("[[maybe_unused]] const auto {0} = view_of<{1}<dense>>(workspace + plan.regions[{2}], plan.{0});",
                 names.stages[i], names.stage_views[i], regions.of_stage[i]);
    }
    write_parameters(out, pipeline, names, helpers);
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
        const StepInterface interface = interface_of(program, program.steps[i]);
        std::vector<std::string> arguments{"plan", "stream"};
        for (const Source source : interface.arrays) arguments.push_back(source_name(names, source));
        for (const int param : interface.params) arguments.push_back(names.params[static_cast<std::size_t>(param)]);
        const std::string when = condition ? condition(i) : "";
        if (!when.empty()) out.open(fmt::format("if ({})", when));
        out.line("if (const pipe_status status = {}<dense>({})) return status;", functions[i].launcher,
                 fmt::join(arguments, ", "));
        if (!when.empty()) out.close();
    }
    out.line("return PIPE_OK;");
    out.close();
    out.blank();
}

void write_launch(Writer& out, const kernel::Program& program, const CodeNames& names, const Regions& regions,
                  const std::string& space, const std::string& signature, const VersionSpaces& versions) {
    out.open(signature);
    write_launch_checks(out, space, kWorkspaceAlignment, "plan.workspace", versions);
    call_run(out, program, names, regions, space);
    out.close();
    out.blank();
}

void write_device_run(Writer& out, const kernel::Program& program, const CodeNames& names, const Regions& regions,
                      const std::string& space) {
    out.line(
        "if (const pipe_status status = check_workspace(report, workspace, bytes, plan.workspace, {})) return status;",
        kWorkspaceAlignment);
    call_run(out, program, names, regions, space);
}

}  // namespace pipec::codegen
