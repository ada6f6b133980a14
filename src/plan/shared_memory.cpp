#include "plan/shared_memory.h"

#include <algorithm>
#include <numeric>

namespace pipec::plan {

std::vector<std::int64_t> place_arrays(const std::vector<Lifetime>& arrays) {
    std::vector<std::int64_t> offsets;
    offsets.reserve(arrays.size());
    std::vector<std::size_t> others;  // alive at the same time, lowest first
    for (const Lifetime& array : arrays) {
        others.clear();
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            if (arrays[i].last >= array.first && arrays[i].first <= array.last) others.push_back(i);
        }
        std::sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) { return offsets[a] < offsets[b]; });
        std::int64_t offset = 0;
        for (const std::size_t i : others) {
            if (offset + array.bytes <= offsets[i]) break;
            offset = std::max(offset, align_shared(offsets[i] + arrays[i].bytes));
        }
        offsets.push_back(offset);
    }
    return offsets;
}

namespace {

std::int64_t bytes_of(const fusion::GroupShape& shape, const SharedArray& array) {
    std::int64_t bytes = shape.shapes[array.member].bytes;
    for (const std::int64_t extent : array.extents) bytes *= extent;
    return bytes;
}

/// Both use some of the same memory.
bool overlap(const SharedArray& a, const SharedArray& b) {
    if (&a == &b) return true;
    return a.offset >= 0 && b.offset >= 0 && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

/// A barrier stands where a member reads or writes memory that one since the last barrier has written, or writes what
/// one has read. Accumulates have a barrier between first values and updates, and one before they write out.
void find_barriers(const fusion::GroupShape& shape, SharedMemory& shared) {
    std::vector<const SharedArray*> array_of(shape.shapes.size(), nullptr);
    for (const SharedArray& array : shared.arrays) array_of[array.member] = &array;
    const auto reads = [&](std::size_t reader, const SharedArray& written) {
        const std::vector<std::size_t>& producers = shape.producers[reader];
        return std::any_of(producers.begin(), producers.end(),
                           [&](std::size_t producer) { return overlap(*array_of[producer], written); });
    };
    std::vector<std::size_t> since;  // the last barrier
    for (std::size_t m = 0; m < shape.shapes.size(); ++m) {
        const SharedArray* own = array_of[m];
        const bool waits = std::any_of(since.begin(), since.end(), [&](std::size_t other) {
            const SharedArray* theirs = array_of[other];
            return (theirs != nullptr && (reads(m, *theirs) || (own != nullptr && overlap(*own, *theirs)))) ||
                   (own != nullptr && reads(other, *own));
        });
        if (waits) since.clear();
        since.push_back(m);
        shared.waits.push_back(waits);
        shared.barriers += waits ? 1 : 0;
        if (shape.shapes[m].accumulates) shared.barriers += shape.live[m] ? 2 : 1;
    }
}

/// Bytes of all banks of shared memory side by side.
constexpr std::int64_t kBankBytes = 128;
/// Planes may get one row more for so many that they have.
constexpr std::int64_t kRowsPerPadding = 8;

/// Rows that members read at every second or fourth place have a multiple of 2 or 4 elements: these come in one access
/// then, and neighbouring threads ask different banks.
void align_rows(const fusion::GroupShape& shape, SharedArray& array) {
    const auto scale = [&](std::size_t m) {
        const std::vector<poly::Alignment>& alignment = shape.group.alignment[m];
        const bool is_inner = !alignment.empty() && alignment.back().dim == shape.group.rank - 1;
        return is_inner ? alignment.back().scale : 0;
    };
    const std::int64_t own = scale(array.member);
    if (own == 0) return;
    std::int64_t& row = array.extents.back();
    for (std::size_t m = array.member + 1; m < shape.shapes.size(); ++m) {
        const std::vector<std::size_t>& read = shape.producers[m];
        if (std::find(read.begin(), read.end(), array.member) == read.end()) continue;
        const std::int64_t step = scale(m) / own;
        if (step == 2 || step == 4) row = (row + step - 1) / step * step;
    }
}

/// Where data choose a plane of an array, all planes begin in the same bank. Neighbouring threads that read different
/// planes at neighbouring places then ask different banks.
void align_planes(const fusion::GroupShape& shape, SharedArray& array) {
    const int stage = shape.group.stages[array.member];
    const std::vector<poly::Alignment>& alignment = shape.group.alignment[array.member];
    unsigned chosen = 0;
    for (const fusion::StageShape& reader : shape.shapes) {
        for (const fusion::StageShape::Read& read : reader.reads) {
            if (read.array.kind == ir::Source::Kind::Stage && read.array.index == stage) chosen |= read.data;
        }
    }
    for (std::size_t d = 0; d + 1 < array.extents.size(); ++d) {
        if ((chosen >> d & 1U) == 0 || alignment[d].dim >= 0 || alignment[d + 1].dim < 0) continue;
        std::int64_t row = shape.shapes[array.member].bytes;
        for (std::size_t i = d + 2; i < array.extents.size(); ++i) row *= array.extents[i];
        const std::int64_t rows = array.extents[d + 1], step = kBankBytes / std::gcd(row, kBankBytes);
        const std::int64_t padded = (rows + step - 1) / step * step;
        if (padded <= rows + rows / kRowsPerPadding) array.extents[d + 1] = padded;
    }
}

/// All arrays have memory of their own.
std::int64_t apart(const SharedMemory& shared, std::int64_t thread_groups) {
    std::int64_t bytes = 0;
    for (const SharedArray& array : shared.arrays) bytes += align_shared(array.bytes * thread_groups);
    return bytes;
}

/// Members that are never needed at the same time share memory, unless all fit into what a kernel has without asking.
SharedMemory placed_arrays(const fusion::GroupShape& shape, const Tiles& tiles) {
    const poly::Group& group = shape.group;
    const std::int64_t thread_groups = tiles.thread_groups();
    SharedMemory shared;
    std::vector<Lifetime> lifetimes;
    shared.arrays.reserve(shape.shapes.size());
    lifetimes.reserve(shape.shapes.size());
    for (std::size_t m = 0; m < shape.shapes.size(); ++m) {
        const bool accumulates = shape.shapes[m].accumulates;  // and reads what it is so far
        if (!accumulates && !shape.kept[m]) continue;
        SharedArray& array = shared.arrays.emplace_back();
        array.member = array.first = m;
        array.extents.reserve(tiles.parts[m].extent.size());
        for (std::size_t d = 0; d < tiles.parts[m].extent.size(); ++d) {
            const std::int64_t count = tiles.parts[m].extent[d].count;
            // What only goes from there to global memory, dimension after dimension, is in rows of an odd length:
            // otherwise all lanes would ask one bank.
            const int dim = group.alignment[m][d].dim;
            const bool odd = accumulates && !shape.kept[m] && dim >= 0 && dim == group.rank - 1;
            array.extents.push_back(odd ? count | 1 : count);
        }
        align_rows(shape, array);
        align_planes(shape, array);
        array.bytes = bytes_of(shape, array);
        array.last = shape.last_reader[m];
        lifetimes.push_back({array.first, array.last, array.bytes});
    }
    const std::vector<std::int64_t> offsets = place_arrays(lifetimes);
    std::int64_t all = 0, scratch = 0;  // bytes of a thread group
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        all += align_shared(lifetimes[i].bytes);
        scratch = std::max(scratch, align_shared(offsets[i] + lifetimes[i].bytes));
    }
    if (scratch == all && all * thread_groups <= kStaticSharedBytes) {
        shared.bytes = apart(shared, thread_groups);
        return shared;
    }
    for (std::size_t i = 0; i < offsets.size(); ++i) shared.arrays[i].offset = offsets[i];
    shared.scratch = scratch;
    shared.bytes = scratch * thread_groups;
    return shared;
}

}  // namespace

