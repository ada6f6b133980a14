// The CUDA compiler: where it is, and which GPUs it compiles for.
#pragma once

#include <string>
#include <vector>

#include "driver/native/tool.h"

namespace pipec::driver {

/// `command` as a person named it, else $NVCC, $CUDA_HOME/bin/nvcc, nvcc on PATH, /usr/local/cuda/bin/nvcc. Throws
/// ToolError, which says where it was looked for.
Tool find_nvcc(const std::string& command);

/// nvcc's flags for -arch (ObjectOptions::architectures). Each sm_N gives machine code; the newest also gives PTX, from
/// which the driver makes code for GPUs that are newer still.
std::vector<std::string> architecture_flags(const std::vector<std::string>& architectures);

/// Throws BadArchitecture where this nvcc does not know one of them.
void check_architectures(const Tool& nvcc, const std::vector<std::string>& architectures);

/// what() names the architecture, and those that there are.
struct BadArchitecture : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace pipec::driver
