// A GPU that this process works on.
#pragma once

#include <string>

#include "runner/cuda_driver.h"

namespace pipec::runner {

/// A GPU's primary context, current in the thread that made it. The compiled pipeline has the CUDA runtime inside,
/// which works in whatever context is current, so this is all that the two share.
class GpuContext {
public:
    /// Throws Error that says what is missing.
    explicit GpuContext(int ordinal);
    GpuContext(const GpuContext&) = delete;
    GpuContext& operator=(const GpuContext&) = delete;
    ~GpuContext();

    [[nodiscard]] const cuda::Driver& driver() const { return driver_; }
    /// "NVIDIA H200 (GPU 0)".
    [[nodiscard]] const std::string& name() const { return name_; }
    /// Throws Error where a call failed.
    void check(cuda::Result result, const std::string& call) const;
    /// The launch itself was refused. The runtime inside of the pipeline has the reason; the driver knows it only where
    /// an earlier kernel broke the context.
    [[nodiscard]] Error refused(const std::string& pipeline) const;

private:
    cuda::Driver driver_;
    cuda::DeviceNumber device_;
    std::string name_;
};

}  // namespace pipec::runner
