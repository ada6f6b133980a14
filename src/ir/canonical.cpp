#include "ir/canonical.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::ir {

const CanonicalVariables::Renamed& CanonicalVariables::renamed(const Expr& e) {
    if (const auto known = known_.find(e); known != known_.end()) return known->second;
    Renamed result;
    result.expr = map_children(e, [&](const Expr& operand) {
        const Renamed& part = renamed(operand);
        result.bound = std::max(result.bound, part.bound);
        return part.expr;
    });
    // A binder's ids lie below those of all binders within it, so that they depend on what is in it alone.
    std::map<VarId, Expr> names;
    const auto rename = [&](VarId& var, Type type) {
        const VarId id = -++result.bound;
        names.emplace(var, variable(id, type));
        var = id;
    };
    Node node = *result.expr;
    if (auto* let = std::get_if<Let>(&node.value)) {
        rename(let->var, let->value->type);
        let->body = substitute(let->body, names);
    } else if (auto* reduce = std::get_if<Reduce>(&node.value)) {
        for (Range& range : reduce->ranges) {
            range.lo = substitute(range.lo, names);
            range.hi = substitute(range.hi, names);
            rename(range.var, range.lo->type);
        }
        reduce->body = substitute(reduce->body, names);
    }
    if (!names.empty()) result.expr = std::make_shared<const Node>(std::move(node));
    return known_.emplace(e, std::move(result)).first->second;
}

}  // namespace pipec::ir
