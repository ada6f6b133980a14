#include "ir/linear_sum.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::ir {

void LinearSum::add(const Expr& e, std::int64_t factor) {
    if (const auto value = as_int(e)) {
        offset += factor * *value;
        return;
    }
    if (const auto* u = as<Unary>(e); u != nullptr && u->op == UnaryOp::Neg) return add(u->a, -factor);
    if (const auto* b = as<Binary>(e)) {
        if (b->op == BinaryOp::Add || b->op == BinaryOp::Sub) {
            add(b->a, factor);
            return add(b->b, b->op == BinaryOp::Add ? factor : -factor);
        }
        // (A product of factors that leave 32 bits stays a value.)
        const auto times = [&](const Expr& constant) -> std::optional<std::int64_t> {
            const auto value = as_int(constant);
            const auto product = value ? factor * *value : 0;
            if (!value || product < INT32_MIN || product > INT32_MAX) return std::nullopt;
            return product;
        };
        if (b->op == BinaryOp::Mul) {
            if (const auto product = times(b->a)) return add(b->b, *product);
            if (const auto product = times(b->b)) return add(b->a, *product);
        }
    }
    const auto known = std::ranges::find_if(terms, [&](const auto& term) { return structurally_equal(term.first, e); });
    if (known == terms.end()) {
        terms.emplace_back(e, factor);
    } else {
        known->second += factor;
    }
}

std::int64_t LinearSum::factor_of(VarId var) const {
    for (const auto& [value, factor] : terms) {
        if (const auto* variable = as<Variable>(value); variable != nullptr && variable->id == var) return factor;
    }
    return 0;
}

Expr LinearSum::expr() const {
    Expr result = int_constant(Type::Int32, 0);
    for (const auto& [value, factor] : terms) {
        if (factor == 0) continue;
        const Expr product = binary(BinaryOp::Mul, value, int_constant(Type::Int32, factor));
        result = binary(BinaryOp::Add, result, product);
    }
    return binary(BinaryOp::Add, result, int_constant(Type::Int32, offset));
}

std::optional<std::int64_t> constant_difference(const Expr& a, const Expr& b) {
    LinearSum difference;
    difference.add(a, 1);
    difference.add(b, -1);
    if (std::ranges::any_of(difference.terms, [](const auto& term) { return term.second != 0; })) return std::nullopt;
    return difference.offset;
}

}  // namespace pipec::ir
