// Half of the compiler's time was once spent here: nothing is allocated for a question.
#include "ir/unique_nodes.h"

#include <bit>

#include "ir/visit.h"

namespace pipec::ir {

std::size_t UniqueNodes::Hash::operator()(const Expr& e) const {
    std::size_t hash = e->value.index() << 8U | static_cast<std::size_t>(e->type);
    const auto mix = [&](auto part) {
        hash = (hash ^ static_cast<std::size_t>(part)) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 29U;
    };
    std::visit(overloaded{
                   [&](const IntConstant& n) { mix(n.value); },
                   [&](const FloatConstant& n) { mix(std::bit_cast<std::uint64_t>(n.value)); },
                   [&](const Variable& n) { mix(n.id); },
                   [&](const SizeRef& n) { mix(n.index); },
                   [&](const ParamRef& n) { mix(n.index); },
                   [&](const Unary& n) { mix(n.op); },
                   [&](const Binary& n) { mix(n.op); },
                   [&](const Call& n) { mix(n.fn); },
                   [&](const Read& n) { mix(n.source.index); },
                   [](const auto&) {},
               },
               e->value);
    for_each_child(*e, [&](const Expr& operand) { mix(reinterpret_cast<std::uintptr_t>(operand.get())); });
    return hash;
}

bool UniqueNodes::Equal::operator()(const Expr& a, const Expr& b) const {
    return a == b || same_node(*a, *b);
}

Expr UniqueExpressions::get(const Expr& e) {
    if (!e) return e;
    if (const auto known = known_.find(e); known != known_.end()) return known->second;
    Expr result = nodes_.get(map_children(e, [&](const Expr& operand) { return get(operand); }));
    known_.emplace(e, result);
    return result;
}

}  // namespace pipec::ir
