// Under which conditions, and inside of which loops, the nodes of an expression are evaluated; without isl.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/expr.h"

namespace pipec::poly {

/// Place 0 is where the expression stands; each other one is inside of another with a lower number. A shared node is
/// evaluated at several places. Of those, ones inside of others say nothing new, and the two sides of one condition are
/// the place around it: without this, branches that share nodes have as many places as there are ways through them.
class Places {
public:
    explicit Places(const ir::Expr& root);

    /// Where to look at a node that is met at `place`: there, or at a place around it.
    [[nodiscard]] int of(const ir::Expr& e, int place) const;

    /// The place inside of `place` where a condition is `truth`.
    int inside(const ir::Expr& condition, bool truth, int place) {
        return inside(condition.get(), place) + (truth ? 0 : 1);
    }
    /// That inside of one of a reduction's loops; of the first one, then of the second one in that, ...
    int inside(const ir::Range& loop, int place) { return inside(&loop, place); }

private:
    /// Pairs of nodes and places that are told apart. Beyond, a node has one place, around all at which it is met.
    static constexpr std::size_t kMostPairs = 100'000;

    int inside(const void* what, int place);
    void meet(const ir::Expr& e, int place) { of_[e.get()].insert(place); }
    void pass_on(const ir::Expr& e, int place);
    void unite(std::set<int>& places) const;

    std::vector<int> outer_{-1};  ///< the place around each; both sides of a condition are neighbours
    std::map<std::pair<const void*, int>, int> inside_;
    std::unordered_map<const ir::Node*, std::set<int>> of_;  ///< empty where there is only place 0
    std::size_t pairs_ = 0;
};

}  // namespace pipec::poly
