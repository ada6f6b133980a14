// The fixed part of every generated source: checks of arguments by the tables of a pipeline's buffers, and views of
// arrays in memory. The same pieces of text for every pipeline; only what the program decides is generated.
#pragma once

#include <string_view>
#include <vector>

#include "codegen/emit/c/pieces.h"

namespace pipec::codegen {

/// C++ of Report, Fact, Array, Space and the functions that fill them; needs `max_rank` and the generated header.
std::vector<Piece> wrapper_runtime();

/// C++ of View: indexing with strides, some of them known at compile time.
std::vector<Piece> view_runtime();

/// Names that these texts take.
const std::vector<std::string_view>& runtime_names();

}  // namespace pipec::codegen
