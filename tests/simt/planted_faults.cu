// Kernels with a fault in how they use shared memory and barriers, each beside its correct form: `bad` chooses.
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "kernels.h"

namespace {

constexpr int threads = 64;

template <bool bad>
__global__ void missing_barrier(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int tile[threads];
    const int i = threadIdx.x;
    tile[i] = in[i];
    if constexpr (!bad) __syncthreads();
    out[i] = tile[threads - 1 - i];
}

template <bool bad>
__global__ void missing_second_barrier(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int tile[threads];
    const int i = threadIdx.x;
    tile[i] = in[i];
    __syncthreads();
    const int other = tile[threads - 1 - i];
    if constexpr (!bad) __syncthreads();
    tile[i] = other + 1;
    out[i] = tile[i];
}

// A warp exchanges through its own half of the tile.
template <bool bad>
__global__ void missing_warp_barrier(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int tile[threads];
    const int i = threadIdx.x;
    tile[i] = in[i];
    if constexpr (!bad) __syncwarp();
    out[i] = tile[i ^ 1];
}

// A shuffle passes values; it orders no memory.
template <bool bad>
__global__ void shuffle_is_no_barrier(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int tile[threads];
    const int i = threadIdx.x;
    tile[i] = in[i];
    const int sum = __shfl_xor_sync(0xffffffffu, in[i], 1);
    if constexpr (!bad) __syncwarp();
    out[i] = tile[i ^ 1] + sum;
}

// A barrier of a warp says nothing about the others.
template <bool bad>
__global__ void warp_barrier_for_block(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int tile[threads];
    const int i = threadIdx.x;
    tile[i] = in[i];
    if constexpr (bad) {
        __syncwarp();
    } else {
        __syncthreads();
    }
    out[i] = tile[(i + 32) % threads];
}

// Half a warp waits for itself, and then looks at the other half.
template <bool bad>
__global__ void half_warp_barrier(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int tile[threads];
    const int i = threadIdx.x;
    tile[i] = in[i];
    __syncwarp((i & 16) != 0 ? 0xffff0000u : 0x0000ffffu);
    out[i] = tile[bad ? i ^ 16 : i ^ 1];
}

template <bool bad>
__global__ void same_value(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int flag;
    const int i = threadIdx.x;
    if (bad || i == 0) flag = 1;
    __syncthreads();
    out[i] = in[i] + flag;
}

template <bool bad>
__global__ void uninitialized(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int tile[threads];
    const int i = threadIdx.x;
    if (!bad || i != 5) tile[i] = in[i];
    __syncthreads();
    out[i] = tile[threads - 1 - i];
}

template <bool bad>
__global__ void shared_bounds(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int tile[threads];
    const int i = threadIdx.x;
    tile[i + (bad ? 1 : 0)] = in[i];
    out[i] = tile[i + (bad ? 1 : 0)];
}

template <bool bad>
__global__ void dynamic_bounds(const int* __restrict__ in, int* __restrict__ out) {
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    int* tile = reinterpret_cast<int*>(dynamic_shared);
    const int i = threadIdx.x;
    tile[i + (bad ? 1 : 0)] = in[i];
    out[i] = in[i];
}

template <bool bad>
__global__ void mixed_atomic(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int sum;
    const int i = threadIdx.x;
    if (i == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[i]);
    if constexpr (!bad) __syncthreads();
    out[i] = sum;
}

template <bool bad>
__global__ void divergent_barrier(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    if (bad && i >= 40) return;
    __syncthreads();
    out[i] = in[i];
}

template <bool bad>
__global__ void different_barriers(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    if (bad && i >= 32) {
        out[i] = in[i];
        __syncthreads();
    } else {
        out[i] = in[i] + 1;
        __syncthreads();
    }
}

template <bool bad>
__global__ void shuffle_in_branch(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    int v = in[i];
    if (!bad || i % 32 < 31) v = __shfl_down_sync(0xffffffffu, v, 1);
    out[i] = v;
}

template <bool bad>
__global__ void mask_without_self(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = __shfl_sync(bad ? 0x7fffffffu : 0xffffffffu, in[i], 0);
}

template <bool bad>
__global__ void source_outside_mask(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = in[i];
    if (i < 16) out[i] = __shfl_sync(0x0000ffffu, in[i], bad ? 16 : 15);
}

template <bool bad>
__global__ void different_collectives(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    int v = in[i];
    if (bad && i % 32 == 7) {
        __syncwarp();
    } else {
        v = __shfl_xor_sync(0xffffffffu, v, 2);
    }
    out[i] = v;
}

template <bool bad>
__global__ void early_exit(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = in[i];
    if (bad && i == 63) return;
    if (__any_sync(0xffffffffu, in[i] > 5) != 0) out[i] = 1;
}

template <bool bad>
__global__ void too_large_index(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = in[i + (bad ? 1 : 0)];
}

template <bool bad>
__global__ void unwritten_input(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = (bad ? out : in)[i] + 1;
}

template <bool bad>
__global__ void all_write_one(const int* __restrict__ in, int* __restrict__ out) {
    out[bad ? 0 : threadIdx.x] = in[threadIdx.x];
}

// What another block writes is not there before the next kernel.
template <bool bad>
__global__ void between_blocks(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x / 2 + blockIdx.x * (blockDim.x / 2);
    if (threadIdx.x % 2 == 0) out[i] = in[i];
    __syncthreads();
    if (bad && threadIdx.x % 2 == 1) out[i] += out[threads - 1 - i];
}

template <bool bad>
__global__ void misaligned(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    if (i < 8) {
        const int4 v = *reinterpret_cast<const int4*>(in + 4 * i + (bad ? 1 : 0));
        *reinterpret_cast<int4*>(out + 4 * i) = v;
    }
}

template <bool bad>
__global__ void host_memory(const int* __restrict__ in, int* __restrict__ out) {
    static int on_the_host = 0;
    const int i = threadIdx.x;
    if (bad) on_the_host = in[i];
    out[i] = bad ? on_the_host : in[i];
}

template <bool bad>
__global__ void overflow(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = bad ? in[i] + 0x7fffffff : static_cast<int>(static_cast<unsigned>(in[i]) + 0x7fffffffu);
}

// Four lanes write the bytes of one word: no race, unless two of them write the same byte.
template <bool bad>
__global__ void bytes_of_a_word(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ unsigned char tile[threads];
    const int i = threadIdx.x;
    tile[bad && i == 6 ? 5 : i] = static_cast<unsigned char>(in[i]);
    __syncthreads();
    out[i] = tile[bad && i == 6 ? 5 : i];
}

// Halves of the warp wait, then even and odd lanes: together everything is ordered.
template <bool bad>
__global__ void chained_warp_barriers(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int tile[threads];
    const int i = threadIdx.x;
    tile[i] = in[i];
    if constexpr (!bad) __syncwarp((i & 16) != 0 ? 0xffff0000u : 0x0000ffffu);
    __syncwarp((i & 1) != 0 ? 0xaaaaaaaau : 0x55555555u);
    out[i] = tile[i ^ 31];
}

// Of three lanes that read a value, the one that does not wait is not forgotten.
template <bool bad>
__global__ void early_reader(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int value;
    const int i = threadIdx.x;
    if (i == 0) value = in[0];
    __syncthreads();
    out[i] = value;
    if (bad) {
        __syncwarp();
    } else {
        __syncthreads();
    }
    if (i == 32) value = 7;
}

template <bool bad>
__global__ void barriers_in_loop(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    const int count = bad ? in[i] : in[0];
    for (int k = 0; k < count; ++k) __syncthreads();
    out[i] = count;
}

// Device memory is no better than shared memory.
template <bool bad>
__global__ void global_exchange(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = in[i];
    if constexpr (!bad) __syncthreads();
    const int other = out[threads - 1 - i];
    __syncthreads();
    out[i] = other;
}

template <bool bad>
__global__ void plain_count(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = 0;
    __syncthreads();
    int* bin = &out[in[i] % 4];
    if constexpr (bad) {
        *bin += 1;
    } else {
        atomicAdd(bin, 1);
    }
}

template <bool bad>
__global__ void misaligned_atomic(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = in[i];
    __syncthreads();
    if (i == 0) atomicAdd(reinterpret_cast<unsigned long long*>(out + (bad ? 1 : 0)), 1ull);
}

// The spelling of a half's atomic maximum.
template <bool bad>
__global__ void compare_and_swap(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ unsigned short greatest[2];
    const int i = threadIdx.x;
    if (i < 2) greatest[i] = 0;
    if constexpr (!bad) __syncthreads();
    const unsigned short mine = static_cast<unsigned short>(in[i]);
    unsigned short seen = 0;
    while (seen < mine) {
        const unsigned short before = atomicCAS(&greatest[i & 1], seen, mine);
        if (before == seen) break;
        seen = before;
    }
    __syncthreads();
    out[i] = greatest[i & 1];
}

template <bool bad>
__global__ void bad_width(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = __shfl_down_sync(0xffffffffu, in[i], 1, bad ? 12 : 8);
}

template <bool bad>
__global__ void bad_shift(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = static_cast<int>(1u << (bad ? in[i] : in[i] & 31));
}

// A pointer hides the array's length; behind it lies an array of another kernel.
template <bool bad>
__global__ void beyond_the_array(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int tile[threads];
    const int i = threadIdx.x;
    int* cell = &tile[0] + (bad && i == 63 ? in[i] : i);
    *cell = in[i];
    __syncthreads();
    out[i] = *cell;
}

template <bool bad>
__global__ void bad_conversion(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = static_cast<int>(static_cast<float>(in[i]) * (bad ? 1e9f : 1e6f));
}

struct Wide {
    int v[5];
};

// Too many bytes for one access.
template <bool bad>
__global__ void wide_copy(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = 0;
    __syncthreads();
    if (i < 12) *reinterpret_cast<Wide*>(out + 5 * i + (bad ? 5 : 0)) = *reinterpret_cast<const Wide*>(in + 5 * i);
}

template <bool bad>
__global__ void copy_by_function(const int* __restrict__ in, int* __restrict__ out) {
    const int i = threadIdx.x;
    out[i] = 0;
    __syncthreads();
    if (i < 12) memcpy(out + 5 * i, in + 5 * i + (bad ? 5 : 0), 5 * sizeof(int));
}

// Nobody asks for the value where the loop does not run.
template <bool bad>
__global__ void read_in_loop(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int weight[2];
    const int i = threadIdx.x;
    if (i == 0) weight[0] = in[0];
    __syncthreads();
    int sum = 0;
    for (int k = in[0]; k < (bad ? 3 : 1); ++k) sum += weight[1] * k;
    out[i] = sum + weight[0];
}

template <bool bad>
__global__ void copy_under_way(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int slot[threads];
    const int i = threadIdx.x;
    __pipeline_memcpy_async(&slot[i], &in[i], 4);
    __pipeline_commit();
    if constexpr (!bad) __pipeline_wait_prior(0);
    out[i] = slot[i];
}

// Batches come in their order.
template <bool bad>
__global__ void copy_of_a_later_batch(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int slot[2][threads];
    const int i = threadIdx.x;
    __pipeline_memcpy_async(&slot[0][i], &in[i], 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&slot[1][i], &in[threads - 1 - i], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    out[i] = slot[bad ? 1 : 0][i];
}

template <bool bad>
__global__ void copy_over_a_copy(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int slot[threads];
    const int i = threadIdx.x;
    __pipeline_memcpy_async(&slot[bad ? i / 2 : i], &in[i], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[i] = slot[bad ? i / 2 : i];
}

template <bool bad>
__global__ void misaligned_copy(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ __align__(8) int slot[threads];
    const int i = threadIdx.x;
    if (i % 2 == 0 && i < 32) __pipeline_memcpy_async(&slot[i], &in[i + (bad ? 1 : 0)], 8);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (i % 2 == 0 && i < 32) out[i] = slot[i];
}

// Launched twice, the second time so that it may start early.
template <bool bad>
__global__ void missing_wait(const int* __restrict__ in, int* __restrict__ out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if constexpr (!bad) cudaGridDependencySynchronize();
#endif
    out[threadIdx.x] = in[threadIdx.x];
}

// 40 KB, which is legal alone.
__global__ void large_shared(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int tile[10 * 1024];
    const int i = threadIdx.x;
    tile[i * 160] = in[i];
    __syncthreads();
    out[i] = tile[(threads - 1 - i) * 160];
}

using Kernel = void (*)(const int*, int*);
struct Entry {
    const char* name;
    Kernel bad, good;
};
#define ENTRY(name) \
    { #name, name < true>, name < false> }
const Entry entries[] = {
    ENTRY(missing_barrier),
    ENTRY(missing_second_barrier),
    ENTRY(missing_warp_barrier),
    ENTRY(shuffle_is_no_barrier),
    ENTRY(warp_barrier_for_block),
    ENTRY(half_warp_barrier),
    ENTRY(same_value),
    ENTRY(uninitialized),
    ENTRY(shared_bounds),
    ENTRY(dynamic_bounds),
    ENTRY(mixed_atomic),
    ENTRY(divergent_barrier),
    ENTRY(different_barriers),
    ENTRY(shuffle_in_branch),
    ENTRY(mask_without_self),
    ENTRY(source_outside_mask),
    ENTRY(different_collectives),
    ENTRY(early_exit),
    ENTRY(too_large_index),
    ENTRY(unwritten_input),
    ENTRY(all_write_one),
    ENTRY(between_blocks),
    ENTRY(misaligned),
    ENTRY(host_memory),
    ENTRY(bytes_of_a_word),
    ENTRY(chained_warp_barriers),
    ENTRY(early_reader),
    ENTRY(barriers_in_loop),
    ENTRY(global_exchange),
    ENTRY(plain_count),
    ENTRY(misaligned_atomic),
    ENTRY(compare_and_swap),
    ENTRY(bad_width),
    ENTRY(bad_shift),
    ENTRY(beyond_the_array),
    ENTRY(bad_conversion),
    ENTRY(wide_copy),
    ENTRY(copy_by_function),
    ENTRY(read_in_loop),
    ENTRY(copy_under_way),
    ENTRY(copy_of_a_later_batch),
    ENTRY(copy_over_a_copy),
    ENTRY(misaligned_copy),
    ENTRY(overflow),
    ENTRY(missing_wait),
};

}  // namespace

int launch_planted(const char* name, bool bad, const int* in, int* out, cudaStream_t stream) {
    for (const Entry& entry : entries) {
        if (std::strcmp(entry.name, name) != 0) continue;
        cudaLaunchConfig_t config = {};
        config.blockDim = dim3(threads);
        config.gridDim = dim3(std::strcmp(name, "between_blocks") == 0 ? 2 : 1);
        config.dynamicSmemBytes = std::strcmp(name, "dynamic_bounds") == 0 ? threads * sizeof(int) : 0;
        config.stream = stream;
        const Kernel kernel = bad ? entry.bad : entry.good;
        cudaLaunchAttribute early = {};
        early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        early.val.programmaticStreamSerializationAllowed = 1;
        config.attrs = &early;
        if (std::strcmp(name, "missing_wait") == 0) {
            if (const cudaError_t error = cudaLaunchKernelEx(&config, kernel, in, out)) return error;
            config.numAttrs = 1;
        }
        return cudaLaunchKernelEx(&config, kernel, in, out);
    }
    return -1;
}

int launch_large_shared(int dynamic_bytes, const int* in, int* out, cudaStream_t stream) {
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(threads);
    config.gridDim = dim3(1);
    config.dynamicSmemBytes = static_cast<size_t>(dynamic_bytes);
    config.stream = stream;
    return cudaLaunchKernelEx(&config, large_shared, in, out);
}
