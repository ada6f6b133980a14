#include "ir/certain_reads.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/visit.h"

namespace pipec::ir {

namespace {

/// Cases within cases of which reads are compared; what all cases read of deeper ones is not found.
constexpr int kDeepestCase = 8;
/// By choice: what both of its cases read.
using BothRead = std::unordered_map<const Node*, std::vector<Expr>>;

std::vector<Expr> certain_reads(const std::vector<Expr>& roots, int depth, BothRead& known) {
    std::vector<Expr> found;
    std::unordered_set<const Node*> seen;
    std::vector<Expr> stack(roots.rbegin(), roots.rend());
    while (!stack.empty()) {
        const Expr e = std::move(stack.back());
        stack.pop_back();
        if (!seen.insert(e.get()).second) continue;
        if (as<Read>(e) != nullptr) found.push_back(e);
        const auto* n = as<Select>(e);
        if (n != nullptr && n->otherwise) {
            if (known.count(e.get()) == 0 && depth < kDeepestCase) {
                std::unordered_set<const Node*> other;
                for (const Expr& read : certain_reads({n->otherwise}, depth + 1, known)) other.insert(read.get());
                std::vector<Expr> both;
                if (!other.empty()) {
                    both = certain_reads({n->then}, depth + 1, known);
                    std::erase_if(both, [&](const Expr& read) { return other.count(read.get()) == 0; });
                }
                known.emplace(e.get(), std::move(both));
            }
            if (const auto both = known.find(e.get()); both != known.end()) {
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
    BothRead known;
    return certain_reads(roots, 0, known);
}

}  // namespace pipec::ir
