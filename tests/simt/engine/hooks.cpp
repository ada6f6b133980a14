// What instrumented code calls: the interface of g++'s thread sanitizer, without its library, for every access to
// memory; and that of the undefined-behaviour sanitizer for what it finds.
#include <cstdint>
#include <cstring>
#include <string>

#include "engine/access.h"
#include "engine/block.h"
#include "engine/report.h"
#include "engine/symbols.h"

using simt::Access;
using simt::Kind;

namespace {

struct SourceLocation {
    const char* file;
    std::uint32_t line, column;
};

// All descriptions that the compiler hands over begin with the place.
void undefined(const void* description, Kind kind, const char* what) {
    const auto& location = *static_cast<const SourceLocation*>(description);
    const std::string where = text(simt::Site{location.file, static_cast<int>(location.line)});
    if (simt::running.lane != nullptr) simt::lane_fault(kind, *simt::running.lane, what, where);
    simt::host_fault(kind, what, where);
}

}  // namespace

extern "C" {

#define SIMT_HOOK(name, access, bytes)                                        \
    void name(void* pointer) {                                                \
        simt::on_access<access>(pointer, bytes, __builtin_return_address(0)); \
    }
#define SIMT_HOOKS(bytes)                                        \
    SIMT_HOOK(__tsan_read##bytes, Access::Read, bytes)           \
    SIMT_HOOK(__tsan_write##bytes, Access::Write, bytes)         \
    SIMT_HOOK(__tsan_unaligned_read##bytes, Access::Read, bytes) \
    SIMT_HOOK(__tsan_unaligned_write##bytes, Access::Write, bytes)
SIMT_HOOKS(1)
SIMT_HOOKS(2)
SIMT_HOOKS(4)
SIMT_HOOKS(8)
SIMT_HOOKS(16)

void __tsan_read_range(void* pointer, std::size_t bytes) {
    simt::on_access<Access::Read>(pointer, bytes, __builtin_return_address(0));
}
void __tsan_write_range(void* pointer, std::size_t bytes) {
    simt::on_access<Access::Write>(pointer, bytes, __builtin_return_address(0));
}
// The linker sends calls of these functions here: see Simt.cmake.
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
    simt::on_access<Access::Read>(from, bytes, __builtin_return_address(0));
    simt::on_access<Access::Write>(to, bytes, __builtin_return_address(0));
    return std::memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
    simt::on_access<Access::Read>(from, bytes, __builtin_return_address(0));
    simt::on_access<Access::Write>(to, bytes, __builtin_return_address(0));
    return std::memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
    simt::on_access<Access::Write>(to, bytes, __builtin_return_address(0));
    return std::memset(to, value, bytes);
}

// C++'s own atomics: of host code only, the guards of its static variables among them.
#define SIMT_FETCH(bits, T, operation)                                   \
    T __tsan_atomic##bits##_fetch_##operation(volatile T* p, T v, int) { \
        return __atomic_fetch_##operation(p, v, __ATOMIC_SEQ_CST);       \
    }
#define SIMT_COMPARE(bits, T, strength, weak)                                                          \
    int __tsan_atomic##bits##_compare_exchange_##strength(volatile T* p, T* e, T v, int, int) {        \
        return __atomic_compare_exchange_n(p, e, v, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ? 1 : 0; \
    }
#define SIMT_HOST_ATOMICS(bits, T)                              \
    T __tsan_atomic##bits##_load(const volatile T* p, int) {    \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);            \
    }                                                           \
    void __tsan_atomic##bits##_store(volatile T* p, T v, int) { \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);               \
    }                                                           \
    T __tsan_atomic##bits##_exchange(volatile T* p, T v, int) { \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);     \
    }                                                           \
    SIMT_FETCH(bits, T, add)                                    \
    SIMT_FETCH(bits, T, sub)                                    \
    SIMT_FETCH(bits, T, and)                                    \
    SIMT_FETCH(bits, T, or)                                     \
    SIMT_FETCH(bits, T, xor)                                    \
    SIMT_COMPARE(bits, T, strong, false)                        \
    SIMT_COMPARE(bits, T, weak, true)
SIMT_HOST_ATOMICS(8, std::uint8_t)
SIMT_HOST_ATOMICS(16, std::uint16_t)
SIMT_HOST_ATOMICS(32, std::uint32_t)
SIMT_HOST_ATOMICS(64, std::uint64_t)
void __tsan_atomic_thread_fence(int) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define SIMT_UNDEFINED(name, kind, what)                          \
    void __ubsan_handle_##name(void* description, void*, void*) { \
        undefined(description, kind, what);                       \
    }
SIMT_UNDEFINED(out_of_bounds, Kind::OutOfBounds, "an index beyond the array")
SIMT_UNDEFINED(type_mismatch_v1, Kind::Misaligned, "an access to an address that is not aligned for its type")
SIMT_UNDEFINED(add_overflow, Kind::Undefined, "a sum that overflows")
SIMT_UNDEFINED(sub_overflow, Kind::Undefined, "a difference that overflows")
SIMT_UNDEFINED(mul_overflow, Kind::Undefined, "a product that overflows")
SIMT_UNDEFINED(negate_overflow, Kind::Undefined, "a negation that overflows")
SIMT_UNDEFINED(divrem_overflow, Kind::Undefined, "a division by zero, or one that overflows")
SIMT_UNDEFINED(shift_out_of_bounds, Kind::Undefined, "a shift by too much, or of too much")
SIMT_UNDEFINED(float_cast_overflow, Kind::Undefined, "a conversion of a number that does not fit")
SIMT_UNDEFINED(load_invalid_value, Kind::Undefined, "a bool that is neither 0 nor 1")
SIMT_UNDEFINED(missing_return, Kind::Undefined, "a function that ends without a value")
SIMT_UNDEFINED(builtin_unreachable, Kind::Undefined, "code that is said not to be reached")

}  // extern "C"
