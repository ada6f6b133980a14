// How large an expression is when nothing in it is shared.
#pragma once

#include <cstddef>

#include "ir/expr.h"

namespace pipec::ir {

/// The nodes of `e` as a tree, what is shared counted at each of its places; at most `limit`.
std::size_t tree_size(const Expr& e, std::size_t limit);

}  // namespace pipec::ir
