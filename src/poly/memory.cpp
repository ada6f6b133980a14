#include "poly/memory.h"

#include <isl/cpp.h>

#include <cstddef>
#include <cstdlib>
#include <new>

/// GMP's mp_set_memory_functions, under the name that its header gives it: isl's packages do not bring the header.
extern "C" void __gmp_set_memory_functions(void* (*allocate)(std::size_t),                        // NOLINT
                                           void* (*reallocate)(void*, std::size_t, std::size_t),  // NOLINT
                                           void (*release)(void*, std::size_t));                  // NOLINT

namespace pipec::poly {

namespace {

void (*exhausted)() = nullptr;

void* checked(void* memory) {
    if (memory == nullptr) exhausted();
    return memory;
}

}  // namespace

void rethrow_exhaustion(const isl::exception& failure) {
    if (dynamic_cast<const isl::exception_alloc*>(&failure) != nullptr) throw std::bad_alloc();
}

void on_exhausted_numbers(void (*handler)()) {
    exhausted = handler;
    __gmp_set_memory_functions(
        [](std::size_t size) { return checked(std::malloc(size)); },
        [](void* old, std::size_t, std::size_t size) { return checked(std::realloc(old, size)); },
        [](void* memory, std::size_t) { std::free(memory); });
}

}  // namespace pipec::poly
