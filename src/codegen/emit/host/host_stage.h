// The loop nest of one stage on the host.
#pragma once

#include <string>

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/text.h"
#include "support/source.h"

namespace pipec::codegen {

/// `void compute_NAME(const Plan& plan, views...)`, with a comment that shows the definition; a template over `bool
/// dense` where it works on buffers. One of a stage that takes a box computes the points in it, which must lie in the
/// domain. Adds variables to `pipeline`, which is the unit's.
void write_stage(Writer& out, ir::Pipeline& pipeline, const Unit& unit, const CodeNames& names, std::size_t stage,
                 const SourceManager& sources, Helpers& helpers);

/// The stage reads or writes a buffer of the caller's.
bool has_dense_form(const Unit& unit, std::size_t stage);

/// Pure stages that are no scans and have dimensions: points of them can be computed in any order.
bool takes_box(const ir::Stage& stage);

/// The call of that function, for where views stand under their own names. `box`: what it is to compute.
std::string stage_call(const Unit& unit, const CodeNames& names, std::size_t stage, const std::string& box);

/// Points of such a value that are worth waking up another thread.
std::int64_t parallel_points(const ir::Expr& value);

/// The type of a stage's view: `img_view<dense>` for an output, `blurx_view` for a stage in the workspace.
std::string stage_view_type(const ir::Pipeline& pipeline, const CodeNames& names, std::size_t stage);

}  // namespace pipec::codegen
