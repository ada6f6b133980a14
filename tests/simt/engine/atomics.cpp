#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "cuda_runtime.h"
#include "engine/access.h"
#include "engine/block.h"
#include "engine/report.h"
#include "engine/symbols.h"

namespace {

// One thread runs all lanes, so nothing comes between the read and the write.
template <class T, class F>
T update(T* address, F f, const void* pc) {
    if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) {
        simt::lane_fault(simt::Kind::Misaligned, *simt::running.lane, "an atomic at an address that is not aligned",
                         simt::place(pc));
    }
    simt::on_access<simt::Access::Atomic>(address, sizeof(T), pc);
    const T before = *address;
    *address = f(before);
    return before;
}

template <class T>
T wrapping(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        return a + b;
    } else {
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    }
}

}  // namespace

#define SIMT_ATOMIC(name, T, expression)                                                   \
    T name(T* address, T value) {                                                          \
        return update(                                                                     \
            address, [=](T old) -> T { return expression; }, __builtin_return_address(0)); \
    }
#define SIMT_ATOMIC_INTEGERS(name, expression) \
    SIMT_ATOMIC(name, int, expression)         \
    SIMT_ATOMIC(name, unsigned, expression)    \
    SIMT_ATOMIC(name, unsigned long long, expression)
#define SIMT_ATOMIC_CAS(T)                                                                                 \
    T atomicCAS(T* address, T expected, T desired) {                                                       \
        return update(                                                                                     \
            address, [=](T old) { return old == expected ? desired : old; }, __builtin_return_address(0)); \
    }

SIMT_ATOMIC_INTEGERS(atomicAdd, wrapping(old, value))
SIMT_ATOMIC(atomicAdd, float, old + value)
SIMT_ATOMIC(atomicAdd, double, old + value)
SIMT_ATOMIC(atomicSub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
SIMT_ATOMIC(atomicSub, unsigned, old - value)
SIMT_ATOMIC_INTEGERS(atomicMin, std::min(old, value))
SIMT_ATOMIC(atomicMin, long long, std::min(old, value))
SIMT_ATOMIC_INTEGERS(atomicMax, std::max(old, value))
SIMT_ATOMIC(atomicMax, long long, std::max(old, value))
SIMT_ATOMIC_INTEGERS(atomicAnd, old& value)
SIMT_ATOMIC_INTEGERS(atomicOr, old | value)
SIMT_ATOMIC_INTEGERS(atomicXor, old ^ value)
SIMT_ATOMIC_INTEGERS(atomicExch, (static_cast<void>(old), value))
SIMT_ATOMIC(atomicExch, float, (static_cast<void>(old), value))
SIMT_ATOMIC_CAS(int)
SIMT_ATOMIC_CAS(unsigned)
SIMT_ATOMIC_CAS(unsigned long long)
SIMT_ATOMIC_CAS(unsigned short)
