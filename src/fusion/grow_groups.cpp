#include "fusion/grow_groups.h"

#include <algorithm>
#include <set>

#include "poly/dependences.h"

namespace pipec::fusion {

namespace {

class Growth {
public:
    Growth(const ir::Pipeline& pipeline, const poly::Model& model, const Propose& propose)
        : pipeline_(pipeline),
          model_(model),
          propose_(propose),
          dependences_(poly::find_dependences(pipeline, model)),
          group_of_(pipeline.stages.size(), -1) {}

    std::vector<GroupSchedule> grow() {
        std::set<int> pure;
        for (std::size_t i = 0; i < pipeline_.stages.size(); ++i) {
            if (std::holds_alternative<ir::Pure>(pipeline_.stages[i].definition)) pure.insert(static_cast<int>(i));
        }
        if (pure.empty() || !join(pure, {})) {
            for (const int stage : pure) add(stage);
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
        for (const poly::Dependence& d : dependences_) {
            if (d.reader != stage || d.source.kind != ir::Source::Kind::Stage) continue;
            const int group = group_of_[static_cast<std::size_t>(d.source.index)];
            if (group >= 0) result.insert(group);
        }
        return result;
    }

    void add(int stage) {
        const std::set<int> read = groups_read_by(stage);
        if (read.size() > 1 && join({stage}, read)) return;
        for (auto group = read.rbegin(); group != read.rend(); ++group) {
            if (join({stage}, {*group})) return;
        }
        join({stage}, {});
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
    std::vector<poly::Dependence> dependences_;
    std::vector<int> group_of_;  ///< of stages; -1: none yet
    std::vector<Grown> groups_;
};

}  // namespace

GroupSchedule default_group(Strategy strategy, int rank) {
    GroupSchedule group;
    group.strategy = strategy;
    const bool is_line = rank < 2;
    switch (strategy) {
        case Strategy::Stage: break;
        case Strategy::Otptb:
            group.block = is_line ? std::array{256, 1, 1} : std::array{32, 8, 1};
            group.tile = is_line ? std::array{4, 1, 1} : std::array{1, 4, 1};
            break;
        case Strategy::Otpw:
            group.block = is_line ? std::array{128, 1, 1} : std::array{32, 4, 1};
            group.tile = is_line ? std::array{8, 1, 1} : std::array{1, 8, 1};
            break;
        case Strategy::Hybrid:
            group.block = is_line ? std::array{128, 1, 1} : std::array{32, 4, 1};
            group.tile = is_line ? std::array{8, 1, 1} : std::array{4, 4, 1};
            break;
        case Strategy::RegisterTile:
            group.block = {64, 1, 1};
            group.tile = is_line ? std::array{4, 1, 1} : std::array{4, 8, 1};
            break;
        case Strategy::Stream:
            group.block = {128, is_line ? 1 : 4, 1};
            group.tile = {2, is_line ? 1 : 16, 1};
            break;
    }
    return group;
}

std::vector<GroupSchedule> grow_groups(const ir::Pipeline& pipeline, const poly::Model& model, const Propose& propose) {
    return Growth(pipeline, model, propose).grow();
}

}  // namespace pipec::fusion
