#include "engine/access.h"

#include <string>

#include "engine/block.h"
#include "engine/device_memory.h"
#include "engine/report.h"
#include "engine/symbols.h"

// Dynamic shared memory. Kernels declare it `extern`: at namespace scope, or in a function of an anonymous namespace,
// where a C++ compiler takes it for a variable of that namespace.
namespace simt {
constexpr std::size_t dynamic_limit = 227 * 1024;
}
extern "C" {
alignas(1024) constinit thread_local unsigned char simt_dynamic_shared[simt::dynamic_limit] = {};
// The compiler believes that such a variable may need to be constructed, and calls this.
void __tls_init() {}
}
asm(R"(
    .globl dynamic_shared
    .set dynamic_shared, simt_dynamic_shared
    .globl _ZN12_GLOBAL__N_114dynamic_sharedE
    .set _ZN12_GLOBAL__N_114dynamic_sharedE, simt_dynamic_shared
)");

namespace simt {
namespace {

const char* verb(Access access) {
    switch (access) {
        case Access::Read: return "a read";
        case Access::Write: return "a write";
        case Access::Atomic: return "an atomic";
    }
    return "";
}

std::string size_text(Access access, std::size_t bytes) {
    return std::string(verb(access)) + " of " + std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::uintptr_t dynamic_begin() {
    return reinterpret_cast<std::uintptr_t>(simt_dynamic_shared);
}

std::string describe(std::uintptr_t address) {
    const Grid& grid = *running.block->grid;
    if (DeviceMemory::get().contains(address)) return DeviceMemory::get().describe(address);
    if (address - dynamic_begin() < dynamic_limit) {
        return "byte " + std::to_string(address - dynamic_begin()) + " of dynamic shared memory of " +
               std::to_string(grid.dynamic_bytes) + " bytes";
    }
    if (address >= grid.static_begin && address < grid.static_end) {
        return shared_name(module_of(grid.kernel), address);
    }
    return "memory that is not the device's";
}

// Who made the access that collides, relative to the running lane.
std::string who(const Lane& lane, Record record, SiteId site, const char* did) {
    std::string result = std::string(did) + " by ";
    if (record < lane.view.block) {
        result += record < running.block->grid->begin ? "the previous kernel, which may still run" : "another block";
    } else {
        const uint3 extent = running.block->grid->threads;
        const unsigned i = lane_of(record);
        result += "thread " + text(uint3{i % extent.x, i / extent.x % extent.y, i / extent.x / extent.y});
        result += warp_of(record) == warp_of(lane.view.now) ? " of the same warp" : " of the same block";
    }
    return result + ", at " + place(pc_of(site));
}

[[noreturn]] void refuse(Verdict verdict, Access access, const Cell& cell, const Space& space, std::uintptr_t begin,
                         std::size_t bytes, std::size_t byte, const void* pc) {
    const Lane& lane = *running.lane;
    const std::string what = size_text(access, bytes) + " at " + describe(begin + byte);
    const auto race = [&](const std::array<Record, 2>& kept, const std::array<SiteId, 2>& sites, const char* did) {
        const int i = lane.view.ordered(kept[0], space.earliest) ? 1 : 0;
        lane_fault(Kind::Race, lane, what, place(pc), who(lane, kept[i], sites[i], did));
    };
    switch (verdict) {
        case Verdict::Fine:
        case Verdict::Unwritten:
        case Verdict::OutOfBounds: lane_fault(Kind::OutOfBounds, lane, what, place(pc));
        case Verdict::RaceWithWrite:
            lane_fault(Kind::Race, lane, what, place(pc), who(lane, cell.write, cell.write_site, "written"));
        case Verdict::RaceWithRead: race(cell.reads, cell.read_sites, "read"); break;
        case Verdict::RaceWithAtomic: race(cell.atomics, cell.atomic_sites, "changed by an atomic"); break;
    }
    __builtin_unreachable();
}

// `at` is the number of the first byte in `cells`, `begin` its address.
template <Access access>
void check(Cells cells, std::size_t at, const Space& space, std::uintptr_t begin, std::size_t bytes, const void* pc) {
    const SiteId site = site_of(pc);
    const View& view = running.lane->view;
    const auto look = [&](Cell& cell, std::size_t i) {
        const Verdict verdict = touch<access>(cell, view, space, site);
        if (verdict == Verdict::Fine) return;
        if (verdict != Verdict::Unwritten) refuse(verdict, access, cell, space, begin, bytes, i, pc);
        if (std::optional<Fault>& noted = running.block->grid->unwritten_read; !noted) {
            noted =
                fault_of(Kind::Uninitialized, *running.lane,
                         size_text(access, bytes) + " at " + describe(begin + i) + ", which nobody wrote", place(pc));
        }
    };
    for (std::size_t i = 0; i < bytes;) {
        Cell& word = cells.words[(at + i) / 4];
        Cell* byte = cells.bytes + at + i;
        const bool whole = (at + i) % 4 == 0 && bytes - i >= 4;
        if (whole && word.split == 0) {
            look(word, i);
            i += 4;
        } else if (whole) {
            for (std::size_t k = 0; k < 4; ++k) look(byte[k], i + k);
            if (access == Access::Write) word = byte[0];  // one history again: it begins here
            i += 4;
        } else {
            if (word.split == 0) cells.split((at + i) / 4);
            look(*byte, i);
            ++i;
        }
    }
}

template <Access access>
void count(std::uint64_t& read, std::uint64_t& written, std::size_t bytes) {
    if (access == Access::Read) read += bytes;
    if (access == Access::Write) written += bytes;
    if (access == Access::Atomic) ++counted().atomics;
}

// Memory that is neither the lane's stack nor the device's: shared memory, constants, the kernel's arguments.
template <Access access>
void check_other(std::uintptr_t begin, std::size_t bytes, const void* pc) {
    Block& block = *running.block;
    Grid& grid = *block.grid;
    const View& view = running.lane->view;
    const Space shared{view.block, unwritten, view.block};
    const Space dynamic{view.block, unallocated, view.block};
    const auto within = [&](std::uintptr_t from, std::uintptr_t to) { return begin >= from && begin + bytes <= to; };
    if (within(grid.static_begin, grid.static_end)) {
        count<access>(counted().shared_read, counted().shared_written, bytes);
        check<access>(block.static_cells.view(), begin - grid.static_begin, shared, begin, bytes, pc);
    } else if (within(dynamic_begin(), dynamic_begin() + grid.dynamic_bytes)) {
        count<access>(counted().shared_read, counted().shared_written, bytes);
        check<access>(block.dynamic_cells.view(), begin - dynamic_begin(), dynamic, begin, bytes, pc);
    } else if (access == Access::Read &&
               (within(grid.call_begin, grid.call_end) || within(grid.module_begin, grid.module_end))) {
        return;
    } else if (grid.static_end == 0 && find_static(block, grid)) {
        check_other<access>(begin, bytes, pc);
    } else {
        refuse(Verdict::OutOfBounds, access, Cell(), Space(), begin, bytes, 0, pc);
    }
}

}  // namespace

template <Access access>
void on_access(const void* pointer, std::size_t bytes, const void* pc) {
    const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
    const DeviceMemory& device = DeviceMemory::get();
    const Lane* lane = running.lane;
    if (lane == nullptr) {
        if (device.contains(begin)) {
            host_fault(Kind::HostAccess,
                       "host code makes " + size_text(access, bytes) + " at " + device.describe(begin), place(pc));
        }
        return;
    }
    if (begin - lane->stack < Fiber::stack_size) return;
    if (device.contains(begin)) {
        count<access>(counted().global_read, counted().global_written, bytes);
        check<access>(device.cells(), device.offset(begin), {lane->view.settled, unwritten, written_by_host}, begin,
                      bytes, pc);
    } else {
        check_other<access>(begin, bytes, pc);
    }
}

void forget_shared(const void* pointer, std::size_t bytes, const void* pc) {
    const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
    Block& block = *running.block;
    const Grid& grid = *block.grid;
    if (begin >= grid.static_begin && begin < grid.static_end)
        block.static_cells.view().set(begin - grid.static_begin, bytes, unwritten);
    else if (begin - dynamic_begin() < dynamic_limit)
        block.dynamic_cells.view().set(begin - dynamic_begin(), bytes, unwritten);
    else
        refuse(Verdict::OutOfBounds, Access::Write, Cell(), Space(), begin, bytes, 0, pc);
}

template void on_access<Access::Read>(const void*, std::size_t, const void*);
template void on_access<Access::Write>(const void*, std::size_t, const void*);
template void on_access<Access::Atomic>(const void*, std::size_t, const void*);

}  // namespace simt
