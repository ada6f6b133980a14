#include "engine/device_memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>

namespace simt {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t gap = 16 * page;  // addresses only: no memory is spent on it

std::map<std::size_t, std::size_t> allocations;  // offset, bytes

std::size_t pages(std::size_t bytes) {
    return (bytes + page - 1) / page * page;
}

void* reserve(std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        std::fprintf(stderr, "simt: no room for device memory: %zu bytes of addresses\n", bytes);
        std::abort();
    }
    return memory;
}

}  // namespace

DeviceMemory DeviceMemory::memory_;

DeviceMemory::DeviceMemory() : base_(reinterpret_cast<std::uintptr_t>(reserve(size))) {
    cells_.words = static_cast<Cell*>(reserve(size / 4 * sizeof(Cell)));
    cells_.bytes = static_cast<Cell*>(reserve(size * sizeof(Cell)));
}

void* DeviceMemory::allocate(std::size_t bytes) {
    const std::size_t room = pages(bytes) + gap;
    for (bool wrapped = false;;) {
        if (bytes > size || next_ + gap + room > size) {
            if (wrapped || bytes > size) return nullptr;
            wrapped = true;
            next_ = 0;
        }
        // The allocation that would be hit, if any: the last one that begins before the end.
        const auto after = allocations.lower_bound(next_ + gap + room);
        if (after == allocations.begin()) break;
        const auto [begin, length] = *std::prev(after);
        if (begin + pages(length) <= next_) break;
        next_ = begin + pages(length);
    }
    const std::size_t begin = next_ + gap;
    next_ = begin + pages(bytes);
    allocations.emplace(begin, bytes);
    cells_.set(begin, bytes, unwritten);
    return reinterpret_cast<void*>(base_ + begin);
}

bool DeviceMemory::free(void* pointer) {
    const auto found = allocations.find(offset(pointer));
    if (found == allocations.end()) return false;
    const auto [begin, bytes] = *found;
    // The pages come back as zeros: cells without memory.
    madvise(pointer, pages(bytes), MADV_DONTNEED);
    madvise(cells_.words + begin / 4, pages(bytes) / 4 * sizeof(Cell), MADV_DONTNEED);
    madvise(cells_.bytes + begin, pages(bytes) * sizeof(Cell), MADV_DONTNEED);
    allocations.erase(found);
    return true;
}

bool DeviceMemory::allocated(const void* pointer, std::size_t bytes) const {
    const std::size_t first = offset(pointer);
    const auto after = allocations.upper_bound(first);
    if (first >= size || after == allocations.begin()) return false;
    const auto [begin, length] = *std::prev(after);
    return first - begin <= length && bytes <= length - (first - begin);
}

void DeviceMemory::set_written(void* pointer, std::size_t bytes) {
    cells_.set(offset(pointer), bytes, written_by_host);
}

void DeviceMemory::copy_written(void* to, const void* from, std::size_t bytes) {
    const std::size_t target = offset(to), source = offset(from);
    for (std::size_t i = 0; i < bytes; ++i) {
        cells_.set(target + i, 1, cells_.write(source + i) == unwritten ? unwritten : written_by_host);
    }
}

std::size_t DeviceMemory::first_unwritten(const void* pointer, std::size_t bytes) const {
    for (std::size_t i = 0; i < bytes; ++i) {
        if (cells_.write(offset(pointer) + i) <= unwritten) return i;
    }
    return bytes;
}

std::string DeviceMemory::describe(std::uintptr_t address) const {
    const std::size_t at = offset(address);
    const auto after = allocations.upper_bound(at);
    const auto text = [](std::size_t distance, const char* where, std::size_t bytes) {
        return std::to_string(distance) + where + std::to_string(bytes) + " bytes";
    };
    if (after != allocations.begin()) {
        const auto [begin, bytes] = *std::prev(after);
        if (at < begin + bytes) return "byte " + text(at - begin, " of an allocation of ", bytes);
        if (after == allocations.end() || at - (begin + bytes) <= after->first - at) {
            return text(at - (begin + bytes), " bytes behind an allocation of ", bytes);
        }
    }
    if (after != allocations.end()) {
        return text(after->first - at, " bytes before an allocation of ", after->second);
    }
    return "device memory that nobody has allocated";
}

}  // namespace simt
