// The loop nest of one stage on the host.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/text.h"
#include "codegen/expr/uses.h"
#include "support/source.h"

namespace pipec::codegen {

/// `void compute_NAME(const Plan& plan, const Box<rank>& box, views...)`, with a comment that shows the definition; a
/// template over `bool dense` where it works on buffers. It computes the points in the box, which must lie in the
/// domain; of a scan a box has all of the scan's dimension. Without dimensions there is no box. Adds variables to
/// `pipeline`, which is the unit's. `versioned`: as host_versions.h says.
void write_stage(Writer& out, ir::Pipeline& pipeline, const Unit& unit, const CodeNames& names, std::size_t stage,
                 const SourceManager& sources, Helpers& helpers, bool versioned);

/// What the stage's code uses: its guard, and its value or its updates.
Uses uses_of(const Unit& unit, std::size_t stage);

/// The views that the stage's code works on, itself last: name and type.
std::vector<std::pair<std::string, std::string>> views_of(const Unit& unit, const CodeNames& names, std::size_t stage);

/// The stage reads or writes a buffer of the caller's.
bool has_dense_form(const Unit& unit, std::size_t stage);

/// The function computes a box of the domain: the stage has dimensions. Of an accumulate it gives the points their
/// first values.
bool takes_box(const ir::Stage& stage);

/// The call of that function, for where views stand under their own names. `box`: what it is to compute.
std::string stage_call(const Unit& unit, const CodeNames& names, std::size_t stage, const std::string& box);

/// The call of the function that makes an accumulate's updates.
std::string updates_call(const Unit& unit, const CodeNames& names, std::size_t stage);

/// How the domain of a stage that takes boxes is cut.
struct Pieces {
    std::vector<std::size_t> order;  ///< dimensions: a piece is longest along the last one
    int whole = 0;                   ///< how many of the first ones each piece has all of: there points wait for others
    std::int64_t least_lines = 1;    ///< that a piece then has
    std::int64_t points = 0;         ///< that are worth waking up another thread
};
Pieces pieces_of(const ir::Pipeline& pipeline, const poly::Model& model, std::size_t stage);

/// The type of a stage's view: `img_view<dense>` for an output, `blurx_view` for a stage in the workspace.
std::string stage_view_type(const ir::Pipeline& pipeline, const CodeNames& names, std::size_t stage);

}  // namespace pipec::codegen
