// What the expressions of one piece of code use: how often each node, which variables, sources, sizes and parameters.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "ir/expr.h"

namespace pipec::codegen {

/// Counts over the operands that code evaluates: not the condition of an `if` without `else`, which is known to hold,
/// nor the value of a `let` that nothing uses.
class Uses {
public:
    /// Adds an expression that the code evaluates.
    void add(const ir::Expr& root);

    /// By how many operands and roots a node is used.
    [[nodiscard]] int of(const ir::Expr& e) const;
    [[nodiscard]] bool variable(ir::VarId var) const { return variables_.count(var) > 0; }
    [[nodiscard]] const std::set<ir::Source>& sources() const { return sources_; }
    [[nodiscard]] const std::set<int>& sizes() const { return sizes_; }
    [[nodiscard]] const std::set<int>& params() const { return params_; }

private:
    std::unordered_map<const ir::Node*, int> counts_;
    std::set<ir::VarId> variables_;
    std::set<ir::Source> sources_;
    std::set<int> sizes_, params_;
};

/// All operands but the condition of an `if` without `else`.
std::vector<ir::Expr> evaluated_operands(const ir::Expr& e);

}  // namespace pipec::codegen
