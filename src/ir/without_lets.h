// Definitions in which every value stands where it is used.
#pragma once

#include <map>
#include <unordered_map>

#include "ir/expr.h"

namespace pipec::ir {

/// Takes the lets out of expressions: what they name stands wherever it is used, as one node.
class WithoutLets {
public:
    /// Null of null.
    Expr of(const Expr& e);

private:
    std::map<VarId, Expr> values_;
    std::unordered_map<Expr, Expr> memo_;  ///< by nodes that stay alive here
};

}  // namespace pipec::ir
