#include "plan/scan_tile.h"

#include <algorithm>

#include "plan/shared_memory.h"

namespace pipec::plan {

namespace {

constexpr std::int64_t kLeastPoints = 8;
/// An access across lines takes at least so many bytes.
constexpr std::int64_t kLeastAccess = 64;
/// Where a GPU has more, two blocks still fit into a multiprocessor.
constexpr std::int64_t kSharedBytes = 80 * 1024;
/// Constant dimensions inside of the scan's, of no more points than this together, do not make it run across memory.
constexpr std::int64_t kPointsInside = 4;

/// Points of a line that a thread has at once, and warps of a block, where lines run along memory and across.
constexpr std::int64_t kPointsAlong = 8, kPointsAcross = 16;
constexpr std::int64_t kWarpsAlong = 4, kWarpsAcross = 16;
/// With few lines each block has a multiprocessor's shared memory to itself; flags go beside the values.
constexpr std::int64_t kMostExchangeBytes = 72 * 1024;
constexpr std::int64_t kPointsOfFew = 16, kWarpsOfFew = 32;

/// Slices of no more points are for few threads, where nobody says how long they are: disparities, states.
constexpr std::int64_t kShortSlice = kShortestStripSlice, kShortSliceThreads = 128;
/// Of so many slices, and bytes, a block computes at once what does not depend on the scan.
constexpr std::int64_t kMostSlices = 16, kTermBytes = 32 * 1024;

/// What a launch takes is then a small part of the time.
constexpr std::int64_t kMostStripSlices = 32;

/// The same of patches, with the points of a block in each direction, and bytes with which three blocks fit into a
/// multiprocessor.
constexpr std::int64_t kMostPatchSlices = 4, kPatchSide = 64, kPatchBytes = 72 * 1024;
/// A fifth of the points is computed again; on an H200, 300 operations then take about what loading a point takes.
constexpr std::int64_t kMostPatchWork = 300;
/// Channels and the like.
constexpr std::int64_t kMostAtOnePlace = 8;

}  // namespace

bool runs_along_memory(const std::vector<int>& order, int scan,
                       const std::vector<std::optional<std::int64_t>>& extents) {
    std::int64_t inner = 1;
    bool passed = false;
    for (const int dim : order) {
        if (passed) {
            const std::int64_t extent = extents[static_cast<std::size_t>(dim)].value_or(kPointsInside + 1);
            inner = std::min(inner * std::min(extent, kPointsInside + 1), kPointsInside + 1);
        }
        passed = passed || dim == scan;
    }
    return inner <= kPointsInside;
}

bool is_short_line(std::optional<std::int64_t> points) {
    constexpr std::int64_t kMost = 32;
    return points && *points <= kMost;
}

std::int64_t slice_threads(std::optional<std::int64_t> slice) {
    constexpr std::int64_t kMost = 1024;
    if (!slice) return kMost;
    // As many as leave none without a point in the last round.
    const std::int64_t rounds = std::max<std::int64_t>(1, (*slice + kMost - 1) / kMost);
    return std::max(((*slice + rounds - 1) / rounds + kWarp - 1) / kWarp * kWarp, std::int64_t{kWarp});
}

std::vector<SharedSliceTile> make_shared_slice_tiles(std::optional<std::int64_t> slice, const SlicePoint& point,
                                                     std::int64_t room) {
    std::vector<SharedSliceTile> tiles;
    const auto add = [&](std::int64_t points, std::int64_t threads) {
        SharedSliceTile tile{threads, points, 1, 1, 0};
        while (tile.ring <= point.distance) tile.ring *= 2;
        const std::int64_t ring = tile.ring * points * point.bytes + point.arrays * kSharedAlignment;
        const auto bytes = [&](std::int64_t slices) { return ring + slices * points * point.term_bytes; };
        if (point.term_bytes > 0) {
            while (tile.slices < kMostSlices && 2 * tile.slices * points * point.term_bytes <= kTermBytes &&
                   bytes(2 * tile.slices) <= room) {
                tile.slices *= 2;
            }
        }
        tile.shared_bytes = bytes(tile.slices);
        if (tile.shared_bytes <= room) tiles.push_back(tile);
        return tile.shared_bytes <= room;
    };
    if (slice) {
        if (*slice <= kLargestBlockSlice) add(*slice, slice_threads(slice));
        return tiles;
    }
    add(kShortSlice, kShortSliceThreads);
    for (std::int64_t points = kLargestBlockSlice; points > kShortSlice && !add(points, slice_threads({}));)
        points /= 2;
    return tiles;
}

std::optional<SliceStrip> make_slice_strip(std::int64_t below, std::int64_t above) {
    // Half of the threads at most are for points beside. Fewer slices are not worth a launch.
    constexpr std::int64_t kThreads = 128, kLeastSlices = 4;
    std::int64_t slices = kMostStripSlices;
    while (slices > kLeastSlices && (below + above) * slices > kThreads / 2) slices /= 2;
    const std::int64_t beside = (below + above) * slices;
    if (beside > kThreads / 2) return std::nullopt;
    return SliceStrip{below * slices, above * slices, kThreads - beside, slices};
}

std::optional<SliceStrip> slice_strip(const fusion::ScanFacts& scan, const fusion::Gpu& gpu) {
    if (scan.reaches.size() != 1 || !scan.reaches[0] || scan.reaches[0]->wraps || scan.lines >= gpu.sms ||
        scan.slice <= static_cast<double>(kShortestStripSlice))
        return std::nullopt;
    return make_slice_strip(scan.reaches[0]->below, scan.reaches[0]->above);
}

std::int64_t kept_slices(const std::optional<SliceStrip>& strip, const std::optional<SlicePatch>& patch,
                         std::int64_t distance, std::int64_t last) {
    const std::int64_t launched = strip ? strip->slices : patch ? patch->slices : 1;
    std::int64_t slices = 1;  // a power of two, so that the remainder is a mask
    while (slices < launched + std::max(distance, last)) slices *= 2;
    return slices;
}

std::optional<SlicePatch> make_slice_patch(const std::vector<int>& order,
                                           const std::vector<std::optional<std::int64_t>>& extents,
                                           const std::vector<int>& across,
                                           const std::vector<std::optional<ir::ScanReach>>& reaches,
                                           const SlicePoint& point, std::int64_t room) {
    if (point.work > kMostPatchWork) return std::nullopt;
    SlicePatch patch;
    std::vector<ir::ScanReach> near;
    for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
        const auto place = std::find(across.begin(), across.end(), *dim);
        if (place == across.end()) continue;
        const auto d = static_cast<std::size_t>(*dim);
        const auto& reach = reaches[static_cast<std::size_t>(place - across.begin())];
        if (extents[d] && *extents[d] <= kMostAtOnePlace) {
            patch.whole_dims.push_back(d);
            patch.whole *= *extents[d];
            if (patch.whole > kMostAtOnePlace) return std::nullopt;
        } else if (reach && near.size() < 2) {
            near.push_back(*reach);
            (near.size() == 1 ? patch.column_dim : patch.row_dim) = d;
        } else {
            return std::nullopt;
        }
    }
    if (near.size() != 2) return std::nullopt;
    patch.ring = point.distance + 1;
    patch.columns = kPatchSide;
    const auto bytes = [&] {
        return patch.ring * patch.whole * patch.rows * patch.columns * point.bytes + kSharedAlignment;
    };
    for (patch.rows = kPatchSide; patch.rows > kPatchSide / 4 && bytes() > std::min(kPatchBytes, room);)
        patch.rows /= 2;
    patch.shared_bytes = bytes();
    if (patch.shared_bytes > room) return std::nullopt;
    // More slices take fewer launches, and more points that neighbours compute, too.
    const auto fits = [&](std::int64_t part) {
        return (near[0].below + near[0].above) * patch.slices * part <= patch.columns &&
               (near[1].below + near[1].above) * patch.slices * part <= patch.rows;
    };
    patch.slices = kMostPatchSlices;
    while (patch.slices > 2 && !fits(8)) patch.slices /= 2;
    if (!fits(4)) return std::nullopt;
    patch.beside_columns = {near[0].below * patch.slices, near[0].above * patch.slices, near[0].wraps};
    patch.beside_rows = {near[1].below * patch.slices, near[1].above * patch.slices, near[1].wraps};
    return patch;
}

