// The loop nest of one stage on the host.
#pragma once

#include <string>

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/text.h"
#include "support/source.h"

namespace pipec::codegen {

/// `template <bool dense> void compute_NAME(const Plan& plan, views...)`, with a comment that shows the definition.
void write_stage(Writer& out, const Unit& unit, const CodeNames& names, std::size_t stage, const SourceManager& sources,
                 Helpers& helpers);

/// The call of that function, for where views stand under their own names.
std::string stage_call(const Unit& unit, const CodeNames& names, std::size_t stage);

/// The type of a stage's view: `img_view<dense>` for an output, `blurx_view` for a stage in the workspace.
std::string stage_view_type(const ir::Pipeline& pipeline, const CodeNames& names, std::size_t stage);

}  // namespace pipec::codegen
