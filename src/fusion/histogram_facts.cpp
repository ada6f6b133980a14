#include "fusion/histogram_facts.h"

#include <algorithm>

#include "fusion/evaluate.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

bool reads_data(const ir::Expr& e) {
    bool result = false;
    ir::for_each_node(e, [&](const ir::Expr& n) { result = result || ir::as<ir::Read>(n) != nullptr; });
    return result;
}

bool follows_loops(const ir::Expr& index, const ir::Update& update) {
    bool result = false;
    ir::for_each_node(index, [&](const ir::Expr& n) {
        const auto* variable = ir::as<ir::Variable>(n);
        result = result || (variable != nullptr && std::ranges::any_of(update.domain, [&](const ir::Range& range) {
                                return range.var == variable->id;
                            }));
    });
    return result && !reads_data(index);
}

}  // namespace

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
        by_data = by_data || std::ranges::any_of(update.indices, reads_data);
    }
    const ir::Update& first = accumulate->updates.front();
    result.table_bytes = cells * ir::bytes(stage.type);
    const auto has_extent = [](const ir::Dimension& range) { return ir::as_int(range.lo) && ir::as_int(range.hi); };
    result.is_constant = std::ranges::all_of(stage.dims, has_extent);
    if (!stage.dims.empty() && !has_extent(stage.dims.front()) &&
        std::all_of(stage.dims.begin() + 1, stage.dims.end(), has_extent)) {
        result.row_cells = 1;
        for (auto dim = stage.dims.begin() + 1; dim != stage.dims.end(); ++dim)
            *result.row_cells *= *ir::as_int(dim->hi) - *ir::as_int(dim->lo);
    }
    result.follows =
        std::ranges::any_of(first.indices, [&](const ir::Expr& index) { return follows_loops(index, first); });
    if (!by_data && (!result.follows || result.updates <= cells)) return std::nullopt;
    return result;
}

}  // namespace pipec::fusion
