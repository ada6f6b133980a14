#include "codegen/strategies/reduce/memory_updates.h"

#include <fmt/format.h>

#include "codegen/strategies/reduce/histogram_plan.h"
#include "codegen/strategies/reduce/update_facts.h"

namespace pipec::codegen {

std::vector<MemoryUpdate> memory_updates(const ir::Pipeline& pipeline, const poly::Model& model,
                                         const fusion::Gpu& gpu) {
    std::vector<MemoryUpdate> result;
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        const ir::Stage& stage = pipeline.stages[s];
        const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition);
        if (accumulate == nullptr || gathered(stage, false)) continue;
        const auto cells = constant_cells(model.domains.at(s).box);
        for (const ir::Update& update : accumulate->updates) {
            if (has_own_targets(update) || has_one_target(update)) continue;
            const auto plan = plan_histogram(pipeline, model, gpu, static_cast<int>(s), {update}, {});
            if (plan && plan->table != HistogramPlan::Table::Global) continue;
            // Loops that cannot be dealt out have simpler code, with a table of their own where that is small.
            if (!plan && keeps_simple_table(stage.type, cells)) continue;
            MemoryUpdate& found = result.emplace_back();
            found.stage = static_cast<int>(s);
            found.range = update.range;
            found.domain = update.domain;
            found.reason = !plan   ? "a bound of its loops uses another loop's variable"
                           : cells ? fmt::format("its table has {} KB, and the pixels of an area reach all of it",
                                                 (*cells * ir::bytes(stage.type) + 1023) / 1024)
                                   : "the size of its table is not constant, nor is it certain that its first rows "
                                     "fit, and the pixels of an area reach all of it";
        }
    }
    return result;
}

}  // namespace pipec::codegen