static std::optional<SlicePatch> patch_of(const fusion::StageFacts& stage, const fusion::Gpu& gpu) {
    std::vector<std::optional<std::int64_t>> extents;  // as code knows them: sizes may be others
    for (const auto& range : stage.shape.ranges)
        extents.push_back(range ? std::optional(range->hi - range->lo) : std::nullopt);
    const SlicePoint point{stage.scan->distance, stage.bytes, 0, 1, stage.scan->work};
    return make_slice_patch(stage.shape.order, extents, stage.scan->across, stage.scan->reaches, point,
                            gpu.shared_per_block);
}

std::optional<SlicePatch> slice_patch(const fusion::StageFacts& stage, const fusion::Gpu& gpu) {
    const fusion::ScanFacts& scan = *stage.scan;
    if (scan.lines >= gpu.sms || scan.slice <= static_cast<double>(kLargestBlockSlice)) return std::nullopt;
    return patch_of(stage, gpu);
}

std::int64_t memory_slices(const fusion::StageFacts& stage, const fusion::Gpu& gpu) {
    const fusion::ScanFacts& scan = *stage.scan;
    if (!scan.last) return scan.length;
    const bool near = scan.reaches.size() == 1 && scan.reaches[0] && !scan.reaches[0]->wraps;
    const auto strip = near ? make_slice_strip(scan.reaches[0]->below, scan.reaches[0]->above) : std::nullopt;
    return std::min(scan.length, kept_slices(strip, patch_of(stage, gpu), scan.distance, *scan.last));
}

