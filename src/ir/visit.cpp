#include "ir/visit.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

namespace pipec::ir {

std::vector<Expr> children(const Expr& e) {
    return std::visit(
        overloaded{
            [](const Unary& n) { return std::vector<Expr>{n.a}; },
            [](const Binary& n) {
                return std::vector<Expr>{n.a, n.b};
            },
            [](const Cast& n) { return std::vector<Expr>{n.a}; },
            [](const Call& n) { return n.args; },
            [](const Select& n) {
                return n.otherwise ? std::vector<Expr>{n.cond, n.then, n.otherwise} : std::vector<Expr>{n.cond, n.then};
            },
            [](const Read& n) { return n.indices; },
            [](const Let& n) {
                return std::vector<Expr>{n.value, n.body};
            },
            [](const Reduce& n) {
                std::vector<Expr> result;
                for (const Range& r : n.ranges) result.insert(result.end(), {r.lo, r.hi});
                result.push_back(n.body);
                return result;
            },
            [](const auto&) { return std::vector<Expr>{}; },
        },
        e->value);
}

void for_each_node(const Expr& e, const std::function<void(const Expr&)>& f) {
    // An explicit stack: sums of thousands of terms are deep on the left.
    std::unordered_set<const Node*> seen;
    std::vector<Expr> stack{e};
    while (!stack.empty()) {
        const Expr top = std::move(stack.back());
        stack.pop_back();
        if (!seen.insert(top.get()).second) continue;
        f(top);
        const std::vector<Expr> next = children(top);
        stack.insert(stack.end(), next.rbegin(), next.rend());
    }
}

std::vector<Expr> expressions(const Stage& stage) {
    std::vector<Expr> result;
    for (const Dimension& dim : stage.dims) {
        if (dim.is_explicit()) result.insert(result.end(), {dim.lo, dim.hi});
    }
    if (const auto* pure = std::get_if<Pure>(&stage.definition)) {
        result.push_back(pure->value);
        return result;
    }
    const auto& acc = std::get<Accumulate>(stage.definition);
    result.push_back(acc.init);
    for (const Update& update : acc.updates) {
        for (const Range& r : update.domain) result.insert(result.end(), {r.lo, r.hi});
        if (update.guard) result.push_back(update.guard);
        result.insert(result.end(), update.indices.begin(), update.indices.end());
        result.push_back(update.value);
    }
    return result;
}

bool is_uniform(const Expr& e) {
    bool result = true;
    for_each_node(
        e, [&](const Expr& node) { result = result && as<Variable>(node) == nullptr && as<Read>(node) == nullptr; });
    return result;
}

Expr map_children(const Expr& e, const std::function<Expr(const Expr&)>& f) {
    bool changed = false;
    const auto apply = [&](const Expr& child) {
        Expr result = child ? f(child) : nullptr;
        changed = changed || result != child;
        return result;
    };
    const auto apply_all = [&](const std::vector<Expr>& list) {
        std::vector<Expr> result;
        result.reserve(list.size());
        for (const Expr& child : list) result.push_back(apply(child));
        return result;
    };
    using Value = decltype(Node::value);
    Value value = std::visit(overloaded{
                                 [&](const Unary& n) -> Value {
                                     return Unary{n.op, apply(n.a)};
                                 },
                                 [&](const Binary& n) -> Value {
                                     Expr a = apply(n.a);
                                     return Binary{n.op, std::move(a), apply(n.b)};
                                 },
                                 [&](const Cast& n) -> Value {
                                     return Cast{apply(n.a), n.saturate};
                                 },
                                 [&](const Call& n) -> Value {
                                     return Call{n.fn, apply_all(n.args)};
                                 },
                                 [&](const Select& n) -> Value {
                                     Expr cond = apply(n.cond);
                                     Expr then = apply(n.then);
                                     return Select{std::move(cond), std::move(then), apply(n.otherwise)};
                                 },
                                 [&](const Read& n) -> Value {
                                     return Read{n.source, apply_all(n.indices)};
                                 },
                                 [&](const Let& n) -> Value {
                                     Expr bound = apply(n.value);
                                     return Let{n.var, std::move(bound), apply(n.body)};
                                 },
                                 [&](const Reduce& n) -> Value {
                                     std::vector<Range> ranges;
                                     for (const Range& r : n.ranges) {
                                         Expr lo = apply(r.lo);
                                         ranges.push_back({r.var, std::move(lo), apply(r.hi)});
                                     }
                                     return Reduce{n.op, std::move(ranges), apply(n.body)};
                                 },
                                 [](const auto& leaf) -> Value { return leaf; },
                             },
                             e->value);
    if (!changed) return e;
    return std::make_shared<const Node>(Node{e->type, e->range, std::move(value)});
}

Expr substitute(const Expr& e, const std::map<VarId, Expr>& replacements) {
    // Memoised, so that shared nodes stay shared.
    std::unordered_map<const Node*, Expr> done;
    const std::function<Expr(const Expr&)> go = [&](const Expr& node) -> Expr {
        if (const auto found = done.find(node.get()); found != done.end()) return found->second;
        Expr result;
        if (const auto* var = as<Variable>(node)) {
            const auto found = replacements.find(var->id);
            result = found == replacements.end() ? node : found->second;
        } else {
            result = map_children(node, go);
        }
        done.emplace(node.get(), result);
        return result;
    };
    return go(e);
}

namespace {

bool same_leaf(const Node& a, const Node& b) {
    return std::visit(overloaded{
                          [&](const IntConstant& n) { return n.value == std::get<IntConstant>(b.value).value; },
                          [&](const FloatConstant& n) {
                              // By bits: 0.0 and -0.0 differ, a NaN equals itself.
                              return std::bit_cast<std::uint64_t>(n.value) ==
                                     std::bit_cast<std::uint64_t>(std::get<FloatConstant>(b.value).value);
                          },
                          [&](const Variable& n) { return n.id == std::get<Variable>(b.value).id; },
                          [&](const SizeRef& n) { return n.index == std::get<SizeRef>(b.value).index; },
                          [&](const ParamRef& n) { return n.index == std::get<ParamRef>(b.value).index; },
                          [&](const Unary& n) { return n.op == std::get<Unary>(b.value).op; },
                          [&](const Binary& n) { return n.op == std::get<Binary>(b.value).op; },
                          [&](const Cast& n) { return n.saturate == std::get<Cast>(b.value).saturate; },
                          [&](const Call& n) { return n.fn == std::get<Call>(b.value).fn; },
                          [&](const Select&) { return true; },
                          [&](const Read& n) { return n.source == std::get<Read>(b.value).source; },
                          [&](const Let& n) { return n.var == std::get<Let>(b.value).var; },
                          [&](const Reduce& n) {
                              const auto& other = std::get<Reduce>(b.value);
                              return n.op == other.op && n.ranges.size() == other.ranges.size() &&
                                     std::equal(n.ranges.begin(), n.ranges.end(), other.ranges.begin(),
                                                [](const Range& x, const Range& y) { return x.var == y.var; });
                          },
                      },
                      a.value);
}

}  // namespace

bool structurally_equal(const Expr& a, const Expr& b) {
    if (a == b) return true;
    if (!a || !b || a->type != b->type || a->value.index() != b->value.index() || !same_leaf(*a, *b)) return false;
    const std::vector<Expr> left = children(a);
    const std::vector<Expr> right = children(b);
    return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin(), structurally_equal);
}

}  // namespace pipec::ir
