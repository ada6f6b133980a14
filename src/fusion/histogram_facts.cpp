#include "fusion/histogram_facts.h"

#include <algorithm>

#include "fusion/evaluate.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

bool follows_loops(const ir::Expr& index, const ir::Update& update) {
    bool result = false;
    ir::for_each_node(index, [&](const ir::Expr& n) {
        const auto* variable = ir::as<ir::Variable>(n);
        result = result || (variable != nullptr && std::ranges::any_of(update.domain, [&](const ir::Range& range) {
                                return range.var == variable->id;
                            }));
    });
    return result && !ir::has_reads(index);
}

std::optional<std::int64_t> extent(const poly::Interval& range) {
    const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi);
    return lo && hi ? std::optional(*hi - *lo) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> row_cells(const std::vector<poly::Interval>& box) {
    if (box.empty() || extent(box.front())) return std::nullopt;
    std::int64_t cells = 1;
    for (std::size_t d = 1; d < box.size(); ++d) {
        const auto points = extent(box[d]);
        if (!points || *points < 0 || *points > INT32_MAX / std::max<std::int64_t>(1, cells)) return std::nullopt;
        cells *= *points;
    }
    return cells;
}

std::optional<HistogramFacts> histogram_facts(const ir::Stage& stage, double cells,
                                              const std::vector<std::int64_t>& sizes) {
    const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition);
    if (accumulate == nullptr || accumulate->updates.empty()) return std::nullopt;
    HistogramFacts result;
    bool by_data = false;
    for (const ir::Update& update : accumulate->updates) {
        double points = 1;
        for (const ir::Range& range : update.domain) {
            const auto lo = evaluate(range.lo, sizes), hi = evaluate(range.hi, sizes);
            points *= lo && hi ? static_cast<double>(std::max<std::int64_t>(0, *hi - *lo)) : 1;
        }
        result.updates += points;
        by_data = by_data || std::ranges::any_of(update.indices, ir::has_reads);
    }
    const ir::Update& first = accumulate->updates.front();
    result.table_bytes = cells * ir::bytes(stage.type);
    std::vector<poly::Interval> box;
    for (const ir::Dimension& range : stage.dims) box.push_back({range.lo, range.hi});
    result.is_constant =
        std::ranges::all_of(box, [](const poly::Interval& range) { return extent(range).has_value(); });
    result.row_cells = row_cells(box);
    result.follows =
        std::ranges::any_of(first.indices, [&](const ir::Expr& index) { return follows_loops(index, first); });
    if (!by_data && (!result.follows || result.updates <= cells)) return std::nullopt;
    return result;
}

}  // namespace pipec::fusion
