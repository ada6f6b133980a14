// Sharpens a row of pixels, then asks which are bright. The pipelines run one after the other on the same stream.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "sharpen.h"
#include "threshold.h"

#ifdef ON_GPU
#include <cuda_runtime.h>
#endif

namespace {

/// Memory that pipelines and this program both reach.
template <class T>
T* allocate(std::size_t count) {
    void* memory = nullptr;
    if (count == 0) return nullptr;
#ifdef ON_GPU
    if (cudaMallocManaged(&memory, count * sizeof(T)) != cudaSuccess) memory = nullptr;
#else
    memory = std::aligned_alloc(64, (count * sizeof(T) + 63) / 64 * 64);
#endif
    if (memory == nullptr) std::exit(1);
    return static_cast<T*>(memory);
}

void require(pipe_status status) {
    if (status == PIPE_OK) return;
    std::fprintf(stderr, "%s\n", pipe_status_string(status));
    std::exit(1);
}

}  // namespace

int main() {
    constexpr int n = 6;
    float* pixels = allocate<float>(n + 2);
    float* sharp = allocate<float>(n);
    std::uint8_t* bright = allocate<std::uint8_t>(n);
    for (int i = 0; i < n + 2; ++i) pixels[i] = i < 4 ? 0.25F : 0.75F;

    sharpen_args first;
    sharpen_defaults(&first);
    first.img = pixels;
    first.img_extent[0] = n + 2;
    first.out = sharp;
    require(sharpen_launch(&first, allocate<char>(sharpen_workspace_size(&first)), sharpen_workspace_size(&first),
                           nullptr));

    threshold_args second;
    threshold_defaults(&second);
    second.img = sharp;
    second.img_extent[0] = n;
    second.level = 0.5F;
    second.out = bright;
    require(threshold_launch(&second, allocate<char>(threshold_workspace_size(&second)),
                             threshold_workspace_size(&second), nullptr));
#ifdef ON_GPU
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
#endif
    for (int i = 0; i < n; ++i) std::printf("%.3f %d\n", static_cast<double>(sharp[i]), bright[i]);
}
