#include "plan/lane_patches.h"

#include <algorithm>
#include <bit>

#include "support/integers.h"

namespace pipec::plan {

namespace {

/// Where cells are gathered: warps of a block, unless its cells take more shared memory than so many bytes.
constexpr int kGatherWarps = 4;
constexpr std::int64_t kGatherBytes = 32 * 1024;

/// What a team spends: the issue slots of its warps, and the turns that it waits for at the next barrier. A patch costs
/// as much as its rows, and one more row for what it reads beyond them.
std::int64_t cost(const Patches& patches, std::int64_t lanes) {
    const std::int64_t slots = ceil_quotient(patches.count(), kWarp);
    const std::int64_t waiting = patches.turns(lanes) * ceil_quotient(lanes, kWarp);
    return (slots + waiting) * (patches.rows + 1);
}

std::int64_t cost(const std::vector<Patches>& parts, std::int64_t lanes) {
    std::int64_t total = 0;
    for (const Patches& patches : parts) total += cost(patches, lanes);
    return total;
}

/// Patches of `across` columns' vectors.
std::vector<Patches> of_rows(const Patches& vectors, std::int64_t most_rows) {
    std::vector<Patches> result;
    for (std::int64_t rows = 1; rows <= std::min(vectors.down, std::max<std::int64_t>(1, most_rows)); ++rows) {
        result.push_back(vectors);
        result.back().rows = rows;
        result.back().down = ceil_quotient(vectors.down, rows);
    }
    return result;
}

}  // namespace

PatchAxes lane_axes(const fusion::GroupShape& shape, std::size_t m) {
    const std::vector<poly::Alignment>& alignment = shape.group.alignment[m];
    const int x = shape.group.rank - 1;
    PatchAxes axes;
    for (std::size_t d = 0; d < alignment.size(); ++d) {
        if (alignment[d].dim >= 0 && alignment[d].dim == x) axes.columns = static_cast<int>(d);
        if (alignment[d].dim >= 0 && alignment[d].dim == x - 1) axes.rows = static_cast<int>(d);
    }
    return axes;
}

/// In an accumulate each lane has one cell, so that neighbouring lanes update elements in different banks.
PatchAxes patch_axes(const fusion::GroupShape& shape, std::size_t m, int together, const PatchReads& reads) {
    PatchAxes axes = lane_axes(shape, m);
    const fusion::StageShape& stage = shape.shapes[m];
    if (stage.accumulates || stage.innermost() < 0) return axes;
    const auto innermost = static_cast<std::size_t>(stage.innermost());
    axes.whole = together >= 0 || (shape.group.alignment[m][innermost].dim < 0 &&
                                   stage.ranges[innermost]->hi - stage.ranges[innermost]->lo > 1);
    if (!axes.whole) return axes;
    const int across = axes.columns;
    axes.columns = together >= 0 ? together : stage.innermost();
    const auto reads_of_two = [&](int d) { return reads.elements({d, -1}, 2, 1); };
    if (across >= 0 && (axes.rows < 0 || reads_of_two(across) < reads_of_two(axes.rows))) axes.rows = across;
    return axes;
}

std::int64_t patch_columns(const fusion::GroupShape& shape, std::size_t m, const PatchAxes& axes, std::int64_t vector,
                           std::int64_t access_bytes, const PatchReads& reads, std::int64_t points,
                           std::int64_t lanes) {
    if (axes.columns < 0) return 1;
    if (!axes.whole) {
        std::int64_t columns = std::min(vector, kAccessBytes / reads.narrowest);
        while (columns > 1 && reads.operations(axes, columns) > kRowOperations) columns /= 2;
        const bool loops = std::ranges::any_of(shape.shapes[m].reads, [](const fusion::StageShape::Read& read) {
            return (read.dims & fusion::StageShape::kLoops) != 0;
        });
        if (loops || !shape.live[m]) {
            while (columns > 1 && 2 * points <= columns * lanes) columns /= 2;
        }
        return columns;
    }
    const fusion::StageShape::Range& range = *shape.shapes[m].ranges[static_cast<std::size_t>(axes.columns)];
    const std::int64_t count = range.hi - range.lo;
    if (count <= kWholeColumns) {
        const double alone = reads.elements(axes, 1, 1) * static_cast<double>(count);
        if (reads.elements(axes, count, 1) * 2 <= alone && reads.in_registers(axes, count)) return count;
    }
    std::int64_t columns = access_bytes / reads.narrowest;
    while (columns > 1 && count % columns != 0) columns /= 2;
    return std::max<std::int64_t>(columns, 1);
}

std::int64_t columns_of_cell(const fusion::GroupShape& shape, std::size_t m, const std::vector<std::size_t>& found) {
    const auto scale_of = [&](std::size_t member) {
        for (const poly::Alignment& a : shape.group.alignment[member]) {
            if (a.dim == shape.group.rank - 1) return a.scale;
        }
        return std::int64_t{0};
    };
    std::int64_t columns = 1;
    for (const std::size_t producer : found) {
        if (scale_of(m) > 0) columns = std::max(columns, scale_of(producer) / scale_of(m));
    }
    return columns;
}

Patches in_blocks(Patches patches, std::int64_t across) {
    if (across <= 1) return patches;
    std::int64_t down = kWarp;
    while (down > 1 && (patches.down % down != 0 || kWarp / down < across)) down /= 2;
    if (down == 1 || patches.across % (kWarp / down) != 0) return patches;
    patches.block_across = kWarp / down;
    patches.block_down = down;
    return patches;
}

std::vector<std::vector<Patches>> patches_by_cost(const Patches& points, std::int64_t columns, std::int64_t lanes,
                                                  std::int64_t most_rows) {
    Patches vectors = points;
    vectors.columns = columns;
    vectors.across = points.across / columns;
    std::vector<std::vector<Patches>> result;
    for (const Patches& patches : of_rows(vectors, most_rows)) result.push_back({patches});
    const std::int64_t even =
        vectors.across >= kWarp ? vectors.across / kWarp * kWarp
                                : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(vectors.across)));
    if (even < vectors.across) {
        Patches left = vectors, right = vectors;
        left.across = even;
        right.across = vectors.across - even;
        right.skipped = even * columns;
        for (const Patches& a : of_rows(left, most_rows)) {
            for (const Patches& b : of_rows(right, most_rows)) result.push_back({a, b});
        }
    }
    std::stable_sort(result.begin(), result.end(),
                     [&](const auto& a, const auto& b) { return cost(a, lanes) < cost(b, lanes); });
    return result;
}

Patches alike_patches(const Patches& points, std::int64_t columns, std::int64_t lanes, std::int64_t most_rows) {
    Patches best = points;
    best.columns = columns;
    best.across = ceil_quotient(points.across, columns);
    std::int64_t least = cost(best, lanes);
    for (Patches patches = best; patches.rows < std::min(points.down, most_rows);) {
        ++patches.rows;
        patches.down = ceil_quotient(points.down, patches.rows);
        if (const std::int64_t c = cost(patches, lanes); c < least) best = patches, least = c;
    }
    return best;
}

std::array<int, 3> gather_block(std::int64_t bytes, int rank) {
    int warps = kGatherWarps;
    while (warps > 1 && warps * kWarp * bytes > kGatherBytes) warps /= 2;
    if (rank == 1) return {kWarp * warps, 1, 1};
    return {kWarp, warps, 1};
}

}  // namespace pipec::plan
