#include "fusion/search.h"

#include <algorithm>
#include <bitset>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

namespace pipec::fusion {

namespace {

/// Nodes of one pass at most; a larger graph is searched in pieces.
constexpr std::size_t kNodesOfPass = 256;
using Set = std::bitset<kNodesOfPass>;

bool contains(const Set& all, const Set& part) {
    return (part & ~all).none();
}

/// The graph of one pass. Its nodes are groups of stages, in an order in which they can run.
struct Nodes {
    std::vector<std::vector<int>> stages;
    std::vector<Set> reads, neighbours;  ///< those that a node reads; and those that read it, and its siblings
    std::vector<Set> before, after;      ///< transitively

    Nodes(const StageGraph& graph, const std::vector<std::pair<int, int>>& siblings,
          std::vector<std::vector<int>> groups)
        : stages(std::move(groups)) {
        const std::size_t n = stages.size();
        reads.resize(n), neighbours.resize(n), before.resize(n), after.resize(n);
        std::vector<int> node_of(graph.size(), -1);
        for (std::size_t i = 0; i < n; ++i) {
            for (const int s : stages[i]) node_of[static_cast<std::size_t>(s)] = static_cast<int>(i);
        }
        for (std::size_t i = 0; i < n; ++i) {
            for (const int s : stages[i]) {
                for (const int source : graph[static_cast<std::size_t>(s)]) {
                    const int node = node_of[static_cast<std::size_t>(source)];
                    if (node < 0 || node == static_cast<int>(i)) continue;  // of another piece
                    const auto j = static_cast<std::size_t>(node);
                    reads[i].set(j);
                    neighbours[i].set(j);
                    neighbours[j].set(i);
                    before[i] |= before[j];
                    before[i].set(j);
                }
            }
        }
        for (const auto& [a, b] : siblings) {
            const int i = node_of[static_cast<std::size_t>(a)], j = node_of[static_cast<std::size_t>(b)];
            if (i < 0 || j < 0 || i == j) continue;
            neighbours[static_cast<std::size_t>(i)].set(static_cast<std::size_t>(j));
            neighbours[static_cast<std::size_t>(j)].set(static_cast<std::size_t>(i));
        }
        for (std::size_t i = n; i-- > 0;) {
            for (std::size_t j = 0; j < n; ++j) {
                if (before[i].test(j)) after[j].set(i);
            }
        }
    }

    /// The stages of some nodes, sorted.
    [[nodiscard]] std::vector<int> stages_of(const Set& nodes) const {
        std::vector<int> result;
        for (std::size_t i = 0; i < stages.size(); ++i) {
            if (nodes.test(i)) result.insert(result.end(), stages[i].begin(), stages[i].end());
        }
        std::sort(result.begin(), result.end());
        return result;
    }
};

/// Nodes that can be a group.
struct Candidate {
    Set nodes;
    Set needs;  ///< nodes that must be done before
    std::size_t size = 0;
    double cost = 0;
};

/// Asks for the cost of each group once, and counts.
class Costs {
public:
    explicit Costs(const GroupCost& cost) : cost_(cost) {}
    std::optional<double> of(const std::vector<int>& stages) {
        const auto [place, is_new] = known_.try_emplace(stages);
        if (is_new) {
            place->second = cost_(stages);
            work_ += stages.size();
        }
        return place->second;
    }
    [[nodiscard]] std::size_t asked() const { return known_.size(); }
    [[nodiscard]] std::size_t work() const { return work_; }

private:
    const GroupCost& cost_;
    std::map<std::vector<int>, std::optional<double>> known_;
    std::size_t work_ = 0;
};

class Pass {
public:
    Pass(const Nodes& nodes, Costs& costs, const SearchOptions& options)
        : nodes_(nodes), costs_(costs), options_(options), starting_at_(nodes.stages.size()) {}

    Grouping run() {
        find_candidates();
        find_cheapest();
        return std::move(result_);
    }

private:
    struct State {
        Set done;
        double cost = 0;
        const State* from = nullptr;
        const Candidate* last = nullptr;
    };

