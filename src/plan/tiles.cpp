#include "plan/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "fusion/group_fields.h"
#include "fusion/strategy.h"
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

namespace {

/// Tiles of a dimension, where their number does not depend on sizes.
std::optional<std::int64_t> tile_count(const fusion::GroupShape& shape, std::size_t g, const Cut& cut) {
    std::optional<std::int64_t> first, end;
    for (std::size_t m = 0; m < shape.shapes.size(); ++m) {
        for (std::size_t d = 0; shape.live[m] && d < shape.group.alignment[m].size(); ++d) {
            const poly::Alignment& a = shape.group.alignment[m][d];
            if (a.dim != static_cast<int>(g)) continue;
            const auto& range = shape.shapes[m].ranges[d];
            if (!range) return std::nullopt;
            const std::int64_t points = cut.size / a.scale;
            const std::int64_t lo = floor_quotient(range->lo, points), hi = ceil_quotient(range->hi, points);
            first = std::min(first.value_or(lo), lo);
            end = std::max(end.value_or(hi), hi);
        }
    }
    return first ? std::optional(*end - *first) : std::nullopt;
}

}  // namespace

std::vector<std::size_t> block_order(const fusion::GroupShape& shape, const std::vector<Cut>& cuts) {
    constexpr std::int64_t kMostPlanes = 8;
    std::vector<std::size_t> order;
    for (std::size_t d = cuts.size(); d-- > 0;) order.push_back(d);
    for (std::size_t i = 2; i < order.size(); ++i) {
        const Cut& cut = cuts[order[i]];
        if (!shape.planes_share[order[i]]) continue;
        const auto planes = tile_count(shape, order[i], cut);
        if (!planes || *planes > kMostPlanes * cut.thread_groups) continue;
        std::rotate(order.begin() + 1, order.begin() + static_cast<std::ptrdiff_t>(i),
                    order.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    return order;
}

std::vector<std::size_t> asked_order(fusion::BlockOrder order, int rank) {
    std::vector<std::size_t> result;
    for (const char axis : name(order)) {
        const int from_inside = axis - 'x';
        if (from_inside < rank) result.push_back(static_cast<std::size_t>(rank - 1 - from_inside));
    }
    for (int d = rank - 4; d >= 0; --d) result.push_back(static_cast<std::size_t>(d));
    return result;
}

std::optional<fusion::BlockOrder> order_of(const std::vector<std::size_t>& order) {
    using fusion::BlockOrder;
    for (const BlockOrder one :
         {BlockOrder::Xyz, BlockOrder::Xzy, BlockOrder::Yxz, BlockOrder::Yzx, BlockOrder::Zxy, BlockOrder::Zyx}) {
        if (asked_order(one, static_cast<int>(order.size())) == order) return one;
    }
    return std::nullopt;
}

void take_block_order(const fusion::GroupSchedule& schedule, int prefetch, Tiles& tiles) {
    using fusion::EdgeTiles;
    tiles.asked_order = schedule.choices.block_order;
    tiles.ends_first =
        schedule.choices.edge_tiles.value_or(prefetch == 0 ? EdgeTiles::First : EdgeTiles::InOrder) == EdgeTiles::First;
}

fusion::Choices decided(const Tiles& tiles) {
    fusion::Choices result;
    result.block_order = order_of(tiles.order);
    result.edge_tiles = tiles.ends_first ? fusion::EdgeTiles::First : fusion::EdgeTiles::InOrder;
    return result;
}

void complete(const fusion::GroupShape& shape, Tiles& tiles) {
    tiles.parts = parts_of(shape, tiles.cuts);
    tiles.order =
        tiles.asked_order ? asked_order(*tiles.asked_order, shape.group.rank) : block_order(shape, tiles.cuts);
}

Tiles make_tiles(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule) {
    using fusion::Strategy;
    Tiles tiles;
    tiles.block = schedule.block;
    tiles.by_warp = fusion::info(schedule.strategy).owner == fusion::TileOwner::Warp;
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
    take_block_order(schedule, 0, tiles);
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
    take_block_order(schedule, 0, tiles);
    return tiles;
}

}  // namespace pipec::plan
