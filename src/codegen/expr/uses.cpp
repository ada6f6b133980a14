// Counting uses, without recursion: sums of thousands of terms are deep.
#include "codegen/expr/uses.h"

#include <map>

#include "ir/visit.h"

namespace pipec::codegen {

std::vector<ir::Expr> evaluated_operands(const ir::Expr& e) {
    if (const auto* n = ir::as<ir::Select>(e); n != nullptr && !n->otherwise) return {n->then};
    return ir::children(e);
}

void Uses::add(const ir::Expr& root) {
    // A let's value waits until its variable is met: one that is never used is never computed.
    std::map<ir::VarId, const ir::Expr*> waiting;
    std::vector<const ir::Expr*> stack{&root};
    while (!stack.empty()) {
        const ir::Expr& e = *stack.back();
        stack.pop_back();
        if (++counts_[e.get()] > 1) continue;
        if (const auto* variable = ir::as<ir::Variable>(e)) {
            variables_.insert(variable->id);
            if (const auto found = waiting.find(variable->id); found != waiting.end()) {
                stack.push_back(found->second);
                waiting.erase(found);
            }
        } else if (const auto* let = ir::as<ir::Let>(e)) {
            if (variables_.count(let->var) > 0)
                stack.push_back(&let->value);
            else
                waiting.emplace(let->var, &let->value);
            stack.push_back(&let->body);
            continue;
        }
        if (const auto* read = ir::as<ir::Read>(e)) sources_.insert(read->source);
        if (const auto* size = ir::as<ir::SizeRef>(e)) sizes_.insert(size->index);
        if (const auto* param = ir::as<ir::ParamRef>(e)) params_.insert(param->index);
        const auto* select = ir::as<ir::Select>(e);
        if (select != nullptr && !select->otherwise)
            stack.push_back(&select->then);
        else
            ir::for_each_child(*e, [&](const ir::Expr& operand) { stack.push_back(&operand); });
    }
}

int Uses::of(const ir::Expr& e) const {
    const auto found = counts_.find(e.get());
    return found == counts_.end() ? 0 : found->second;
}

}  // namespace pipec::codegen
