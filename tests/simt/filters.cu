// Correct kernels in the forms that pipelines take on a GPU: they must pass, under every order of lanes, and nvcc must
// compile them.
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels.h"

namespace {

// 3 x 3 box blur of warp tiles: 32 lanes hold adjacent columns of three rows, the edge columns come from neighbours,
// and the outer lane on each side has no result.
template <class Offset>
__global__ void __launch_bounds__(128)
    blur_warp(const float* __restrict__ img, float* __restrict__ out, int32_t R, int32_t C, Offset img_stride) {
    constexpr unsigned all = 0xffffffffu;
    const int32_t lane = static_cast<int32_t>(threadIdx.x & 31u);
    const int32_t strip = static_cast<int32_t>(blockIdx.x * (blockDim.x / 32u) + threadIdx.x / 32u);
    const int32_t x = strip * 30 + lane;
    const int32_t clamped = min(x, C + 1);
    float above = __ldg(&img[clamped]);
    float here = __ldg(&img[static_cast<Offset>(1) * img_stride + clamped]);
#pragma unroll 1
    for (int32_t y = 0; y < R; ++y) {
        const float below = __ldg(&img[static_cast<Offset>(y + 2) * img_stride + clamped]);
        const float column = above + here + below;
        const float left = __shfl_up_sync(all, column, 1);
        const float right = __shfl_down_sync(all, column, 1);
        if (lane >= 1 && lane <= 30 && x <= C) {
            __stcs(&out[static_cast<Offset>(y) * C + (x - 1)], (left + column + right) / 9.0f);
        }
        above = here;
        here = below;
    }
}

// The same with a tile of the block in shared memory.
__global__ void __launch_bounds__(256)
    blur_block(const float* __restrict__ img, float* __restrict__ out, int32_t R, int32_t C) {
    __shared__ float tile[10][34];
    const int32_t tx = static_cast<int32_t>(threadIdx.x), ty = static_cast<int32_t>(threadIdx.y);
    const int32_t x0 = static_cast<int32_t>(blockIdx.x) * 32, y0 = static_cast<int32_t>(blockIdx.y) * 8;
    for (int32_t i = ty; i < 10; i += 8) {
        for (int32_t j = tx; j < 34; j += 32) tile[i][j] = img[min(y0 + i, R + 1) * (C + 2) + min(x0 + j, C + 1)];
    }
    __syncthreads();
    if (x0 + tx < C && y0 + ty < R) {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < 3; ++i) {
#pragma unroll
            for (int j = 0; j < 3; ++j) sum += tile[ty + i][tx + j];
        }
        out[(y0 + ty) * C + x0 + tx] = sum / 9.0f;
    }
}

// Each block counts in shared memory, then adds what it has.
__global__ void histogram_kernel(const uint8_t* __restrict__ img, unsigned* __restrict__ bins, int32_t count) {
    __shared__ unsigned own[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
    __syncthreads();
    const int32_t step = static_cast<int32_t>(gridDim.x * blockDim.x);
    for (int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x); i < count; i += step) {
        atomicAdd(&own[img[i]], 1u);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
        if (own[i] != 0) atomicAdd(&bins[i], own[i]);
    }
}

// Sums a block's values in dynamic shared memory, then a warp's with shuffles; four values a lane.
__global__ void sum_kernel(const float4* __restrict__ values, float* __restrict__ sum, int32_t quads) {
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    float* partial = reinterpret_cast<float*>(dynamic_shared);
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    const int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x) + thread;
    const float4 v = i < quads ? values[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    partial[thread] = (v.x + v.y) + (v.z + v.w);
    __syncthreads();
    for (int32_t half = static_cast<int32_t>(blockDim.x) / 2; half >= 32; half /= 2) {
        if (thread < half) partial[thread] += partial[thread + half];
        __syncthreads();
    }
    if (thread < 32) {
        float total = partial[thread];
        for (int delta = 16; delta > 0; delta /= 2) total += __shfl_xor_sync(0xffffffffu, total, delta);
        if (thread == 0) atomicAdd(sum, total);
    }
}

// out(i) = in(i) + 1, launched so that it may start while the kernel before is still at work. `wait`: as it must.
template <bool wait>
__global__ void increment_early(const int* __restrict__ in, int* __restrict__ out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if constexpr (wait) cudaGridDependencySynchronize();
#endif
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1;
}

// In which order lanes come by.
__global__ void tickets_kernel(int* __restrict__ counter, int* __restrict__ ticket) {
    ticket[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1);
}

