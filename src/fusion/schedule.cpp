#include "fusion/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "fusion/group_shape.h"
#include "fusion/inline.h"
#include "ir/visit.h"
#include "poly/group.h"

namespace pipec::fusion {

namespace {

int index_of(const ir::Pipeline& pipeline, const std::string& name) {
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        if (pipeline.stages[i].name == name) return static_cast<int>(i);
    }
    throw ScheduleError(fmt::format("`{}` has no stage `{}` to be scheduled", pipeline.name, name));
}

/// Other stages: that a scan reads itself orders nothing.
std::set<int> stages_read_by(const ir::Stage& stage, int own) {
    std::set<int> result;
    for (const ir::Expr& root : ir::expressions(stage)) {
        ir::for_each_node(root, [&](const ir::Expr& e) {
            const auto* read = ir::as<ir::Read>(e);
            if (read != nullptr && read->source.kind == ir::Source::Kind::Stage) result.insert(read->source.index);
        });
    }
    result.erase(own);
    return result;
}

}  // namespace

Schedule stage_schedule(const ir::Pipeline& pipeline, const poly::Model& model) {
    Schedule schedule;
    for (const int stage : cheap_stages(pipeline, model)) {
        schedule.inlined.push_back(pipeline.stages[static_cast<std::size_t>(stage)].name);
    }
    return schedule;
}

std::vector<int> inlined_stages(const ir::Pipeline& pipeline, const Schedule& schedule) {
    std::vector<int> result;
    for (const std::string& name : schedule.inlined) {
        const int index = index_of(pipeline, name);
        const ir::Stage& stage = pipeline.stages[static_cast<std::size_t>(index)];
        if (stage.output >= 0) throw ScheduleError(fmt::format("`{}` is an output and cannot be inlined", name));
        if (!std::holds_alternative<ir::Pure>(stage.definition)) {
            throw ScheduleError(fmt::format("`{}` accumulates and cannot be inlined", name));
        }
        if (stage.scan) throw ScheduleError(fmt::format("`{}` reads itself and cannot be inlined", name));
        result.push_back(index);
    }
    return result;
}

OrderedGroups order_groups(const ir::Pipeline& pipeline, const Schedule& schedule) {
    const std::size_t count = pipeline.stages.size();
    std::vector<int> group_of(count, -1);
    std::vector<std::vector<int>> groups;
    std::vector<int> number;
    for (std::size_t g = 0; g < schedule.groups.size(); ++g) {
        std::set<int> members;
        for (const std::string& stage : schedule.groups[g].stages) {
            const int index = index_of(pipeline, stage);
            if (group_of[static_cast<std::size_t>(index)] >= 0) {
                throw ScheduleError(fmt::format("`{}` is in two groups", stage));
            }
            group_of[static_cast<std::size_t>(index)] = static_cast<int>(groups.size());
            members.insert(index);
        }
        if (members.empty()) continue;
        groups.emplace_back(members.begin(), members.end());
        number.push_back(static_cast<int>(g));
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (group_of[i] >= 0) continue;
        group_of[i] = static_cast<int>(groups.size());
        groups.push_back({static_cast<int>(i)});
        number.push_back(-1);
    }
    // A group runs when all that its members read is there.
    OrderedGroups result;
    std::vector<bool> done(groups.size(), false);
    const auto is_ready = [&](std::size_t g) {
        return std::all_of(groups[g].begin(), groups[g].end(), [&](int stage) {
            const std::set<int> reads = stages_read_by(pipeline.stages[static_cast<std::size_t>(stage)], stage);
            return std::all_of(reads.begin(), reads.end(), [&](int read) {
                const auto of = static_cast<std::size_t>(group_of[static_cast<std::size_t>(read)]);
                return of == g || done[of];
            });
        });
    };
    while (result.stages.size() < groups.size()) {
        // The ready group with the first stage, so that the program's order is kept where it can be.
        std::size_t next = groups.size();
        for (std::size_t g = 0; g < groups.size(); ++g) {
            if (!done[g] && (next == groups.size() || groups[g].front() < groups[next].front()) && is_ready(g))
                next = g;
        }
        if (next == groups.size()) throw ScheduleError("the groups of the schedule would have to wait for each other");
        done[next] = true;
        result.stages.push_back(groups[next]);
        result.number.push_back(number[next]);
    }
    return result;
}

std::vector<std::vector<int>> stage_kernels(const ir::Pipeline& pipeline, const poly::Model& model,
                                            const std::vector<int>& stages) {
    const auto stage = [&](int s) -> const ir::Stage& { return pipeline.stages.at(static_cast<std::size_t>(s)); };
    const auto may_share = [&](int s) {
        return std::holds_alternative<ir::Pure>(stage(s).definition) && !stage(s).scan &&
               !model.domains.at(static_cast<std::size_t>(s)).guard;
    };
    const auto order = [&](int s) { return stage_shape(pipeline, model, s).order; };
    std::vector<std::vector<int>> kernels;
    for (const int s : stages) {
        const std::set<int> read = stages_read_by(stage(s), s);
        const auto joins = [&](const std::vector<int>& kernel) {
            return may_share(s) && may_share(kernel.front()) && poly::have_same_domain(model, s, kernel.front()) &&
                   order(s) == order(kernel.front()) &&
                   std::ranges::none_of(kernel, [&](int other) { return read.contains(other); });
        };
        // Only the last kernel: what others read is there before them.
        if (!kernels.empty() && joins(kernels.back())) {
            kernels.back().push_back(s);
        } else {
            kernels.push_back({s});
        }
    }
    return kernels;
}

}  // namespace pipec::fusion
