#include "plan/register_lanes.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "support/integers.h"

namespace pipec::plan {

namespace {

/// The scale of a member's columns; 0: it has none.
std::int64_t scale_of(const fusion::GroupShape& shape, std::size_t m, std::size_t lane_dim) {
    for (const poly::Alignment& a : shape.group.alignment[m]) {
        if (a.dim == static_cast<int>(lane_dim)) return a.scale;
    }
    return 0;
}

/// Columns of a stage, first and last: its own coordinates, 0 being the first one of the lane's tile.
struct Columns {
    std::int64_t lo, hi;
};
void extend(std::optional<Columns>& all, std::int64_t lo, std::int64_t hi) {
    all = all ? Columns{std::min(all->lo, lo), std::max(all->hi, hi)} : Columns{lo, hi};
}

/// By member, the columns that a lane's outputs need; none of members without columns.
std::vector<std::optional<Columns>> needed_columns(const fusion::GroupShape& shape, const RegisterTile& tile) {
    const poly::Group& group = shape.group;
    std::vector<std::optional<Columns>> needed(group.stages.size());
    auto edge = group.edges.rbegin();
    for (std::size_t p = group.stages.size(); p-- > 0;) {
        const std::int64_t reader_scale = scale_of(shape, p, tile.lane_dim);
        if (reader_scale != 0 && shape.live[p]) extend(needed[p], 0, tile.columns / reader_scale - 1);
        for (; edge != group.edges.rend() && edge->reader_place == p; ++edge) {
            const std::int64_t scale = scale_of(shape, edge->producer_place, tile.lane_dim);
            if (scale == 0 || !needed[p]) continue;
            const poly::Distance& d = edge->distance[tile.lane_dim];
            const std::int64_t lo = ceil_quotient(needed[p]->lo * reader_scale + d.lo, scale);
            const std::int64_t hi = floor_quotient(needed[p]->hi * reader_scale + d.hi, scale);
            if (lo <= hi) extend(needed[edge->producer_place], lo, hi);
        }
    }
    return needed;
}

}  // namespace

Homes find_homes(const std::vector<LaneRead>& reads) {
    std::map<ColumnsOf, std::map<std::int64_t, int>> counts;  // of reads at each distance, in lanes
    std::map<std::int64_t, int>* known = nullptr;             // of the last read's array: reads of one stand together
    for (std::size_t i = 0; i < reads.size(); ++i) {
        const LaneRead& read = reads[i];
        if (i == 0 || read.array != reads[i - 1].array) known = &counts[read.array];
        ++(*known)[floor_quotient(read.index, read.array.columns)];
    }
    Homes homes;
    for (const auto& [columns, distances] : counts) {
        if (distances.begin()->first <= 0 && distances.rbegin()->first >= 0) continue;
        const auto most = std::max_element(distances.begin(), distances.end(), [](const auto& a, const auto& b) {
            return std::pair(a.second, -std::abs(a.first)) < std::pair(b.second, -std::abs(b.first));
        });
        homes.emplace(columns, most->first);
    }
    return homes;
}

Serving serving_lanes(const fusion::GroupShape& shape, const RegisterTile& tile, const std::vector<LaneRead>& reads) {
    Serving serving;
    const auto need = [&](std::int64_t lane) {
        serving.left = std::max(serving.left, -lane);
        serving.right = std::max(serving.right, lane);
    };
    const std::vector<std::optional<Columns>> needed = needed_columns(shape, tile);
    const auto columns_of = [&](std::size_t m) { return tile.columns / scale_of(shape, m, tile.lane_dim); };
    for (std::size_t m = 0; m < needed.size(); ++m) {
        if (!needed[m]) continue;
        for (const std::int64_t column : {needed[m]->lo, needed[m]->hi})
            need(floor_quotient(column - tile.shift[m], columns_of(m)));
    }
    const ColumnsOf* array = nullptr;  // of the last read
    auto home = tile.homes.end();
    for (const LaneRead& read : reads) {
        if (!needed[read.member] || !read.shared) continue;
        if (array == nullptr || *array != read.array) home = tile.homes.find(read.array);
        array = &read.array;
        // The lanes that compute a point in this column, and those that have what it reads.
        const std::int64_t columns = columns_of(read.member), at = tile.shift[read.member] + read.column;
        const std::int64_t first = ceil_quotient(needed[read.member]->lo - at, columns);
        const std::int64_t last = floor_quotient(needed[read.member]->hi - at, columns);
        if (first > last) continue;
        const std::int64_t more =
            floor_quotient(read.index, read.array.columns) - (home == tile.homes.end() ? 0 : home->second);
        need(first + more);
        need(last + more);
    }
    return serving;
}

std::optional<Serving> divide_lanes(const fusion::GroupShape& shape, RegisterTile& tile,
                                    const std::vector<LaneRead>& reads) {
    tile.homes = find_homes(reads);
    const Serving serving = serving_lanes(shape, tile, reads);
    if (serving.left + serving.right > kMostServing) return std::nullopt;
    return serving;
}

}  // namespace pipec::plan
