#include "plan/hybrid_tile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "plan/shared_memory.h"
#include "plan/tiles.h"
#include "support/integers.h"

namespace pipec::plan {

namespace {

std::vector<std::int64_t> sizes_of(const Tiles& tiles) {
    std::vector<std::int64_t> size;
    for (const Cut& cut : tiles.cuts) size.push_back(cut.size);
    return size;
}

/// By member: the last one for which code is made that reads its array.
std::vector<std::size_t> last_uses(const fusion::GroupShape& shape, const HybridTile& tile) {
    const poly::Group& group = shape.group;
    std::vector<std::size_t> last(tile.parts.size());
    for (std::size_t i = tile.parts.size(); i-- > 0;) {
        last[i] = i;
        for (const poly::GroupEdge& edge : group.edges) {
            if (edge.producer != group.stages[i]) continue;
            const std::size_t reader = edge.reader_place;
            last[i] = std::max(last[i], is_deferred(shape, tile, reader) ? last[reader] : reader);
        }
    }
    return last;
}

}  // namespace

HybridTile make_hybrid_tile(const fusion::GroupShape& shape, std::size_t split_dim, std::vector<std::int64_t> size) {
    HybridTile tile;
    tile.split_dim = split_dim;
    tile.size = std::move(size);
    for (std::size_t m = 0; m < shape.shapes.size(); ++m) {
        HybridTile::Part& part = tile.parts.emplace_back();
        const std::vector<poly::Alignment>& alignment = shape.group.alignment[m];
        for (std::size_t d = 0; d < alignment.size(); ++d) {
            const bool whole = alignment[d].dim < 0;
            const auto g = static_cast<std::size_t>(alignment[d].dim);
            part.extent.push_back(part_along(shape, m, d, whole ? 1 : tile.size[g]));
            if (!whole && g == split_dim) part.split = d;
        }
    }
    return tile;
}

/// Stages of one scale have the same number of iterations, so that what one of them needs of another one at a constant
/// distance is at a constant distance in registers, too.
void split(const fusion::GroupShape& shape, const Tiles& tiles, HybridTile& tile, double fraction) {
    const poly::Group& group = shape.group;
    const std::int64_t lanes = tiles.cuts[tile.split_dim].lanes;
    const auto scale_of = [&](std::size_t m) { return group.alignment[m][*tile.parts[m].split].scale; };
    std::map<std::int64_t, std::int64_t> most;  // iterations, by scale
    for (std::size_t m = 0; m < tile.parts.size(); ++m) {
        const HybridTile::Part& p = tile.parts[m];
        if (!p.split) continue;
        const std::int64_t scale = scale_of(m);
        const std::int64_t wanted = std::llround(fraction * static_cast<double>(tile.size[tile.split_dim]) /
                                                 static_cast<double>(scale * lanes));
        const auto known = most.try_emplace(scale, wanted).first;
        known->second = std::min(known->second, p.extent[*p.split].count / lanes);
    }
    // What is in shared memory is computed first, from nothing but shared memory: of a source with another scale fewer
    // iterations may then be in registers.
    const auto shared_end = [&](std::size_t m) {  // beyond the shared points, from the tile's first coordinate on
        const poly::TileExtent& extent = tile.parts[m].extent[*tile.parts[m].split];
        return extent.first + extent.count - most.at(scale_of(m)) * lanes;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (const poly::GroupEdge& edge : group.edges) {
            const std::size_t m = edge.reader_place, source = edge.producer_place;
            if (!tile.parts[m].split || !tile.parts[source].split) continue;
            const std::int64_t scale = scale_of(source), last = (shared_end(m) - 1) * scale_of(m);
            std::int64_t& iterations = most.at(scale);
            if (iterations == 0 || floor_quotient(last + edge.distance[tile.split_dim].hi, scale) < shared_end(source))
                continue;
            --iterations;
            changed = true;
        }
    }
    for (std::size_t m = 0; m < tile.parts.size(); ++m) {
        HybridTile::Part& p = tile.parts[m];
        if (!p.split) continue;
        p.iterations = most.at(scale_of(m));
        p.in_registers = shape.kept[m] && p.iterations > 0;
    }
}

bool is_deferred(const fusion::GroupShape& shape, const HybridTile& tile, std::size_t m) {
    return tile.parts[m].in_registers && !shape.live[m];
}

std::int64_t lanes_along(const fusion::GroupShape& shape, const Tiles& tiles, std::size_t m, std::size_t dim) {
    const int g = shape.group.alignment[m][dim].dim;
    return g < 0 ? 1 : tiles.cuts[static_cast<std::size_t>(g)].lanes;
}

std::int64_t shared_count(const fusion::GroupShape& shape, const Tiles& tiles, const HybridTile& tile, std::size_t m,
                          std::size_t dim) {
    const HybridTile::Part& p = tile.parts[m];
    return p.extent[dim].count - (p.split == dim ? p.iterations * lanes_along(shape, tiles, m, dim) : 0);
}

void place_arrays(const fusion::GroupShape& shape, const Tiles& tiles, HybridTile& tile) {
    std::vector<HybridTile::Part*> placed;
    std::vector<Lifetime> lifetimes;
    const std::vector<std::size_t> last = last_uses(shape, tile);
    for (std::size_t m = 0; m < tile.parts.size(); ++m) {
        HybridTile::Part& p = tile.parts[m];
        p.bytes = shape.kept[m] ? shape.shapes[m].bytes : 0;
        for (std::size_t d = 0; d < p.extent.size(); ++d) {
            p.bytes *= p.in_registers ? shared_count(shape, tiles, tile, m, d) : p.extent[d].count;
        }
        if (p.bytes == 0) continue;
        placed.push_back(&p);
        lifetimes.push_back({m, last[m], p.bytes});
    }
    const std::vector<std::int64_t> offsets = place_arrays(lifetimes);
    tile.scratch = 0;
    for (std::size_t i = 0; i < placed.size(); ++i) {
        placed[i]->offset = offsets[i];
        tile.scratch = std::max(tile.scratch, align_shared(offsets[i] + placed[i]->bytes));
    }
}

HybridTile edge_pieces(const fusion::GroupShape& shape, const Tiles& tiles, std::size_t split_dim, std::int64_t most) {
    std::vector<std::int64_t> size = sizes_of(tiles);
    while (true) {
        HybridTile tile = make_hybrid_tile(shape, split_dim, size);
        place_arrays(shape, tiles, tile);
        if (tile.scratch <= most) return tile;
        std::size_t longest = 0;
        std::int64_t shorter = 0, points = 0;  // of a lane
        for (std::size_t g = 0; g < size.size(); ++g) {
            const std::int64_t unit = shape.units[g], lanes = tiles.cuts[g].lanes;
            std::int64_t units = size[g] / unit - 1;
            while (units > 0 && size[g] / unit % units != 0) --units;
            if (units * unit < lanes || size[g] / lanes <= points) continue;
            longest = g;
            shorter = units * unit;
            points = size[g] / lanes;
        }
        if (shorter == 0) return tile;
        size[longest] = shorter;
    }
}

}  // namespace pipec::plan
