#include "fusion/scan_facts.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "fusion/uniform_work.h"
#include "ir/associative.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Functions take so many operations, one after the other.
constexpr double kCall = 8;

/// Operations on the longest way from a read of `self` to the root; negative where there is no way.
double longest_way(const ir::Expr& root, ir::Source self) {
    std::unordered_map<const ir::Node*, double> known;
    const std::function<double(const ir::Expr&)> visit = [&](const ir::Expr& e) -> double {
        if (const auto found = known.find(e.get()); found != known.end()) return found->second;
        const auto* read = ir::as<ir::Read>(e);
        double way = read != nullptr && read->source == self ? 0 : -1;
        ir::for_each_child(*e, [&](const ir::Expr& child) {
            const double below = visit(child);
            if (below < 0) return;
            const bool free = ir::as<ir::Let>(e) != nullptr;
            way = std::max(way, below + (free ? 0 : ir::as<ir::Call>(e) != nullptr ? kCall : 1));
        });
        return known[e.get()] = way;
    };
    return visit(root);
}

}  // namespace

std::int64_t slice_work(const ir::Stage& stage) {
    constexpr std::int64_t kDouble = 4;  // half the rate, and functions that are computed in more steps
    return work_of(std::get<ir::Pure>(stage.definition).value) * (stage.type == ir::Type::Float64 ? kDouble : 1);
}

std::optional<ScanFacts> scan_facts(const ir::Pipeline& pipeline, int index, const std::vector<std::int64_t>& extents) {
    const ir::Stage& stage = pipeline.stages.at(static_cast<std::size_t>(index));
    if (!stage.scan) return std::nullopt;
    const auto& value = std::get<ir::Pure>(stage.definition).value;
    const double operations = longest_way(value, {ir::Source::Kind::Stage, index});
    ScanFacts facts{.dim = stage.scan->dim,
                    .lines = 1,
                    .length = extents[static_cast<std::size_t>(stage.scan->dim)],
                    .across = stage.scan->across,
                    .distance = stage.scan->distance,
                    .operations = std::max(1.0, operations),
                    .shared = ir::is_associative_scan(stage, index, false)};
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (d == static_cast<std::size_t>(stage.scan->dim)) continue;
        (stage.scan->is_across(d) ? facts.slice : facts.lines) *= static_cast<double>(extents[d]);
    }
    for (const int d : facts.across)
        facts.reaches.push_back(ir::scan_reach(stage, index, value, static_cast<std::size_t>(d)));
    if (!facts.across.empty()) {
        facts.last = ir::last_slices_read(pipeline, index);
        facts.work = slice_work(stage);
    }
    return facts;
}

}  // namespace pipec::fusion
