// The functions around a pipeline's code that every target shares: tables, resolving and checking of arguments, sizes,
// extents, strides, workspace.
#pragma once

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/text.h"
#include "codegen/emit/host/host.h"
#include "codegen/size_version.h"
#include "codegen/wrapper/regions.h"

namespace pipec::codegen {

/// `struct Plan` and the functions that make one from the arguments, for the pipeline's own namespace:
///
///     pipe_status resolve_shapes(const NAME_args& args, Report& report, Plan& plan);   sizes, extents, strides
///     pipe_status make_plan(const NAME_args& args, Report& report, Plan& plan);        and conditions, workspace
///     pipe_status check_pointers(const NAME_args& args, Report& report, const Plan& plan);
///
/// Plan has a field for each size (int32_t), buffer (Array) and stage that is no output (Space), under the names of
/// `names`, and `regions` (offsets in the workspace) and `workspace` (bytes).
void write_plan(Writer& out, const Unit& unit, const CodeNames& names, const Regions& regions, Helpers& helpers);

/// There is a function check_conditions(args, report, plan) among them.
bool has_conditions(const Unit& unit);

/// The tables `buffers`, `parameters` and `explicit_sizes`, for the pipeline's own namespace, before the plan.
void write_tables(Writer& out, const Unit& unit, const CodeNames& names);

/// Code of its own for values of sizes, in another namespace, which has functions
///
///     pipe_status version_launch(const NAME_args* args, void* workspace, size_t bytes, CUstream_st* stream);
///     size_t version_workspace_size(const NAME_args* args);
struct VersionSpace {
    std::string condition;  ///< over `plan`
    std::string space;
};
using VersionSpaces = std::vector<VersionSpace>;

/// The version with this namespace, of a pipeline whose names these are.
VersionSpace version_space(const SizeVersion& version, const CodeNames& names, const std::string& space);
/// "C = 3", for comments.
std::string version_text(const SizeVersion& version, const ir::Pipeline& of);

/// The public functions but launch: defaults, resolve, check, workspace_size, info. `space` is the namespace of the
/// plan; `target` is "host" or "cuda".
void write_api(Writer& out, const Unit& unit, const CodeNames& names, const std::string& space,
               const std::string& target, const VersionSpaces& versions);

/// version_workspace_size, for the version's namespace.
void write_version_workspace_size(Writer& out, const CodeNames& names);

/// What launch begins with: checks everything that all targets check, leaves the work to a version where there is one
/// for the arguments, and leaves `plan` and `report`. `alignment` is the workspace's, in bytes; `needed` the bytes that
/// a launch cannot do without.
void write_launch_checks(Writer& out, const std::string& space, int alignment, const std::string& needed,
                         const VersionSpaces& versions);

/// Constants for the scalar parameters, as values, from `args`.
void write_parameters(Writer& out, const ir::Pipeline& pipeline, const CodeNames& names, Helpers& helpers);

/// The head of launch, without an opening brace.
std::string launch_signature(const CodeNames& names);
/// The same of version_launch.
std::string version_launch_signature(const CodeNames& names);

/// The greatest rank among the buffers and stages of all units, at least 1.
std::size_t max_rank(const std::vector<Unit>& units);

}  // namespace pipec::codegen
