// The host source: fixed part, helpers, and for each pipeline its plan, its stages, and the public functions.
#include "codegen/emit/host/host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/emit/c/c_types.h"
#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/runtime.h"
#include "codegen/emit/c/window_runtime.h"
#include "codegen/emit/host/host_group.h"
#include "codegen/emit/host/host_nest.h"
#include "codegen/emit/host/host_runtime.h"
#include "codegen/emit/host/host_stage.h"
#include "codegen/emit/host/host_versions.h"
#include "codegen/emit/host/host_window.h"
#include "codegen/expr/strides.h"
#include "codegen/windows.h"
#include "codegen/wrapper/window_api.h"
#include "codegen/wrapper/wrapper.h"

namespace pipec::codegen {

namespace {

std::string template_arguments(std::string_view type, const std::vector<std::string>& strides) {
    return strides.empty() ? std::string(type) : fmt::format("{}, {}", type, fmt::join(strides, ", "));
}

/// One alias for each array; those of the caller's buffers have a form for dense memory and one for any strides.
void view_types(Writer& out, const Unit& unit, const CodeNames& names, const HostProgram& program) {
    const ir::Pipeline& pipeline = *unit.pipeline;
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        const ir::Buffer& buffer = buffer_at(pipeline, i);
        std::vector<std::string> strides;
        for (const std::int64_t stride : known_strides(buffer)) {
            strides.push_back(stride == 0 ? "0" : fmt::format("dense ? {} : 0", stride));
        }
        const std::string type =
            fmt::format("{}{}", i < pipeline.inputs.size() ? "const " : "", storage_type(buffer.type));
        out.line("template <bool dense>");
        out.line("using {} = View<{}>;", names.views[i], template_arguments(type, strides));
    }
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        const ir::Stage& stage = pipeline.stages[i];
        if (stage.output >= 0) continue;
        std::vector<std::string> strides;
        if (const auto* member = scratch_of(program, i)) {
            for (const std::int64_t stride : member->strides) strides.push_back(fmt::format("{}", stride));
            out.line("using {} = View<{}>;", names.stage_views[i],
                     template_arguments(storage_type(stage.type), strides));
            continue;
        }
        for (const std::int64_t stride :
             known_strides(pipeline, *unit.model, {ir::Source::Kind::Stage, static_cast<int>(i)})) {
            strides.push_back(fmt::format("{}", stride));
        }
        out.line("using {} = View<{}>;", names.stage_views[i], template_arguments(storage_type(stage.type), strides));
    }
    out.blank();
}

/// Computes a stage over its domain, whose pieces are shared among threads.
void compute_stage(Writer& out, const Unit& unit, const CodeNames& names, std::size_t index, const HostRun& run) {
    const ir::Stage& stage = unit.pipeline->stages[index];
    const bool accumulates = std::holds_alternative<ir::Accumulate>(stage.definition);
    // Without points nothing is read, so that there may be nothing.
    const bool asks = run.window && (!takes_box(stage) || accumulates);
    if (asks) out.open(fmt::format("if (plan.parts.{}.needed)", names.stages[index]));
    if (!takes_box(stage)) {
        out.add(stage_call(unit, names, index, ""));
    } else {
        const Pieces pieces = pieces_of(*unit.pipeline, *unit.model, index);
        out.open("");
        out.line("const auto box = {};", run.domain(index));
        out.line("const int order[] = {{{}}};", fmt::join(pieces.order, ", "));
        std::string size = fmt::format("piece_size(box, order, {})", pieces.points);
        if (pieces.whole > 0) {
            size = fmt::format("lines_size(box, order, {}, {}, {})", pieces.whole, pieces.points, pieces.least_lines);
        }
        out.line("for_pieces(crew, box, {}, [&](const auto& piece) {{", size);
        out.indent();
        out.add(stage_call(unit, names, index, "piece"));
        out.outdent();
        out.add("});");
        out.close();
    }
    if (accumulates) out.add(updates_call(unit, names, index));
    if (asks) out.close();
}

