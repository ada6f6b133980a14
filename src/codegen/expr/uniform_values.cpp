#include "codegen/expr/uniform_values.h"

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

/// A single operation is cheaper than a register that is kept for the whole kernel.
bool UniformValues::is_worth(const ir::Expr& e) {
    if (!ir::is_float(e->type) || !same_.of(e)) return false;
    return (ir::has_reads(e) || fusion::work_of(e) > 1) && is_safe_(e);
}

ir::Expr UniformValues::replaced(const ir::Expr& e) {
    if (const auto known = known_.find(e.get()); known != known_.end()) return known->second.second;
    ir::Expr result;
    if (is_worth(e)) {
        const ir::VarId var = build_.variable("uniform", e->type);
        body_.push_back({kernel::Define{var, e}});
        result = ir::variable(var, e->type);
    } else {
        result = ir::map_children(e, [&](const ir::Expr& child) { return child ? replaced(child) : child; });
    }
    known_.emplace(e.get(), std::pair{e, result});
    return result;
}

}  // namespace pipec::codegen
