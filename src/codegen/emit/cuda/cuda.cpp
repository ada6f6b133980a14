// The `.cu`: fixed part, helpers, and for each pipeline its plan, its kernels, and the public functions.
#include "codegen/emit/cuda/cuda.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "codegen/emit/c/runtime.h"
#include "codegen/emit/c/window_runtime.h"
#include "codegen/emit/cuda/cuda_launch.h"
#include "codegen/emit/cuda/cuda_runtime.h"
#include "codegen/emit/cuda/cuda_window.h"
#include "codegen/kernel/kernel_flow.h"
#include "codegen/kernel/shared_memory.h"
#include "codegen/lower.h"
#include "codegen/wrapper/window_api.h"
#include "codegen/wrapper/wrapper.h"
#include "fusion/group_fields.h"

namespace pipec::codegen {

namespace {

constexpr std::string_view kCudaHead = R"(//
// Compile with nvcc -O3 for sm_70 or newer, and with -fmad=false where results must be those of the host, bit by bit.
)";

constexpr std::string_view kCudaIncludes = R"(
#include <cuda_runtime.h>

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

)";

/// For the conversions that the device has instructions for.
constexpr std::string_view kHalfInclude = R"(#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

)";

constexpr std::string_view kCopyInclude = R"(#include <cuda_pipeline_primitives.h>

)";

/// It has one name in all kernels; in the one namespace in which all of them find it.
constexpr std::string_view kDynamicShared = R"(// Shared memory that a launch asks for.
extern __shared__ __align__(16) unsigned char dynamic_shared[];

)";

template <class F>
bool any_kernel(const std::vector<const kernel::Program*>& programs, const F& holds) {
    for (const kernel::Program* program : programs) {
        for (const kernel::Step& step : program->steps) {
            if (std::any_of(step.variants.begin(), step.variants.end(), holds)) return true;
        }
    }
    return false;
}

bool copies(const kernel::Kernel& kernel) {
    bool result = false;
    kernel::for_each_stmt(kernel.body, [&](const kernel::Stmt& stmt) {
        result = result || std::holds_alternative<kernel::Copy>(stmt.value);
    });
    return result;
}

/// What has a namespace: a pipeline, or a version of one, which has its prefix.
struct CudaPart {
    const kernel::Program& program;
    std::string space;
    CodeNames names;
    std::vector<StepNames> functions;
    Regions regions;
};

CudaPart part_of(const kernel::Program& program, const std::string& prefix, const std::string& space, bool windows) {
    std::vector<std::string_view> reserved = device_names();
    if (windows) {
        const std::vector<std::string_view>& more = window_runtime_names();
        reserved.insert(reserved.end(), more.begin(), more.end());
    }
    CodeNames names = code_names({&program.pipeline, &program.model}, prefix, reserved);
    std::vector<StepNames> functions = step_names(program, names);
    return {program, space, std::move(names), std::move(functions), assign_regions(program)};
}

/// The namespace as far as all have it, up to its closing brace.
void write_part(Writer& out, const CudaPart& part, Helpers& helpers) {
    const auto& [program, space, names, functions, regions] = part;
    const Unit unit{&program.pipeline, &program.model};
    out.add("namespace {");
    out.line("namespace {} {{", space);
    out.blank();
    write_tables(out, unit, names);
    write_plan(out, unit, names, regions, helpers);
    write_view_types(out, program, names, regions);
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
        write_step(out, program, program.steps[i], names, functions[i], helpers);
    }
    write_run(out, program, names, functions, regions, helpers);
}

/// The namespace of a version of a pipeline that has this prefix.
void write_version(Writer& out, const kernel::Program& program, const std::string& prefix, const std::string& space,
                   const std::string& condition, Helpers& helpers) {
    const CudaPart part = part_of(program, prefix, space, false);
    out.line("// ---- {} where {}", prefix, condition);
    out.blank();
    write_part(out, part, helpers);
    write_version_workspace_size(out, part.names);
    write_launch(out, program, part.names, part.regions, space, version_launch_signature(part.names), {});
    out.line("}}  // namespace {}", space);
    out.add("}  // namespace");
    out.blank();
}

