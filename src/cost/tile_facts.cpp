#include "cost/tile_facts.h"

#include <algorithm>
#include <numeric>

#include "plan/tiles.h"

namespace pipec::cost {

using fusion::StageFacts;

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// Points of a member that a tile computes in one dimension of it.
std::int64_t extent(const GroupFacts& facts, std::size_t m, std::size_t d, const std::vector<std::int64_t>& size) {
    const int g = facts.group.alignment[m][d].dim;
    return plan::part_along(facts, m, d, g < 0 ? 1 : size[static_cast<std::size_t>(g)]).count;
}

}  // namespace

TileFacts tile_facts(const GroupFacts& facts, const TileShape& shape) {
    TileFacts result;
    std::vector<double> count;  // of tiles, by group dimension
    result.size = plan::tile_sizes(facts, shape.lanes, shape.tile);
    for (std::size_t g = 0; g < result.size.size(); ++g) {
        count.push_back(static_cast<double>(ceil_div(facts.extents[g], result.size[g])));
        result.tiles *= count.back();
    }
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        std::int64_t computed = 1;
        double owned = 1;
        std::vector<bool> has(count.size(), false);
        for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
            const poly::Alignment& a = facts.group.alignment[m][d];
            const std::int64_t n = extent(facts, m, d, result.size);
            computed *= n;
            if (a.dim < 0) {
                owned *= static_cast<double>(n);
                continue;
            }
            const auto g = static_cast<std::size_t>(a.dim);
            owned *= static_cast<double>(result.size[g]) / static_cast<double>(a.scale);
            has[g] = true;
        }
        // Where the stage lacks a dimension, all tiles along it compute the same points of the stage.
        for (std::size_t g = 0; g < count.size(); ++g) owned /= has[g] ? 1 : count[g];
        result.computed.push_back(computed);
        result.owned.push_back(owned);
        if (facts.kept[m]) result.scratch_bytes += computed * facts.stages[m].bytes;
    }
    return result;
}

double TileFacts::redundant() const {
    const double once = std::accumulate(owned.begin(), owned.end(), 0.0);
    const double all = std::accumulate(computed.begin(), computed.end(), 0.0);
    return once > 0 ? std::max(0.0, all / once - 1) : 0;
}

std::int64_t scratch_beside_registers(const GroupFacts& facts, const TileFacts& tile, int dim, std::int64_t points) {
    std::int64_t bytes = 0;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        if (!facts.kept[m]) continue;
        std::int64_t all = tile.computed[m] * facts.stages[m].bytes;
        for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
            const poly::Alignment& a = facts.group.alignment[m][d];
            if (a.dim != dim) continue;
            const std::int64_t n = extent(facts, m, d, tile.size);
            if (n > 0) all = all / n * std::max<std::int64_t>(0, n - points / a.scale);
        }
        bytes += all;
    }
    return bytes;
}

namespace {

/// Transactions for what a load touches, `offsets` included or without them: then as for one of its reads.
template <class PointsAlong>
double touched_segments(const Load& load, const PointsAlong& points_along, int transaction, bool offsets) {
    double result = 1;
    std::int64_t stride = load.bytes, first_to_last = load.bytes, elements = 1;
    bool adjacent = true;  // up to here, elements lie closer together than a transaction is long
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
        std::int64_t span = load.extents[i], touched = span;  // from the first to the last one; those asked for
        if (const auto& r = load.indices[i]) {
            const std::int64_t n = points_along(r->dim), more = offsets ? r->hi - r->lo : load.spread[i];
            span = std::min(span, (r->num * (n - 1) + more) / r->den + 1);
            touched = std::min(span, n * (more / r->den + 1));
        }
        adjacent = adjacent && stride <= transaction;
        if (adjacent) {
            first_to_last += (span - 1) * stride;
            elements *= touched;
            result = static_cast<double>(std::min(ceil_div(first_to_last, transaction), elements));
        } else {
            result *= static_cast<double>(touched);
        }
        stride *= std::max<std::int64_t>(1, load.extents[i]);
    }
    return result;
}

}  // namespace

double transactions(const GroupFacts& facts, std::size_t member, const Load& load, const std::array<int, 3>& lanes,
                    int transaction) {
    const std::vector<poly::Alignment>& alignment = facts.group.alignment[member];
    const StageFacts& reader = facts.stages[member];
    // Points of the reader that the lanes are at, along one of its dimensions.
    const auto points_along = [&](int dim) -> std::int64_t {
        if (dim < 0) return 1;
        const auto d = static_cast<std::size_t>(dim);
        if (alignment[d].dim < 0) return reader.hi[d] - reader.lo[d];
        const int axis = plan::axis_of(facts.group.rank, static_cast<std::size_t>(alignment[d].dim));
        return axis < 0 ? 1 : lanes[static_cast<std::size_t>(axis)];
    };
    double points = 1;
    for (std::size_t d = 0; d < alignment.size(); ++d) points *= static_cast<double>(points_along(static_cast<int>(d)));
    // Reads together touch a box; where a boundary condition makes that much larger than what is read, each read by
    // itself is closer to what most lanes do. And where an index can be anything, no lanes share but by chance.
    return std::min({touched_segments(load, points_along, transaction, true),
                     touched_segments(load, points_along, transaction, false) * load.reads, points * load.reads});
}

}  // namespace pipec::cost
