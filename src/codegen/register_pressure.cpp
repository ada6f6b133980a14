#include "codegen/register_pressure.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "codegen/kernel_flow.h"
#include "ir/visit.h"

namespace pipec::codegen {

std::int64_t registers_at_once(const ir::Pipeline& pipeline, const kernel::Body& body) {
    struct Life {
        std::int64_t first, last;
        bool packed;  ///< several elements in a register, as they were loaded
    };
    std::unordered_map<ir::VarId, Life> lives;
    std::int64_t now = 0;
    kernel::for_each_stmt(body, [&](const kernel::Stmt& stmt) {
        ++now;
        for (const ir::Expr& root : kernel::expressions(stmt)) {
            ir::for_each_node(root, [&](const ir::Expr& e) {
                const auto* variable = ir::as<ir::Variable>(e);
                if (variable == nullptr) return;
                const auto known = lives.find(variable->id);
                if (known != lives.end()) known->second.last = now;
            });
        }
        const auto begins = [&](ir::VarId var, bool packed = false) { lives.emplace(var, Life{now, now, packed}); };
        if (const auto* n = std::get_if<kernel::Define>(&stmt.value)) begins(n->var);
        if (const auto* n = std::get_if<kernel::Variable>(&stmt.value)) begins(n->var);
        if (const auto* n = std::get_if<kernel::Shuffle>(&stmt.value)) begins(n->var);
        if (const auto* n = std::get_if<kernel::Load>(&stmt.value)) {
            for (const ir::VarId var : n->vars) begins(var, n->vars.size() > 1);
        }
    });
    std::vector<std::int64_t> change(static_cast<std::size_t>(now) + 2, 0);
    for (const auto& [var, life] : lives) {
        const ir::Type type = pipeline.variables.at(static_cast<std::size_t>(var)).type;
        if (type == ir::Type::Bool) continue;  // predicates
        const std::int64_t bytes = life.packed ? ir::bytes(type) : std::max(ir::bytes(type), 4);
        change[static_cast<std::size_t>(life.first)] += bytes;
        change[static_cast<std::size_t>(life.last)] -= bytes;
    }
    std::int64_t live = 0, most = 0;
    for (const std::int64_t c : change) most = std::max(most, live += c);
    return (most + 3) / 4;
}

}  // namespace pipec::codegen
