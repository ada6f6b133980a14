// What conditions say of the points at which an expression under them is evaluated.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/expr.h"

namespace pipec::fusion {

/// A variable of a stage's dimension or of a loop, lo <= var < hi with bounds over the sizes.
struct Place {
    ir::VarId var;
    ir::Expr lo, hi;
    bool never_empty = false;  ///< as far as that is known
};
using Places = std::vector<Place>;

std::set<ir::VarId> variables_of(const ir::Expr& e);
/// Those that it does not bind itself.
std::set<ir::VarId> free_variables(const ir::Expr& e);

/// What holds, one after the other, where a condition is `truth`: `a` and `not b` of `not (not a or b)`.
std::vector<ir::Expr> conjuncts(const ir::Expr& condition, bool truth);

/// A comparison of functions of the sizes that bounds may have in them (poly/model.h).
bool is_of_sizes(const ir::Expr& condition);

/// Narrows the places to points where the condition holds, and says whether it holds at all that are left:
/// `t + 1 < T` ends them, and `t != 0` begins them at 1 where they began at 0. What `t == 0` admits is `fixed`, too.
bool narrow(Places& places, std::map<ir::VarId, ir::Expr>& fixed, const ir::Expr& condition);

}  // namespace pipec::fusion
