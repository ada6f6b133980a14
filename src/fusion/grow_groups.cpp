#include "fusion/grow_groups.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "poly/dependences.h"

namespace pipec::fusion {

namespace {

class Grower {
public:
    Grower(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<poly::Dependence>& dependences,
           const Propose& propose)
        : pipeline_(pipeline),
          model_(model),
          propose_(propose),
          dependences_(dependences),
          reads_(pipeline.stages.size()),
          group_of_(pipeline.stages.size(), -1) {
        for (const poly::Dependence& d : dependences_) {
            if (d.source.kind != ir::Source::Kind::Stage) continue;
            reads_[static_cast<std::size_t>(d.reader)].insert(d.source.index);
        }
    }

    std::vector<GroupSchedule> grow() {
        std::set<int> pure;
        for (std::size_t i = 0; i < pipeline_.stages.size(); ++i) {
            if (std::holds_alternative<ir::Pure>(pipeline_.stages[i].definition)) pure.insert(static_cast<int>(i));
        }
        if (pure.empty() || !join(pure, {})) {
            const std::vector<int> stages(pure.begin(), pure.end());
            for (std::size_t next = 0; next < stages.size();) next += add(stages, next);
        }
        std::vector<GroupSchedule> result;
        for (const Grown& group : groups_) {
            if (!group.members.empty()) result.push_back(group.schedule);
        }
        return result;
    }

private:
    struct Grown {
        std::set<int> members;  ///< none: it has become a part of another one
        GroupSchedule schedule;
    };

    /// The groups whose stages a stage reads.
    std::set<int> groups_read_by(int stage) const {
        std::set<int> result;
        for (const int source : reads_[static_cast<std::size_t>(stage)]) {
            const int group = group_of_[static_cast<std::size_t>(source)];
            if (group >= 0) result.insert(group);
        }
        return result;
    }

    /// Finds a group for stages[next], or for some from there on. Returns for how many.
    std::size_t add(const std::vector<int>& stages, std::size_t next) {
        const int stage = stages[next];
        const std::set<int> read = groups_read_by(stage);
        if (read.size() == 1) {
            if (*read.begin() != grown_) too_large_ = kUnknown;
            if (const std::size_t count = add_run(stages, next, *read.begin())) return count;
        }
        if (read.size() > 1 && join({stage}, read)) return 1;
        for (auto group = read.rbegin(); group != read.rend(); ++group) {
            const bool is_known = *group == grown_ && size_of(*group) + 1 == too_large_;
            if (!is_known && join({stage}, {*group})) return 1;
        }
        if (!read.empty()) last_ = size_of(*read.rbegin());
        join({stage}, {});
        return 1;
    }

    /// Stages of which each reads the group or those before it, and no other group: one by one they would join it, and
    /// each time all of it is judged again. So several are tried at once: as many as the last group had, or while
    /// none was too large, twice as many; then by halves what is between. Returns how many have joined.
    std::size_t add_run(const std::vector<int>& stages, std::size_t next, int group) {
        const std::size_t size = size_of(group);
        std::size_t wanted = size < last_ ? last_ : last_ == 0 ? 2 * size : size;
        if (wanted >= too_large_) wanted = (size + too_large_) / 2;
        std::set<int> run;
        for (std::size_t i = next; i < stages.size() && size + run.size() < wanted; ++i) {
            const std::set<int>& reads = reads_[static_cast<std::size_t>(stages[i])];
            const bool follows = std::any_of(reads.begin(), reads.end(), [&](int source) {
                return run.count(source) > 0 || group_of_[static_cast<std::size_t>(source)] == group;
            });
            const std::set<int> groups = groups_read_by(stages[i]);
            if (!follows || groups.size() > 1 || (groups.size() == 1 && *groups.begin() != group)) break;
            run.insert(stages[i]);
        }
        if (run.size() < 2) return 0;
        if (join(run, {group})) return run.size();
        too_large_ = size + run.size();
        return add_run(stages, next, group);
    }

    [[nodiscard]] std::size_t size_of(int group) const {
        return groups_[static_cast<std::size_t>(group)].members.size();
    }

    /// Makes one group of the stages and these groups, where that is possible.
    bool join(const std::set<int>& added, const std::set<int>& parts) {
        Grown joined;
        joined.members = added;
        for (const int part : parts) {
            const std::set<int>& members = groups_[static_cast<std::size_t>(part)].members;
            joined.members.insert(members.begin(), members.end());
        }
        const std::vector<int> stages(joined.members.begin(), joined.members.end());
        const auto group = poly::make_group(pipeline_, model_, dependences_, stages);
        if (!std::holds_alternative<poly::Group>(group)) return false;
        auto proposal = propose_(std::get<poly::Group>(group));
        if (!proposal) return false;
        joined.schedule = std::move(*proposal);
        for (const int member : stages) {
            joined.schedule.stages.push_back(pipeline_.stages[static_cast<std::size_t>(member)].name);
        }
        if (!can_run(joined.schedule, parts)) return false;
        for (const int part : parts) groups_[static_cast<std::size_t>(part)] = {};
        for (const int member : stages) group_of_[static_cast<std::size_t>(member)] = static_cast<int>(groups_.size());
        const bool is_larger = parts.count(grown_) > 0;
        grown_ = static_cast<int>(groups_.size());
        if (!is_larger) too_large_ = kUnknown;
        groups_.push_back(std::move(joined));
        return true;
    }

    /// No two groups would wait for each other if `added` stood in the place of `parts`.
    bool can_run(const GroupSchedule& added, const std::set<int>& parts) const {
        Schedule trial;
        trial.groups.push_back(added);
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            if (parts.count(static_cast<int>(g)) == 0) trial.groups.push_back(groups_[g].schedule);
        }
        try {
            order_groups(pipeline_, trial);
            return true;
        } catch (const ScheduleError&) {
            return false;
        }
    }

    const ir::Pipeline& pipeline_;
    const poly::Model& model_;
    const Propose& propose_;
    static constexpr std::size_t kUnknown = SIZE_MAX;

    const std::vector<poly::Dependence>& dependences_;
    std::vector<std::set<int>> reads_;  ///< stages that a stage reads
    std::size_t last_ = 0;              ///< stages of the last group that could not grow; 0: all could
    std::size_t too_large_ = kUnknown;  ///< stages that the group `grown_` cannot have
    int grown_ = -1;                    ///< the group that has grown last
    std::vector<int> group_of_;         ///< of stages; -1: none yet
    std::vector<Grown> groups_;
};

}  // namespace

std::vector<GroupSchedule> grow_groups(const ir::Pipeline& pipeline, const poly::Model& model,
                                       const std::vector<poly::Dependence>& dependences, const Propose& propose) {
    return Grower(pipeline, model, dependences, propose).grow();
}

}  // namespace pipec::fusion
