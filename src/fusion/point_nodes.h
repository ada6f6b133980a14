// Points that expressions read, compared by their nodes.
#pragma once

#include <vector>

#include "ir/unique_nodes.h"

namespace pipec::fusion {

using PointNodes = std::vector<const ir::Node*>;

/// The same nodes for equal index tuples.
inline PointNodes point_nodes(ir::UniqueExpressions& nodes, const std::vector<ir::Expr>& indices) {
    PointNodes result;
    for (const ir::Expr& index : indices) result.push_back(nodes.get(index).get());
    return result;
}

}  // namespace pipec::fusion