// Of each kind of shuffle, with segments of 8 lanes and of 32: the number of the lane whose value came.
__global__ void shuffles_kernel(int* __restrict__ sources) {
    constexpr unsigned all = 0xffffffffu;
    const int lane = static_cast<int>(threadIdx.x);
    sources[lane] = __shfl_sync(all, lane, 37);
    sources[32 + lane] = static_cast<int>(__shfl_sync(all, static_cast<long long>(lane) << 40, 5, 8) >> 40);
    sources[64 + lane] = static_cast<int>(__shfl_up_sync(all, static_cast<float>(lane), 3));
    sources[96 + lane] = static_cast<int>(__shfl_up_sync(all, static_cast<double>(lane), 3, 8));
    sources[128 + lane] = static_cast<int>(__shfl_down_sync(all, static_cast<unsigned>(lane), 3));
    sources[160 + lane] = static_cast<int>(__shfl_down_sync(all, static_cast<unsigned long long>(lane), 3, 8));
    sources[192 + lane] = __shfl_xor_sync(all, lane, 9);
    sources[224 + lane] = __shfl_xor_sync(all, lane, 9, 8);
}

// In a warp that is not full, the lanes that are not there are not waited for; but they have no values either.
__global__ void partial_warp_kernel(int* __restrict__ out, int source) {
    const unsigned ballot = __ballot_sync(0xffffffffu, threadIdx.x % 2 == 0);
    __syncwarp();
    const int all = __all_sync(0xffffffffu, threadIdx.x < 32) + __any_sync(0xffffffffu, threadIdx.x > 100);
    out[threadIdx.x] = static_cast<int>(ballot) + all + __shfl_sync(0xffffffffu, 0, source);
}

cudaLaunchConfig_t configuration(dim3 grid, dim3 block, cudaStream_t stream) {
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = stream;
    return config;
}

unsigned tiles(int32_t count, int32_t size) {
    return static_cast<unsigned>((count + size - 1) / size);
}

}  // namespace

int blur_by_warps(const float* img, float* out, int rows, int columns, cudaStream_t stream) {
    const cudaLaunchConfig_t config = configuration(dim3(tiles(columns, 120)), dim3(128), stream);
    return cudaLaunchKernelEx(&config, blur_warp<int64_t>, img, out, rows, columns, columns + 2);
}

int blur_by_blocks(const float* img, float* out, int rows, int columns, cudaStream_t stream) {
    const cudaLaunchConfig_t config = configuration(dim3(tiles(columns, 32), tiles(rows, 8)), dim3(32, 8), stream);
    return cudaLaunchKernelEx(&config, blur_block, img, out, rows, columns);
}

int histogram(const unsigned char* img, unsigned* bins, int count, cudaStream_t stream) {
    const cudaError_t error = cudaMemsetAsync(bins, 0, 256 * sizeof(unsigned), stream);
    if (error != cudaSuccess) return error;
    const cudaLaunchConfig_t config = configuration(dim3(3), dim3(128), stream);
    return cudaLaunchKernelEx(&config, histogram_kernel, img, bins, count);
}

int sum(const float* values, float* result, int count, int threads, cudaStream_t stream) {
    const cudaError_t error = cudaMemsetAsync(result, 0, sizeof(float), stream);
    if (error != cudaSuccess) return error;
    const int quads = count / 4;
    cudaLaunchConfig_t config =
        configuration(dim3(tiles(quads, threads)), dim3(static_cast<unsigned>(threads)), stream);
    config.dynamicSmemBytes = static_cast<size_t>(threads) * sizeof(float);
    return cudaLaunchKernelEx(&config, sum_kernel, reinterpret_cast<const float4*>(values), result, quads);
}

int increment_often(int* values, int times, const bool* wait, bool first_early, cudaStream_t stream) {
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = configuration(dim3(2), dim3(32), stream);
    config.attrs = &early;
    for (int i = 0; i < times; ++i) {
        const auto kernel = wait[i] ? increment_early<true> : increment_early<false>;
        const int* in = values + 64 * i;
        config.numAttrs = i > 0 || first_early ? 1 : 0;
        const cudaError_t error = cudaLaunchKernelEx(&config, kernel, in, values + 64 * (i + 1));
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

int ask_for_shared(int bytes, bool allow, int* attribute_error, cudaStream_t stream) {
    *attribute_error =
        allow ? cudaFuncSetAttribute(sum_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) : cudaSuccess;
    cudaLaunchConfig_t config = configuration(dim3(1), dim3(32), stream);
    config.dynamicSmemBytes = static_cast<size_t>(bytes);
    return cudaLaunchKernelEx(&config, sum_kernel, static_cast<const float4*>(nullptr), static_cast<float*>(nullptr),
                              0);
}

float first_on_the_host(const float* device) {
    return device[0];
}

int tickets(int* counter, int* ticket, cudaStream_t stream) {
    const cudaLaunchConfig_t config = configuration(dim3(3), dim3(64), stream);
    return cudaLaunchKernelEx(&config, tickets_kernel, counter, ticket);
}

int shuffles(int* sources, cudaStream_t stream) {
    const cudaLaunchConfig_t config = configuration(dim3(1), dim3(32), stream);
    return cudaLaunchKernelEx(&config, shuffles_kernel, sources);
}

int partial_warp(int* out, int source, cudaStream_t stream) {
    const cudaLaunchConfig_t config = configuration(dim3(1), dim3(20), stream);
    return cudaLaunchKernelEx(&config, partial_warp_kernel, out, source);
}
