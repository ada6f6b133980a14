// Memory with guards on both sides.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace pipec::testing {

inline constexpr auto kGuard = std::byte{0xa5};

/// Memory between two pages that nobody may touch. By turns it begins right after the first one or ends right before
/// the second one, up to its alignment; what is left on the other side of it, up to a page, has a pattern, as it has
/// itself at first.
class Guarded {
public:
    explicit Guarded(std::size_t bytes, std::size_t alignment = 64)
        : bytes_(bytes), page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
        inside_ = (bytes + alignment + page_ - 1) / page_ * page_;
        void* const all =
            mmap(nullptr, inside_ + 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED) throw std::bad_alloc();
        begin_ = static_cast<std::byte*>(all) + page_;
        mprotect(all, page_, PROT_NONE);
        mprotect(begin_ + inside_, page_, PROT_NONE);
        std::fill_n(begin_, inside_, kGuard);
        static bool at_end = false;
        at_end = !at_end;
        data_ = at_end ? begin_ + (inside_ - bytes) / alignment * alignment : begin_;
    }
    ~Guarded() { munmap(begin_ - page_, inside_ + 2 * page_); }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    [[nodiscard]] std::byte* data() { return data_; }
    /// The memory and what has the pattern around it.
    [[nodiscard]] std::span<const std::byte> everything() const { return {begin_, inside_}; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// True when nothing outside of the bytes asked for was written.
    [[nodiscard]] bool intact() const {
        const auto is_guard = [](std::byte b) { return b == kGuard; };
        return std::all_of(begin_, data_, is_guard) && std::all_of(data_ + bytes_, begin_ + inside_, is_guard);
    }

private:
    std::size_t bytes_, page_, inside_ = 0;
    std::byte *begin_ = nullptr, *data_ = nullptr;
};

}  // namespace pipec::testing
