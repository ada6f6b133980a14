// Device memory: one range of addresses, with the cell of each byte at a computed place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/shadow.h"

namespace simt {

class DeviceMemory {
public:
    static DeviceMemory& get() { return memory_; }

    [[nodiscard]] bool contains(std::uintptr_t address) const { return address - base_ < size; }
    [[nodiscard]] bool contains(const void* pointer) const { return offset(pointer) < size; }
    [[nodiscard]] Cells cells() const { return cells_; }
    /// The number of a byte: of its cell.
    [[nodiscard]] std::size_t offset(std::uintptr_t address) const { return address - base_; }
    [[nodiscard]] std::size_t offset(const void* pointer) const {
        return reinterpret_cast<std::uintptr_t>(pointer) - base_;
    }

    /// Null where there is no room. Aligned to 256 bytes, with room around it that belongs to nobody.
    void* allocate(std::size_t bytes);
    bool free(void* pointer);
    /// All of the range belongs to one allocation.
    [[nodiscard]] bool allocated(const void* pointer, std::size_t bytes) const;
    void set_written(void* pointer, std::size_t bytes);
    /// Copies what the cells say about having been written.
    void copy_written(void* to, const void* from, std::size_t bytes);
    [[nodiscard]] std::size_t first_unwritten(const void* pointer, std::size_t bytes) const;
    /// "byte 400 of an allocation of 400 bytes", for an address in or near one.
    [[nodiscard]] std::string describe(std::uintptr_t address) const;

    static constexpr std::size_t size = std::size_t(1) << 34;

private:
    DeviceMemory();
    static DeviceMemory memory_;
    std::uintptr_t base_;
    Cells cells_;
    std::size_t next_ = 0;  ///< where to look for room
};

}  // namespace simt