/// What a launch does between its checks and its end: the views of stages in the workspace and what computes them.
void run_stages(Writer& out, const Unit& unit, const CodeNames& names, const HostProgram& program,
                const Regions& regions, Helpers& helpers, const HostRun& run) {
    write_parameters(out, *unit.pipeline, names, helpers);
    const auto place = [&](std::size_t i) {
        if (regions.of_stage[i] >= 0) {
            out.line("const auto {0} = view_of<{1}>(workspace + plan.{2}[{3}], plan.{0});", names.stages[i],
                     names.stage_views[i], run.window ? "window_regions" : "regions", regions.of_stage[i]);
        }
    };
    for (const HostProgram::Group& group : program.groups) {
        for (const int stage : group.stages) {
            place(static_cast<std::size_t>(stage));
            if (!group.tiled) compute_stage(out, unit, names, static_cast<std::size_t>(stage), run);
        }
        if (group.tiled) write_group(out, unit, names, *group.tiled, regions.scratch, run);
    }
}

/// Runs the stages, with checked arguments.
void run_function(Writer& out, const Unit& unit, const CodeNames& names, const HostProgram& program,
                  const Regions& regions, Helpers& helpers) {
    const ir::Pipeline& pipeline = *unit.pipeline;
    const HostRun run{false, [&](std::size_t i) {
                          const ir::Stage& stage = pipeline.stages[i];
                          return fmt::format("domain_of_{}<{}>(plan.{})", stage.output >= 0 ? "output" : "stage",
                                             stage.dims.size(), names.stages[i]);
                      }};
    out.add("// Runs the stages one after the other. `dense`: the strides are those that the views take for known.");
    out.add("template <bool dense>");
    out.open(
        fmt::format("void run(const {}_args& args, const Plan& plan, [[maybe_unused]] unsigned char* workspace, "
                    "int threads)",
                    names.prefix));
    out.add("Crew crew(threads);");
    if (regions.scratch > 0) out.add("unsigned char* const scratch = workspace + plan.scratch;");
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        out.line("[[maybe_unused]] const auto {0} = view_of<{1}<dense>>(args.{2}, plan.{0});", names.buffers[i],
                 names.views[i], names.fields.buffers[i].data);
    }
    run_stages(out, unit, names, program, regions, helpers, run);
    out.add("crew.end();");
    out.close();
    out.blank();
}

/// The same of windows.
void run_window_function(Writer& out, const Unit& unit, const HostWindows& windows, const CodeNames& names,
                         const HostProgram& program, const Regions& regions, Helpers& helpers) {
    const HostRun run{true, [&](std::size_t i) {
                          const ir::Stage& stage = unit.pipeline->stages[i];
                          const auto output = static_cast<std::size_t>(stage.output);
                          const bool held = stage.output >= 0 && windows.regions[output] < 0;
                          const std::string& where = stage.output < 0 ? names.stages[i]
                                                     : held ? windows.held[unit.pipeline->inputs.size() + output]
                                                            : windows.kept[output];
                          return fmt::format("domain_of_{}<{}>(plan.{})", held ? "window" : "stage", stage.dims.size(),
                                             where);
                      }};
    out.add("// The same of windows.");
    out.add("template <bool dense>");
    out.open(
        fmt::format("void run_window(const {}_args& args, const WindowPlan& plan, [[maybe_unused]] unsigned char* "
                    "workspace, int threads)",
                    names.prefix));
    out.add("Crew crew(threads);");
    if (regions.scratch > 0) out.add("unsigned char* const scratch = workspace + plan.scratch;");
    write_window_views(out, unit, windows, names);
    run_stages(out, unit, names, program, regions, helpers, run);
    write_window_copies(out, unit, windows, names);
    out.add("crew.end();");
    out.close();
    out.blank();
}

void launch(Writer& out, const CodeNames& names, const Regions& regions, const std::string& space,
            const std::string& signature, const VersionSpaces& versions) {
    out.open(signature);
    write_launch_checks(out, space, 64,
                        regions.scratch > 0 ? fmt::format("plan.scratch + {}", regions.scratch) : "plan.workspace",
                        versions);
    out.line("if (stream != nullptr) return report.fail(PIPE_ERROR_DEVICE, -1, -1);");
    std::vector<std::string> fits;
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        fits.push_back(fmt::format("{0}::{1}<true>::fits(plan.{2})", space, names.views[i], names.buffers[i]));
    }
    write_run(out, regions, fits, space + "::run");
}

