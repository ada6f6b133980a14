// Walking and rewriting expressions.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::ir {

/// `std::visit` with lambdas: std::visit(overloaded{[](const Read& r) {...}, [](const auto&) {...}}, node.value).
template <class... Fs>
struct overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

/// The direct operands, in evaluation order (a Reduce's bounds first, then its body).
std::vector<Expr> children(const Expr& e);

/// Calls `f` on every distinct node reachable from `e`, parents before children; a shared node is visited once.
void for_each_node(const Expr& e, const std::function<void(const Expr&)>& f);

/// The expressions of a stage in evaluation order: explicit ranges, then the value or init and updates.
std::vector<Expr> expressions(const Stage& stage);

/// True for what is the same at all points: made of constants, sizes and parameters alone.
bool is_uniform(const Expr& e);

/// A copy with every operand replaced by `f(operand)`; the node itself where nothing changed.
Expr map_children(const Expr& e, const std::function<Expr(const Expr&)>& f);

/// Replaces variables by expressions (binders have unique ids, so nothing can be captured).
Expr substitute(const Expr& e, const std::map<VarId, Expr>& replacements);

/// The same tree: equal operators, constants, variables and sources; positions do not count.
bool structurally_equal(const Expr& a, const Expr& b);

}  // namespace pipec::ir
