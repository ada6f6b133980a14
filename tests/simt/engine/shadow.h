// Shadow memory: for each byte of device and shared memory, who wrote it and who read it last.
//
// An access is recorded as one number, a Record:
//
//   bits 32..63  era     counts, over the life of the process, the blocks that were started and their barriers
//   bits 10..31  clock   the warp barriers that the lane has passed in this era
//   bits  0..9   lane    its number in the block
//
// Blocks run one after the other, so the era alone says whether a record is of an earlier kernel, of another block of
// this kernel, of this block before its last barrier, or of the present. Only there lanes and clocks matter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace simt {

using Record = std::uint64_t;

constexpr Record unallocated = 0, unwritten = 1;  // of a byte's write
constexpr Record written_by_host = Record(1) << 32;
constexpr int clock_shift = 10, era_shift = 32;
constexpr std::uint32_t clock_limit = 1u << 22;

constexpr Record era_begin(std::uint32_t era) {
    return Record(era) << era_shift;
}
constexpr unsigned lane_of(Record r) {
    return r & 1023;
}
constexpr unsigned warp_of(Record r) {
    return lane_of(r) / 32;
}
constexpr std::uint32_t clock_of(Record r) {
    return (r >> clock_shift) & (clock_limit - 1);
}

/// Code addresses as numbers that fit a cell: see site_of.
using SiteId = std::uint16_t;

/// A byte, or four with one history: its last plain write, and the reads and atomics since then. Of these, two each are
/// kept, of different warps or blocks where there are such. Then every lane that comes later meets one that is not
/// ordered before it, if there is any (but for three lanes of a warp of which two wait for each other, with a mask of
/// their own).
struct Cell {
    Record write;
    std::array<Record, 2> reads, atomics;
    SiteId write_site;
    std::array<SiteId, 2> read_sites, atomic_sites;
    std::uint16_t split;  ///< of a word's cell: its bytes have cells of their own
};
static_assert(sizeof(Cell) == 56);

/// The cells of a range of memory, numbered from its begin. Most words are only ever touched as words, and have one
/// cell.
struct Cells {
    Cell* words = nullptr;
    Cell* bytes = nullptr;

    [[nodiscard]] Record write(std::size_t at) const {
        return words[at / 4].split != 0 ? bytes[at].write : words[at / 4].write;
    }
    /// Begins a new history.
    void set(std::size_t at, std::size_t count, Record write);
    void split(std::size_t word);
};

/// What a lane knows about the order of things.
struct View {
    Record now;                          ///< of an access made now
    Record settled;                      ///< what is below is of kernels that have ended
    Record block;                        ///< where the block began
    Record era;                          ///< its last barrier
    std::array<std::uint32_t, 32> seen;  ///< of each lane of its warp: accesses with a smaller clock came before

    /// Did what `r` records happen before? `earliest`: `settled` for device memory, `block` for shared memory.
    [[nodiscard]] bool ordered(Record r, Record earliest) const {
        if (r < earliest) return true;
        if (r < block) return false;
        if (r < era || lane_of(r) == lane_of(now)) return true;
        return warp_of(r) == warp_of(now) && clock_of(r) < seen[lane_of(r) % 32];
    }
};

enum class Access { Read, Write, Atomic };
enum class Verdict { Fine, OutOfBounds, Unwritten, RaceWithWrite, RaceWithRead, RaceWithAtomic };

/// What the bytes of a kind of memory have in common.
struct Space {
    Record earliest;   ///< see View::ordered
    Record allocated;  ///< a write below this: no memory
    Record written;    ///< a write below this: nobody wrote it
};

/// Keeps a read, or an atomic.
inline void note(std::array<Record, 2>& kept, std::array<SiteId, 2>& sites, const View& view, Record earliest,
                 SiteId site) {
    const auto [first, second] = kept;
    int i = 0;
    // What comes after this access, and not after an earlier one, is not after this one either.
    if (!view.ordered(first, earliest)) {
        const bool one_warp = first >= view.block && second >= view.block && warp_of(first) == warp_of(second);
        if (view.ordered(second, earliest)) {
            i = 1;
        } else if (!one_warp) {
            return;
        }
    }
    kept[i] = view.now;
    sites[i] = site;
}

/// Checks an access to one byte, and records it if it is fine or reads what nobody wrote.
template <Access access>
inline Verdict touch(Cell& cell, const View& view, const Space& space, SiteId site) {
    const Record write = cell.write;
    const auto collides = [&](const std::array<Record, 2>& kept) {
        return !view.ordered(kept[0], space.earliest) || !view.ordered(kept[1], space.earliest);
    };
    if (write < space.allocated) return Verdict::OutOfBounds;
    if (!view.ordered(write, space.earliest)) return Verdict::RaceWithWrite;
    if (access != Access::Read && collides(cell.reads)) return Verdict::RaceWithRead;
    if (access != Access::Atomic && collides(cell.atomics)) return Verdict::RaceWithAtomic;
    if (access == Access::Write) {
        cell.write = view.now;
        cell.write_site = site;
        cell.reads = cell.atomics = {};
        return Verdict::Fine;
    }
    if (access == Access::Read) {
        note(cell.reads, cell.read_sites, view, space.earliest, site);
    } else {
        note(cell.atomics, cell.atomic_sites, view, space.earliest, site);
    }
    return write < space.written ? Verdict::Unwritten : Verdict::Fine;
}

constexpr std::size_t site_count = 1 << 16;
extern std::array<const void*, site_count> sites;  ///< a hash table with open addressing; slot 0 stays empty
SiteId find_site(const void* pc, std::size_t slot);

/// The number of a code address. Where there are too many, it is 0, which stands for no address.
inline SiteId site_of(const void* pc) {
    const std::size_t slot = (reinterpret_cast<std::uintptr_t>(pc) * 0x9e3779b97f4a7c15u) >> 48;
    return sites[slot] == pc ? static_cast<SiteId>(slot) : find_site(pc, slot);
}
inline const void* pc_of(SiteId site) {
    return sites[site];
}

}  // namespace simt
