// Conditions of the form `product of sizes < constant`; see product_limits.h.
#include "poly/product_limits.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::poly {

namespace {

/// The product of these sizes is at most that.
struct ProductLimit {
    std::vector<int> sizes;
    Wide most;
};

/// The sizes of a product of two or more; empty of anything else.
std::vector<int> factors(const ir::Expr& e) {
    if (const auto* cast = ir::as<ir::Cast>(e)) return factors(cast->a);
    if (const auto* size = ir::as<ir::SizeRef>(e)) return {size->index};
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr || n->op != ir::BinaryOp::Mul) return {};
    std::vector<int> result = factors(n->a);
    const std::vector<int> others = factors(n->b);
    if (result.empty() || others.empty()) return {};
    result.insert(result.end(), others.begin(), others.end());
    return result;
}

void find_limits(const ir::Expr& condition, std::vector<ProductLimit>& limits) {
    const auto* n = ir::as<ir::Binary>(condition);
    if (n == nullptr) return;
    if (n->op == ir::BinaryOp::And) {
        find_limits(n->a, limits);
        find_limits(n->b, limits);
        return;
    }
    const bool less = n->op == ir::BinaryOp::Lt || n->op == ir::BinaryOp::Le;
    const bool more = n->op == ir::BinaryOp::Gt || n->op == ir::BinaryOp::Ge;
    const auto limit = less ? ir::as_int(n->b) : more ? ir::as_int(n->a) : std::nullopt;
    std::vector<int> sizes = less ? factors(n->a) : more ? factors(n->b) : std::vector<int>{};
    if (!limit || sizes.size() < 2) return;
    const bool excluded = n->op == ir::BinaryOp::Lt || n->op == ir::BinaryOp::Gt;
    limits.push_back({std::move(sizes), Wide{*limit} - (excluded ? 1 : 0)});
}

/// The places of loops over these sizes, one for each; empty where one lacks.
std::vector<std::size_t> loops_over(const std::vector<ir::Range>& loops, const std::vector<int>& sizes) {
    std::vector<std::size_t> places;
    for (const int size : sizes) {
        for (std::size_t i = 0; i < loops.size(); ++i) {
            const auto* end = ir::as<ir::SizeRef>(loops[i].hi);
            const auto first = ir::as_int(loops[i].lo);
            if (end == nullptr || end->index != size || !first || *first < 0) continue;
            if (std::find(places.begin(), places.end(), i) != places.end()) continue;
            places.push_back(i);
            break;
        }
    }
    if (places.size() != sizes.size()) places.clear();
    return places;
}

}  // namespace

Wide saturated_product(Wide a, Wide b) {
    constexpr Wide kFarthest = Wide{1} << 100;
    const long double estimate = static_cast<long double>(a) * static_cast<long double>(b);
    if (estimate >= static_cast<long double>(kFarthest)) return kFarthest;
    if (estimate <= -static_cast<long double>(kFarthest)) return -kFarthest;
    return a * b;
}

Wide limited_product(const ir::Pipeline& pipeline, const std::vector<ir::Range>& loops, std::vector<Wide> counts) {
    std::vector<ProductLimit> limits;
    for (const ir::Expr& condition : pipeline.where) find_limits(condition, limits);
    for (const ProductLimit& limit : limits) {
        const std::vector<std::size_t> places = loops_over(loops, limit.sizes);
        Wide product = 1;
        for (const std::size_t i : places) product = saturated_product(product, counts[i]);
        if (places.empty() || product <= limit.most) continue;
        for (const std::size_t i : places) counts[i] = 1;
        counts[places.front()] = limit.most;
    }
    Wide count = 1;
    for (const Wide each : counts) count = saturated_product(count, each);
    return count;
}

}  // namespace pipec::poly
