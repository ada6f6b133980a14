#include "codegen/kernel/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/type.h"

namespace pipec::codegen {

std::vector<std::int64_t> strides_of(const kernel::SharedArray& array) {
    std::vector<std::int64_t> strides(array.extents.size());
    std::int64_t stride = 1;
    for (std::size_t d = strides.size(); d-- > 0;) {
        strides[d] = stride;
        stride *= array.extents[d];
    }
    if (array.pitch > 0) strides.front() = array.pitch / ir::bytes(array.type);
    return strides;
}

std::int64_t bytes_of(const kernel::SharedArray& array) {
    const std::vector<std::int64_t> strides = strides_of(array);
    std::int64_t last = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) last += strides[d] * (array.extents[d] - 1);
    return (last + 1) * ir::bytes(array.type);
}

std::int64_t scratch_bytes(const kernel::Kernel& kernel) {
    std::int64_t bytes = 0;
    for (const kernel::SharedArray& array : kernel.shared) {
        if (array.offset >= 0) bytes = std::max(bytes, align_shared(array.offset + bytes_of(array)));
    }
    return bytes;
}

std::int64_t own_bytes(const kernel::Kernel& kernel) {
    std::int64_t bytes = 0;
    for (const kernel::SharedArray& array : kernel.shared) {
        if (array.offset < 0) bytes += align_shared(bytes_of(array));
    }
    return bytes;
}

std::int64_t dynamic_bytes(const kernel::Kernel& kernel) {
    const std::int64_t scratch = scratch_bytes(kernel);
    return scratch + own_bytes(kernel) > kStaticSharedBytes ? scratch : 0;
}

std::optional<std::string> shared_refusal(std::int64_t bytes, const fusion::Target& target, std::string_view what) {
    const fusion::Gpu& gpu = target.gpu();
    if (bytes <= gpu.shared_per_block) return std::nullopt;
    return fmt::format("{} take {} bytes of shared memory, but a block of {} has {}", what, bytes, gpu.name,
                       gpu.shared_per_block);
}

}  // namespace pipec::codegen
