#include "driver/tune/tune_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "fusion/group_fields.h"

namespace pipec::driver {

namespace {

using fusion::Field;

/// "out: otpw block 32x4x1 tile 4x8x1 vector 4"; a group goes by its last stage.
std::string group_text(const fusion::GroupSchedule& group) {
    std::string text = fmt::format("{}: {}", group.stages.back(), name(group.strategy));
    for (const Field field : fusion::kFields) {
        const bool usual = field == Field::LoadCache && group.load_cache == fusion::LoadCache::Default;
        if (has(group.strategy, field) && !usual && !is_auto(field, group))
            text += fmt::format(" {} {}", name(field), value_text(field, group));
    }
    return text;
}

}  // namespace

std::string sizes_text(const ir::Pipeline& pipeline, const std::vector<std::int64_t>& sizes) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        parts.push_back(fmt::format("{} = {}", pipeline.sizes[i].name, sizes[i]));
    }
    return parts.empty() ? "no sizes" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string describe(const fusion::Alternative& alternative) {
    const std::vector<fusion::GroupSchedule>& groups = alternative.schedule.groups;
    if (groups.size() == 1) return group_text(groups.front());
    std::map<std::string_view, std::size_t> counts;
    for (const fusion::GroupSchedule& group : groups) {
        counts[name(group.strategy)] += group.strategy == fusion::Strategy::Stage ? group.stages.size() : 1;
    }
    std::size_t kernels = 0;
    std::vector<std::string> parts;
    for (const auto& [strategy, count] : counts) {
        kernels += count;
        parts.push_back(fmt::format("{} {}", count, strategy));
    }
    std::string text = fmt::format("{} kernels: {}", kernels, fmt::join(parts, ", "));
    if (alternative.changed >= 0) text += "; " + group_text(groups[static_cast<std::size_t>(alternative.changed)]);
    return text;
}

std::string model_text(const fusion::Alternative& alternative, bool costs_are_seconds) {
    return costs_are_seconds ? fmt::format("predicted {:.4f}", alternative.cost * 1e3)
                             : fmt::format("cost {:.4g}", alternative.cost);
}

std::string describe(const fusion::ChoiceMove& move) {
    return fmt::format("{}: {} {}", move.value.stages.back(), name(move.field), value_text(move.field, move.value));
}

std::string progress_line(const std::pair<std::size_t, std::size_t>& number, const Measurement& measurement,
                          const std::string& model, double best, const std::string& what) {
    const std::string line = fmt::format("{:3}/{}", number.first, number.second);
    if (!measurement.failure.empty()) {
        const std::string first = measurement.failure.substr(0, measurement.failure.find('\n'));
        return fmt::format("{}  failed: {}; {}", line, first, what);
    }
    return fmt::format("{}  {:.4f} ms  {}{}best {:.4f}  {}", line, measurement.milliseconds, model,
                       model.empty() ? "" : "  ", best, what);
}

}  // namespace pipec::driver
