// What code is made for. The driver decides it once, and the value goes through all passes: whoever needs a limit or a
// rate asks the target that it was given.
#pragma once

#include <cstdint>
#include <memory>

#include "fusion/gpu.h"

namespace pipec::fusion {

/// What compiles the code: the C++ compiler for the processor that calls it, or nvcc for that and a GPU.
enum class Platform : std::uint8_t { Host, Cuda };

/// A GPU, or the host. Cheap to copy.
class Target {
public:
    static Target host() { return {}; }
    explicit Target(Gpu gpu);

    [[nodiscard]] Platform platform() const { return gpu_ ? Platform::Cuda : Platform::Host; }
    /// Of Platform::Cuda. Throws std::logic_error for the host.
    [[nodiscard]] const Gpu& gpu() const;

    /// The same choice, passed on: two descriptions of one GPU are two targets.
    bool operator==(const Target&) const = default;

private:
    Target() = default;
    std::shared_ptr<const Gpu> gpu_;
};

/// The default GPU.
Target default_target();

}  // namespace pipec::fusion
