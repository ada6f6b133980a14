// The fixed part of host sources: boxes of points, and how threads share them.
#pragma once

#include <string_view>
#include <vector>

#include "codegen/emit/c/pieces.h"

namespace pipec::codegen {

/// C++ of Box, within, for_tiles and what they need.
std::vector<Piece> host_runtime();

/// Names that these texts take.
const std::vector<std::string_view>& host_runtime_names();

}  // namespace pipec::codegen
