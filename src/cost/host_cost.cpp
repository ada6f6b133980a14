#include "cost/host_cost.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <variant>

#include "plan/host_tiles.h"

namespace pipec::cost {

namespace {

using fusion::Cpu;
using fusion::GroupFacts;
using fusion::Strategy;

/// The cost of a group that is impossible, but may be possible with more members: the search goes on from it, and takes
/// any other grouping.
constexpr double kRefused = 1e30;

constexpr std::int64_t kPlanes = 16;  ///< that a tile may have all of
constexpr std::array<std::array<int, 2>, 12> kTiles{{{128, 8},
                                                     {128, 16},
                                                     {128, 32},
                                                     {128, 64},
                                                     {256, 8},
                                                     {256, 16},
                                                     {256, 32},
                                                     {256, 64},
                                                     {512, 8},
                                                     {512, 16},
                                                     {512, 32},
                                                     {512, 64}}};

/// Seconds for bytes of an array of so many.
double move(const Cpu& cpu, double bytes, double array) {
    return bytes / (array > cpu.last_cache ? cpu.memory_bandwidth : cpu.cache_bandwidth);
}

/// Seconds for points of a stage whose operands are in caches.
double compute(const Cpu& cpu, const fusion::StageFacts& stage, double points) {
    double widest = stage.bytes;
    for (const fusion::Load& load : stage.loads) widest = std::max<double>(widest, load.bytes);
    return points * (stage.operations + stage.reads + 1) * widest / cpu.vector_bytes / cpu.vector_rate;
}

double array_bytes(const fusion::Load& load) {
    double bytes = load.bytes;
    for (const std::int64_t extent : load.extents) bytes *= static_cast<double>(extent);
    return bytes;
}

/// What a group reads of memory, and what it writes: a write reads the line first.
double traffic(const Cpu& cpu, const GroupFacts& facts) {
    double seconds = 0;
    std::set<ir::Source> seen;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const fusion::StageFacts& stage = facts.stages[m];
        for (const fusion::Load* load : fusion::global_loads(facts, m)) {
            if (!seen.insert(load->source).second) continue;
            const double array = array_bytes(*load);
            seconds += move(cpu, std::min(array, stage.reads * static_cast<double>(stage.points) * load->bytes), array);
        }
        const double bytes = static_cast<double>(stage.points) * stage.bytes;
        if (facts.live[m]) seconds += move(cpu, 2 * bytes, bytes);
    }
    return seconds;
}

/// Seconds for a group in tiles; none where a tile needs more than a core's caches have.
std::optional<double> tiled_time(const Cpu& cpu, const GroupFacts& facts, const plan::HostTiles& tiles) {
    double count = 1;
    for (std::size_t d = 0; d < tiles.size.size(); ++d) {
        count *= std::max(1.0, static_cast<double>(facts.extents[d]) / static_cast<double>(tiles.size[d]));
    }
    double seconds = 0;
    for (std::size_t m = 0; m < facts.stages.size(); ++m) {
        const plan::HostTiles::Member& member = tiles.members[m];
        const std::vector<int>& order = facts.shapes[m].order;
        double points = 1, rows = 1;
        for (std::size_t d = 0; d < member.extent.size(); ++d) {
            const std::int64_t all = facts.stages[m].hi[d] - facts.stages[m].lo[d];
            const auto extent = static_cast<double>(std::min(all, member.extent[d].count));
            points *= extent;
            if (static_cast<int>(d) != order.back()) rows *= extent;
        }
        seconds += count * (compute(cpu, facts.stages[m], points) + rows * cpu.row_time + cpu.tile_time);
    }
    const auto scratch = static_cast<double>(tiles.scratch);
    // What the caches do not hold goes through the next one, written and read.
    if (scratch > cpu.core_cache) seconds += count * 2 * scratch / cpu.cache_bandwidth;
    if (scratch > 4 * cpu.core_cache) return std::nullopt;
    return seconds + traffic(cpu, facts);
}

}  // namespace

fusion::CostModel host_cost_model(const Cpu& cpu) {
    return [cpu](const ir::Pipeline& pipeline, const GroupFacts& facts, const std::vector<Strategy>& allowed) {
        std::vector<fusion::GroupChoice> result;
        std::vector<std::string> names;
        for (const int stage : facts.group.stages) {
            names.push_back(pipeline.stages[static_cast<std::size_t>(stage)].name);
        }
        const auto is_allowed = [&](Strategy strategy) {
            return std::find(allowed.begin(), allowed.end(), strategy) != allowed.end();
        };
        if (facts.stages.size() == 1 && is_allowed(Strategy::Stage)) {
            const fusion::StageFacts& stage = facts.stages.front();
            const auto points = static_cast<double>(stage.points);
            fusion::GroupSchedule schedule;
            schedule.stages = names;
            result.push_back({compute(cpu, stage, points) + traffic(cpu, facts) + cpu.stage_time, schedule});
            return result;
        }
        if (facts.stages.size() < 2 || !is_allowed(Strategy::Otptb)) return result;
        // Planes of which each reads others (channels, and their weight) belong in one tile.
        std::vector<int> planes{1};
        if (facts.group.rank > 2) {
            const std::int64_t extent = facts.extents[static_cast<std::size_t>(facts.group.rank) - 3];
            if (extent > 1 && extent <= kPlanes) planes.push_back(static_cast<int>(extent));
        }
        std::optional<fusion::GroupSchedule> refused;
        for (const int z : planes) {
            for (const auto [x, y] : kTiles) {
                fusion::GroupSchedule schedule;
                schedule.stages = names;
                schedule.strategy = Strategy::Otptb;
                schedule.block = {1, 1, 1};
                schedule.tile = {x, y, z};
                const auto tiles = plan::host_tiles(pipeline, facts, schedule);
                if (const auto* plan = std::get_if<plan::HostTiles>(&tiles)) {
                    if (const auto seconds = tiled_time(cpu, facts, *plan)) result.push_back({*seconds, schedule});
                } else {
                    refused = schedule;
                }
            }
        }
        if (result.empty() && refused) result.push_back({kRefused, *refused});
        const auto faster = [](const auto& a, const auto& b) { return a.cost < b.cost; };
        std::stable_sort(result.begin(), result.end(), faster);
        return result;
    };
}

fusion::FusionOptions host_fusion_options() {
    fusion::FusionOptions options;
    options.strategies = {Strategy::Stage, Strategy::Otptb};
    options.steps /= 4;
    return options;
}

}  // namespace pipec::cost
