// Updates of one element by many threads. See docs/tiling.md, "Histograms".
#include "codegen/emit/c/helper_texts.h"

namespace pipec::codegen {

namespace {

const Helper kAtomicHelpers[] = {
    {"atomic_add",
     {},
     R"(// *cell += value, indivisible.
template <class T>
__device__ inline void atomic_add(T* cell, T value) {
    if constexpr (sizeof(T) == 8 && std::is_integral_v<T>)
        atomicAdd(reinterpret_cast<unsigned long long*>(cell), static_cast<unsigned long long>(value));
    else
        atomicAdd(cell, value);
}
)"},
    {"atomic_add_in_parts",
     {},
     R"(// *cell += value, of 64-bit integers in shared memory, for which GPUs have no instruction: the lower half, then what it
// carries to the upper one. The sum is there once all threads have added.
template <class T>
__device__ inline void atomic_add_in_parts(T* cell, T value) {
    unsigned* const halves = reinterpret_cast<unsigned*>(cell);
    const unsigned low = static_cast<unsigned>(value);
    const unsigned before = atomicAdd(halves, low);
    const unsigned high = static_cast<unsigned>(static_cast<unsigned long long>(value) >> 32) + (before > ~low ? 1u : 0u);
    if (high != 0) atomicAdd(halves + 1, high);
}
)"},
    {"atomic_min",
     {},
     R"(// *cell = min(*cell, value) of 32 or 64-bit integers, indivisible.
template <class T>
__device__ inline void atomic_min(T* cell, T value) {
    using Long = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
    if constexpr (sizeof(T) == 8)
        atomicMin(reinterpret_cast<Long*>(cell), static_cast<Long>(value));
    else
        atomicMin(cell, value);
}
)"},
    {"atomic_max",
     {},
     R"(// *cell = max(*cell, value) of 32 or 64-bit integers, indivisible.
template <class T>
__device__ inline void atomic_max(T* cell, T value) {
    using Long = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
    if constexpr (sizeof(T) == 8)
        atomicMax(reinterpret_cast<Long*>(cell), static_cast<Long>(value));
    else
        atomicMax(cell, value);
}
)"},
    {"by_warp",
     {},
     R"(// One update for all lanes of a warp that are here and have the same cell: their values are folded into that of the first
// lane, in rounds that halve how many are left, and it alone calls `update(value)`.
template <class T, class Fold, class Update>
__device__ inline void by_warp(T* cell, T value, Fold fold, Update update) {
#ifdef __CUDA_ARCH__
    const unsigned here = __activemask();
    unsigned before, behind;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before));
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(behind));
    // Finding equal cells takes longer than updating different ones: only where some neighbours have the same cell.
    const unsigned low = static_cast<unsigned>(reinterpret_cast<unsigned long long>(cell));
    const unsigned of_next = __shfl_down_sync(here, low, 1);
    const bool has_next = (here & behind & ~(behind << 1)) != 0;
    if (!__any_sync(here, has_next && of_next == low)) return update(value);
    const unsigned same = __match_any_sync(here, reinterpret_cast<unsigned long long>(cell));
    const bool is_first = (same & before) == 0;
    unsigned rest = same & behind, rank = __popc(same & before);
    while (__any_sync(here, rest != 0)) {
        const int next = __ffs(rest);
        const T other = __shfl_sync(here, value, next == 0 ? 0 : next - 1);
        if (next != 0) value = fold(value, other);
        rest &= ~__ballot_sync(here, rank % 2 == 1);
        rank /= 2;
    }
    if (!is_first) return;
#endif
    update(value);
}
)"},
    {"warp_atomic_add",
     {"by_warp", "atomic_add"},
     R"(// *cell += value, indivisible, where lanes of a warp often have the same cell.
template <class T>
__device__ inline void warp_atomic_add(T* cell, T value) {
    const auto fold = [](T a, T b) {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
        else
            return a + b;
    };
    by_warp(cell, value, fold, [&](T all) { atomic_add<T>(cell, all); });
}
)"},
    {"warp_atomic_min",
     {"by_warp", "atomic_min"},
     R"(// *cell = min(*cell, value) of 32 or 64-bit integers, indivisible, where lanes of a warp often have the same cell.
template <class T>
__device__ inline void warp_atomic_min(T* cell, T value) {
    const auto fold = [](T a, T b) { return b < a ? b : a; };
    by_warp(cell, value, fold, [&](T all) { atomic_min<T>(cell, all); });
}
)"},
    {"warp_atomic_max",
     {"by_warp", "atomic_max"},
     R"(// *cell = max(*cell, value) of 32 or 64-bit integers, indivisible, where lanes of a warp often have the same cell.
template <class T>
__device__ inline void warp_atomic_max(T* cell, T value) {
    const auto fold = [](T a, T b) { return a < b ? b : a; };
    by_warp(cell, value, fold, [&](T all) { atomic_max<T>(cell, all); });
}
)"},
    {"atomic_update",
     {},
     R"(// *cell = update(*cell), indivisible, for elements of 2, 4 or 8 bytes.
template <class T, class Update>
__device__ inline void atomic_update(T* cell, Update update) {
    using Word = std::conditional_t<sizeof(T) == 2, unsigned short,
                                    std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>;
    const auto updated = [&](Word word) {
        T value;
        std::memcpy(&value, &word, sizeof value);
        value = update(value);
        std::memcpy(&word, &value, sizeof value);
        return word;
    };
    Word old = 0;  // a guess: the exchange tells what is there
    Word next = updated(old);
    while (true) {
        const Word seen = atomicCAS(reinterpret_cast<Word*>(cell), old, next);
        if (seen == old) return;
        old = seen;
        next = updated(old);
        if (next == old) return;
    }
}
)"},
};

}  // namespace

std::span<const Helper> atomic_helpers() {
    return kAtomicHelpers;
}

}  // namespace pipec::codegen
