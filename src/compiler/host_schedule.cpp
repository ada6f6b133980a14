#include "compiler/host_schedule.h"

#include "compiler/schedule.h"
#include "cost/host_cost.h"
#include "fusion/automatic.h"

namespace pipec::compiler {

fusion::Schedules host_schedules(const std::vector<fusion::Inlined>& pipelines, const fusion::Cpu& cpu) {
    fusion::Schedules result;
    for (const auto& [pipeline, model] : pipelines) {
        fusion::FusionOptions options = cost::host_fusion_options();
        options.sizes = fusion::usual_sizes(pipeline);
        fusion::Schedule schedule = fusion::fuse(pipeline, model, cost::host_cost_model(cpu), {}, options).schedule;
        const std::set<std::string> tables = cost::host_tables(pipeline, model, options.sizes);
        std::erase_if(schedule.inlined, [&](const std::string& stage) { return tables.count(stage) > 0; });
        result[pipeline.name] = std::move(schedule);
    }
    return result;
}

fusion::Schedules host_schedules(const std::vector<fusion::Inlined>& pipelines, const std::optional<TextFile>& file,
                                 const fusion::Cpu& cpu) {
    fusion::Schedules result;
    if (file) {
        std::vector<ir::Pipeline> all;
        for (const fusion::Inlined& one : pipelines) all.push_back(one.pipeline);
        result = fusion::schedules_from_json(file->text, file->name, all);
    }
    for (const fusion::Inlined& one : pipelines) {
        const auto [entry, is_new] = result.try_emplace(one.pipeline.name);
        if (is_new) entry->second = host_schedules(std::vector{one}, cpu).at(one.pipeline.name);
        entry->second = completed(one, entry->second);
    }
    return result;
}

}  // namespace pipec::compiler