    /// Connected sets of nodes without a way out and in again, by their number of nodes.
    void find_candidates() {
        const std::size_t n = nodes_.stages.size();
        std::unordered_set<Set> known;
        std::vector<std::vector<Set>> by_size(n + 1);
        for (std::size_t i = 0; i < n; ++i) {
            by_size[1].push_back(Set().set(i));
            known.insert(by_size[1].back());
        }
        std::size_t tried = 0;
        for (std::size_t size = 1; size <= n; ++size) {
            for (std::size_t k = 0; k < by_size[size].size(); ++k) {
                const Set group = by_size[size][k];
                if (size > 1 && (++tried > options_.most_groups || costs_.work() >= options_.most_work)) {
                    result_.exact = false;
                    return;
                }
                if (!add_candidate(group) && size > 1 && options_.impossible_stays_so) continue;
                for (const Set& larger : grown(group)) {
                    if (known.insert(larger).second) by_size[larger.count()].push_back(larger);
                }
            }
            by_size[size].clear();
        }
    }

    /// The group and one more neighbour each, with all nodes that then lie between members.
    [[nodiscard]] std::vector<Set> grown(const Set& group) const {
        Set around, before, after;
        for (std::size_t i = 0; i < nodes_.stages.size(); ++i) {
            if (!group.test(i)) continue;
            around |= nodes_.neighbours[i];
            before |= nodes_.before[i];
            after |= nodes_.after[i];
        }
        around &= ~group;
        std::vector<Set> result;
        for (std::size_t i = 0; i < nodes_.stages.size(); ++i) {
            if (!around.test(i)) continue;
            const Set between = (before | nodes_.before[i]) & (after | nodes_.after[i]);
            result.push_back((group | between).set(i));
        }
        return result;
    }

    bool add_candidate(const Set& group) {
        const std::optional<double> cost = costs_.of(nodes_.stages_of(group));
        if (!cost) {
            if (group.count() == 1) throw std::logic_error("a stage by itself has no cost");
            return false;
        }
        Candidate candidate{group, {}, group.count(), *cost};
        std::size_t first = nodes_.stages.size();
        for (std::size_t i = nodes_.stages.size(); i-- > 0;) {
            if (!group.test(i)) continue;
            candidate.needs |= nodes_.reads[i];
            first = i;
        }
        candidate.needs &= ~group;
        // Nothing in the group is before its first node: the group can only run once that one can.
        starting_at_[first].push_back(candidate);
        return true;
    }

    /// States with the same number of nodes done. More than are kept come in, but no more than twice as many are held:
    /// a state that costs as much as all of those that would be kept need not be looked up.
    class Layer {
    public:
        std::vector<State> states;

        /// False: some state is forgotten.
        bool add(const State& next, std::size_t most) {
            if (next.cost >= limit_) return false;
            const auto [place, is_new] = index_.emplace(next.done, states.size());
            if (is_new) {
                states.push_back(next);
            } else if (next.cost < states[place->second].cost) {
                states[place->second] = next;
            }
            if (states.size() < 2 * most) return true;
            trim(most);
            for (std::size_t i = 0; i < states.size(); ++i) index_.emplace(states[i].done, i);
            return false;
        }

        /// Keeps the cheapest. Each of them reaches the end: what is left can always be done stage by stage.
        bool trim(std::size_t most) {
            index_.clear();
            if (states.size() <= most) return true;
            std::stable_sort(states.begin(), states.end(),
                             [](const State& a, const State& b) { return a.cost < b.cost; });
            states.resize(most);
            limit_ = states.back().cost;
            return false;
        }

    private:
        std::unordered_map<Set, std::size_t> index_;  ///< by what is done
        double limit_ = std::numeric_limits<double>::infinity();
    };

    void find_cheapest() {
        const std::size_t n = nodes_.stages.size();
        const std::size_t most = std::max<std::size_t>(1, options_.most_states);
        std::vector<Layer> layers(n + 1);  // by the number of nodes done
        layers[0].states.push_back({});
        bool all = true;
        for (std::size_t size = 0; size < n; ++size) {
            all = layers[size].trim(most) && all;
            for (const State& state : layers[size].states) {
                for (std::size_t first = 0; first < n; ++first) {
                    if (state.done.test(first) || !contains(state.done, nodes_.reads[first])) continue;
                    for (const Candidate& group : starting_at_[first]) {
                        if ((group.nodes & state.done).any() || !contains(state.done, group.needs)) continue;
                        const State next{state.done | group.nodes, state.cost + group.cost, &state, &group};
                        all = layers[size + group.size].add(next, most) && all;
                    }
                }
            }
        }
        result_.exact = result_.exact && all;
        const State& end = layers[n].states.front();
        result_.cost = end.cost;
        for (const State* state = &end; state->from != nullptr; state = state->from) {
            result_.groups.push_back(nodes_.stages_of(state->last->nodes));
        }
        std::reverse(result_.groups.begin(), result_.groups.end());
    }

