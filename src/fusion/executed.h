// Which nodes of expressions kernels execute, and how often.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/canonical.h"
#include "ir/expr.h"
#include "ir/unique_nodes.h"
#include "ir/visit.h"

namespace pipec::fusion {

/// How often a loop's body is executed, for `sizes` by index.
[[nodiscard]] double rounds_of(const ir::Range& range, const std::vector<std::int64_t>& sizes);

/// What depends on the point alone: integers of variables and sizes. Kernels have such places as constants or sums that
/// move along, and know conditions on them for whole tiles or columns.
class PlaceExpressions {
public:
    bool has(const ir::Expr& e) {
        if (const auto known = memo_.find(e.get()); known != memo_.end()) return known->second;
        bool place = !ir::is_float(e->type) && ir::as<ir::Read>(e) == nullptr && ir::as<ir::Reduce>(e) == nullptr &&
                     ir::as<ir::ParamRef>(e) == nullptr && ir::as<ir::Call>(e) == nullptr;
        for (const ir::Expr& child : ir::children(e)) place = place && has(child);
        memo_.emplace(e.get(), place);
        return place;
    }

private:
    std::unordered_map<const ir::Node*, bool> memo_;
};

/// The nodes that are executed, each once: no places, and of what a place selects only one side, without the choice.
class Executed {
public:
    using Visit = std::function<void(const ir::Expr&)>;
    void walk(const ir::Expr& e, const Visit& visit) {
        if (!e || places_.has(e) || !seen_.insert(e.get()).second) return;
        const auto* select = ir::as<ir::Select>(e);
        if (select != nullptr && select->otherwise && places_.has(select->cond)) {
            walk(ir::node_count(select->then) >= ir::node_count(select->otherwise) ? select->then : select->otherwise,
                 visit);
            return;
        }
        visit(e);
        if (ir::as<ir::Reduce>(e) != nullptr) return;  // its body is executed many times
        for (const ir::Expr& child : ir::children(e)) walk(child, visit);
    }

private:
    PlaceExpressions places_;
    std::unordered_set<const ir::Node*> seen_;
};

/// Expressions as kernels have them: what a name stands for in its place, one node for all that are equal, and the same
/// variables for loops over the same ranges.
class SharedNodes {
public:
    ir::Expr of(const ir::Expr& e) { return e ? walk(roots_.emplace_back(canonical_.get(e))) : e; }

private:
    ir::Expr walk(const ir::Expr& e) {
        if (const auto known = memo_.find(e.get()); known != memo_.end()) return known->second;
        ir::Expr result;
        if (const auto* let = ir::as<ir::Let>(e)) {
            names_[let->var] = walk(let->value);
            result = walk(let->body);
        } else if (const auto* variable = ir::as<ir::Variable>(e);
                   variable != nullptr && names_.count(variable->id) > 0) {
            result = names_.at(variable->id);
        } else {
            result = nodes_.get(ir::map_children(e, [&](const ir::Expr& child) { return walk(child); }));
        }
        memo_.emplace(e.get(), result);
        return result;
    }

    ir::CanonicalVariables canonical_;
    std::vector<ir::Expr> roots_;  ///< keeps the nodes that are known
    ir::UniqueNodes nodes_;
    std::unordered_map<ir::VarId, ir::Expr> names_;
    std::unordered_map<const ir::Node*, ir::Expr> memo_;
};

/// What was executed in loops, by their bounds: one loop computes all reductions over the same ranges.
struct ExecutedLoops {
    Executed nodes;
    std::unordered_set<const ir::Node*> divisors;  ///< of floats
    std::map<std::vector<const ir::Node*>, ExecutedLoops> inner;
};

/// Loops around a node that stay loops, from the innermost one outward.
struct LoopsAround {
    const ir::Reduce* loop;
    const LoopsAround* outer;
};

/// How often a node is executed for a point, and whether in a loop.
struct Execution {
    double times = 1;
    bool in_loop = false;
    bool known_divisor = false;  ///< a division of floats by what another one divides by
    const LoopsAround* loops = nullptr;
};

/// Instructions of a node that is executed so, without its operands.
[[nodiscard]] double instructions(const ir::Expr& e, const Execution& how);

/// The nodes that a point executes of an expression, except those that it has executed before.
void for_executed(ExecutedLoops& before, const ir::Expr& root, const std::vector<std::int64_t>& sizes,
                  const Execution& outer, const std::function<void(const ir::Expr&, const Execution&)>& visit);

}  // namespace pipec::fusion
