// Which device `pipec run` compiles for.
#pragma once

#include <optional>
#include <string>

#include "fusion/target.h"

namespace pipec::driver {

struct PresentGpu {
    int number = 0;            ///< among those that CUDA sees
    std::string architecture;  ///< "sm_90"
    std::string name;          ///< "NVIDIA H200"
};

/// The GPU that `wish` ("auto", "cpu", "gpu" or a number) means, none for the CPU. GPUs are what `runner` lists, and
/// nvcc (`nvcc` as a person named it, or empty) must compile for it. Where something is missing, "auto" is the CPU, and
/// anything else throws ToolError, which says what.
std::optional<PresentGpu> choose_gpu(const std::string& wish, const std::string& runner, const std::string& nvcc);

/// The same where it must be a GPU ("auto" is the first one). Throws ToolError, and BadArchitecture (nvcc.h).
PresentGpu require_gpu(const std::string& wish, const std::string& runner, const std::string& nvcc);

/// pipec-run beside this program, or where an installation puts it, or on PATH.
std::optional<std::string> locate_runner();

/// What code for a GPU that is here keeps to: the description in gpus/ that names it, otherwise what CUDA's driver says
/// of it, which `runner` asks. Throws ToolError.
fusion::Target target_of(const PresentGpu& gpu, const std::string& runner);

/// That of the first GPU here. Throws ToolError that says what is missing.
fusion::Target native_target();

}  // namespace pipec::driver
