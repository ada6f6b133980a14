#include "compiler/perf_warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "codegen/expr/strides.h"
#include "codegen/strategies/reduce/memory_updates.h"
#include "compiler/automatic_schedule.h"
#include "compiler/diagnostics.h"
#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "fusion/inline.h"
#include "fusion/long_lines.h"
#include "fusion/narrow_stages.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "plan/histogram_table.h"
#include "poly/dependences.h"
#include "poly/group.h"

namespace pipec::compiler {

namespace {

using fusion::Strategy;

/// A warp whose lanes read this far apart asks for a line of the cache for each of them.
constexpr double kLineBytes = 128;
/// Arrays up to about this size stay in the first cache, and any order will do.
constexpr double kCachedBytes = 32 * 1024;
/// Fewer threads than this leave most of a GPU idle: a warp for each of 16 multiprocessors.
constexpr std::int64_t kBusyThreads = 512;
/// Blocks below which most of a GPU has nothing to do.
constexpr std::int64_t kBusyBlocks = 64;
/// Terms of a reduction that take a thread longer than a launch does.
constexpr double kLongReduction = 4096;
/// Points of a scan's line that take longer than a launch does.
constexpr std::int64_t kLongLine = 1024;
/// Updates that take longer than a launch does, one by one in global memory.
constexpr double kManyUpdates = 1 << 16;
/// Constant innermost dimensions of the `stage` strategy that belong to one thread
/// (codegen/strategies/stage/stage_kernel.cpp).
constexpr std::int64_t kInnerPoints = 4;

/// One pipeline with its schedule.
class PerformanceCheck {
public:
    PerformanceCheck(const fusion::Inlined& program, const fusion::Schedule& schedule,
                     const std::vector<std::int64_t>& sizes, const fusion::Gpu& gpu, Diagnostics& diags)
        : program_(program),
          gpu_(gpu),
          sizes_(sizes),
          diags_(diags),
          dependences_(poly::find_dependences(program.pipeline, program.model)),
          facts_(fusion::stage_facts(program.pipeline, program.model, dependences_, sizes)),
          group_of_(program.pipeline.stages.size(), -1) {
        const fusion::OrderedGroups ordered = fusion::order_groups(program.pipeline, schedule);
        for (std::size_t g = 0; g < ordered.stages.size(); ++g) {
            const int number = ordered.number[g];
            Strategy strategy = Strategy::Stage;
            if (number >= 0) strategy = schedule.groups[static_cast<std::size_t>(number)].strategy;
            for (const int stage : ordered.stages[g]) {
                // `stage` is a kernel for each of its stages.
                if (strategy == Strategy::Stage || stage == ordered.stages[g].front())
                    groups_.push_back({{}, strategy});
                groups_.back().stages.push_back(stage);
                group_of_[static_cast<std::size_t>(stage)] = static_cast<int>(groups_.size()) - 1;
            }
        }
    }

    void run() {
        const std::size_t first = diags_.all().size();
        warn_of_fusion();
        warn_of_coalescing();
        warn_of_types();
        warn_of_serial_reductions();
        warn_of_scans();
        warn_of_accumulates();
        diags_.sort_from(first);
    }

private:
    struct Group {
        std::vector<int> stages;
        Strategy strategy;
    };

    [[nodiscard]] const ir::Stage& stage(int index) const {
        return program_.pipeline.stages.at(static_cast<std::size_t>(index));
    }
    [[nodiscard]] int group_of(int stage) const { return group_of_.at(static_cast<std::size_t>(stage)); }
    [[nodiscard]] bool leaves_kernel(const poly::Dependence& d) const {
        return d.source.kind == ir::Source::Kind::Stage && group_of(d.source.index) != group_of(d.reader);
    }
    /// Blocks of a long reduction that the compiler has shared out: small, and nothing that the program can change.
    [[nodiscard]] bool reads_blocks(const poly::Dependence& d) const {
        return d.source.kind == ir::Source::Kind::Stage && stage(d.source.index).alone &&
               stage(d.source.index).generated;
    }
    [[nodiscard]] std::optional<poly::Illegal> obstacle(const std::vector<int>& stages) const {
        auto group = poly::make_group(program_.pipeline, program_.model, dependences_, stages);
        if (auto* illegal = std::get_if<poly::Illegal>(&group)) return std::move(*illegal);
        return std::nullopt;
    }

    /// What keeps a stage and its reader in kernels of their own.
    struct Obstacle {
        const poly::Dependence* dependence;
        poly::Illegal illegal;
        std::string note;  ///< may be empty
    };
    [[nodiscard]] bool is_small(int index) const;
    void report(const std::vector<Obstacle>& obstacles);
    void warn_of_fusion();
    void warn_of_coalescing();
    [[nodiscard]] int lane_dimension(int stage) const;
    [[nodiscard]] std::optional<double> step_of_lanes(const poly::Dependence& read) const;
    void warn_of_types();
    void warn_of_serial_reductions();
    void warn_of_scans();
    void warn_of_accumulates();

