// What a kernel may use. Everything that concerns more than one lane is done by the emulator's library.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "simt_types.h"

#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __constant__
#define __builtin_assume(condition) ((condition) ? void() : __builtin_trap())
// A variable of a block is static and lies where the emulator can tell it from all else: in the thread's own storage.
#define __shared__ thread_local

namespace simt {

/// Where a collective stands. Lines tell them apart: an address would not, the compiler may copy a call.
struct Site {
    const char* file;
    int line;
};
enum class Shuffle { Index, Up, Down, Xor };
enum class Vote { Ballot, Any, All };

// Constant within a lane, and a kernel is entered anew for each lane.
__attribute__((const)) uint3 thread_index();
__attribute__((const)) uint3 block_index();
__attribute__((const)) uint3 block_extent();
__attribute__((const)) uint3 grid_extent();

bool sync_threads(bool predicate, Site site);  ///< whether the predicate is true in any lane
void sync_warp(unsigned mask, Site site);
std::uint64_t shuffle(Shuffle kind, unsigned mask, std::uint64_t bits, int argument, int width, Site site);
unsigned vote(Vote kind, unsigned mask, bool predicate, Site site);
unsigned active_mask();
void wait_for_previous_kernel(Site site);

}  // namespace simt

namespace simt {
// `threadIdx.x` converts to the unsigned that it is; the objects themselves are empty. Macros would hide the members
// `gridDim` and `blockDim` of a launch's configuration.
template <uint3 (*value)()>
struct Index3 {
    struct X {
        operator unsigned() const { return value().x; }
    } x;
    struct Y {
        operator unsigned() const { return value().y; }
    } y;
    struct Z {
        operator unsigned() const { return value().z; }
    } z;
    operator uint3() const { return value(); }
    operator dim3() const { return value(); }
};
}  // namespace simt

constexpr simt::Index3<simt::thread_index> threadIdx{};
constexpr simt::Index3<simt::block_index> blockIdx{};
constexpr simt::Index3<simt::block_extent> blockDim{};
constexpr simt::Index3<simt::grid_extent> gridDim{};
constexpr int warpSize = 32;

#define SIMT_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(SIMT_HERE) {
    simt::sync_threads(false, {file, line});
}
inline int __syncthreads_or(int predicate, SIMT_HERE) {
    return static_cast<int>(simt::sync_threads(predicate != 0, {file, line}));
}
inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_HERE) {
    simt::sync_warp(mask, {file, line});
}
inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_HERE) {
    return simt::vote(simt::Vote::Ballot, mask, predicate != 0, {file, line});
}
inline int __any_sync(unsigned mask, int predicate, SIMT_HERE) {
    return static_cast<int>(simt::vote(simt::Vote::Any, mask, predicate != 0, {file, line}));
}
inline int __all_sync(unsigned mask, int predicate, SIMT_HERE) {
    return static_cast<int>(simt::vote(simt::Vote::All, mask, predicate != 0, {file, line}));
}
inline void cudaGridDependencySynchronize(SIMT_HERE) {
    simt::wait_for_previous_kernel({file, line});
}
inline unsigned __activemask() {
    return simt::active_mask();
}

namespace simt {
template <class T>
inline T shuffle_value(Shuffle kind, unsigned mask, T value, int argument, int width, Site site) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const auto bits = static_cast<Bits>(shuffle(kind, mask, __builtin_bit_cast(Bits, value), argument, width, site));
    return __builtin_bit_cast(T, bits);
}
}  // namespace simt

#define SIMT_SHUFFLES(T)                                                                                  \
    inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32, SIMT_HERE) {                   \
        return simt::shuffle_value<T>(simt::Shuffle::Index, mask, value, lane, width, {file, line});      \
    }                                                                                                     \
    inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_HERE) {          \
        return simt::shuffle_value<T>(simt::Shuffle::Up, mask, value, (int)delta, width, {file, line});   \
    }                                                                                                     \
    inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_HERE) {        \
        return simt::shuffle_value<T>(simt::Shuffle::Down, mask, value, (int)delta, width, {file, line}); \
    }                                                                                                     \
    inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, SIMT_HERE) {               \
        return simt::shuffle_value<T>(simt::Shuffle::Xor, mask, value, bits, width, {file, line});        \
    }
SIMT_SHUFFLES(int)
SIMT_SHUFFLES(unsigned)
SIMT_SHUFFLES(long)
SIMT_SHUFFLES(unsigned long)
SIMT_SHUFFLES(long long)
SIMT_SHUFFLES(unsigned long long)
SIMT_SHUFFLES(float)
SIMT_SHUFFLES(double)
#undef SIMT_SHUFFLES
#undef SIMT_HERE

// The value before. Atomics order nothing else: a flag that guards data needs more than the emulator knows.
#define SIMT_ATOMIC(name, T) T name(T* address, T value);
SIMT_ATOMIC(atomicAdd, int)
SIMT_ATOMIC(atomicAdd, unsigned)
SIMT_ATOMIC(atomicAdd, unsigned long long)
SIMT_ATOMIC(atomicAdd, float)
SIMT_ATOMIC(atomicAdd, double)
SIMT_ATOMIC(atomicSub, int)
SIMT_ATOMIC(atomicSub, unsigned)
#define SIMT_ATOMIC_INTEGERS(name) \
    SIMT_ATOMIC(name, int)         \
    SIMT_ATOMIC(name, unsigned)    \
    SIMT_ATOMIC(name, unsigned long long)
SIMT_ATOMIC_INTEGERS(atomicMin)
SIMT_ATOMIC(atomicMin, long long)
SIMT_ATOMIC_INTEGERS(atomicMax)
SIMT_ATOMIC(atomicMax, long long)
SIMT_ATOMIC_INTEGERS(atomicAnd)
SIMT_ATOMIC_INTEGERS(atomicOr)
SIMT_ATOMIC_INTEGERS(atomicXor)
SIMT_ATOMIC_INTEGERS(atomicExch)
SIMT_ATOMIC(atomicExch, float)
#undef SIMT_ATOMIC_INTEGERS
#undef SIMT_ATOMIC
int atomicCAS(int* address, int expected, int desired);
unsigned atomicCAS(unsigned* address, unsigned expected, unsigned desired);
unsigned long long atomicCAS(unsigned long long* address, unsigned long long expected, unsigned long long desired);
unsigned short atomicCAS(unsigned short* address, unsigned short expected, unsigned short desired);

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}

#define SIMT_LOAD(name)               \
    template <class T>                \
    inline T name(const T* address) { \
        return *address;              \
    }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
#undef SIMT_LOAD
#define SIMT_STORE(name)                    \
    template <class T>                      \
    inline void name(T* address, T value) { \
        *address = value;                   \
    }
SIMT_STORE(__stwb)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwt)
#undef SIMT_STORE

#define SIMT_MIN_MAX(T)         \
    constexpr T min(T a, T b) { \
        return b < a ? b : a;   \
    }                           \
    constexpr T max(T a, T b) { \
        return a < b ? b : a;   \
    }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
#undef SIMT_MIN_MAX
// Of numbers and NaN the number, as fminf.
inline float min(float a, float b) {
    return fminf(a, b);
}
inline float max(float a, float b) {
    return fmaxf(a, b);
}
inline double min(double a, double b) {
    return fmin(a, b);
}
inline double max(double a, double b) {
    return fmax(a, b);
}
