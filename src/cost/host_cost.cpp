#include "cost/host_cost.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <variant>

#include "fusion/evaluate.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "plan/host_tiles.h"

namespace pipec::cost {

namespace {

using fusion::Cpu;
using fusion::GroupFacts;
using fusion::Strategy;

/// The cost of a group that is impossible, but may be possible with more members: the search goes on from it, and takes
/// any other grouping.
constexpr double kRefused = 1e30;

/// Seconds for a call of a function of the C library, which is made for one point after the other.
constexpr double kCallTime = 8e-9;
/// Terms of a reduction of which the number is not known.
constexpr double kLoopTerms = 16;
/// Reads for each point from which on a table is worth its memory.
constexpr double kTableReads = 4;
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

/// Calls of the C library's functions for a point: of those that are no instructions, nor the same at all points.
double library_calls(const ir::Expr& value) {
    double calls = 0;
    ir::for_each_node(value, [&](const ir::Expr& e) {
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            double times = 1;
            for (const ir::Range& range : reduce->ranges) {
                const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi);
                times *= lo && hi ? static_cast<double>(std::max<std::int64_t>(0, *hi - *lo)) : kLoopTerms;
            }
            calls += (times - 1) * library_calls(reduce->body);
        }
        const auto* call = ir::as<ir::Call>(e);
        calls += call != nullptr && !ir::is_uniform(e) && ir::is_library_function(call->fn) ? 1 : 0;
    });
    return calls;
}

/// Seconds for points of a stage whose operands are in caches.
double compute(const Cpu& cpu, const fusion::StageFacts& stage, double calls, double points) {
    double widest = stage.bytes;
    for (const fusion::Load& load : stage.loads) widest = std::max<double>(widest, load.bytes);
    const double vectors = (stage.operations + stage.reads + 1) * widest / cpu.vector_bytes;
    return points * (vectors / cpu.vector_rate + calls * kCallTime);
}

/// library_calls of each stage of a group.
std::vector<double> calls_of(const ir::Pipeline& pipeline, const GroupFacts& facts) {
    std::vector<double> calls;
    for (const int stage : facts.group.stages) {
        const auto* pure = std::get_if<ir::Pure>(&pipeline.stages[static_cast<std::size_t>(stage)].definition);
        calls.push_back(pure != nullptr ? library_calls(pure->value) : 0);
    }
    return calls;
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
std::optional<double> tiled_time(const Cpu& cpu, const GroupFacts& facts, const std::vector<double>& calls,
                                 const plan::HostTiles& tiles) {
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
        seconds += count * (compute(cpu, facts.stages[m], calls[m], points) + rows * cpu.row_time + cpu.tile_time);
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
        const std::vector<double> calls = calls_of(pipeline, facts);
        if (facts.stages.size() == 1 && is_allowed(Strategy::Stage)) {
            const fusion::StageFacts& stage = facts.stages.front();
            const auto points = static_cast<double>(stage.points);
            fusion::GroupSchedule schedule;
            schedule.stages = names;
            result.push_back(
                {compute(cpu, stage, calls.front(), points) + traffic(cpu, facts) + cpu.stage_time, schedule});
            return result;
        }
        if (facts.stages.size() < 2 || facts.stages.front().scan || !is_allowed(Strategy::Otptb)) return result;
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
                    if (const auto seconds = tiled_time(cpu, facts, calls, *plan))
                        result.push_back({*seconds, schedule});
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

std::set<std::string> host_tables(const ir::Pipeline& pipeline, const poly::Model& model,
                                  const std::vector<std::int64_t>& sizes) {
    const auto points = [&](std::size_t stage) {
        double result = 1;
        for (const poly::Interval& interval : model.domains.at(stage).box) {
            const auto lo = fusion::evaluate(interval.lo, sizes), hi = fusion::evaluate(interval.hi, sizes);
            result *= lo && hi ? static_cast<double>(std::max<std::int64_t>(0, *hi - *lo)) : 1;
        }
        return result;
    };
    std::vector<double> asked(pipeline.stages.size(), 0);
    std::vector<bool> reads(pipeline.stages.size(), false);
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        for (const ir::Expr& root : ir::expressions(pipeline.stages[s])) {
            ir::for_each_node(root, [&](const ir::Expr& e) {
                const auto* read = ir::as<ir::Read>(e);
                if (read == nullptr) return;
                reads[s] = true;
                if (read->source.kind == ir::Source::Kind::Stage)
                    asked[static_cast<std::size_t>(read->source.index)] += points(s);
            });
        }
    }
    std::set<std::string> tables;
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        const ir::Stage& stage = pipeline.stages[s];
        const auto* pure = std::get_if<ir::Pure>(&stage.definition);
        if (pure == nullptr || reads[s] || stage.dims.empty() || library_calls(pure->value) == 0) continue;
        if (points(s) * kTableReads <= asked[s]) tables.insert(stage.name);
    }
    return tables;
}

}  // namespace pipec::cost