SharedMemory tile_arrays(const fusion::GroupShape& shape, const Tiles& tiles) {
    SharedMemory shared = placed_arrays(shape, tiles);
    find_barriers(shape, shared);
    return shared;
}

SharedMemory stream_windows(const fusion::GroupShape& shape, const Tiles& tiles, const March& march) {
    SharedMemory shared;
    for (std::size_t m = 0; m < shape.shapes.size(); ++m) {
        if (!shape.shapes[m].accumulates && !shape.kept[m]) continue;
        SharedArray& array = shared.arrays.emplace_back();
        array.member = m;
        array.last = shape.shapes.size() - 1;  // all of them are in use all the time
        for (std::size_t d = 0; d < tiles.parts[m].extent.size(); ++d) {
            const March::Member& member = march.members[m];
            array.extents.push_back(member.rows == d ? member.window : tiles.parts[m].extent[d].count);
        }
        array.bytes = bytes_of(shape, array);
        if (!march.members[m].rows) ++shared.barriers;
    }
    if (!shared.arrays.empty()) shared.barriers += march.steps;
    shared.bytes = apart(shared, 1);
    if (shared.bytes <= kStaticSharedBytes) return shared;
    for (SharedArray& array : shared.arrays) {
        array.offset = shared.scratch;
        shared.scratch += align_shared(array.bytes);
    }
    return shared;
}

}  // namespace pipec::plan
