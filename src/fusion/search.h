// Bounded dynamic-programming fusion (A. Jangda, U. Bondhugula, "An Effective Fusion and Tile Size Model for Optimizing
// Image Processing Pipelines", PPoPP 2018; paper, section "Dynamic Programming Fusion"): the grouping of a graph's
// stages with the least sum of costs, for any cost of a group.
//
// A grouping is a partition of the stages into connected groups that can run one after the other. (Beyond the paper,
// stages that do not depend on each other can be connected, too: several outputs that are made of one image.) So there
// is an order in which, after each group, the stages that have run are closed under "reads": a state. The least cost of
// reaching a state depends on the state alone,
//
//     least(done + group) = min over group of least(done) + cost(group),
//
// and states are visited by the number of their stages. Both kinds of numbers can be exponential in the width of the
// graph. Groups are enumerated by their size, up to a number of them; of the states of one size only the cheapest are
// kept. Where one of the bounds was met, the groups found become the nodes of a smaller graph, which is searched
// again, as long as that helps: each pass can only improve on what it starts from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace pipec::fusion {

/// For each stage, the stages that it reads; all of them come before it.
using StageGraph = std::vector<std::vector<int>>;

/// The cost of stages (sorted) as one group; none where they cannot be one. It is asked once for each group. A single
/// stage always has one.
using GroupCost = std::function<std::optional<double>(const std::vector<int>& stages)>;

struct SearchOptions {
    std::size_t most_groups = 20'000;  ///< whose cost is asked for in one pass
    /// The same in passes after the first. Several that join a few groups each find more than one that tries many.
    std::size_t most_joined = 20'000;
    std::size_t most_states = 1'000;   ///< with the same number of stages done
    std::size_t most_work = SIZE_MAX;  ///< Grouping::work, about: no group is tried after that
    /// Stages that may share a group, though neither reads the other.
    std::vector<std::pair<int, int>> siblings{};
    /// Where some stages cannot be a group, no more of them can: growing stops there.
    bool impossible_stays_so = false;
};

struct Grouping {
    std::vector<std::vector<int>> groups;  ///< each sorted, in an order in which they can run
    double cost = 0;
    bool exact = true;      ///< no bound was met: no grouping costs less
    std::size_t asked = 0;  ///< groups whose cost was asked for
    std::size_t work = 0;   ///< the numbers of their stages, added up: what judging them takes
    std::size_t passes = 0;
};

/// `start`: stages that stay together, in groups that can run one after the other; all stages are in one of them. A
/// group without a cost comes apart into its stages. Empty: each stage by itself.
Grouping find_grouping(const StageGraph& graph, const GroupCost& cost, const SearchOptions& options = {},
                       const std::vector<std::vector<int>>& start = {});

}  // namespace pipec::fusion
