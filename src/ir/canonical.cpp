#include "ir/canonical.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::ir {

const CanonicalVariables::Renamed& CanonicalVariables::renamed(const Expr& e) {
    if (const auto known = known_.find(e); known != known_.end()) return known->second;
    if (as<Let>(e) != nullptr) return known_.emplace(e, renamed_lets(e)).first->second;
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
    if (auto* reduce = std::get_if<Reduce>(&node.value)) {
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

/// All lets of a chain at once: one by one, each would walk all that follow it.
CanonicalVariables::Renamed CanonicalVariables::renamed_lets(const Expr& first) {
    std::vector<Expr> chain;
    std::vector<Renamed> values;
    Expr rest = first;
    for (const Let* let = as<Let>(rest); let != nullptr; let = as<Let>(rest)) {
        chain.push_back(rest);
        values.push_back(renamed(let->value));
        rest = let->body;
    }
    Renamed result = renamed(rest);
    std::map<VarId, Expr> names;
    for (std::size_t i = chain.size(); i-- > 0;) {
        result.bound = std::max(result.bound, values[i].bound) + 1;
        names.emplace(as<Let>(chain[i])->var, variable(-result.bound, values[i].expr->type));
    }
    result.expr = substitute(result.expr, names);
    for (std::size_t i = chain.size(); i-- > 0;) {
        const VarId var = as<Variable>(names.at(as<Let>(chain[i])->var))->id;
        result.expr = std::make_shared<const Node>(
            Node{chain[i]->type, chain[i]->range, Let{var, substitute(values[i].expr, names), result.expr}});
    }
    return result;
}

}  // namespace pipec::ir
