// Texts of the fixed part of a `.cu`.
#include "codegen/emit/cuda/cuda_runtime.h"

namespace pipec::codegen {

// clang-format off: it takes the texts for code of this file.
std::vector<Piece> device_runtime() {
    return {
        {"", R"text(// ---- Arrays in device memory
)text"},
        {"Offset",
         R"text(// What offsets are computed in. Arrays are dense where their strides are the expected ones and all of their offsets
// fit 32 bits.
template <bool dense>
using Offset = std::conditional_t<dense, int32_t, int64_t>;
)text"},
        {"View", R"text(// An n-d array. A stride among the template arguments that is not 0 is known to the compiler.
template <class T, class Offset, int64_t... known>
struct View {
    static constexpr int rank = static_cast<int>(sizeof...(known));
    using Element = T;
    using ReadOnly = View<const T, Offset, known...>;

    T* data;  // where the element with all indices 0 is, or would be
    Offset stride[rank == 0 ? 1 : rank];

    template <class... Index>
    __device__ T* at(Index... index) const {
        [[maybe_unused]] int d = 0;
        Offset offset = 0;
        ((offset += static_cast<Offset>(index) * (known != 0 ? static_cast<Offset>(known) : stride[d]), ++d), ...);
        return data + offset;
    }

    // An element. What is only read comes through the read-only cache.
    template <class... Index>
    __device__ decltype(auto) operator()(Index... index) const {
        if constexpr (std::is_const_v<T>)
            return __ldg(at(index...));
        else
            return (*at(index...));
    }

    // Accesses of so many bytes are aligned where the offset by known strides is a multiple of them.
    bool aligned(size_t bytes) const {
        [[maybe_unused]] int d = 0;
        bool all = reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
        ((all = all && (known != 0 || static_cast<size_t>(stride[d]) * sizeof(T) % bytes == 0), ++d), ...);
        return all;
    }

    static bool has_known_strides(const int64_t* strides) {
        [[maybe_unused]] int d = 0;
        bool same = true;
        ((same = same && (known == 0 || known == strides[d]), ++d), ...);
        return same;
    }
};
)text"},
        {"read_only", R"text(// A view for kernels that do not write the array.
template <class V>
using ReadOnly = typename V::ReadOnly;

template <class V>
ReadOnly<V> read_only(const V& view) {
    ReadOnly<V> result{view.data, {}};
    std::copy(view.stride, view.stride + V::rank, result.stride);
    return result;
}
)text"},
        {"extend_reach", R"text(// Adds the greatest offset of a dimension to `reach`, while that fits 32 bits.
[[maybe_unused]] bool extend_reach(int64_t& reach, int64_t index, int64_t stride) {
    if (index > 0 && stride > (INT32_MAX - reach) / index) return false;
    reach += index * stride;
    return true;
}
)text"},
        {"is_dense", R"text(template <class V>
bool is_dense(const Array& array) {
    int64_t reach = 0;
    for (int d = 0; d < V::rank; ++d) {
        if (!extend_reach(reach, array.extent[d] - 1, array.stride[d])) return false;
    }
    return V::has_known_strides(array.stride);
}
)text"},
        {"Space", R"text([[maybe_unused]] bool is_dense(const Space& space, int rank) {
    int64_t reach = 0;
    for (int d = 0; d < rank; ++d) {
        const int64_t index = std::max<int64_t>(-int64_t{space.lo[d]}, int64_t{space.hi[d]} - 1);
        if (!extend_reach(reach, index, space.stride[d])) return false;
    }
    return true;
}
)text"},
        {"view_at", R"text(template <class V, class Strides>
V view_at(std::uintptr_t address, const Strides& strides) {
    V view{reinterpret_cast<typename V::Element*>(address), {}};
    for (int d = 0; d < V::rank; ++d) view.stride[d] = static_cast<std::decay_t<decltype(view.stride[d])>>(strides[d]);
    return view;
}
)text"},
        {"view_of", R"text(// A buffer of the caller's.
template <class V>
V view_of(const void* data, const Array& array) {
    return view_at<V>(reinterpret_cast<std::uintptr_t>(data), array.stride);
}
)text"},
        {"Space", R"text(// A stage in the workspace.
template <class V>
V view_of(const unsigned char* region, const Space& space) {
    int64_t origin = space.first;
    for (int d = 0; d < V::rank; ++d) origin -= space.lo[d] * space.stride[d];
    const std::uintptr_t bytes = static_cast<std::uintptr_t>(origin) * sizeof(typename V::Element);
    return view_at<V>(reinterpret_cast<std::uintptr_t>(region) + bytes, space.stride);
}
)text"},
        {"", R"text(// ---- Several elements in one access
)text"},
        {"Word", R"text(// An unsigned type of 2, 4, 8 or 16 bytes.
template <int bytes>
using Word = std::conditional_t<bytes == 2, unsigned short, std::conditional_t<bytes == 4, unsigned,
                                std::conditional_t<bytes == 8, uint2, uint4>>>;
)text"},
        {"Pack", R"text(// n elements that lie behind each other; their address is a multiple of their size.
template <class T, int n>
struct Pack {
    T element[n];
    __device__ T operator[](int i) const { return element[i]; }
};
)text"},
        {"unpack", R"text(template <class T, int n>
__device__ Pack<T, n> unpack(Word<n * sizeof(T)> word) {
    Pack<T, n> pack;
    std::memcpy(&pack, &word, sizeof pack);
    return pack;
}
)text"},
        {"load", R"text(template <int n, class T>
__device__ Pack<T, n> load(T* address) {
    return unpack<T, n>(*reinterpret_cast<Word<n * sizeof(T)>*>(address));
}
)text"},
        {"load", R"text(// The same of what the kernel does not write.
template <int n, class T>
__device__ Pack<T, n> load(const T* address) {
    return unpack<T, n>(__ldg(reinterpret_cast<const Word<n * sizeof(T)>*>(address)));
}
)text"},
        {"load_ahead",
         R"text(// ... and what is for later: no compiler moves it past a barrier, as it may with the read-only cache.
template <int n, class T>
__device__ Pack<T, n> load_ahead(const T* address) {
    return unpack<T, n>(*reinterpret_cast<const Word<n * sizeof(T)>*>(address));
}
)text"},
        {"store", R"text(// In accesses of at most `bytes`.
template <int n, int bytes = 16, class T>
__device__ void store(T* address, const Pack<T, n>& pack) {
    constexpr int size = n * int(sizeof(T)), part = size < bytes ? size : bytes;
    Word<part> words[size / part];
    std::memcpy(words, &pack, sizeof words);
#pragma unroll
    for (int i = 0; i < size / part; ++i) reinterpret_cast<Word<part>*>(address)[i] = words[i];
}
)text"},
        {"load_ca", R"text(template <int n, class T>
__device__ Pack<T, n> load_ca(const T* address) {
    return unpack<T, n>(__ldca(reinterpret_cast<const Word<n * sizeof(T)>*>(address)));
}
)text"},
        {"load_cg", R"text(template <int n, class T>
__device__ Pack<T, n> load_cg(const T* address) {
    return unpack<T, n>(__ldcg(reinterpret_cast<const Word<n * sizeof(T)>*>(address)));
}
)text"},
        {"", R"text(// ---- Copies into shared memory while the thread goes on
)text"},
        {"copy_async",
         R"text(// `bytes` is 4, 8 or 16, and both addresses are multiples of it; all 16 may pass by the first cache. Older GPUs copy
// at once.
template <int bytes, bool through_l1 = true>
__device__ void copy_async(void* to, const void* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
    if constexpr (bytes == 16 && !through_l1)
        asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(bytes) : "memory");
#else
    __pipeline_memcpy_async(to, from, bytes);
#endif
}
)text"},
        {"wait_for_copies",
         R"text(// Until all batches of copies but the last n are there. What CUDA has for it waits for all but 8 at most, and does
// not keep reads behind it.
template <int n>
__device__ void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
#else
    __pipeline_wait_prior(n);
#endif
}
)text"},
        {"", R"text(// ---- Starting kernels
)text"},
        {"kernel_limit", R"text(// Grids and what kernels compute with are less than this.
constexpr int64_t kernel_limit = (int64_t{1} << 30) + (int64_t{1} << 24);
)text"},
        {"is_valid", R"text(template <class T>
bool is_valid(const T&) {
    return true;
}
)text"},
        {"kernel_value", R"text(// What the kernel is given for an argument.
template <class T>
const T& kernel_value(const T& argument) {
    return argument;
}
)text"},
        {"Argument", R"text(// An argument that is computed from sizes, of at least `least`.
struct Argument {
    int64_t value;
    int64_t least = 1 - kernel_limit;
};
[[maybe_unused]] bool is_valid(const Argument& argument) {
    return argument.value >= argument.least && argument.value < kernel_limit;
}
[[maybe_unused]] int32_t kernel_value(const Argument& argument) {
    return static_cast<int32_t>(argument.value);
}
)text"},
        {"Divisor Divides",
         R"text(// What is not negative divided by a number that the host knows: by way of the product with 2^32 / number, which is
// at most one too small. (Where blocks begin, a division by itself is what they would wait for.)
struct Divisor {
    uint32_t number, inverse;
};
[[maybe_unused]] __device__ inline int32_t operator/(int32_t value, Divisor by) {
    const uint32_t n = uint32_t(value), quotient = uint32_t((uint64_t{n} * by.inverse) >> 32);
    return int32_t(quotient + (n - quotient * by.number >= by.number ? 1 : 0));
}
[[maybe_unused]] __device__ inline int32_t operator%(int32_t value, Divisor by) {
    return int32_t(uint32_t(value) - uint32_t(value / by) * by.number);
}
[[maybe_unused]] __device__ inline int32_t floor_div(int32_t value, Divisor by) {
    return value / by;
}
[[maybe_unused]] __device__ inline int32_t floor_mod(int32_t value, Divisor by) {
    return value % by;
}
[[maybe_unused]] __device__ inline int32_t floor_div_by_positive(int32_t value, Divisor by) {
    return value / by;
}
[[maybe_unused]] __device__ inline int32_t floor_mod_by_positive(int32_t value, Divisor by) {
    return value % by;
}
)text"},
        {"Divides", R"text(// Likewise, by which the kernel divides.
struct Divides {
    int64_t value;
};
[[maybe_unused]] bool is_valid(const Divides& argument) {
    return argument.value >= 1 && argument.value < kernel_limit;
}
[[maybe_unused]] Divisor kernel_value(const Divides& argument) {
    const auto number = static_cast<uint32_t>(argument.value);
    return {number, UINT32_MAX / number};
}
)text"},
        {"wait_for_previous_kernel",
         R"text(// First in every kernel. On devices of capability 9.0 or newer a kernel's blocks may take their places while the
// last blocks of the one before in the stream are at work, whoever put it there; here they wait until that one is
// over, and all that it wrote is to be seen. As every kernel waits, so are all before it. Only then may the next one
// come: there are never more than two at work. Behind a copy, or what another stream is waited for, blocks start
// when that is over. (What is compiled for the host never runs.)
__device__ inline void wait_for_previous_kernel() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}
)text"},
        {"kernels_wait",
         R"text(// Whether the code that the current device runs has that wait: it is there where nvcc compiled for 9.0 or newer,
// which says nothing about the device (it may translate what was compiled for an older one). So it is for all
// kernels of this file or for none, and a device is asked once.
[[maybe_unused]] bool kernels_wait(const void* kernel) {
    enum Answer { unknown, no, yes };
    static std::atomic<Answer> answers[64];
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return false;
    std::atomic<Answer>* const known = device < 64 ? &answers[device] : nullptr;
    Answer answer = known != nullptr ? known->load(std::memory_order_relaxed) : unknown;
    if (answer == unknown) {
        cudaFuncAttributes attributes{};
        if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) return false;
        answer = attributes.ptxVersion >= 90 ? yes : no;
        if (known != nullptr) known->store(answer, std::memory_order_relaxed);
    }
    return answer == yes;
}
)text"},
        {"launch",
         R"text(// Puts a kernel into the stream, unless its grid is empty. `dynamic_bytes` are of shared memory, beyond what kernels
// have without asking. Asking is repeated for each launch: it is cheap, and there is nothing to remember for
// devices.
template <int dynamic_bytes = 0, class... Parameters, class... Arguments>
[[maybe_unused]] pipe_status launch(CUstream_st* stream, void (*kernel)(Parameters...), const int64_t (&grid)[3],
                                    dim3 block, const Arguments&... arguments) {
    if (grid[0] < 1 || grid[1] < 1 || grid[2] < 1) return PIPE_OK;
    if (grid[0] >= kernel_limit || grid[1] > 65535 || grid[2] > 65535) return PIPE_ERROR_SIZE;
    if (!(is_valid(arguments) && ...)) return PIPE_ERROR_SIZE;
    if constexpr (dynamic_bytes > 0) {
        constexpr auto limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
        if (cudaFuncSetAttribute(kernel, limit, dynamic_bytes) != cudaSuccess) return PIPE_ERROR_DEVICE;
    }
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2]));
    config.blockDim = block;
    config.dynamicSmemBytes = dynamic_bytes;
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = kernels_wait(reinterpret_cast<const void*>(kernel)) ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, kernel_value(arguments)...) == cudaSuccess ? PIPE_OK : PIPE_ERROR_DEVICE;
}
)text"},
    };
}

