// The fixed part of what generated sources have for windows: interval arithmetic on indices, and the parts of buffers
// and stages that windows of the outputs need.
#pragma once

#include <string_view>
#include <vector>

#include "codegen/emit/c/pieces.h"

namespace pipec::codegen {

/// C++ of Ends and Part; needs wrapper_runtime().
std::vector<Piece> window_runtime();

/// What launches on the host and on a GPU need besides.
std::vector<Piece> host_window_runtime();
std::vector<Piece> device_window_runtime();

/// Names that these texts take.
const std::vector<std::string_view>& window_runtime_names();

}  // namespace pipec::codegen
