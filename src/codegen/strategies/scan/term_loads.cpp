#include "codegen/strategies/scan/term_loads.h"

#include <unordered_map>

#include "codegen/kernel/kernel_build.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

using ir::BinaryOp;

class Loads {
public:
    explicit Loads(ir::Pipeline& pipeline) : pipeline_(pipeline) {}

    /// Notes what `e` reads where `condition` holds; null: everywhere.
    void find(const ir::Expr& e, const ir::Expr& condition) {
        if (!has_reads(e)) return;
        const auto* select = ir::as<ir::Select>(e);
        const auto* binary = ir::as<ir::Binary>(e);
        const bool is_logical = binary != nullptr && ir::is_logical(binary->op);
        if (select != nullptr && select->otherwise && !has_reads(select->cond)) {
            find(select->then, both(condition, select->cond));
            find(select->otherwise, both(condition, ir::unary(ir::UnaryOp::Not, select->cond)));
        } else if (is_logical && !has_reads(binary->a)) {
            const bool is_and = binary->op == BinaryOp::And;
            find(binary->b, both(condition, is_and ? binary->a : ir::unary(ir::UnaryOp::Not, binary->a)));
        } else if (select != nullptr || is_logical || ir::as<ir::Read>(e) != nullptr ||
                   ir::as<ir::Reduce>(e) != nullptr) {
            note(e, condition);
        } else {
            for (const ir::Expr& child : ir::children(e)) find(child, condition);
        }
    }

    ir::Expr replaced(const ir::Expr& e) {
        if (const auto known = replaced_.find(e.get()); known != replaced_.end()) return known->second;
        if (!has_reads(e)) return e;
        const ir::Expr result =
            ir::map_children(e, [&](const ir::Expr& child) { return child ? replaced(child) : child; });
        return replaced_[e.get()] = result;
    }

    std::vector<TermLoad> loads;

private:
    bool has_reads(const ir::Expr& e) {
        if (const auto known = has_reads_.find(e.get()); known != has_reads_.end()) return known->second;
        bool result = ir::as<ir::Read>(e) != nullptr;
        ir::for_each_child(*e, [&](const ir::Expr& child) { result = has_reads(child) || result; });
        return has_reads_[e.get()] = result;
    }

    void note(const ir::Expr& e, const ir::Expr& condition) {
        if (const auto known = numbers_.find(e.get()); known != numbers_.end()) {
            ir::Expr& needed = loads[known->second].needed;
            const bool always = !needed || !condition || excludes(needed, condition);
            needed = always ? nullptr : ir::binary(BinaryOp::Or, needed, condition);
            return;
        }
        numbers_[e.get()] = loads.size();
        const ir::VarId var = ir::new_variable(pipeline_, "load", e->type);
        replaced_[e.get()] = ir::variable(var, e->type);
        loads.push_back({var, e, condition});
    }

    ir::Pipeline& pipeline_;
    // By nodes of the terms, which outlive this.
    std::unordered_map<const ir::Node*, bool> has_reads_;
    std::unordered_map<const ir::Node*, std::size_t> numbers_;
    std::unordered_map<const ir::Node*, ir::Expr> replaced_;
};

}  // namespace

TermLoads term_loads(ir::Pipeline& pipeline, const ScanTerms& terms, std::size_t count) {
    Loads found(pipeline);
    TermLoads result;
    for (std::size_t t = 0; t < count; ++t) found.find(terms.terms[t].value, terms.terms[t].needed);
    for (std::size_t t = 0; t < count; ++t) result.values.push_back(found.replaced(terms.terms[t].value));
    result.loads = std::move(found.loads);
    return result;
}

std::int64_t registers_of(ir::Type type) {
    return ir::bytes(type) > 4 ? 2 : 1;
}

std::int64_t registers_of(const TermLoads& loads) {
    std::int64_t registers = 0;
    for (const TermLoad& load : loads.loads) registers += registers_of(load.value->type);
    return registers;
}

}  // namespace pipec::codegen