/// What has a namespace: a pipeline, or a version of one, which has its prefix.
struct HostPart {
    Unit analysed;
    std::string space;
    HostProgram run;
    CodeNames names;
    Regions regions;

    [[nodiscard]] Unit unit() const { return {&run.pipeline, &run.model}; }
};

HostPart part_of(const Unit& analysed, const fusion::Schedules& schedules, const std::string& prefix,
                 const std::string& space, bool windows) {
    std::vector<std::string_view> reserved = host_runtime_names();
    if (windows) {
        const std::vector<std::string_view>& more = window_runtime_names();
        reserved.insert(reserved.end(), more.begin(), more.end());
    }
    const auto given = schedules.find(analysed.pipeline->name);
    HostProgram run = host_program(analysed, given == schedules.end() ? fusion::Schedule{} : given->second);
    CodeNames names = code_names({&run.pipeline, &run.model}, prefix, reserved);
    for (const std::string& function : names.functions) {
        names.edges.push_back(names.taken.add(function + "_edges"));
        names.updates.push_back(names.taken.add(function + "_updates"));
    }
    Regions regions = assign_regions(run);
    return {analysed, space, std::move(run), std::move(names), std::move(regions)};
}

/// The namespace as far as all have it, up to its closing brace. Writing a stage adds variables to the pipeline.
void write_part(Writer& out, HostPart& part, const SourceManager& sources, Helpers& helpers) {
    const Unit unit = part.unit();
    const CodeNames& names = part.names;
    out.add("namespace {");
    out.line("namespace {} {{", part.space);
    out.blank();
    write_tables(out, unit, names);
    write_plan(out, unit, names, part.regions, helpers);
    view_types(out, unit, names, part.run);
    const std::vector<bool> versioned = versioned_stages(part.run.pipeline, part.run.model);
    for (std::size_t s = 0; s < unit.pipeline->stages.size(); ++s) {
        write_stage(out, part.run.pipeline, unit, names, s, sources, helpers, versioned[s]);
    }
    run_function(out, unit, names, part.run, part.regions, helpers);
}

/// The namespace of a version of a pipeline.
void write_version(Writer& out, HostPart part, const std::string& condition, const SourceManager& sources,
                   Helpers& helpers) {
    out.line("// ---- {} where {}", part.names.prefix, condition);
    out.blank();
    write_part(out, part, sources, helpers);
    write_version_workspace_size(out, part.names);
    launch(out, part.names, part.regions, part.space, version_launch_signature(part.names), {});
    out.line("}}  // namespace {}", part.space);
    out.add("}  // namespace");
    out.blank();
}

/// A pipeline's namespace and its public functions.
void write_pipeline(Writer& out, HostPart part, bool windows, const VersionSpaces& versions,
                    const SourceManager& sources, Helpers& helpers) {
    const Unit unit = part.unit();
    auto& [analysed, space, run, names, regions] = part;
    out.line("// ---- {}", unit.pipeline->name);
    out.blank();
    write_part(out, part, sources, helpers);
    std::optional<HostWindows> parts;
    if (windows) {
        parts = host_windows(analysed, run, regions, names);
        write_parts(out, parts->windows, names, helpers);
        write_window_plan(out, unit, *parts, names, regions);
        write_window_pointers(out, *unit.pipeline, names, parts->held, "WindowPlan");
        run_window_function(out, unit, *parts, names, run, regions, helpers);
    }
    out.line("}}  // namespace {}", space);
    out.add("}  // namespace");
    out.blank();
    out.add("extern \"C\" {");
    out.blank();
    write_api(out, unit, names, space, "host", versions);
    launch(out, names, regions, space, launch_signature(names), versions);
    if (windows) {
        write_required(out, parts->windows, names, space);
        write_window_api(out, unit, *parts, names, regions, space);
        write_window_info(out, parts->windows, names);
    }
    out.add("}  // extern \"C\"");
    out.blank();
}

