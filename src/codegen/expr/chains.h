// Long sums, minima and places whose terms are written out one after the other, as loops again: the C++ compiler takes
// seconds for one expression of 64 terms, for each of its vector lengths and versions, and milliseconds for a loop.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::codegen {

/// What a Reduce that stands for a chain has besides. It combines its terms from the first to the last, whatever the
/// operator.
struct Chain {
    /// A variable of the terms, which has another value in each of them.
    struct Table {
        ir::VarId variable;
        std::vector<ir::Expr> values;  ///< constants
    };
    std::vector<Table> tables;
    ir::Expr start;               ///< what the terms are combined with; null: the operator's identity
    ir::Expr place, first_place;  ///< of ArgMin and ArgMax: a term's place, and the result where none is better
};
using Chains = std::unordered_map<ir::Expr, Chain>;  ///< by Reduce

struct WithChains {
    ir::Expr value;
    Chains chains;
};

/// `value` with the long chains that it evaluates at every point as reductions over one range each. Nothing where there
/// are none that depend on `lanes`. `value` has no lets. Adds variables to `pipeline`.
std::optional<WithChains> find_chains(ir::Pipeline& pipeline, const ir::Expr& value, const std::set<ir::VarId>& lanes);

/// `e`, which is evaluated once for many points, where it is a long chain of integers whose terms differ by a step: as
/// a loop over the terms, which can be a vector. Other expressions are as they were.
ir::Expr with_loops(ir::Pipeline& pipeline, const ir::Expr& e);

}  // namespace pipec::codegen
