// Register tiles at the edges of the image. Lanes also have registers for points that do not exist, beyond a stage's
// domain. What such a point reads of global memory is what the nearest point reads: without a branch for each of them
// all loads are on their way at a time. Where the rest of it, too, is what the nearest point has, an index that is
// clamped to the domain, as boundary conditions do it, means the point itself, in a register that is known; other
// indices are compared with all places that they may mean.
#include <algorithm>

#include "codegen/strategies/register/register_code.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

bool is_variable(const ir::Expr& e, ir::VarId id) {
    const auto* variable = ir::as<ir::Variable>(e);
    return variable != nullptr && variable->id == id;
}

/// An integer division that may be by 0 where its operands are those of no point.
bool may_fail(const ir::Expr& e) {
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr || !ir::is_int(e->type) || (n->op != ir::BinaryOp::Div && n->op != ir::BinaryOp::Mod))
        return false;
    return ir::as_int(n->b).value_or(0) == 0;
}

}  // namespace

/// A dimension of a member's domain, in nodes of the rewriter.
poly::Interval RegisterCode::box_of(const Member& m, std::size_t d) {
    const poly::Interval& box = m.domain.box[d];
    return {rewriter().instance(box.lo, {}), rewriter().instance(box.hi, {})};
}

/// The member that a node reads; null for other nodes.
const RegisterCode::Member* RegisterCode::member_of(const ir::Expr& e) const {
    const auto* read = ir::as<ir::Read>(e);
    return read != nullptr && read->source.kind == ir::Source::Kind::Stage ? space_.member(read->source.index)
                                                                           : nullptr;
}

/// What a member's points are at the edges.
const RegisterCode::Ends& RegisterCode::ends(const Member& m) {
    if (const auto known = ends_.find(m.stage); known != ends_.end()) return known->second;
    const std::size_t rank = m.alignment.size();
    Ends ends{m.value, {}, std::vector<bool>(rank, false), std::vector<bool>(rank, false), true};
    // Kernels that fetch rows ahead are to have few registers, and that many loads at a time take more.
    if (tile_.prefetch == 0 && space_.loads_everywhere(m)) {
        std::map<ir::VarId, ir::Expr> coordinates;
        for (std::size_t d = 0; d < rank; ++d) {
            ends.of_loads.push_back(builder().variable(space_.name(m, d), ir::Type::Int32));
            coordinates[m.definition.dims[d].var] = ir::variable(ends.of_loads.back(), ir::Type::Int32);
        }
        ends.value = with_loads_apart(m.value, coordinates);
        if (!ends.value) ends.of_loads.clear(), ends.value = m.value;
    }
    if (!ends.of_loads.empty()) {
        bool all_nearest = true;
        for (std::size_t d = 0; d < rank; ++d) {
            if (m.alignment[d].dim < 0) continue;
            const Uses uses = uses_of(m, d, ends.value);
            ends.nearest[d] = !uses.members;
            ends.repeated[d] = !uses.others;
            all_nearest = all_nearest && ends.nearest[d];
        }
        ends.guarded = !all_nearest && ir::any_node(ends.value, may_fail);
        if (ends.guarded) ends.repeated.assign(rank, false);
    }
    return ends_.emplace(m.stage, std::move(ends)).first->second;
}

/// A value that loads at other coordinates than its own, and decides there whether it does; null where members decide,
/// or say what is loaded: a point that does not exist might load what no other does.
ir::Expr RegisterCode::with_loads_apart(const ir::Expr& value, const std::map<ir::VarId, ir::Expr>& coordinates) {
    const auto is_member = [&](const ir::Expr& e) { return member_of(e) != nullptr; };
    const auto loads = [&](const ir::Expr& e) {
        return ir::any_node(
            e, [&](const ir::Expr& node) { return ir::as<ir::Read>(node) != nullptr && !is_member(node); });
    };
    bool fails = false;
    std::map<const ir::Node*, ir::Expr> known;
    const std::function<ir::Expr(const ir::Expr&)> apart = [&](const ir::Expr& e) -> ir::Expr {
        if (const auto done = known.find(e.get()); done != known.end()) return done->second;
        ir::Expr result = e;
        if (loads(e) && !ir::any_node(e, is_member)) {
            result = ir::substitute(e, coordinates);
        } else if (loads(e)) {
            const auto* select = ir::as<ir::Select>(e);
            const auto* logic = ir::as<ir::Binary>(e);
            if (logic != nullptr && !ir::is_logical(logic->op)) logic = nullptr;
            const ir::Expr decides =
                select != nullptr && select->otherwise && (loads(select->then) || loads(select->otherwise))
                    ? select->cond
                : logic != nullptr && loads(logic->b) ? logic->a
                                                      : nullptr;
            fails = fails || (decides && ir::any_node(decides, is_member)) || ir::as<ir::Reduce>(e) != nullptr ||
                    (ir::as<ir::Read>(e) != nullptr && !is_member(e));
            result = ir::map_children(e, [&](const ir::Expr& operand) {
                return operand == decides ? ir::substitute(operand, coordinates) : apart(operand);
            });
        }
        return known.emplace(e.get(), std::move(result)).first->second;
    };
    const ir::Expr result = apart(value);
    return fails ? nullptr : result;
}

