#include "fusion/index_factors.h"

#include <cstdlib>

#include "ir/build.h"
#include "ir/reduction.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

bool add_factors(const ir::Expr& e, std::int64_t times, std::map<ir::VarId, std::int64_t>& factors) {
    if (ir::is_uniform(e)) return true;
    if (const auto* variable = ir::as<ir::Variable>(e)) {
        factors[variable->id] += times;
        return true;
    }
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return false;
    if (n->op == ir::BinaryOp::Add || n->op == ir::BinaryOp::Sub) {
        return add_factors(n->a, times, factors) &&
               add_factors(n->b, n->op == ir::BinaryOp::Add ? times : -times, factors);
    }
    if (n->op != ir::BinaryOp::Mul) return false;
    const bool left = ir::as_int(n->a).has_value();
    const auto by = ir::as_int(left ? n->a : n->b);
    return by && std::abs(*by) <= ir::kBlockTerms && add_factors(left ? n->b : n->a, times * *by, factors);
}

}  // namespace

std::optional<std::map<ir::VarId, std::int64_t>> index_factors(const ir::Expr& index) {
    std::map<ir::VarId, std::int64_t> factors;
    if (!add_factors(index, 1, factors)) return std::nullopt;
    std::erase_if(factors, [](const auto& factor) { return factor.second == 0; });
    return factors;
}

std::optional<std::int64_t> index_factor(const ir::Expr& index, ir::VarId var) {
    if (const auto* n = ir::as<ir::Binary>(index); n != nullptr) {
        if (n->op == ir::BinaryOp::Add || n->op == ir::BinaryOp::Sub) {
            const auto a = index_factor(n->a, var), b = index_factor(n->b, var);
            if (!a || !b) return std::nullopt;
            return n->op == ir::BinaryOp::Add ? *a + *b : *a - *b;
        }
    }
    bool has = false;
    ir::for_each_node(index, [&](const ir::Expr& e) {
        const auto* variable = ir::as<ir::Variable>(e);
        has = has || (variable != nullptr && variable->id == var);
    });
    if (!has) return 0;
    const auto factors = index_factors(index);
    if (!factors) return std::nullopt;
    const auto found = factors->find(var);
    return found != factors->end() ? found->second : 0;
}

}  // namespace pipec::fusion
