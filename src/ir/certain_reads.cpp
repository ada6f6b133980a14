#include "ir/certain_reads.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/visit.h"

namespace pipec::ir {

namespace {

/// Cases within cases of which nodes are compared; what all cases have of deeper ones is not found.
constexpr int kDeepestCase = 8;

/// Finds nodes of one kind.
template <class Kind>
class CertainNodes {
public:
    std::vector<Expr> of(const std::vector<Expr>& roots, int depth = 0);

private:
    std::unordered_map<const Node*, std::vector<Expr>> in_both_;  ///< by choice: what both of its cases have
};

template <class Kind>
std::vector<Expr> CertainNodes<Kind>::of(const std::vector<Expr>& roots, int depth) {
    std::vector<Expr> found;
    std::unordered_set<const Node*> seen;
    std::vector<Expr> stack(roots.rbegin(), roots.rend());
    while (!stack.empty()) {
        const Expr e = std::move(stack.back());
        stack.pop_back();
        if (!seen.insert(e.get()).second) continue;
        if (as<Kind>(e) != nullptr) found.push_back(e);
        const auto* n = as<Select>(e);
        if (n != nullptr && n->otherwise) {
            if (in_both_.count(e.get()) == 0 && depth < kDeepestCase) {
                std::unordered_set<const Node*> other;
                for (const Expr& node : of({n->otherwise}, depth + 1)) other.insert(node.get());
                std::vector<Expr> both;
                if (!other.empty()) {
                    both = of({n->then}, depth + 1);
                    std::erase_if(both, [&](const Expr& node) { return other.count(node.get()) == 0; });
                }
                in_both_.emplace(e.get(), std::move(both));
            }
            if (const auto both = in_both_.find(e.get()); both != in_both_.end()) {
                stack.insert(stack.end(), both->second.rbegin(), both->second.rend());
            }
            stack.push_back(n->cond);
        } else if (const auto* logic = as<Binary>(e); logic != nullptr && is_logical(logic->op)) {
            stack.push_back(logic->a);
        } else if (const auto* loop = as<Reduce>(e)) {
            if (!loop->ranges.empty()) {
                stack.push_back(loop->ranges.front().hi);
                stack.push_back(loop->ranges.front().lo);
            }
        } else if (n != nullptr) {
            stack.push_back(n->then);  // an `if` without `else`, which is known to hold
        } else {
            const std::vector<Expr> operands = children(e);
            stack.insert(stack.end(), operands.rbegin(), operands.rend());
        }
    }
    return found;
}

}  // namespace

std::vector<Expr> certain_reads(const std::vector<Expr>& roots) {
    return CertainNodes<Read>().of(roots);
}

std::vector<Expr> certain_reductions(const std::vector<Expr>& roots) {
    return CertainNodes<Reduce>().of(roots);
}

}  // namespace pipec::ir