/// How a value depends on a coordinate, but for what it loads.
RegisterCode::Uses RegisterCode::uses_of(const Member& m, std::size_t d, const ir::Expr& value) {
    const auto is_coordinate = [&](const ir::Expr& e) { return is_variable(e, m.definition.dims[d].var); };
    const poly::Interval box = box_of(m, d);
    Uses uses;
    bool elsewhere = false;
    std::set<const ir::Node*> seen;
    const std::function<void(const ir::Expr&)> visit = [&](const ir::Expr& e) {
        if (!seen.insert(e.get()).second) return;
        elsewhere = elsewhere || is_coordinate(e);
        const Member* p = member_of(e);
        if (p == nullptr) {
            for (const ir::Expr& operand : ir::children(e)) visit(operand);
            return;
        }
        const auto& indices = ir::as<ir::Read>(e)->indices;
        for (std::size_t i = 0; i < indices.size(); ++i) {
            if (!ir::any_node(indices[i], is_coordinate)) continue;
            uses.members = true;
            const poly::Interval other = box_of(*p, i);
            if (!is_coordinate(indices[i]) || other.lo != box.lo || other.hi != box.hi || !ends(*p).repeated[i])
                uses.others = true;
        }
    };
    visit(value);
    // Where no member is read there, all of it is the nearest point's.
    uses.others = uses.others || (uses.members && elsewhere);
    return uses;
}

/// The point of the domain that is nearest to a place.
std::vector<ir::Expr> RegisterCode::nearest(const Member& m, const Offsets& offsets) {
    std::vector<ir::Expr> at = place(m, offsets);
    for (std::size_t d = 0; d < at.size(); ++d) {
        if (m.alignment[d].dim < 0) continue;
        const poly::Interval box = box_of(m, d);
        ir::Expr& known = nearest_[{at[d].get(), box.lo.get(), box.hi.get()}];
        if (!known) known = space_.nearest(bases_, m, d, with_bases(at[d]));
        at[d] = known;
    }
    return at;
}

/// A point at the edges, over reads.
ir::Expr RegisterCode::formula_at_edges(const Member& m, const Offsets& offsets) {
    const Ends& ends = this->ends(m);
    std::vector<ir::Expr> at = place(m, offsets);
    Rewriter::Bindings bindings;
    if (!ends.of_loads.empty()) {
        const std::vector<ir::Expr> inner = nearest(m, offsets);
        for (std::size_t d = 0; d < at.size(); ++d) {
            bindings[ends.of_loads[d]] = inner[d];
            if (ends.nearest[d]) at[d] = inner[d];
        }
    }
    for (std::size_t d = 0; d < at.size(); ++d) bindings[m.definition.dims[d].var] = at[d];
    return rewriter().instance(ends.value, bindings);
}

/// What is loaded before anything is computed. `stays`: its register is taken until something is. It is not where one
/// of two loads says what the other one loads: the code may do without either.
Value RegisterCode::edge_load(const ir::Expr& e, bool stays) {
    const auto known = loaded_.find(e.get());
    if (known != loaded_.end()) return known->second;
    const ir::VarId var = builder().variable(name_of(ir::as<ir::Read>(e)->source), e->type);
    add(edge_loads_, kernel::Define{var, with_bases(e)});
    const auto is_read = [&](const ir::Expr& node) { return node != e && ir::as<ir::Read>(node) != nullptr; };
    if (stays && edge_loads_first_ && e->type != ir::Type::Bool && !ir::any_node(e, is_read))
        edge_bytes_ += std::max(ir::bytes(e->type), 4);
    if (edge_bytes_ > most_edge_bytes_) throw TooManyLoads{};
    return loaded_.emplace(e.get(), Value{ir::variable(var, e->type), {}}).first->second;
}

/// An index of a member, without clamps to no less than the domain where they mean nothing.
ir::Expr RegisterCode::without_clamps(const Member& p, std::size_t d, ir::Expr index) {
    if (interior_ || !ends(p).repeated[d]) return index;
    const poly::Interval box = box_of(p, d);
    const auto lo = rewriter().linear(box.lo), hi = rewriter().linear(box.hi);
    const auto means_nothing = [&](ir::BinaryOp op, const ir::Expr& bound) {
        auto sum = rewriter().linear(bound);
        if (!sum || !lo || !hi) return false;
        if (op == ir::BinaryOp::Max) return rewriter().least(Linear(*lo).add(*sum, -1)) >= 0;
        return op == ir::BinaryOp::Min && rewriter().least(sum->add(*hi, -1)) >= -1;
    };
    for (;;) {
        const auto* n = ir::as<ir::Binary>(index);
        if (n != nullptr && means_nothing(n->op, n->b)) {
            index = n->a;
        } else if (n != nullptr && means_nothing(n->op, n->a)) {
            index = n->b;
        } else {
            return index;
        }
    }
}

}  // namespace pipec::codegen
