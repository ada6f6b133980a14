#include "compiler/code_origin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <vector>

namespace pipec::compiler {
namespace {

using fusion::Field;

/// The name of a file without its directory, which is another one on each machine.
std::string file_name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

std::string cost_model_name(CostModelName model) {
    switch (model) {
        case CostModelName::Time: return "time";
        case CostModelName::Paper: return "paper";
        case CostModelName::None: break;
    }
    return "none";
}

/// The target and the GPU have places of their own in the comment.
std::string options_text(const Settings& settings, const ScheduleRequest& request) {
    std::vector<std::string> words;
    const auto add = [&](const std::string& option, const std::string& value) {
        words.push_back(fmt::format("{} {}", option, value));
    };
    if (settings.deterministic) words.emplace_back("--deterministic");
    if (settings.windows) words.emplace_back("--windows");
    if (settings.phases) words.emplace_back("--phases");
    if (settings.fast_math) words.emplace_back("-ffast-math");
    if (settings.analysis.max_operations != poly::Options{}.max_operations) {
        add("--max-analysis-operations", std::to_string(settings.analysis.max_operations));
    }
    if (request.file) add("--schedule", file_name(request.file->name));
    if (request.strategy) add("--strategy", std::string(fusion::name(*request.strategy)));
    if (request.overlap_threshold) add("--overlap-threshold", fmt::format("{}", *request.overlap_threshold));
    if (request.model.cost_model) add("--cost-model", cost_model_name(*request.model.cost_model));
    for (const auto& [size, value] : request.model.sizes) add("--tune-for", fmt::format("{}={}", size, value));
    if (request.model.profile) add("--profile", file_name(request.model.profile->name));
    for (const Field field : request.changed) add(option_name(field), fusion::value_text(field, request.values));
    return fmt::format("{}", fmt::join(words, " "));
}

std::string schedule_text(const ScheduleRequest& request, const fusion::Schedules& schedules) {
    std::string text;
    if (request.file) {
        text = fmt::format("the file {}", file_name(request.file->name));
    } else if (request.strategy && !request.model.cost_model) {
        text = fmt::format("as many stages in a kernel as strategy {} can compute", name(*request.strategy));
    } else if (request.model.cost_model == CostModelName::None) {
        text = "a kernel for each stage that is not inlined";
    } else {
        const CostModelName model = request.model.cost_model.value_or(CostModelName::Time);
        text = fmt::format("cost model {}", cost_model_name(model));
        if (request.strategy) text += fmt::format(", strategies stage and {}", name(*request.strategy));
    }
    // What a file says of itself, or a search of its end.
    for (const auto& [pipeline, made] : schedules) {
        if (!made.origin.empty()) text += fmt::format("; {}: {}", pipeline, made.origin);
    }
    // It names a profile as the command line does.
    if (request.model.profile) {
        const std::string& path = request.model.profile->name;
        for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos;) {
            text.replace(at, path.size(), file_name(path));
            at += file_name(path).size();
        }
    }
    return text;
}

}  // namespace

codegen::Origin code_origin(const Settings& settings, const ScheduleRequest& request, const Scheduled* scheduled) {
    return {PIPEC_VERSION, options_text(settings, request),
            scheduled == nullptr ? "" : schedule_text(request, scheduled->schedules)};
}

}  // namespace pipec::compiler
