// The fixed part of a `.cu` that a host file does not have. It stands behind wrapper_runtime().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fusion/schedule.h"

namespace pipec::codegen {

/// Arrays in device memory: View.
std::string_view device_view_runtime();

/// Accesses of several elements: Pack, load, store.
std::string_view pack_runtime();

/// The same loads through a cache that a schedule chooses.
std::string cached_pack_runtime(fusion::LoadCache cache);

/// Asynchronous copies: copy_async, wait_for_copies.
std::string_view copy_runtime();

/// Starting a kernel: launch.
std::string_view launch_runtime();

/// Names that these texts take, and those that CUDA has taken.
const std::vector<std::string_view>& device_names();

}  // namespace pipec::codegen
