#include "fusion/scan_facts.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

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

std::optional<ScanFacts> scan_facts(const ir::Stage& stage, int index, std::int64_t points, std::int64_t length) {
    if (!stage.scan) return std::nullopt;
    const auto& value = std::get<ir::Pure>(stage.definition).value;
    const double operations = longest_way(value, {ir::Source::Kind::Stage, index});
    const double lines = length > 0 ? static_cast<double>(points) / static_cast<double>(length) : 0;
    return ScanFacts{stage.scan->dim, lines, length, std::max(1.0, operations),
                     ir::is_associative_scan(stage, index, false)};
}

}  // namespace pipec::fusion
