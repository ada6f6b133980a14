// Walking and rewriting expressions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
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

/// Calls `f` on the direct operands, in evaluation order (a Reduce's bounds first, then its body).
template <class F>
void for_each_child(const Node& node, F&& f) {
    std::visit(overloaded{
                   [&](const Unary& n) { f(n.a); },
                   [&](const Binary& n) { f(n.a), f(n.b); },
                   [&](const Cast& n) { f(n.a); },
                   [&](const Call& n) {
                       for (const Expr& arg : n.args) f(arg);
                   },
                   [&](const Select& n) {
                       f(n.cond), f(n.then);
                       if (n.otherwise) f(n.otherwise);
                   },
                   [&](const Read& n) {
                       for (const Expr& index : n.indices) f(index);
                   },
                   [&](const Let& n) { f(n.value), f(n.body); },
                   [&](const Reduce& n) {
                       for (const Range& r : n.ranges) f(r.lo), f(r.hi);
                       f(n.body);
                   },
                   [](const auto&) {},
               },
               node.value);
}

/// The direct operands, in evaluation order.
std::vector<Expr> children(const Expr& e);

/// Calls `f` on every distinct node reachable from `e`, parents before children; a shared node is visited once.
void for_each_node(const Expr& e, const std::function<void(const Expr&)>& f);

/// The number of distinct nodes reachable from `e`.
std::int64_t node_count(const Expr& e);

/// Whether `holds` is true of a node reachable from `e`.
bool any_node(const Expr& e, const std::function<bool(const Expr&)>& holds);

/// The variables of all loops and lets in it.
std::set<VarId> bound_variables(const Expr& e);

/// Whether some node is a loop: a Reduce that was not written out.
bool has_reduction(const Expr& e);
/// Whether the value of some stage has one.
bool has_reduction(const Pipeline& pipeline);

/// Whether some node reads an element.
bool has_reads(const Expr& e);

/// Whether evaluating it does no harm where the program does not ask for it, as far as its reads are in bounds: it has
/// no loop, and divides integers by constants alone.
bool is_total(const Expr& e);

/// The expressions of a stage in evaluation order: explicit ranges, then the value or init and updates.
std::vector<Expr> expressions(const Stage& stage);

/// Replaces the value of a stage, or the first values and the guards, indices and values of its updates, by `f` of
/// them.
void map_expressions(Stage& stage, const std::function<Expr(const Expr&)>& f);

/// The same of all expressions of a stage, also of bounds.
void map_all_expressions(Stage& stage, const std::function<Expr(const Expr&)>& f);

/// Whether the size with this number is in it.
bool uses_size(const Expr& e, int size);

/// True for what is the same at all points: made of constants, sizes and parameters alone.
bool is_uniform(const Expr& e);

/// A copy with every operand replaced by `f(operand)`; the node itself where nothing changed.
Expr map_children(const Expr& e, const std::function<Expr(const Expr&)>& f);

/// Replaces variables by expressions (binders have unique ids, so nothing can be captured).
Expr substitute(const Expr& e, const std::map<VarId, Expr>& replacements);

/// Nodes with equal operators, constants, variables and sources, and the same nodes as operands; positions do not
/// count.
bool same_node(const Node& a, const Node& b);

/// The same tree: equal operators, constants, variables and sources; positions do not count.
bool structurally_equal(const Expr& a, const Expr& b);

}  // namespace pipec::ir
