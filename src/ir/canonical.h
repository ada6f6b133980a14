// Expressions that differ in the names of the variables they bind alone, as one.
#pragma once

#include <unordered_map>

#include "ir/expr.h"

namespace pipec::ir {

/// Renames the variables that lets and reductions bind, so that two expressions of the same meaning up to those names
/// become structurally equal. The new ids are negative: no pipeline has them. Shared nodes stay shared, and what binds
/// nothing stays the same node. Each reduction, and each chain of lets, walks its body, hence time grows with nodes
/// times nesting of these.
class CanonicalVariables {
public:
    Expr get(const Expr& e) { return renamed(e).expr; }

private:
    struct Renamed {
        Expr expr;
        VarId bound = 0;  ///< how many ids below zero the binders in it take
    };
    const Renamed& renamed(const Expr& e);
    Renamed renamed_lets(const Expr& first);

    std::unordered_map<Expr, Renamed> known_;
};

}  // namespace pipec::ir
