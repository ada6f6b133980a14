#include "fusion/target.h"

#include <stdexcept>
#include <utility>

namespace pipec::fusion {

Target::Target(Gpu gpu) : gpu_(std::make_shared<const Gpu>(std::move(gpu))) {}

const Gpu& Target::gpu() const {
    if (!gpu_) throw std::logic_error("the host is no GPU");
    return *gpu_;
}

Target default_target() {
    static const Target target(default_gpu());
    return target;
}

}  // namespace pipec::fusion
