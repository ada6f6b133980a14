// The functions around a pipeline's code that every target shares: tables, resolving and checking of arguments, sizes,
// extents, strides, workspace.
#pragma once

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/text.h"
#include "codegen/emit/host/host.h"
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

/// The public functions but launch: defaults, resolve, check, workspace_size, info. `space` is the namespace of the
/// plan; `target` is "host" or "cuda".
void write_api(Writer& out, const Unit& unit, const CodeNames& names, const std::string& space,
               const std::string& target);

/// What launch begins with: checks everything that all targets check, and leaves `plan` and `report`. `alignment` is
/// the workspace's, in bytes; `needed` the bytes that a launch cannot do without.
void write_launch_checks(Writer& out, const std::string& space, int alignment,
                         const std::string& needed = "plan.workspace");

/// Constants for the scalar parameters, as values, from `args`.
void write_parameters(Writer& out, const ir::Pipeline& pipeline, const CodeNames& names, Helpers& helpers);

/// The head of launch, without an opening brace.
std::string launch_signature(const CodeNames& names);

/// The greatest rank among the buffers and stages of all units, at least 1.
std::size_t max_rank(const std::vector<Unit>& units);

}  // namespace pipec::codegen
