// Which device `pipec run` compiles for.
#pragma once

#include <optional>
#include <string>

namespace pipec::driver {

struct Gpu {
    int number = 0;            ///< among those that CUDA sees
    std::string architecture;  ///< "sm_90"
    std::string name;          ///< "NVIDIA H200"
};

/// The GPU that `wish` ("auto", "cpu", "gpu" or a number) means, none for the CPU. GPUs are what `runner` lists, and
/// nvcc (`nvcc` as a person named it, or empty) must compile for it. Where something is missing, "auto" is the CPU, and
/// anything else throws ToolError, which says what.
std::optional<Gpu> choose_gpu(const std::string& wish, const std::string& runner, const std::string& nvcc);

/// The same where it must be a GPU ("auto" is the first one). Throws ToolError, and BadArchitecture (nvcc.h).
Gpu require_gpu(const std::string& wish, const std::string& runner, const std::string& nvcc);

/// pipec-run beside this program, or where an installation puts it, or on PATH.
std::optional<std::string> locate_runner();

/// CUDA's name of the first GPU here; empty where there is none, or no pipec-run that can find it.
std::string present_device();

}  // namespace pipec::driver
