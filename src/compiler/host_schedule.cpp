#include "compiler/host_schedule.h"

#include <algorithm>
#include <variant>

#include "compiler/schedule.h"
#include "cost/host_cost.h"
#include "fusion/automatic.h"
#include "plan/host_tiles.h"
#include "poly/group.h"

namespace pipec::compiler {

fusion::Schedules host_schedules(const std::vector<fusion::Inlined>& pipelines) {
    const fusion::IsLegal is_legal = [](const ir::Pipeline& pipeline, const poly::Model& model,
                                        const std::vector<poly::Dependence>& dependences,
                                        const fusion::GroupSchedule& schedule) {
        std::vector<int> stages;
        for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
            if (std::find(schedule.stages.begin(), schedule.stages.end(), pipeline.stages[s].name) !=
                schedule.stages.end()) {
                stages.push_back(static_cast<int>(s));
            }
        }
        if (schedule.strategy == fusion::Strategy::Stage) return true;
        const auto group = poly::make_group(pipeline, model, dependences, stages);
        if (!std::holds_alternative<poly::Group>(group)) return false;
        return std::holds_alternative<plan::HostTiles>(
            plan::host_tiles(pipeline, model, std::get<poly::Group>(group), schedule));
    };
    fusion::Schedules result;
    for (const auto& [pipeline, model] : pipelines) {
        fusion::FusionOptions options = cost::host_fusion_options();
        options.sizes = fusion::usual_sizes(pipeline);
        result[pipeline.name] = fusion::fuse(pipeline, model, cost::host_cost_model(), is_legal, options).schedule;
    }
    return result;
}

fusion::Schedules host_schedules(const std::vector<fusion::Inlined>& pipelines, const std::optional<TextFile>& file) {
    fusion::Schedules result;
    if (file) {
        std::vector<ir::Pipeline> all;
        for (const fusion::Inlined& one : pipelines) all.push_back(one.pipeline);
        result = fusion::schedules_from_json(file->text, file->name, all);
    }
    for (const fusion::Inlined& one : pipelines) {
        const auto [entry, is_new] = result.try_emplace(one.pipeline.name);
        if (is_new) entry->second = host_schedules(std::vector{one}).at(one.pipeline.name);
        entry->second = completed(one, entry->second);
    }
    return result;
}

}  // namespace pipec::compiler