// clang-format on

const std::vector<std::string_view>& device_names() {
    static const std::vector<std::string_view> kNames = {
        // The text's, and what is generated for every pipeline.
        "Argument", "Divides", "Divisor", "Offset", "Pack", "ReadOnly", "Word", "copy_async", "dynamic_shared",
        "extend_reach", "is_dense", "is_valid", "kernel_limit", "kernel_value", "kernels_wait", "chosen_kernel",
        "launch", "launch_grid", "load", "load_ca", "load_cg", "read_only", "store", "unpack", "view_at",
        "wait_for_copies", "wait_for_previous_kernel",
        // What expressions and kernels call.
        "acos", "acosf", "asin", "asinf", "atan", "atan2", "atan2f", "atanf", "atomicAdd", "atomicCAS", "atomicMax",
        "atomicMin", "ceil", "ceilf", "cos", "cosf", "cosh", "coshf", "exp", "exp2", "exp2f", "expf", "fabs", "fabsf",
        "floor", "floorf", "hypot", "hypotf", "log", "log2", "log2f", "logf", "max", "min", "nearbyint", "nearbyintf",
        "pow", "powf", "sin", "sinf", "sinh", "sinhf", "sqrt", "sqrtf", "tan", "tanf", "tanh", "tanhf", "trunc",
        "truncf",
        // CUDA's.
        "blockDim", "blockIdx", "dim3", "gridDim", "threadIdx", "uint2", "uint4", "warpSize"};
    return kNames;
}

}  // namespace pipec::codegen
