#include "fusion/tile_cuts.h"

#include <map>
#include <numeric>

namespace pipec::fusion {

namespace {

/// What tiles of an accumulate read of an array, less what belongs to them alone.
constexpr double kGatherOverlap = 1.3;

}  // namespace

double extent(const GroupFacts& facts, const Cuts& cuts, std::size_t m, std::size_t d) {
    const poly::Alignment& a = facts.group.alignment[m][d];
    const StageFacts& stage = facts.stages[m];
    const auto all = static_cast<double>(stage.hi[d] - stage.lo[d]);
    if (a.dim < 0) return all;
    const auto g = static_cast<std::size_t>(a.dim);
    return static_cast<double>(poly::tile_extent(a, facts.group.reach[m][g], cuts[g].size).count);
}

void count_tiles(const GroupFacts& facts, const Cuts& cuts, const std::vector<double>& computed, TileWork& work) {
    work.tiles = 1;
    std::vector<double> count;
    for (std::size_t g = 0; g < cuts.size(); ++g) {
        const double n = std::ceil(static_cast<double>(facts.extents[g]) / static_cast<double>(cuts[g].size));
        count.push_back(std::max(1.0, n));
        work.tiles *= count.back();
    }
    double once = 0, all = 0;
    for (std::size_t m = 0; m < computed.size(); ++m) {
        once += static_cast<double>(facts.stages[m].points);
        all += computed[m] * work.tiles;
    }
    work.redundant = once > 0 ? std::max(0.0, all / once - 1) : 0;
    work.tiles_a_block = 1;
    for (const Cut& cut : cuts) work.tiles_a_block *= cut.teams;
}

double tile_bytes(const GroupFacts& facts, const Cuts& cuts, const std::vector<double>& computed,
                  const TimesAsked& times) {
    std::map<ir::Source, double> loaded;
    double bytes = 0, owned = 1;  // owned: the tile's part of all points
    for (std::size_t g = 0; g < cuts.size(); ++g) {
        owned *= static_cast<double>(cuts[g].size) / static_cast<double>(std::max(cuts[g].size, facts.extents[g]));
    }
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const auto along = [&](std::size_t d) { return extent(facts, cuts, m, d); };
        for (const Load* load : global_loads(facts, m)) {
            // No more than what is read, however far apart (tables, mirrored borders).
            const Footprint f = footprint(*load, along);
            const double most = computed[m] * load->reads * load->bytes * 2;
            double asked = f.known ? std::min(f.bytes * (times ? times(m, *load) : 1), most) : most;
            if (!facts.stages[m].pure) {  // what is gathered: each tile's part of the array, and a little around it
                double all = load->bytes * kGatherOverlap * owned;
                for (const std::int64_t n : load->extents) all *= static_cast<double>(n);
                asked = std::min(asked, all);
            }
            loaded[load->source] = std::max(loaded[load->source], asked);
        }
        if (facts.live[m]) bytes += static_cast<double>(facts.stages[m].points) * facts.stages[m].bytes * owned;
    }
    for (const auto& [source, asked] : loaded) bytes += asked;
    return bytes;
}

Widths widths(const GroupFacts& facts) {
    Widths result;
    const auto add = [&](int bytes) {
        result.least = std::min(result.least, bytes);
        result.widest = std::max(result.widest, bytes);
    };
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        if (facts.live[m]) add(facts.stages[m].bytes);
        for (const Load* load : global_loads(facts, m)) add(load->bytes);
    }
    return result;
}

int row_alignment(const GroupFacts& facts) {
    std::int64_t bytes = 16;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const StageFacts& stage = facts.stages[m];
        if (facts.live[m] && !stage.lo.empty())
            bytes = std::gcd(bytes, (stage.hi.back() - stage.lo.back()) * stage.bytes);
        for (const Load* load : global_loads(facts, m)) {
            if (!load->extents.empty()) bytes = std::gcd(bytes, load->extents.front() * load->bytes);
        }
    }
    return static_cast<int>(std::max<std::int64_t>(1, bytes));
}

}  // namespace pipec::fusion