constexpr std::string_view kHostHead = R"(//
// Compile with -O3 -fopenmp, and with -ffp-contract=off where results must not depend on whether the machine has fused
// multiply-add. Without OpenMP the code runs on one thread.
)";

constexpr std::string_view kHostIncludes = R"text(
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#endif

)text";

/// Attributes and pragmas; a file has those that it uses.
constexpr std::string_view kCold = R"text(#ifdef __GNUC__
#define PIPE_COLD __attribute__((cold, noinline))
#else
#define PIPE_COLD
#endif

)text";
constexpr std::string_view kApartMacro = R"text(#ifdef __GNUC__
#define PIPE_APART __attribute__((noinline))  // once in the program, not once for each call
#else
#define PIPE_APART
#endif

)text";
constexpr std::string_view kSimd = R"text(#ifdef _OPENMP
#define PIPE_SIMD _Pragma("omp simd")
#elif defined(__GNUC__) && !defined(__clang__)
#define PIPE_SIMD _Pragma("GCC ivdep")
#else
#define PIPE_SIMD
#endif

)text";

}  // namespace

std::string host_source(std::string_view program, const std::string& header_name, const std::vector<Unit>& units,
                        const SourceManager& sources, const Origin& origin, const fusion::Schedules& schedules) {
    return host_source(program, header_name, units, sources, origin, schedules, false, {});
}

std::string host_source(std::string_view program, const std::string& header_name, const std::vector<Unit>& units,
                        const SourceManager& sources, const Origin& origin, const fusion::Schedules& schedules,
                        bool windows, const std::vector<SizeVersion>& versions) {
    Helpers helpers(fusion::Platform::Host);
    Writer body;
    std::vector<Unit> all = units;
    for (const SizeVersion& version : versions) all.push_back({&version.pipeline, &version.model});
    const std::vector<std::string> prefixes = pipeline_names(all);
    for (std::size_t i = 0; i < units.size(); ++i) {
        HostPart part = part_of(units[i], schedules, prefixes[i], prefixes[i] + "_code", windows);
        VersionSpaces spaces;
        for (std::size_t v = 0; v < versions.size(); ++v) {
            const SizeVersion& version = versions[v];
            if (version.of != i) continue;
            const std::size_t number = units.size() + v;
            spaces.push_back(version_space(version, part.names, prefixes[number] + "_code"));
            write_version(body, part_of(all[number], schedules, prefixes[i], spaces.back().space, false),
                          version_text(version, *units[i].pipeline), sources, helpers);
        }
        write_pipeline(body, std::move(part), windows, spaces, sources, helpers);
    }

    const std::string operators = helpers.definitions();
    std::vector<Piece> pieces = wrapper_runtime();
    for (const std::vector<Piece>& more : {view_runtime(), host_runtime()}) {
        pieces.insert(pieces.end(), more.begin(), more.end());
    }
    if (windows) {
        for (const std::vector<Piece>& more : {window_runtime(), host_window_runtime()}) {
            pieces.insert(pieces.end(), more.begin(), more.end());
        }
    }
    const std::string text = body.str();
    const std::string fixed = used_pieces(pieces, operators + text);

    Writer out;
    out.line("// {} for the host. {}", comment_text(base_name(program)), generated_by(origin));
    write_origin(out, origin);
    out.verbatim(kHostHead);
    if (text.find(kVersions) != std::string::npos) out.verbatim(kVersionsHead);
    out.line("#include {}", c_string(header_name));
    out.verbatim(kHostIncludes);
    for (const auto& [macro, definition] :
         {std::pair("PIPE_COLD", kCold), std::pair("PIPE_APART", kApartMacro), std::pair("PIPE_SIMD", kSimd)}) {
        if ((text + fixed).find(macro) != std::string::npos) out.verbatim(definition);
    }
    out.add("namespace {");
    out.blank();
    out.line("constexpr int max_rank = {};  // of all buffers and stages", max_rank(all));
    out.blank();
    out.verbatim(fixed);
    if (!helpers.empty()) {
        out.add("// ---- Operators of the language that C++ has not");
        out.blank();
        out.verbatim(operators);
    }
    out.add("}  // namespace");
    out.blank();
    out.append(body);
    return out.str();
}

}  // namespace pipec::codegen
