// The least cost of all groupings there are, straight from the definition: for graphs of a few stages.
#pragma once

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "fusion/search.h"

namespace pipec::fusion {

using Siblings = std::vector<std::pair<int, int>>;

inline bool is_connected(const StageGraph& graph, const std::vector<int>& stages, const Siblings& siblings = {}) {
    const std::set<int> members(stages.begin(), stages.end());
    std::set<int> reached{stages.front()};
    for (bool grew = true; grew;) {
        grew = false;
        for (const auto& [a, b] : siblings) {
            if (members.count(a) + members.count(b) < 2 || reached.count(a) == reached.count(b)) continue;
            reached.insert({a, b});
            grew = true;
        }
        for (const int s : stages) {
            for (const int source : graph[static_cast<std::size_t>(s)]) {
                if (members.count(source) == 0 || reached.count(s) == reached.count(source)) continue;
                reached.insert({s, source});
                grew = true;
            }
        }
    }
    return reached.size() == members.size();
}

/// Whether the groups can run one after the other.
inline bool can_run(const StageGraph& graph, const std::vector<std::vector<int>>& groups) {
    std::set<int> done;
    std::vector<bool> ran(groups.size(), false);
    for (std::size_t left = groups.size(); left > 0;) {
        const std::size_t before = left;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            std::set<int> there = done;
            there.insert(groups[g].begin(), groups[g].end());
            const bool ready = std::all_of(groups[g].begin(), groups[g].end(), [&](int s) {
                const std::vector<int>& reads = graph[static_cast<std::size_t>(s)];
                return std::all_of(reads.begin(), reads.end(), [&](int source) { return there.count(source) > 0; });
            });
            if (ran[g] || !ready) continue;
            ran[g] = true;
            done = there;
            --left;
        }
        if (left == before) return false;
    }
    return true;
}

/// Tries every partition of the stages from `next` on.
inline double cheapest_with(const StageGraph& graph, const GroupCost& cost, const Siblings& siblings, std::size_t next,
                            std::vector<std::vector<int>>& groups) {
    if (next == graph.size()) {
        double sum = 0;
        for (const std::vector<int>& group : groups) {
            if (!is_connected(graph, group, siblings)) return std::numeric_limits<double>::infinity();
            const auto of_group = cost(group);
            if (!of_group) return std::numeric_limits<double>::infinity();
            sum += *of_group;
        }
        return can_run(graph, groups) ? sum : std::numeric_limits<double>::infinity();
    }
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t g = 0; g < groups.size(); ++g) {
        groups[g].push_back(static_cast<int>(next));
        least = std::min(least, cheapest_with(graph, cost, siblings, next + 1, groups));
        groups[g].pop_back();
    }
    groups.push_back({static_cast<int>(next)});
    least = std::min(least, cheapest_with(graph, cost, siblings, next + 1, groups));
    groups.pop_back();
    return least;
}

inline double cheapest_of_all(const StageGraph& graph, const GroupCost& cost, const Siblings& siblings = {}) {
    std::vector<std::vector<int>> groups;
    return cheapest_with(graph, cost, siblings, 0, groups);
}

}  // namespace pipec::fusion
