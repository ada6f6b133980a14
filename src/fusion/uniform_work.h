// What of an expression is the same at all points, and how much work that is.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "ir/expr.h"

namespace pipec::fusion {

/// Whether expressions are the same wherever they are evaluated: they use no index, and have no loop.
class Sameness {
public:
    bool of(const ir::Expr& e);

private:
    /// With the node, which must live as long as its address is a key.
    std::unordered_map<const ir::Node*, std::pair<ir::Expr, bool>> known_;
};

/// In simple arithmetic operations (fusion/inline.h), each shared node once; loops count as one round.
std::int64_t work_of(const ir::Expr& e);

}  // namespace pipec::fusion
