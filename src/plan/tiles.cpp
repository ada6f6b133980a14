#include "plan/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "support/integers.h"

namespace pipec::plan {

std::int64_t Part::points() const {
    std::int64_t all = 1;
    for (const poly::TileExtent& e : extent) all *= e.count;
    return all;
}

std::int64_t Tiles::thread_groups() const {
    std::int64_t all = 1;
    for (const Cut& cut : cuts) all *= cut.thread_groups;
    return all;
}

std::array<int, 3> warp_shape(const std::array<int, 3>& block) {
    const int x = std::min(block[0], kWarp);
    const int y = std::min(block[1], kWarp / x);
    return {x, y, std::min(block[2], kWarp / (x * y))};
}

std::optional<Refusal> check_block(const std::array<int, 3>& block, int rank) {
    for (int axis = 0; axis < 3; ++axis) {
        const int n = block[static_cast<std::size_t>(axis)];
        const bool power = n >= 1 && std::has_single_bit(static_cast<unsigned>(n));
        if (!power && !(axis == 0 && n % kWarp == 0 && n > 0)) {
            return fmt::format("{} threads in a dimension: it must be a power of two (or, in x, a multiple of 32)", n);
        }
        if (axis >= rank && n > 1) {
            return fmt::format("the group has {} dimensions, a block of threads with more is of no use", rank);
        }
    }
    const std::int64_t threads = std::int64_t{block[0]} * block[1] * block[2];
    if (threads % kWarp != 0 || threads > 1024)
        return fmt::format("{} threads a block: 32 to 1024 make whole warps", threads);
    return std::nullopt;
}

int axis_of(int rank, std::size_t dim) {
    const int axis = rank - 1 - static_cast<int>(dim);
    return axis > 2 ? -1 : axis;
}

std::int64_t tile_size(std::int64_t points, std::int64_t unit) {
    return ceil_quotient(points, unit) * unit;
}

std::vector<std::int64_t> tile_sizes(const fusion::GroupShape& shape, const std::array<int, 3>& lanes,
                                     const std::array<int, 3>& tile) {
    std::vector<std::int64_t> sizes;
    for (std::size_t g = 0; g < shape.units.size(); ++g) {
        const int axis = axis_of(shape.group.rank, g);
        const auto a = static_cast<std::size_t>(axis);
        sizes.push_back(axis < 0 ? shape.units[g] : tile_size(std::int64_t{tile[a]} * lanes[a], shape.units[g]));
    }
    return sizes;
}

poly::TileExtent part_along(const fusion::GroupShape& shape, std::size_t m, std::size_t dim, std::int64_t size) {
    const poly::Alignment& a = shape.group.alignment[m][dim];
    if (a.dim < 0) {
        const fusion::StageShape::Range& whole = *shape.shapes[m].ranges[dim];
        return {whole.lo, whole.hi - whole.lo};
    }
    return poly::tile_extent(a, shape.group.reach[m][static_cast<std::size_t>(a.dim)], size);
}

std::vector<Part> parts_of(const fusion::GroupShape& shape, const std::vector<Cut>& cuts) {
    std::vector<Part> parts(shape.shapes.size());
    for (std::size_t m = 0; m < parts.size(); ++m) {
        const std::vector<poly::Alignment>& alignment = shape.group.alignment[m];
        for (std::size_t d = 0; d < alignment.size(); ++d) {
            const Cut cut = alignment[d].dim < 0 ? Cut{} : cuts[static_cast<std::size_t>(alignment[d].dim)];
            parts[m].extent.push_back(part_along(shape, m, d, std::max(cut.size, cut.cover)));
        }
    }
    return parts;
}

Halo halo(const poly::TileExtent& extent, std::int64_t own) {
    const std::int64_t more = std::max<std::int64_t>(0, extent.count - own);
    const std::int64_t before = std::clamp<std::int64_t>(-extent.first, 0, more);
    return {before, more - before};
}

std::int64_t own_points(const fusion::GroupShape& shape, const Tiles& tiles, std::size_t m) {
    std::int64_t own = 1;
    for (std::size_t d = 0; d < tiles.parts[m].extent.size(); ++d) {
        const poly::Alignment& a = shape.group.alignment[m][d];
        own *= a.dim < 0 ? tiles.parts[m].extent[d].count : tiles.cuts[static_cast<std::size_t>(a.dim)].size / a.scale;
    }
    return own;
}

Tiles make_tiles(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule) {
    using fusion::Strategy;
    Tiles tiles;
    tiles.block = schedule.block;
    tiles.by_warp = schedule.strategy != Strategy::Otptb;
    tiles.lanes = tiles.by_warp ? warp_shape(schedule.block) : schedule.block;
    for (std::size_t g = 0; g < shape.units.size(); ++g) {
        Cut& cut = tiles.cuts.emplace_back();
        const int axis = axis_of(shape.group.rank, g);
        if (axis == 0 && schedule.strategy != Strategy::Hybrid) cut.vector = schedule.vector;
        const std::int64_t unit = shape.units[g] * cut.vector;  // one coordinate of the coarsest stage, in vectors
        cut.size = unit;
        if (axis < 0) continue;
        const auto a = static_cast<std::size_t>(axis);
        cut.lanes = tiles.lanes[a];
        cut.thread_groups = schedule.block[a] / tiles.lanes[a];
        cut.size = tile_size(std::int64_t{schedule.tile[a]} * cut.lanes, unit);
    }
    tiles.parts = parts_of(shape, tiles.cuts);
    return tiles;
}

Tiles make_strips(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule, const March& march) {
    Tiles tiles;
    tiles.block = tiles.lanes = schedule.block;
    for (std::size_t g = 0; g < shape.units.size(); ++g) {
        Cut& cut = tiles.cuts.emplace_back();
        cut.size = march.size[g];
        const int axis = axis_of(shape.group.rank, g);
        if (axis >= 0) cut.lanes = schedule.block[static_cast<std::size_t>(axis)];
    }
    tiles.parts = parts_of(shape, tiles.cuts);
    return tiles;
}

}  // namespace pipec::plan