    const fusion::Inlined& program_;
    const fusion::Gpu& gpu_;
    const std::vector<std::int64_t>& sizes_;
    Diagnostics& diags_;
    std::vector<poly::Dependence> dependences_;
    std::vector<fusion::StageFacts> facts_;
    std::vector<Group> groups_;
    std::vector<int> group_of_;  ///< of stages, an index into groups_
};

// ------------------------------------------------------------------------------------------------------------- fusion

/// Whether a stage is so small that what is written stays in the cache until it is read.
bool PerformanceCheck::is_small(int index) const {
    return static_cast<double>(facts_.at(static_cast<std::size_t>(index)).points) * ir::bytes(stage(index).type) <=
           kCachedBytes;
}

/// Steps of time that a program writes in one line are told of once.
void PerformanceCheck::report(const std::vector<Obstacle>& obstacles) {
    const auto place_of = [&](const Obstacle& one) {
        return one.illegal.range.valid() ? one.illegal.range : one.dependence->range;
    };
    const auto same_lines = [&](const Obstacle& a, const Obstacle& b) {
        return place_of(a) == place_of(b) &&
               stage(a.dependence->source.index).range == stage(b.dependence->source.index).range;
    };
    for (std::size_t i = 0; i < obstacles.size(); ++i) {
        const Obstacle& one = obstacles[i];
        const auto is_like_it = [&](const Obstacle& other) { return same_lines(one, other); };
        const auto begin = obstacles.begin(), here = begin + static_cast<std::ptrdiff_t>(i);
        if (std::any_of(begin, here, is_like_it)) continue;
        const ir::Stage& producer = stage(one.dependence->source.index);
        auto report = diags_.report(diag::PerfFusion, place_of(one), stage(one.dependence->reader).name, producer.name,
                                    one.illegal.reason);
        if (place_of(one) != producer.range) {
            report.note(producer.range, fmt::format("`{}` is {}", producer.name,
                                                    producer.output >= 0 ? "read back from memory"
                                                                         : "written to memory and read back"));
        }
        if (!one.note.empty()) report.note(one.note);
        if (const auto more = std::count_if(here + 1, obstacles.end(), is_like_it); more > 0) {
            report.note(fmt::format("the same is true of {} more pair{} of stages here", more, more == 1 ? "" : "s"));
        }
    }
}

/// The two stages by themselves say it best; otherwise it is what else their kernels compute.
void PerformanceCheck::warn_of_fusion() {
    std::set<std::pair<int, int>> stages, kernels;
    std::vector<Obstacle> obstacles;
    const auto counts = [&](const poly::Dependence& d) {
        return leaves_kernel(d) && !reads_blocks(d) && !is_small(d.source.index);
    };
    for (const poly::Dependence& d : dependences_) {
        if (!counts(d) || !stages.emplace(d.reader, d.source.index).second) continue;
        auto illegal = obstacle({d.source.index, d.reader});
        if (!illegal) continue;
        obstacles.push_back({&d, std::move(*illegal), {}});
        kernels.emplace(group_of(d.reader), group_of(d.source.index));
    }
    for (const poly::Dependence& d : dependences_) {
        if (!counts(d)) continue;
        const int reader = group_of(d.reader), producer = group_of(d.source.index);
        if (!kernels.emplace(reader, producer).second) continue;
        std::vector<int> both = groups_[static_cast<std::size_t>(producer)].stages;
        const std::vector<int>& more = groups_[static_cast<std::size_t>(reader)].stages;
        both.insert(both.end(), more.begin(), more.end());
        std::sort(both.begin(), both.end());
        auto illegal = obstacle(both);
        if (!illegal) continue;
        std::vector<std::string> names;
        names.reserve(both.size());
        for (const int member : both) names.push_back(fmt::format("`{}`", stage(member).name));
        obstacles.push_back({&d, std::move(*illegal),
                             fmt::format("the two by themselves can, but not with all that their kernels compute: {}",
                                         fmt::join(names, ", "))});
    }
    report(obstacles);
}

// --------------------------------------------------------------------------------------------------------- coalescing

/// The dimension of a stage along which neighbouring threads lie; -1: none.
int PerformanceCheck::lane_dimension(int index) const {
    const Group& kernel = groups_[static_cast<std::size_t>(group_of(index))];
    const fusion::StageFacts& facts = facts_.at(static_cast<std::size_t>(index));
    if (kernel.strategy == Strategy::Stage || kernel.strategy == Strategy::Scan) {
        const std::vector<int> order = codegen::memory_order(program_.pipeline, {ir::Source::Kind::Stage, index});
        std::int64_t inner = 1;
        for (auto d = order.rbegin(); d != order.rend(); ++d) {
            const auto dim = static_cast<std::size_t>(*d);
            inner *= facts.hi[dim] - facts.lo[dim];
            if (inner > kInnerPoints || std::next(d) == order.rend()) return *d;
        }
        return -1;
    }
    const auto made = poly::make_group(program_.pipeline, program_.model, dependences_, kernel.stages);
    const auto* group = std::get_if<poly::Group>(&made);
    if (group == nullptr) return -1;
    const std::vector<poly::Alignment>& alignment = group->alignment[group->position(index)];
    for (std::size_t d = 0; d < alignment.size(); ++d) {
        if (alignment[d].dim == group->rank - 1) return static_cast<int>(d);
    }
    return -1;
}

/// Bytes from what a thread reads to what its neighbour reads; none where they read the same, nobody knows, or the
/// cache has all of it.
std::optional<double> PerformanceCheck::step_of_lanes(const poly::Dependence& read) const {
    const int lane = lane_dimension(read.reader);
    const auto& loads = facts_.at(static_cast<std::size_t>(read.reader)).loads;
    const auto load =
        std::find_if(loads.begin(), loads.end(), [&](const fusion::Load& l) { return l.source == read.source; });
    if (lane < 0 || load == loads.end()) return std::nullopt;
    const std::vector<int> order = codegen::memory_order(program_.pipeline, read.source);
    double step = 0, stride = load->bytes;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto& index = read.indices[static_cast<std::size_t>(order[order.size() - 1 - i])];
        if (index && index->dim == lane)
            step += stride * static_cast<double>(index->num) / static_cast<double>(index->den);
        stride *= static_cast<double>(load->extents[i]);
    }
    return step > 0 && stride > kCachedBytes ? std::optional(step) : std::nullopt;
}

void PerformanceCheck::warn_of_coalescing() {
    std::set<std::pair<int, ir::Source>> reported;
    for (const poly::Dependence& d : dependences_) {
        const bool in_tile = d.source.kind == ir::Source::Kind::Stage && !leaves_kernel(d);
        if (in_tile || d.in_update || reads_blocks(d)) continue;
        const auto step = step_of_lanes(d);
        if (!step || *step < kLineBytes || !reported.emplace(d.reader, d.source).second) continue;
        const auto source = static_cast<std::size_t>(d.source.index);
        const std::string& name = d.source.kind == ir::Source::Kind::Input ? program_.pipeline.inputs.at(source).name
                                                                           : program_.pipeline.stages.at(source).name;
        const auto dim = static_cast<std::size_t>(lane_dimension(d.reader));
        const auto var = static_cast<std::size_t>(stage(d.reader).dims.at(dim).var);
        diags_.report(diag::PerfCoalescing, d.range, stage(d.reader).name, name)
            .note(fmt::format("they lie along `{}`, which is not the innermost dimension of `{}` in memory",
                              program_.pipeline.variables.at(var).name, name));
    }
}

// -------------------------------------------------------------------------------------------------------------- types

void PerformanceCheck::warn_of_types() {
    const std::vector<std::optional<ir::Type>> narrowest = fusion::narrowest_types(program_.pipeline, program_.model);
    std::set<int> reported;
    for (const poly::Dependence& d : dependences_) {
        if (!leaves_kernel(d)) continue;
        const ir::Stage& kept = stage(d.source.index);
        const auto narrow = narrowest.at(static_cast<std::size_t>(d.source.index));
        if (kept.output >= 0 || !narrow || !reported.insert(d.source.index).second) continue;
        diags_.report(diag::PerfType, kept.range, std::string(ir::name(kept.type)), kept.name,
                      std::string(ir::name(*narrow)), ir::bits(kept.type) / ir::bits(*narrow));
    }
}

// ------------------------------------------------------------------------------------------------- serial reductions

/// Long reductions are shared out before (fusion/share_reductions.h), except where their terms may not be computed for
/// themselves: there a thread goes from the first term to the last, and a stage of few points keeps few of them busy.
void PerformanceCheck::warn_of_serial_reductions() {
    for (std::size_t s = 0; s < program_.pipeline.stages.size(); ++s) {
        const ir::Stage& reader = program_.pipeline.stages[s];
        const auto* pure = std::get_if<ir::Pure>(&reader.definition);
        const std::int64_t points = facts_.at(s).points;
        if (pure == nullptr || points >= kBusyThreads) continue;
        bool found = false;
        SourceRange place;
        double most = kLongReduction;
        ir::for_each_node(pure->value, [&](const ir::Expr& e) {
            const auto* reduce = ir::as<ir::Reduce>(e);
            if (reduce == nullptr) return;
            double terms = 1;
            for (; reduce != nullptr; reduce = ir::as<ir::Reduce>(reduce->body)) {
                for (const ir::Range& range : reduce->ranges) {
                    const auto lo = fusion::evaluate(range.lo, sizes_), hi = fusion::evaluate(range.hi, sizes_);
                    terms *= lo && hi ? static_cast<double>(std::max<std::int64_t>(0, *hi - *lo)) : 1;
                }
            }
            if (terms < most) return;
            most = terms;
            found = true;
            place = e->range;
        });
        if (!found) continue;
        diags_
            .report(diag::PerfSerial, place.valid() ? place : reader.range, reader.name, points, points == 1 ? "" : "s",
                    most)
            .note(reader.scan
                      ? "its terms use what the scan was so far; a stage for each step is shared out by all threads"
                      : "it has bounds that use index variables, or a condition that differs between points which "
                        "have it in common; as a stage of its own, or as the loop of an `accumulate`, all threads "
                        "share it out");
    }
}

/// Lines are what threads share out; where there are few, most of a GPU has nothing to do for as long as a line takes.
void PerformanceCheck::warn_of_scans() {
    for (std::size_t s = 0; s < program_.pipeline.stages.size(); ++s) {
        const auto& scan = facts_.at(s).scan;
        if (!scan || scan->length < kLongLine) continue;
        // A part of a longer line (fusion/long_lines.h) has as many beside it as that is long.
        const ir::Stage& of = program_.pipeline.stages[s];
        if (of.generated && scan->length <= fusion::kLineBlock) continue;
        const double threads = scan->lines * scan->slice;
        if (!scan->across.empty() ? threads >= static_cast<double>(kBusyThreads) || scan->lines >= kBusyBlocks
                                  : scan->lines >= static_cast<double>(scan->shared ? kBusyBlocks : kBusyThreads))
            continue;
        const auto lines = static_cast<std::int64_t>(scan->lines);
        const ir::Stage& stage = program_.pipeline.stages[s];
        diags_
            .report(diag::PerfScan, stage.range, stage.name, lines, lines == 1 ? "" : "s", scan->length,
                    !scan->across.empty() ? "a slice of a line waits for the one before, in the threads of one block"
                    : scan->shared        ? "a line has the threads of one block"
                                          : "the points of a line are computed one after the other")
            .note("where all points can be parts of shorter lines, scan these, and then what they end with");
    }
}

/// What a block keeps in shared memory it brings to the table once. Several updates of one table with one reason are
/// told of once.
void PerformanceCheck::warn_of_accumulates() {
    std::set<std::pair<std::string, std::string>> reported;
    for (const codegen::MemoryUpdate& update : codegen::memory_updates(program_.pipeline, program_.model, gpu_)) {
        double points = 1;
        for (const ir::Range& range : update.domain) {
            const auto lo = fusion::evaluate(range.lo, sizes_), hi = fusion::evaluate(range.hi, sizes_);
            if (lo && hi) points *= static_cast<double>(std::max<std::int64_t>(0, *hi - *lo));
        }
        if (points < kManyUpdates) continue;
        const ir::Stage& table = stage(update.stage);
        const std::string name = table.name.substr(0, table.name.find('.'));  // without what passes have added
        if (!reported.emplace(name, update.reason).second) continue;
        diags_.report(diag::PerfAccumulate, update.range.valid() ? update.range : table.range, name, update.reason)
            .note(fmt::format("a block of threads keeps a table of up to {} KB in shared memory, or the part that its "
                              "pixels reach where targets also follow the loops' variables, as in `table(y / 64, v)`",
                              plan::kMostTableParts * plan::table_room(gpu_) / 1024));
    }
}

}  // namespace

void warn_of_performance(const Prepared& prepared, const fusion::Schedules& schedules, const fusion::Target& target,
                         const ModelRequest& request, Diagnostics& diags) {
    const std::vector<std::vector<std::int64_t>> sizes = tuned_sizes(request, prepared);
    for (std::size_t i = 0; i < prepared.size(); ++i) {
        const auto& [pipeline, model] = prepared[i];
        const fusion::Schedule& schedule = schedules.at(pipeline.name);
        const fusion::Inlined program =
            fusion::inline_stages(pipeline, model, fusion::inlined_stages(pipeline, schedule));
        PerformanceCheck(program, schedule, sizes[i], target.gpu(), diags).run();
    }
}

}  // namespace pipec::compiler
