// Memory with guards on both sides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipec::testing {

inline constexpr std::size_t kGuardBytes = 4096;  // before and after each buffer, a multiple of every alignment
inline constexpr auto kGuard = std::byte{0xa5};

/// Memory with guards on both sides, all filled with a pattern.
class Guarded {
public:
    explicit Guarded(std::size_t bytes) : bytes_(bytes), memory_(bytes + 2 * kGuardBytes + 64, kGuard) {}

    [[nodiscard]] std::byte* data() {
        const auto start = reinterpret_cast<std::uintptr_t>(memory_.data()) + kGuardBytes;
        return reinterpret_cast<std::byte*>((start + 63) / 64 * 64);
    }
    [[nodiscard]] const std::vector<std::byte>& everything() const { return memory_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// True when nothing outside of the bytes asked for was written.
    [[nodiscard]] bool intact() {
        const auto is_guard = [](std::byte b) { return b == kGuard; };
        std::byte* begin = memory_.data();
        return std::all_of(begin, data(), is_guard) && std::all_of(data() + bytes_, begin + memory_.size(), is_guard);
    }

private:
    std::size_t bytes_;
    std::vector<std::byte> memory_;
};

}  // namespace pipec::testing
