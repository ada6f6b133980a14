#include "runner/gpu_context.h"

#include <fmt/format.h>

namespace pipec::runner {

GpuContext::GpuContext(int ordinal)
    : driver_(cuda::load_driver()),
      device_(cuda::find_gpu(driver_, ordinal)),
      name_(fmt::format("{} (GPU {})", cuda::gpu_name(driver_, device_), ordinal)) {
    cuda::Context context = nullptr;
    check(driver_.retain_context(&context, device_), "cuDevicePrimaryCtxRetain");
    if (const cuda::Result result = driver_.set_context(context); result != 0) {
        driver_.release_context(device_);
        check(result, "cuCtxSetCurrent");
    }
}

GpuContext::~GpuContext() {
    driver_.release_context(device_);
}

void GpuContext::check(cuda::Result result, const std::string& call) const {
    driver_.check(result, fmt::format("{}: {}", name_, call));
}

Error GpuContext::refused(const std::string& pipeline) const {
    const cuda::Result result = driver_.synchronize_context();
    std::string message = fmt::format("{}: `{}` could not be launched", name_, pipeline);
    if (result != 0) return run_error(fmt::format("{}: cuCtxSynchronize: {}", message, driver_.text(result)));
    int version = 0;
    driver_.check(driver_.driver_version(&version), "cuDriverGetVersion");
    return run_error(
        fmt::format("{}: CUDA refused a kernel\n  note: it must be compiled for this GPU's architecture, by an nvcc no "
                    "newer than the driver, which is for CUDA {}.{}",
                    message, version / 1000, version % 1000 / 10));
}

}  // namespace pipec::runner
