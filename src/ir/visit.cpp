#include "ir/visit.h"

#include <algorithm>
#include <bit>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/build.h"

namespace pipec::ir {

std::vector<Expr> children(const Expr& e) {
    std::vector<Expr> result;
    for_each_child(*e, [&](const Expr& child) { result.push_back(child); });
    return result;
}

void for_each_node(const Expr& e, const std::function<void(const Expr&)>& f) {
    // An explicit stack: sums of thousands of terms are deep on the left.
    const Expr root = e;  // keeps all of them alive
    std::unordered_set<const Node*> seen;
    std::vector<const Expr*> stack{&root};
    while (!stack.empty()) {
        const Expr& top = *stack.back();
        stack.pop_back();
        if (!seen.insert(top.get()).second) continue;
        f(top);
        const auto others = static_cast<std::ptrdiff_t>(stack.size());
        for_each_child(*top, [&](const Expr& child) { stack.push_back(&child); });
        std::reverse(stack.begin() + others, stack.end());
    }
}

std::int64_t node_count(const Expr& e) {
    std::int64_t count = 0;
    for_each_node(e, [&](const Expr&) { ++count; });
    return count;
}

bool any_node(const Expr& e, const std::function<bool(const Expr&)>& holds) {
    bool found = false;
    for_each_node(e, [&](const Expr& node) { found = found || holds(node); });
    return found;
}

std::set<VarId> bound_variables(const Expr& e) {
    std::set<VarId> bound;
    for_each_node(e, [&](const Expr& node) {
        if (const auto* let = as<Let>(node)) bound.insert(let->var);
        if (const auto* reduce = as<Reduce>(node)) {
            for (const Range& range : reduce->ranges) bound.insert(range.var);
        }
    });
    return bound;
}

bool has_reduction(const Expr& e) {
    return any_node(e, [](const Expr& node) { return as<Reduce>(node) != nullptr; });
}

bool has_reduction(const Pipeline& pipeline) {
    return std::ranges::any_of(pipeline.stages, [](const Stage& stage) {
        const auto* pure = std::get_if<Pure>(&stage.definition);
        return pure != nullptr && has_reduction(pure->value);
    });
}

bool uses_size(const Expr& e, int size) {
    return any_node(e, [size](const Expr& node) {
        const auto* n = as<SizeRef>(node);
        return n != nullptr && n->index == size;
    });
}

bool has_reads(const Expr& e) {
    return any_node(e, [](const Expr& node) { return as<Read>(node) != nullptr; });
}

bool is_total(const Expr& e) {
    return !any_node(e, [](const Expr& node) {
        const auto* n = as<Binary>(node);
        const bool divides =
            n != nullptr && !is_float(node->type) && (n->op == BinaryOp::Div || n->op == BinaryOp::Mod);
        return as<Reduce>(node) != nullptr || (divides && !as_int(n->b));
    });
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

void map_expressions(Stage& stage, const std::function<Expr(const Expr&)>& f) {
    if (auto* pure = std::get_if<Pure>(&stage.definition)) {
        pure->value = f(pure->value);
        return;
    }
    auto& accumulate = std::get<Accumulate>(stage.definition);
    accumulate.init = f(accumulate.init);
    for (Update& update : accumulate.updates) {
        if (update.guard) update.guard = f(update.guard);
        for (Expr& index : update.indices) index = f(index);
        update.value = f(update.value);
    }
}

void map_all_expressions(Stage& stage, const std::function<Expr(const Expr&)>& f) {
    const auto replace = [&](Expr& e) {
        if (e) e = f(e);
    };
    for (Dimension& dim : stage.dims) replace(dim.lo), replace(dim.hi);
    map_expressions(stage, f);
    if (auto* accumulate = std::get_if<Accumulate>(&stage.definition)) {
        for (Update& update : accumulate->updates) {
            for (Range& range : update.domain) replace(range.lo), replace(range.hi);
        }
    }
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
    // A node is made only where an operand is another one: most walks change little.
    const auto result = [&](auto&& value) {
        return changed ? std::make_shared<const Node>(Node{e->type, e->range, std::move(value)}) : e;
    };
    return std::visit(overloaded{
                          [&](const Unary& n) {
                              return result(Unary{n.op, apply(n.a)});
                          },
                          [&](const Binary& n) {
                              Expr a = apply(n.a);
                              return result(Binary{n.op, std::move(a), apply(n.b)});
                          },
                          [&](const Cast& n) {
                              return result(Cast{apply(n.a), n.saturate, n.exact});
                          },
                          [&](const Call& n) {
                              return result(Call{n.fn, apply_all(n.args)});
                          },
                          [&](const Select& n) {
                              Expr cond = apply(n.cond);
                              Expr then = apply(n.then);
                              return result(Select{std::move(cond), std::move(then), apply(n.otherwise)});
                          },
                          [&](const Read& n) {
                              return result(Read{n.source, apply_all(n.indices)});
                          },
                          [&](const Let& n) {
                              Expr bound = apply(n.value);
                              return result(Let{n.var, std::move(bound), apply(n.body)});
                          },
                          [&](const Reduce& n) {
                              std::vector<Range> ranges;
                              for (const Range& r : n.ranges) {
                                  Expr lo = apply(r.lo);
                                  ranges.push_back({r.var, std::move(lo), apply(r.hi)});
                              }
                              return result(Reduce{n.op, std::move(ranges), apply(n.body), n.place});
                          },
                          [&](const auto&) { return e; },
                      },
                      e->value);
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

/// `same` compares operands, which may be null.
template <class Same>
bool equal_nodes(const Node& a, const Node& b, const Same& same) {
    if (a.type != b.type || a.value.index() != b.value.index()) return false;
    const auto all_same = [&](const std::vector<Expr>& x, const std::vector<Expr>& y) {
        return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
    };
    const auto equal = overloaded{
        [](const IntConstant& x, const IntConstant& y) { return x.value == y.value; },
        // By bits: 0.0 and -0.0 differ, a NaN equals itself.
        [](const FloatConstant& x, const FloatConstant& y) {
            return std::bit_cast<std::uint64_t>(x.value) == std::bit_cast<std::uint64_t>(y.value);
        },
        [](const Variable& x, const Variable& y) { return x.id == y.id; },
        [](const SizeRef& x, const SizeRef& y) { return x.index == y.index; },
        [](const ParamRef& x, const ParamRef& y) { return x.index == y.index; },
        [&](const Unary& x, const Unary& y) { return x.op == y.op && same(x.a, y.a); },
        [&](const Binary& x, const Binary& y) { return x.op == y.op && same(x.a, y.a) && same(x.b, y.b); },
        [&](const Cast& x, const Cast& y) { return x.saturate == y.saturate && same(x.a, y.a); },
        [&](const Call& x, const Call& y) { return x.fn == y.fn && all_same(x.args, y.args); },
        [&](const Select& x, const Select& y) {
            return same(x.cond, y.cond) && same(x.then, y.then) && same(x.otherwise, y.otherwise);
        },
        [&](const Read& x, const Read& y) { return x.source == y.source && all_same(x.indices, y.indices); },
        [&](const Let& x, const Let& y) { return x.var == y.var && same(x.value, y.value) && same(x.body, y.body); },
        [&](const Reduce& x, const Reduce& y) {
            return x.op == y.op && x.place == y.place && same(x.body, y.body) &&
                   std::equal(x.ranges.begin(), x.ranges.end(), y.ranges.begin(), y.ranges.end(),
                              [&](const Range& r, const Range& s) {
                                  return r.var == s.var && same(r.lo, s.lo) && same(r.hi, s.hi);
                              });
        },
    };
    return std::visit([&]<class T>(const T& x) { return equal(x, std::get<T>(b.value)); }, a.value);
}

}  // namespace

bool same_node(const Node& a, const Node& b) {
    return equal_nodes(a, b, [](const Expr& x, const Expr& y) { return x == y; });
}

bool structurally_equal(const Expr& a, const Expr& b) {
    // Pairs that were met are equal, or the answer is known: shared nodes are compared once.
    std::set<std::pair<const Node*, const Node*>> met;
    const std::function<bool(const Expr&, const Expr&)> equal = [&](const Expr& x, const Expr& y) {
        if (x == y) return true;
        if (!x || !y) return false;
        const bool shared = x.use_count() > 1 && y.use_count() > 1;
        if (shared && !met.emplace(x.get(), y.get()).second) return true;
        return equal_nodes(*x, *y, equal);
    };
    return equal(a, b);
}

}  // namespace pipec::ir
