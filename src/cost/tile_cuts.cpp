#include "cost/tile_cuts.h"

#include <numeric>

#include "support/integers.h"

namespace pipec::cost {

using fusion::kShortExtent;
using fusion::StageFacts;

namespace {

/// What tiles of an accumulate read of an array, less what belongs to them alone.
constexpr double kGatherOverlap = 1.1;

/// Sectors that stores of a member touch, by those that it fills. Elements that are not adjacent are stored one by one:
/// so many times goes each sector to the L2 cache, somewhat more often where a warp's elements lie further apart.
double scattered(const GroupFacts& facts, const Cuts& cuts, std::size_t m, double columns, bool planes_together) {
    const StageFacts& stage = facts.stages[m];
    double apart = 1;
    for (const int dim : stage.inside) {
        const auto d = static_cast<std::size_t>(dim);
        const std::int64_t n = stage.hi[d] - stage.lo[d];
        const int g = facts.group.alignment[m][d].dim;
        const bool together = planes_together && (g < 0 || cuts[static_cast<std::size_t>(g)].size >= n);
        if (!together) apart *= static_cast<double>(n);
    }
    const double most = std::max(1.0, static_cast<double>(kSectorBytes) / stage.bytes);
    return apart > 1 ? std::min(most, apart * std::sqrt(columns)) : 1;
}

}  // namespace

double lines_apart(const Load& load, int lane, double columns, double lanes) {
    double inside = 1;  // elements between neighbours along the index
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
        const auto& r = load.indices[i];
        const int dim = r ? r->dim : load.against[i];
        if (!r && dim < 0) return 0;
        if (dim == lane) {
            if (inside <= kShortExtent) return 0;  // the channels of interleaved pixels
            const double step = r ? static_cast<double>(r->num) / static_cast<double>(r->den) : 1;
            return std::clamp(inside * load.bytes * step * columns * lanes / kLineBytes, 1.0, lanes);
        }
        inside *= static_cast<double>(load.extents[i]);
    }
    return 0;
}

std::int64_t row_alignment(std::int64_t row, bool is_own) {
    constexpr std::int64_t kShortRow = 512;
    return is_own && row >= kShortRow ? plan::kAccessBytes : std::gcd(row, plan::kAccessBytes);
}

void count_tiles(const GroupCounts& group, const Cuts& cuts, const std::vector<double>& computed, TileWork& work) {
    const GroupFacts& facts = group.facts;
    work.tiles = 1;
    for (std::size_t g = 0; g < cuts.size(); ++g) {
        const double n = std::ceil(static_cast<double>(facts.extents[g]) / static_cast<double>(cuts[g].size));
        work.tiles *= std::max(1.0, n);
    }
    double once = 0, all = 0;
    for (std::size_t m = 0; m < computed.size(); ++m) {
        once += static_cast<double>(facts.stages[m].points);
        all += computed[m] * work.tiles;
    }
    work.redundant = once > 0 ? std::max(0.0, all / once - 1) : 0;
    work.tiles_a_block = 1;
    for (const Cut& cut : cuts) work.tiles_a_block *= cut.thread_groups;
    work.edges = edge_tiles(group, cuts);
}

double edge_tiles(const GroupCounts& group, const Cuts& cuts) {
    const GroupFacts& facts = group.facts;
    double inner = 1;
    for (std::size_t g = 0; g < cuts.size(); ++g) {
        if (facts.extents[g] <= kShortExtent) continue;  // channels: code for a tile knows where they end
        Places origins;
        for (std::size_t m = 0; m < facts.stages.size(); ++m) {
            for (std::size_t d = 0; d < facts.group.alignment[m].size(); ++d) {
                const poly::Alignment& a = facts.group.alignment[m][d];
                if (a.dim != static_cast<int>(g)) continue;
                const poly::TileExtent e = poly::tile_extent(a, facts.group.reach[m][g], cuts[g].size);
                const Places& points = group.members[m].inner[d];
                origins.cut((points.first - e.first) * a.scale, (points.last + 1 - e.first - e.count) * a.scale);
            }
        }
        if (origins.first == INT64_MIN) continue;
        // The last tile begins so early that it ends with the group.
        const std::int64_t size = cuts[g].size, lo = facts.firsts[g], end = lo + facts.extents[g];
        const std::int64_t tiles = std::max<std::int64_t>(1, ceil_quotient(facts.extents[g], size));
        const std::int64_t last = std::max(lo, end - size);
        const std::int64_t from = std::max<std::int64_t>(0, ceil_quotient(origins.first - lo, size));
        const std::int64_t to = std::min(tiles - 1, floor_quotient(origins.last - lo, size) + 1);
        std::int64_t count = std::max<std::int64_t>(0, to - from);
        if (to == tiles - 1 && from < tiles && last >= origins.first && last <= origins.last) ++count;
        inner *= static_cast<double>(std::min(count, tiles)) / static_cast<double>(tiles);
    }
    return 1 - inner;
}

void Touched::add(const Footprint& f) {
    // Where one is at a fixed place and the other goes with the tile, the latter has it if it has all that there is:
    // then elements count, since those of one channel of interleaved pixels lie in as many sectors as those of all.
    const auto has = [](const Footprint& a, const Footprint& b) {
        if (((a.fixed ^ b.fixed) & ~a.whole) != 0) return false;
        return a.bytes >= b.bytes || (a.fixed != b.fixed && a.elements >= b.elements);
    };
    if (std::any_of(boxes_.begin(), boxes_.end(), [&](const Footprint& other) { return has(other, f); })) return;
    std::erase_if(boxes_, [&](const Footprint& other) { return has(f, other); });
    boxes_.push_back(f);
}

double tile_bytes(const GroupCounts& group, const Cuts& cuts, const Extents& extents,
                  const std::vector<double>& computed, double columns, bool planes_together, const TimesAsked& times) {
    const GroupFacts& facts = group.facts;
    std::vector<Touched> loaded(group.arrays.size());
    double bytes = 0, owned = 1;  // owned: the tile's part of all points
    for (std::size_t g = 0; g < cuts.size(); ++g) {
        owned *= static_cast<double>(cuts[g].size) / static_cast<double>(std::max(cuts[g].size, facts.extents[g]));
    }
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const auto along = [&](std::size_t d) { return extents.of(m, d); };
        for (const MemberLoad& one : group.members[m].loads) {
            if (one.member >= 0) continue;
            // No more than what is read, however far apart (tables, mirrored borders).
            const Load& load = *one.load;
            Footprint f = footprint(load, along);
            const double most = computed[m] * load.reads * load.bytes * 2;
            const double asked = f.known ? std::min(f.bytes * (times ? times(m, load) : 1), most) : most;
            if (!facts.stages[m].pure) {  // what is gathered: by the tile's part of all points, and a little around it
                const double part = computed[m] / std::max(computed[m], static_cast<double>(facts.stages[m].points));
                double all = load.bytes * kGatherOverlap * part;
                for (const std::int64_t n : load.extents) all *= static_cast<double>(n);
                // Long before others of the tile ask for the same.
                bytes += std::min(asked, all) * (times ? times(m, load) : 1);
                continue;
            }
            f.bytes = asked;
            loaded[one.array].add(f);
        }
        if (facts.live[m]) {
            bytes += static_cast<double>(facts.stages[m].points) * facts.stages[m].bytes * owned *
                     scattered(facts, cuts, m, columns, planes_together);
        }
    }
    for (const Touched& touched : loaded) {
        for (const Footprint& f : touched.boxes()) bytes += f.bytes;
    }
    return bytes;
}

}  // namespace pipec::cost