    const Nodes& nodes_;
    Costs& costs_;
    const SearchOptions& options_;
    std::vector<std::vector<Candidate>> starting_at_;  ///< by the first node
    Grouping result_;
};

/// One pass over nodes that are groups. It takes at most half of the work that is left, so that others can join what it
/// finds; pieces share that by their nodes.
Grouping search_pieces(const StageGraph& graph, const std::vector<std::vector<int>>& groups, Costs& costs,
                       const SearchOptions& options) {
    Grouping result;
    result.exact = groups.size() <= kNodesOfPass;
    const std::size_t left = options.most_work - std::min(options.most_work, costs.work());
    const std::size_t end = left < SIZE_MAX ? costs.work() + (left + 1) / 2 : SIZE_MAX;
    for (std::size_t begin = 0; begin < groups.size(); begin += kNodesOfPass) {
        const std::size_t count = std::min(kNodesOfPass, groups.size() - begin);
        const auto first = groups.begin() + static_cast<std::ptrdiff_t>(begin);
        const Nodes nodes(graph, options.siblings, {first, first + static_cast<std::ptrdiff_t>(count)});
        SearchOptions bounds = options;
        if (end < SIZE_MAX) {
            const std::size_t rest = end - std::min(end, costs.work());
            bounds.most_work = costs.work() + rest * count / (groups.size() - begin);
        }
        const Grouping piece = Pass(nodes, costs, bounds).run();
        result.groups.insert(result.groups.end(), piece.groups.begin(), piece.groups.end());
        result.cost += piece.cost;
        result.exact = result.exact && piece.exact;
    }
    return result;
}

std::vector<std::vector<int>> single_stages(const StageGraph& graph) {
    std::vector<std::vector<int>> result;
    for (std::size_t s = 0; s < graph.size(); ++s) result.push_back({static_cast<int>(s)});
    return result;
}

/// The groups; those that cannot be one, as single stages.
std::vector<std::vector<int>> possible_parts(const std::vector<std::vector<int>>& groups, Costs& costs) {
    std::vector<std::vector<int>> result;
    for (const std::vector<int>& group : groups) {
        if (costs.of(group)) {
            result.push_back(group);
        } else {
            for (const int stage : group) result.push_back({stage});
        }
    }
    return result;
}

/// Groups after those that they read: of those that are ready always the first.
std::vector<std::vector<int>> in_order(const StageGraph& graph, const std::vector<std::vector<int>>& groups) {
    std::vector<std::size_t> group_of(graph.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (const int stage : groups[g]) group_of[static_cast<std::size_t>(stage)] = g;
    }
    std::vector<std::set<std::size_t>> waits_for(groups.size());
    std::vector<std::vector<std::size_t>> readers(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (const int stage : groups[g]) {
            for (const int source : graph[static_cast<std::size_t>(stage)]) {
                const std::size_t of = group_of[static_cast<std::size_t>(source)];
                if (of != g && waits_for[g].insert(of).second) readers[of].push_back(g);
            }
        }
    }
    std::set<std::size_t> ready;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (waits_for[g].empty()) ready.insert(g);
    }
    std::vector<std::vector<int>> result;
    while (!ready.empty()) {
        const std::size_t next = *ready.begin();
        ready.erase(ready.begin());
        result.push_back(groups[next]);
        for (const std::size_t reader : readers[next]) {
            waits_for[reader].erase(next);
            if (waits_for[reader].empty()) ready.insert(reader);
        }
    }
    if (result.size() < groups.size()) throw std::logic_error("groups that wait for each other");
    return result;
}

}  // namespace

Grouping find_grouping(const StageGraph& graph, const GroupCost& cost, const SearchOptions& options,
                       const std::vector<std::vector<int>>& start) {
    Costs costs(cost);
    Grouping result;  // of what was done so far
    result.groups = start.empty() ? single_stages(graph) : in_order(graph, possible_parts(start, costs));
    for (const std::vector<int>& group : result.groups) result.cost += costs.of(group).value();
    for (bool again = true; again; ++result.passes) {
        SearchOptions bounds = options;
        if (result.passes > 0) bounds.most_groups = std::min(options.most_groups, options.most_joined);
        Grouping next = search_pieces(graph, result.groups, costs, bounds);
        const bool better = next.cost < result.cost;
        // A graph whose nodes are groups says nothing about groupings of what is in them.
        result.exact = result.passes == 0 && start.empty() && next.exact;
        again = better && !next.exact;
        if (!better) continue;
        result.groups = std::move(next.groups);
        result.cost = next.cost;
    }
    result.asked = costs.asked();
    result.work = costs.work();
    return result;
}

}  // namespace pipec::fusion
