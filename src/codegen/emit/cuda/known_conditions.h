// What is known to hold where code stands, by the conditions around it: nobody asks for it twice.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "ir/build.h"
#include "ir/unique_nodes.h"
#include "ir/visit.h"

namespace pipec::codegen {

class KnownConditions {
public:
    /// `changing`: variables that are assigned to.
    explicit KnownConditions(std::set<ir::VarId> changing) : changing_(std::move(changing)) {}

    /// `condition` without the parts that are known; null where nothing is left.
    ir::Expr unknown(const ir::Expr& condition) {
        ir::Expr result;
        bool is_whole = true;
        for (const ir::Expr& part : parts(condition)) {
            const bool is_known = std::find(known_.begin(), known_.end(), unique_.get(part)) != known_.end();
            is_whole = is_whole && !is_known;
            if (!is_known) result = result ? ir::binary(ir::BinaryOp::And, result, part) : part;
        }
        return is_whole ? condition : result;
    }

    /// In a block with this condition its parts are known. Returns how many were before.
    std::size_t enter(const ir::Expr& condition) {
        const std::size_t before = known_.size();
        for (const ir::Expr& part : parts(condition)) {
            if (stays(part)) known_.push_back(unique_.get(part));
        }
        return before;
    }
    void leave(std::size_t before) { known_.resize(before); }

private:
    static std::vector<ir::Expr> parts(const ir::Expr& condition) {
        std::vector<ir::Expr> result, stack{condition};
        while (!stack.empty()) {
            const ir::Expr e = std::move(stack.back());
            stack.pop_back();
            const auto* n = ir::as<ir::Binary>(e);
            if (n != nullptr && n->op == ir::BinaryOp::And) {
                stack.push_back(n->b);
                stack.push_back(n->a);
            } else {
                result.push_back(e);
            }
        }
        return result;
    }

    /// Nothing in the block can change its value.
    [[nodiscard]] bool stays(const ir::Expr& e) const {
        bool result = true;
        ir::for_each_node(e, [&](const ir::Expr& node) {
            const auto* variable = ir::as<ir::Variable>(node);
            const bool changes = variable != nullptr && changing_.count(variable->id) > 0;
            result = result && !changes && ir::as<ir::Read>(node) == nullptr;
        });
        return result;
    }

    std::set<ir::VarId> changing_;
    ir::UniqueExpressions unique_;
    std::vector<ir::Expr> known_;
};

}  // namespace pipec::codegen
