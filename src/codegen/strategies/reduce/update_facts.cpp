#include "codegen/strategies/reduce/update_facts.h"

#include <algorithm>
#include <unordered_set>

#include "codegen/kernel/kernel_build.h"
#include "codegen/lower.h"
#include "fusion/histogram_facts.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// A dimension of fewer cells than a warp has lanes is none to share out.
constexpr std::int64_t kCells = 32;
/// Seven such blocks fit into a multiprocessor at a time.
constexpr std::int64_t kSimpleTableBytes = 32 * 1024;
/// What a warp's cells may take of a block's shared memory is 48 KB.
constexpr std::int64_t kCellBytes = 48 * 1024 / 32;

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

std::optional<std::int64_t> constant_cells(const std::vector<poly::Interval>& box) {
    std::int64_t cells = 1;
    for (const poly::Interval& interval : box) {
        const auto n = constant_extent(interval.lo, interval.hi);
        if (!n) return std::nullopt;
        cells = std::min<std::int64_t>(cells * *n, INT32_MAX);
    }
    return cells;
}

bool keeps_simple_table(ir::Type type, const std::optional<std::int64_t>& cells) {
    return ir::bytes(type) >= 4 && cells && *cells >= 1 && *cells * ir::bytes(type) <= kSimpleTableBytes;
}

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

bool may_share_targets(const ir::Update& update, ir::VarId var) {
    std::unordered_set<const ir::Node*> seen;
    std::vector<ir::Expr> stack(update.indices.begin(), update.indices.end());
    while (!stack.empty()) {
        const ir::Expr e = std::move(stack.back());
        stack.pop_back();
        if (!e || !seen.insert(e.get()).second || ir::as<ir::Read>(e) != nullptr) continue;
        if (const auto* variable = ir::as<ir::Variable>(e); variable != nullptr && variable->id == var) return false;
        const auto* n = ir::as<ir::Binary>(e);
        if (n != nullptr && (n->op == ir::BinaryOp::Div || n->op == ir::BinaryOp::Shr)) continue;
        for (const ir::Expr& child : ir::children(e)) stack.push_back(child);
    }
    return true;
}

bool rounds(const ir::Update& update) {
    const bool adds = update.op == ir::ReduceOp::Sum || update.op == ir::ReduceOp::Prod;
    return adds && ir::is_float(update.value->type);
}

bool depends_on_order(const ir::Update& update) {
    return rounds(update) && !has_own_targets(update);
}

std::optional<poly::Gather> gathered(const ir::Stage& stage, bool in_order) {
    const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition);
    if (accumulate == nullptr) return std::nullopt;
    const std::vector<ir::Update>& updates = accumulate->updates;
    if (std::all_of(updates.begin(), updates.end(), has_own_targets)) return std::nullopt;
    poly::Gather gather = poly::find_gather(*accumulate);
    std::int64_t bytes = ir::bytes(stage.type);  // of a cell
    for (std::size_t d = 0; d < gather.owned.size(); ++d) {
        const auto extent = constant_extent(stage.dims[d].lo, stage.dims[d].hi);
        if (gather.owned[d] && extent.value_or(kCells) >= kCells) continue;
        gather.release(d);  // too short for the threads of a block
        if (!extent || *extent > kCellBytes) return std::nullopt;
        bytes *= *extent;
        if (bytes < 1 || bytes > kCellBytes) return std::nullopt;
    }
    if (!gather.any()) return std::nullopt;
    if (in_order && std::any_of(updates.begin(), updates.end(), depends_on_order)) return gather;
    const auto points = poly::points_of_owner(*accumulate, gather);
    return points && *points <= fusion::kGatheredPoints ? std::optional(gather) : std::nullopt;
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
        if (accumulate == nullptr || gathered(pipeline.stages[i], false)) continue;
        for (const ir::Update& update : accumulate->updates) {
            if (depends_on_order(update)) result.push_back({static_cast<int>(i), update.range});
        }
    }
    return result;
}

}  // namespace pipec::codegen
