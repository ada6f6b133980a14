// The sizes that costs are counted for.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "fusion/schedule.h"
#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/print.h"
#include "poly/nearest_sizes.h"

namespace pipec::fusion {

namespace {

/// The first condition or extent that does not hold for `sizes`, as it is written; what cannot be evaluated may hold.
std::optional<std::string> forbidden_by(const ir::Pipeline& pipeline, const std::vector<std::int64_t>& sizes) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 30;
    for (const ir::Expr& condition : pipeline.where) {
        if (evaluate(condition, sizes).value_or(1) == 0) return "where " + ir::to_string(pipeline, condition);
    }
    const auto wrong_extent = [&](const ir::Buffer& buffer) -> std::optional<std::string> {
        for (const ir::Expr& extent : buffer.extents) {
            const std::int64_t value = evaluate(extent, sizes).value_or(1);
            if (value < 1 || value >= kLimit) return "the extent " + ir::to_string(pipeline, extent);
        }
        return std::nullopt;
    };
    for (const ir::Buffer& input : pipeline.inputs) {
        if (const auto wrong = wrong_extent(input)) return wrong;
    }
    for (const ir::Output& output : pipeline.outputs) {
        if (const auto wrong = wrong_extent(output.buffer)) return wrong;
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::int64_t> usual_sizes(const ir::Pipeline& pipeline) {
    return usual_sizes(pipeline, std::vector<std::optional<std::int64_t>>(pipeline.sizes.size()));
}

std::vector<std::int64_t> usual_sizes(const ir::Pipeline& pipeline,
                                      const std::vector<std::optional<std::int64_t>>& given) {
    std::vector<std::int64_t> sizes;
    std::vector<bool> fixed;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const auto param = ir::parameter_of(pipeline, i);
        const auto usual = param ? ir::as_int(pipeline.params[*param].default_value) : std::nullopt;
        sizes.push_back(given[i].value_or(usual.value_or(kUsualSize)));
        fixed.push_back(given[i].has_value());
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
        const ir::Expr& preset = pipeline.sizes[i].default_value;
        if (preset && !given[i]) sizes[i] = evaluate(preset, sizes).value_or(sizes[i]);
    }
    if (!forbidden_by(pipeline, sizes)) return sizes;  // as nearly always
    if (const auto nearest = poly::nearest_sizes(pipeline, sizes, fixed)) return *nearest;
    if (std::ranges::find(fixed, true) == fixed.end()) return sizes;
    // What is forbidden is told beside sizes that are not, where those that are given leave some.
    std::vector<std::int64_t> others = usual_sizes(pipeline);
    for (std::size_t i = 0; i < others.size(); ++i) others[i] = given[i].value_or(others[i]);
    const auto forbidden = forbidden_by(pipeline, others);
    throw ScheduleError(fmt::format("`{}` does not admit these sizes: {}", pipeline.name,
                                    forbidden.value_or("no other sizes fit them")));
}

}  // namespace pipec::fusion
