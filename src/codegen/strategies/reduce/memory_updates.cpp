#include "codegen/strategies/reduce/memory_updates.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/kernel/kernel_build.h"
#include "codegen/strategies/reduce/histogram_plan.h"
#include "codegen/strategies/reduce/update_facts.h"

namespace pipec::codegen {

namespace {

/// Bytes of the table; none where they depend on sizes.
std::optional<std::int64_t> table_bytes(const ir::Stage& stage, const std::vector<poly::Interval>& box) {
    std::int64_t bytes = ir::bytes(stage.type);
    for (const poly::Interval& interval : box) {
        const auto n = constant_extent(interval.lo, interval.hi);
        if (!n) return std::nullopt;
        bytes = std::min<std::int64_t>(bytes * *n, INT32_MAX);
    }
    return bytes;
}

}  // namespace

std::vector<MemoryUpdate> memory_updates(const ir::Pipeline& pipeline, const poly::Model& model,
                                         const fusion::Gpu& gpu) {
    std::vector<MemoryUpdate> result;
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        const ir::Stage& stage = pipeline.stages[s];
        const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition);
        if (accumulate == nullptr || gathered(stage, false)) continue;
        const auto bytes = table_bytes(stage, model.domains.at(s).box);
        for (const ir::Update& update : accumulate->updates) {
            if (has_own_targets(update) || has_one_target(update)) continue;
            const auto plan = plan_histogram(pipeline, model, gpu, static_cast<int>(s), {update}, {});
            if (plan && plan->table != HistogramPlan::Table::Global) continue;
            // Loops that cannot be dealt out have simpler code, with a table of their own where that is small.
            if (!plan && bytes && *bytes <= kSimpleTableBytes) continue;
            MemoryUpdate& found = result.emplace_back();
            found.stage = static_cast<int>(s);
            found.range = update.range;
            found.domain = update.domain;
            found.reason = !plan   ? "a bound of its loops uses another loop's variable"
                           : bytes ? fmt::format("its table has {} KB, and the pixels of an area reach all of it",
                                                 (*bytes + 1023) / 1024)
                                   : "the size of its table is not constant, and the pixels of an area reach all of it";
        }
    }
    return result;
}

}  // namespace pipec::codegen
