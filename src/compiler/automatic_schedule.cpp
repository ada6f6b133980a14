#include "compiler/automatic_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cost/cost_models.h"
#include "cost/time_cost.h"
#include "fusion/automatic.h"
#include "fusion/profile.h"

namespace pipec::compiler {
namespace {

using fusion::GroupSchedule;
using fusion::ScheduleError;

std::vector<std::int64_t> sizes_of(const ModelRequest& request, const ir::Pipeline& pipeline,
                                   std::set<std::string>& unused) {
    std::vector<std::optional<std::int64_t>> sizes(pipeline.sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto given = request.sizes.find(pipeline.sizes[i].name);
        if (given == request.sizes.end()) continue;
        sizes[i] = given->second;
        unused.erase(given->first);
    }
    try {
        return fusion::usual_sizes(pipeline, sizes);
    } catch (const ScheduleError& error) {
        throw ScheduleError(fmt::format("`--tune-for`: {}", error.what()));
    }
}

fusion::IsLegal is_legal(const CodeCheck& check) {
    return [check](const ir::Pipeline& pipeline, const poly::Model& model,
                   const std::vector<poly::Dependence>& dependences, const GroupSchedule& schedule) -> fusion::Verdict {
        std::vector<int> stages;
        for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
            if (std::find(schedule.stages.begin(), schedule.stages.end(), pipeline.stages[s].name) !=
                schedule.stages.end()) {
                stages.push_back(static_cast<int>(s));
            }
        }
        const auto group = poly::make_group(pipeline, model, dependences, stages);
        if (!std::holds_alternative<poly::Group>(group)) return false;
        const auto refused = check.refusal(pipeline, model, dependences, std::get<poly::Group>(group), schedule);
        return refused ? fusion::Verdict(false, refused->apart) : true;
    };
}

/// The model's choices with what `change` sets, predicted anew.
fusion::CostModel changed(const fusion::CostModel& cost, const fusion::Gpu& gpu,
                          const std::function<void(GroupSchedule&)>& change) {
    return [cost, gpu, change](const ir::Pipeline& pipeline, const fusion::GroupFacts& facts,
                               const std::vector<fusion::Strategy>& allowed) {
        std::vector<fusion::GroupChoice> result;
        for (fusion::GroupChoice& choice : cost(pipeline, facts, allowed)) {
            change(choice.schedule);
            const auto time = cost::predict_time(facts, gpu, choice.schedule);
            if (time) result.push_back({time->seconds, std::move(choice.schedule)});
        }
        const auto faster = [](const auto& a, const auto& b) { return a.cost < b.cost; };
        std::stable_sort(result.begin(), result.end(), faster);
        return result;
    };
}

}  // namespace

std::vector<std::vector<std::int64_t>> tuned_sizes(const ModelRequest& request,
                                                   const std::vector<fusion::Inlined>& pipelines) {
    std::set<std::string> unused;
    for (const auto& [name, value] : request.sizes) unused.insert(name);
    std::vector<std::vector<std::int64_t>> result;
    for (const fusion::Inlined& one : pipelines) result.push_back(sizes_of(request, one.pipeline, unused));
    if (!unused.empty()) throw ScheduleError(fmt::format("`--tune-for`: there is no size `{}`", *unused.begin()));
    return result;
}

AutomaticModel automatic_model(const ModelRequest& request, const CodeCheck& check,
                               const std::optional<OnlyStrategy>& only) {
    const fusion::Gpu& gpu = check.target.gpu();
    const bool paper = request.cost_model == CostModelName::Paper;
    AutomaticModel result{paper ? cost::paper_cost_model(gpu) : cost::time_cost_model(gpu), is_legal(check),
                          paper ? fusion::FusionOptions{} : cost::time_fusion_options(gpu)};
    if (only) {
        result.options.strategies = {fusion::Strategy::Stage};
        if (only->strategy != fusion::Strategy::Stage) result.options.strategies.push_back(only->strategy);
        if (!paper) {  // the paper's function has an order of its own for all of its parameters
            result.cost = changed(result.cost, gpu, only->change);
            result.options.refined = changed(result.options.refined, gpu, only->change);
        }
    }
    if (request.profile) {
        const auto& [file, text] = *request.profile;
        const fusion::Profile profile = fusion::profile_from_json(text, file);
        result.cost = fusion::with_profile(result.cost, profile, file);
        if (result.options.refined)
            result.options.refined = fusion::with_profile(result.options.refined, profile, file);
        result.origin = fmt::format("cost model {} for {}, with {} of {}", paper ? "paper" : "time", gpu.name,
                                    profile.device ? "registers and times" : "registers", file);
    }
    return result;
}

fusion::Schedules automatic_schedules(const ModelRequest& request, const std::vector<fusion::Inlined>& pipelines,
                                      const CodeCheck& check, const std::optional<OnlyStrategy>& only) {
    AutomaticModel automatic = automatic_model(request, check, only);
    const std::vector<std::vector<std::int64_t>> sizes = tuned_sizes(request, pipelines);
    fusion::Schedules result;
    for (std::size_t i = 0; i < pipelines.size(); ++i) {
        const auto& [pipeline, model] = pipelines[i];
        automatic.options.sizes = sizes[i];
        fusion::Schedule& schedule = result[pipeline.name];
        fusion::FusionResult found = fusion::fuse(pipeline, model, automatic.cost, automatic.legal, automatic.options);
        schedule = std::move(found.schedule);
        schedule.origin = automatic.origin;
        if (found.is_spent) {
            schedule.origin += fmt::format("{}the best that the search found within its budget of {} steps",
                                           schedule.origin.empty() ? "" : ", ", automatic.options.steps);
        }
    }
    return result;
}

}  // namespace pipec::compiler
