#include "ir/without_lets.h"

#include "ir/visit.h"

namespace pipec::ir {

Expr WithoutLets::of(const Expr& e) {
    if (!e) return e;
    if (const auto known = memo_.find(e); known != memo_.end()) return known->second;
    Expr result;
    if (const auto* let = as<Let>(e)) {
        values_[let->var] = of(let->value);
        result = of(let->body);
    } else if (const auto* variable = as<Variable>(e); variable != nullptr && values_.count(variable->id) > 0) {
        result = values_.at(variable->id);
    } else {
        result = map_children(e, [&](const Expr& child) { return of(child); });
    }
    memo_.emplace(e, result);
    return result;
}

}  // namespace pipec::ir
