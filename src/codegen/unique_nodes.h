// One node for all that are equal (hash consing), so that equality of instances is that of pointers.
#pragma once

#include <cstddef>
#include <unordered_set>

#include "ir/expr.h"

namespace pipec::codegen {

class UniqueNodes {
public:
    /// The node that stands for all that are equal to `e`, whose operands are such nodes already.
    const ir::Expr& get(const ir::Expr& e) { return *nodes_.insert(e).first; }

private:
    struct Hash {
        std::size_t operator()(const ir::Expr& e) const;
    };
    struct Equal {
        bool operator()(const ir::Expr& a, const ir::Expr& b) const;
    };
    std::unordered_set<ir::Expr, Hash, Equal> nodes_;
};

}  // namespace pipec::codegen
