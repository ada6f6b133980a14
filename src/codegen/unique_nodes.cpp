// Half of the compiler's time was once spent here: nothing is allocated for a question.
#include "codegen/unique_nodes.h"

#include <bit>

#include "ir/visit.h"

namespace pipec::codegen {

std::size_t UniqueNodes::Hash::operator()(const ir::Expr& e) const {
    std::size_t hash = e->value.index() << 8U | static_cast<std::size_t>(e->type);
    const auto mix = [&](auto part) {
        hash = (hash ^ static_cast<std::size_t>(part)) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 29U;
    };
    std::visit(ir::overloaded{
                   [&](const ir::IntConstant& n) { mix(n.value); },
                   [&](const ir::FloatConstant& n) { mix(std::bit_cast<std::uint64_t>(n.value)); },
                   [&](const ir::Variable& n) { mix(n.id); },
                   [&](const ir::SizeRef& n) { mix(n.index); },
                   [&](const ir::ParamRef& n) { mix(n.index); },
                   [&](const ir::Unary& n) { mix(n.op); },
                   [&](const ir::Binary& n) { mix(n.op); },
                   [&](const ir::Call& n) { mix(n.fn); },
                   [&](const ir::Read& n) { mix(n.source.index); },
                   [](const auto&) {},
               },
               e->value);
    ir::for_each_child(*e, [&](const ir::Expr& operand) { mix(reinterpret_cast<std::uintptr_t>(operand.get())); });
    return hash;
}

bool UniqueNodes::Equal::operator()(const ir::Expr& a, const ir::Expr& b) const {
    return a == b || ir::same_node(*a, *b);
}

}  // namespace pipec::codegen
