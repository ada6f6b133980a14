#include "driver/code_origin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <vector>

namespace pipec::driver {
namespace {

using fusion::Field;

/// The name of a file without its directory, which is another one on each machine.
std::string file_name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

std::string sizes_text(const std::array<int, 3>& sizes) {
    return fmt::format("{}", fmt::join(sizes, "x"));
}

std::string value_text(Field field, const fusion::GroupSchedule& values) {
    switch (field) {
        case Field::Block: return sizes_text(values.block);
        case Field::Tile: return sizes_text(values.tile);
        case Field::Vector: return fmt::format("{}", values.vector);
        case Field::Split: return std::string(fusion::split_name(values.split));
        case Field::FracReg: return fmt::format("{}", values.frac_reg);
        case Field::Prefetch: return fmt::format("{}", values.prefetch);
        case Field::LoadCache: break;
    }
    return std::string(fusion::name(values.load_cache));
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
std::string options_text(const Options& options) {
    std::vector<std::string> words;
    const auto add = [&](const std::string& option, const std::string& value) {
        words.push_back(fmt::format("{} {}", option, value));
    };
    if (options.deterministic) words.emplace_back("--deterministic");
    if (options.object.fast_math) words.emplace_back("-ffast-math");
    if (options.analysis.max_operations != poly::Options{}.max_operations) {
        add("--max-analysis-operations", std::to_string(options.analysis.max_operations));
    }
    const ScheduleOptions& schedule = options.schedule;
    if (schedule.file) add("--schedule", file_name(*schedule.file));
    if (schedule.strategy) add("--strategy", std::string(fusion::name(*schedule.strategy)));
    if (schedule.overlap_threshold) add("--overlap-threshold", fmt::format("{}", *schedule.overlap_threshold));
    if (schedule.automatic.cost_model) add("--cost-model", cost_model_name(*schedule.automatic.cost_model));
    for (const auto& [size, value] : schedule.automatic.sizes) add("--tune-for", fmt::format("{}={}", size, value));
    if (schedule.automatic.profile) add("--profile", file_name(*schedule.automatic.profile));
    for (const Field field : schedule.changed) add(option_name(field), value_text(field, schedule.values));
    return fmt::format("{}", fmt::join(words, " "));
}

std::string schedule_text(const Options& options, const Compilation& compilation) {
    const ScheduleOptions& schedule = options.schedule;
    std::string text;
    if (schedule.file) {
        text = fmt::format("the file {}", file_name(*schedule.file));
    } else if (schedule.strategy && !schedule.automatic.cost_model) {
        text = fmt::format("as many stages in a kernel as strategy {} can compute", name(*schedule.strategy));
    } else if (schedule.automatic.cost_model == CostModelName::None) {
        text = "a kernel for each stage that is not inlined";
    } else {
        const CostModelName model = schedule.automatic.cost_model.value_or(CostModelName::Time);
        text = fmt::format("cost model {}", cost_model_name(model));
        if (schedule.strategy) text += fmt::format(", strategies stage and {}", name(*schedule.strategy));
    }
    // What a file says of itself, or a search of its end.
    for (const auto& [pipeline, made] : compilation.schedules) {
        if (!made.origin.empty()) text += fmt::format("; {}: {}", pipeline, made.origin);
    }
    // It names a profile as the command line does.
    if (const auto& profile = schedule.automatic.profile) {
        for (std::size_t at = 0; (at = text.find(*profile, at)) != std::string::npos;) {
            text.replace(at, profile->size(), file_name(*profile));
            at += file_name(*profile).size();
        }
    }
    return text;
}

}  // namespace

codegen::Origin code_origin(const Options& options, const Compilation& compilation) {
    const bool has_schedule = compilation.target.platform() == fusion::Platform::Cuda;
    return {PIPEC_VERSION, options_text(options), has_schedule ? schedule_text(options, compilation) : ""};
}

}  // namespace pipec::driver
