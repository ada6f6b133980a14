// The fixed part of a `.cu` that a host file does not have. It stands behind wrapper_runtime().
#pragma once

#include <string_view>
#include <vector>

#include "codegen/emit/c/pieces.h"

namespace pipec::codegen {

/// Arrays in device memory: View. Accesses of several elements: Pack, load, store; the same loads through a cache that
/// a schedule chooses. Asynchronous copies: copy_async, wait_for_copies. Starting a kernel: launch.
std::vector<Piece> device_runtime();

/// Names that these texts take, and those that CUDA has taken.
const std::vector<std::string_view>& device_names();

}  // namespace pipec::codegen
