// The entry of libFuzzer for one target, PIPEC_FUZZ_TARGET, and the coverage that it steers by: g++ calls
// __sanitizer_cov_trace_pc in every basic block. That of libFuzzer does nothing, so the linker takes this one instead
// (--wrap), which counts in libFuzzer's "extra counters".
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "fuzz/targets/targets.h"
#include "support/big_stack.h"

namespace {
constexpr std::size_t kCounters = std::size_t{1} << 16;
__attribute__((section("__libfuzzer_extra_counters"))) std::uint8_t counters[kCounters];
}  // namespace

/// A header may ask for terabytes, which is std::bad_alloc to everybody but AddressSanitizer: it would end the process.
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    constexpr std::size_t kMost = std::size_t{1} << 28;
    const auto align = static_cast<std::size_t>(alignment);
    void* const block = bytes > kMost ? nullptr : std::aligned_alloc(align, (bytes + align - 1) / align * align);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}
void operator delete(void* block, std::align_val_t) noexcept {
    std::free(block);
}

extern "C" {

__attribute__((no_sanitize_coverage)) void __wrap___sanitizer_cov_trace_pc() {
    const auto pc = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    std::uint8_t& counter = counters[(pc ^ pc >> 16) % kCounters];
    counter = static_cast<std::uint8_t>(counter + (counter < 255 ? 1 : 0));
}
// Comparisons of floats, which libFuzzer does not learn from.
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_cmpf(float, float) {}
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_cmpd(double, double) {}

int LLVMFuzzerRunDriver(int* argc, char*** argv, int (*test)(const std::uint8_t* data, std::size_t size));
}

namespace {

int test_one(const std::uint8_t* data, std::size_t size) {
    pipec::fuzz::PIPEC_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    int status = 0;
    pipec::run_on_big_stack(pipec::fuzz::kStackBytes, [&] { status = LLVMFuzzerRunDriver(&argc, &argv, test_one); });
    return status;
}
