#include "codegen/update_facts.h"

#include <algorithm>

#include "codegen/lower.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

bool uses_any(const ir::Expr& e, const std::set<ir::VarId>& variables) {
    bool found = false;
    ir::for_each_node(e, [&](const ir::Expr& n) {
        const auto* var = ir::as<ir::Variable>(n);
        found = found || (var != nullptr && variables.count(var->id) > 0);
    });
    return found;
}

bool reads_data(const ir::Expr& e) {
    bool found = false;
    ir::for_each_node(e, [&](const ir::Expr& n) { found = found || ir::as<ir::Read>(n) != nullptr; });
    return found;
}

}  // namespace

std::set<ir::VarId> owners(const ir::Update& update) {
    std::set<ir::VarId> result;
    for (const ir::Expr& index : update.indices) {
        const ir::Expr* atom = &index;
        if (const auto* n = ir::as<ir::Binary>(index);
            n != nullptr && (n->op == BinaryOp::Add || n->op == BinaryOp::Sub)) {
            if (ir::as_int(n->b)) atom = &n->a;
            if (ir::as_int(n->a) && n->op == BinaryOp::Add) atom = &n->b;
        }
        const auto* var = ir::as<ir::Variable>(*atom);
        const auto is_var = [&](const ir::Range& range) { return var != nullptr && range.var == var->id; };
        if (std::any_of(update.domain.begin(), update.domain.end(), is_var)) result.insert(var->id);
    }
    return result;
}

bool has_own_targets(const ir::Update& update) {
    return owners(update).size() == update.domain.size();
}

bool depends_on_order(const ir::Update& update) {
    const bool rounds = update.op == ir::ReduceOp::Sum || update.op == ir::ReduceOp::Prod;
    return rounds && ir::is_float(update.value->type) && !has_own_targets(update);
}

bool has_one_target(const ir::Update& update) {
    std::set<ir::VarId> ranges;
    for (const ir::Range& range : update.domain) ranges.insert(range.var);
    // An index that reads data may do so only where the guard holds.
    return std::none_of(update.indices.begin(), update.indices.end(),
                        [&](const ir::Expr& index) { return uses_any(index, ranges) || reads_data(index); });
}

std::optional<ir::Update> with_domain_of(const ir::Update& like, ir::Update update) {
    if (like.domain.size() != update.domain.size()) return std::nullopt;
    std::map<ir::VarId, ir::Expr> same;
    for (std::size_t i = 0; i < like.domain.size(); ++i) {
        const ir::Range& range = like.domain[i];
        if (!ir::structurally_equal(range.lo, ir::substitute(update.domain[i].lo, same))) return std::nullopt;
        if (!ir::structurally_equal(range.hi, ir::substitute(update.domain[i].hi, same))) return std::nullopt;
        same[update.domain[i].var] = ir::variable(range.var, ir::Type::Int32);
    }
    update.domain = like.domain;
    if (update.guard) update.guard = ir::substitute(update.guard, same);
    for (ir::Expr& index : update.indices) index = ir::substitute(index, same);
    update.value = ir::substitute(update.value, same);
    return update;
}

std::vector<OrderDependent> order_dependent_updates(const ir::Pipeline& pipeline) {
    std::vector<OrderDependent> result;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        const auto* accumulate = std::get_if<ir::Accumulate>(&pipeline.stages[i].definition);
        if (accumulate == nullptr) continue;
        for (const ir::Update& update : accumulate->updates) {
            if (depends_on_order(update)) result.push_back({static_cast<int>(i), update.range});
        }
    }
    return result;
}

}  // namespace pipec::codegen
