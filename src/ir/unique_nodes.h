// One node for all that are equal (hash consing), so that equality of instances is that of pointers.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <unordered_set>

#include "ir/expr.h"

namespace pipec::ir {

class UniqueNodes {
public:
    /// The node that stands for all that are equal to `e`, whose operands are such nodes already.
    const Expr& get(const Expr& e) { return *nodes_.insert(e).first; }

private:
    struct Hash {
        std::size_t operator()(const Expr& e) const;
    };
    struct Equal {
        bool operator()(const Expr& a, const Expr& b) const;
    };
    std::unordered_set<Expr, Hash, Equal> nodes_;
};

/// The same for whole expressions: structurally equal ones have one node. Takes time linear in the number of nodes that
/// are new to it, however often they are shared.
class UniqueExpressions {
public:
    Expr get(const Expr& e);

private:
    UniqueNodes nodes_;
    std::unordered_map<Expr, Expr> known_;
};

}  // namespace pipec::ir
