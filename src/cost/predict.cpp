#include "cost/predict.h"

#include <algorithm>

#include "cost/histogram_cost.h"

namespace pipec::cost {

using fusion::StageFacts;

double Predicted::seconds() const {
    double sum = 0;
    for (const PredictedGroup& group : groups) sum += group.time ? group.time->seconds : 0;
    return sum;
}

Predicted predict(const ir::Pipeline& pipeline, const poly::Model& model, const Schedule& schedule, const Gpu& gpu,
                  const std::vector<std::int64_t>& sizes) {
    Predicted result{fusion::inline_stages(pipeline, model, fusion::inlined_stages(pipeline, schedule)), {}, {}};
    const ir::Pipeline& inlined = result.program.pipeline;
    result.dependences = poly::find_dependences(inlined, result.program.model);
    const std::vector<StageFacts> stages = fusion::stage_facts(inlined, result.program.model, result.dependences,
                                                               sizes.empty() ? fusion::usual_sizes(inlined) : sizes);
    const auto add_group = [&](const std::vector<int>& members, GroupSchedule group_schedule) {
        group_schedule.stages.clear();
        for (const int s : members) group_schedule.stages.push_back(inlined.stages[static_cast<std::size_t>(s)].name);
        PredictedGroup& group = result.groups.emplace_back();
        group.schedule = std::move(group_schedule);
        auto made = poly::make_group(inlined, result.program.model, result.dependences, members);
        auto* legal = std::get_if<poly::Group>(&made);
        if (legal == nullptr) {
            if (members.size() == 1)
                group.time = predict_histogram(stages[static_cast<std::size_t>(members[0])], gpu,
                                               group.schedule.choices.histogram.value_or(fusion::HistogramShape{}));
            return;
        }
        group.facts = fusion::group_facts(std::move(*legal), stages);
        group.time = predict_time(*group.facts, gpu, group.schedule);
    };
    const fusion::OrderedGroups ordered = fusion::order_groups(inlined, schedule);
    for (std::size_t g = 0; g < ordered.stages.size(); ++g) {
        const int number = ordered.number[g];
        if (number >= 0 && schedule.groups[static_cast<std::size_t>(number)].strategy != Strategy::Stage) {
            add_group(ordered.stages[g], schedule.groups[static_cast<std::size_t>(number)]);
            continue;
        }
        GroupSchedule alone;
        if (number >= 0) alone.choices = schedule.groups[static_cast<std::size_t>(number)].choices;
        for (const std::vector<int>& kernel : fusion::stage_kernels(inlined, result.program.model, ordered.stages[g]))
            add_group(kernel, alone);
    }
    return result;
}

}  // namespace pipec::cost