/// A pipeline's namespace and its public functions. `window`: null without functions for windows.
void write_pipeline(Writer& out, CudaPart part, const WindowProgram* window, const VersionSpaces& versions,
                    Helpers& helpers) {
    auto& [program, space, names, functions, regions] = part;
    const Unit unit{&program.pipeline, &program.model};
    out.line("// ---- {}", program.pipeline.name);
    out.blank();
    write_part(out, part, helpers);
    std::optional<WindowUnit> parts;
    if (window != nullptr) {
        parts = window_unit(window->analysed, program.pipeline, names);
        write_parts(out, *parts, names, helpers);
    }
    out.line("}}  // namespace {}", space);
    std::optional<CodeNames> of_windows;
    if (window != nullptr) {
        out.blank();
        of_windows = write_window_code(out, *window, *parts, names, space, helpers);
    }
    out.add("}  // namespace");
    out.blank();
    out.add("extern \"C\" {");
    out.blank();
    write_api(out, unit, names, space, "cuda", versions);
    write_launch(out, program, names, regions, space, launch_signature(names), versions);
    if (window != nullptr) {
        write_required(out, *parts, names, space);
        const std::string own = names.prefix + "_window_code";
        write_window_queries(out, names, own, "Plan");
        write_window_launch(out, *window, *of_windows, own);
        write_window_info(out, *parts, names);
    }
    out.add("}  // extern \"C\"");
    out.blank();
}

}  // namespace

std::string cuda_source(std::string_view program, const std::string& header_name, const std::vector<Unit>& units,
                        const SourceManager& sources, const CudaOptions& options) {
    std::vector<kernel::Program> programs;
    for (const Unit& unit : units) programs.push_back(lower(unit, sources, options));
    return cuda_source(program, header_name, programs, options.origin);
}

std::string cuda_source(std::string_view program, const std::string& header_name,
                        const std::vector<kernel::Program>& programs, const Origin& origin) {
    return cuda_source(program, header_name, programs, origin, std::vector<WindowProgram>{}, {});
}

std::string cuda_source(std::string_view program, const std::string& header_name,
                        const std::vector<kernel::Program>& programs, const Origin& origin,
                        const std::vector<WindowProgram>& windows, const std::vector<LoweredVersion>& versions) {
    std::vector<const kernel::Program*> all;
    for (const kernel::Program& lowered : programs) all.push_back(&lowered);
    for (const LoweredVersion& one : versions) all.push_back(&one.program);
    std::vector<Unit> units;
    for (const kernel::Program* lowered : all) units.push_back({&lowered->pipeline, &lowered->model});
    const std::vector<std::string> prefixes = pipeline_names(units);
    Helpers helpers(fusion::Platform::Cuda);
    Writer body;
    for (std::size_t i = 0; i < programs.size(); ++i) {
        CudaPart part = part_of(programs[i], prefixes[i], prefixes[i] + "_code", !windows.empty());
        VersionSpaces spaces;
        for (std::size_t v = 0; v < versions.size(); ++v) {
            const auto& [version, lowered] = versions[v];
            if (version->of != i) continue;
            spaces.push_back(version_space(*version, part.names, prefixes[programs.size() + v] + "_code"));
            write_version(body, lowered, prefixes[i], spaces.back().space, version_text(*version, programs[i].pipeline),
                          helpers);
        }
        write_pipeline(body, std::move(part), windows.empty() ? nullptr : &windows.at(i), spaces, helpers);
    }
    std::vector<Unit> ranked = units;
    for (const WindowProgram& window : windows) ranked.push_back(window.analysed);

    Writer out;
    const std::string gpu =
        programs.empty() ? "" : fmt::format(", made for {}", comment_text(programs.front().target.gpu().name));
    out.line("// {} for CUDA{}. {}", comment_text(base_name(program)), gpu, generated_by(origin));
    write_origin(out, origin);
    out.verbatim(kCudaHead);
    out.line("#include {}", c_string(header_name));
    out.verbatim(kCudaIncludes);
    if (helpers.uses("half_to_float") || helpers.uses("float_to_half")) out.verbatim(kHalfInclude);
    if (any_kernel(all, copies)) out.verbatim(kCopyInclude);
    if (any_kernel(all, [](const kernel::Kernel& kernel) { return dynamic_bytes(kernel) > 0; }))
        out.verbatim(kDynamicShared);
    out.add("namespace {");
    out.blank();
    out.line("constexpr int max_rank = {};  // of all buffers and stages", max_rank(ranked));
    out.blank();
    const std::string operators = helpers.definitions();
    std::vector<Piece> pieces = wrapper_runtime();
    for (const Piece& piece : device_runtime()) pieces.push_back(piece);
    if (!windows.empty()) {
        for (const std::vector<Piece>& more : {window_runtime(), device_window_runtime()}) {
            pieces.insert(pieces.end(), more.begin(), more.end());
        }
    }
    out.verbatim(used_pieces(pieces, operators + body.str()));
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