std::int64_t direct_scan_lines(const fusion::Gpu& gpu) {
    return std::int64_t{gpu.sms} * gpu.threads_per_sm / 2;
}

std::int64_t ScanTile::pitch(std::int64_t bytes) const {
    return points + std::min<std::int64_t>(4, kSharedAlignment / bytes);
}

std::int64_t ScanTile::side_by_side() const {
    return along_memory ? kWarp : kScanWarps * kWarp / lines;
}

ScanTile make_scan_tile(const std::vector<int>& order, int scan,
                        const std::vector<std::optional<std::int64_t>>& extents, std::int64_t bytes,
                        std::int64_t arrays, std::int64_t room) {
    ScanTile tile;
    tile.along_memory = runs_along_memory(order, scan, extents);
    // Few lines for each block keep more blocks at work; across memory, lanes need lines beside each other.
    tile.lines = tile.along_memory ? kScanWarps : bytes / arrays * kWarp / 2 >= kLeastAccess ? kWarp / 2 : kWarp;
    // Threads wait for memory once for each chunk.
    tile.points = tile.side_by_side() * kThreadPoints;
    const std::int64_t length = extents[static_cast<std::size_t>(scan)].value_or(tile.points);
    const auto taken = [&] {
        return 2 * tile.lines * (tile.points * bytes + arrays * kSharedAlignment) + arrays * kSharedAlignment;
    };
    const std::int64_t most = std::min(kSharedBytes, room);
    while (tile.points > kLeastPoints && (taken() > most || tile.points >= 2 * length)) tile.points /= 2;
    tile.shared_bytes = taken();
    return tile;
}

std::optional<std::int64_t> line_count(const std::vector<int>& order, int scan,
                                       const std::vector<std::optional<std::int64_t>>& extents) {
    std::int64_t lines = 1;
    for (const int dim : order) {
        if (dim == scan) continue;
        const auto extent = extents[static_cast<std::size_t>(dim)];
        if (!extent || *extent > kFewLines) return std::nullopt;
        lines = std::min(lines * *extent, kFewLines + 1);
    }
    return lines;
}

std::optional<SharedScanTile> make_shared_scan_tile(const std::vector<int>& order, int scan,
                                                    const std::vector<std::optional<std::int64_t>>& extents,
                                                    std::int64_t lines, const SharedScanPoint& point) {
    SharedScanTile tile;
    tile.along_memory = runs_along_memory(order, scan, extents);
    tile.lines = tile.along_memory ? 1 : kWarp;
    tile.warps = tile.along_memory ? kWarpsAlong : kWarpsAcross;
    tile.points = point.small ? (tile.along_memory ? kPointsAlong : kPointsAcross) : 1;
    const auto length = extents[static_cast<std::size_t>(scan)];
    if (length && *length < kShortestSharedLine) return std::nullopt;
    if (tile.along_memory && lines <= kFewLines) {
        tile.warps = kWarpsOfFew;
        if (point.small) tile.points = kPointsOfFew;
        while (length && tile.warps > kWarpsAlong && tile.chunk() >= 2 * *length) tile.warps /= 2;
    }
    while (length && tile.points > 1 && tile.chunk() >= 2 * *length) tile.points /= 2;
    while (tile.points > 1 && tile.warps * tile.exchanged() * point.bytes > kMostExchangeBytes) tile.points /= 2;
    return tile;
}

}  // namespace pipec::plan
