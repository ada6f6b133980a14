// Register tiles at the edges of the image. Lanes also have registers for points that do not exist, beyond a stage's
// domain. What such a point reads of global memory exists, too: without a branch for each of them all loads are on
// their way at a time. Either its indices are clamped to the array, and neighbours, which read the same elements, load
// them once; or it reads what the nearest point reads. Where the rest of it, too, is what the nearest point has, an
// index that is clamped to the domain, as boundary conditions do it, means the point itself, in a register that is
// known; other indices are compared with all places that they may mean.
#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>

#include "codegen/strategies/register/register_code.h"
#include "ir/build.h"
#include "ir/certain_reads.h"
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
        ends.shared = edge_loads_shared_ && !ends.of_loads.empty() && shares_loads(m);
    }
    if (ends.shared) {
        ends.guarded = ir::any_node(ends.value, may_fail);
    } else if (!ends.of_loads.empty()) {
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

/// Whether points of a member, and of those that are not there, load at their own places, with indices that are clamped
/// to the arrays: where existing points certainly load, so that the arrays have elements, and no reader clamps its
/// indices to the member, which would then have to repeat the points at its ends.
bool RegisterCode::shares_loads(const Member& m) {
    std::size_t all = 0;
    bool plain = true;
    ir::for_each_node(m.value, [&](const ir::Expr& e) {
        plain = plain && ir::as<ir::Reduce>(e) == nullptr;
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr) return;
        ++all;
        for (const ir::Expr& index : read->indices) plain = plain && index->type == ir::Type::Int32;
    });
    if (!plain || ir::certain_reads({m.value}).size() != all) return false;
    const auto clamps = [](const ir::Expr& e) {
        const auto* n = ir::as<ir::Binary>(e);
        return n != nullptr && (n->op == ir::BinaryOp::Min || n->op == ir::BinaryOp::Max);
    };
    return std::none_of(space_.members.begin(), space_.members.end(), [&](const Member& reader) {
        return ir::any_node(reader.value, [&](const ir::Expr& e) {
            if (member_of(e) != &m) return false;
            const auto& indices = ir::as<ir::Read>(e)->indices;
            return std::any_of(indices.begin(), indices.end(),
                               [&](const ir::Expr& index) { return ir::any_node(index, clamps); });
        });
    });
}

/// Whether the points of any member do.
bool RegisterCode::shares_any_loads() {
    return tile_.prefetch == 0 && std::any_of(space_.members.begin(), space_.members.end(), [&](const Member& m) {
               return space_.loads_everywhere(m) && shares_loads(m);
           });
}

/// Where an array of global memory has elements.
poly::Interval RegisterCode::array_box(ir::Source source, std::size_t d) const {
    const auto index = static_cast<std::size_t>(source.index);
    if (source.kind == ir::Source::Kind::Input)
        return {constant(0), space_.program.pipeline.inputs.at(index).extents[d]};
    return space_.program.model.domains.at(index).box[d];
}

/// An index, or the nearest one that an array has; computed once, unless it is `inner`: of data, or of the variable of
/// a loop.
ir::Expr RegisterCode::clamped(const ir::Expr& index, const poly::Interval& box, const std::string& name, bool inner) {
    const ir::Expr lo = rewriter().instance(box.lo, {}), hi = rewriter().instance(box.hi, {});
    const auto sum = rewriter().linear(index), first = rewriter().linear(lo), end = rewriter().linear(hi);
    const bool begins = sum && first && rewriter().least(Linear(*sum).add(*first, -1)) >= 0;
    const bool ends = sum && end && rewriter().least(Linear(*end).add(*sum, -1)) >= 1;
    if (begins && ends) return index;
    ir::Expr& known = nearest_[{index.get(), lo.get(), hi.get()}];
    if (known && !inner) return known;
    ir::Expr result = inner ? index : with_bases(index);
    if (!ends)
        result = ir::binary(ir::BinaryOp::Min, result, difference(builder().argument(name + "_end", hi), constant(1)));
    if (!begins) result = ir::binary(ir::BinaryOp::Max, result, builder().argument(name + "_begin", lo));
    if (inner) return rewriter().unique(result);
    const ir::VarId var = builder().variable(name, ir::Type::Int32);
    add(bases_, kernel::Define{var, result, true});
    rewriter().index(var, box);
    return known = rewriter().unique(ir::variable(var, ir::Type::Int32));
}

/// A value whose reads of global memory have indices that are clamped to the arrays.
ir::Expr RegisterCode::with_clamped_loads(const ir::Expr& value) {
    const std::set<ir::VarId> bound = ir::bound_variables(value);
    const auto is_inner = [&](const ir::Expr& node) {
        const auto* variable = ir::as<ir::Variable>(node);
        return ir::as<ir::Read>(node) != nullptr || (variable != nullptr && bound.contains(variable->id));
    };
    std::unordered_map<const ir::Node*, ir::Expr> known;
    const std::function<ir::Expr(const ir::Expr&)> clamped_in = [&](const ir::Expr& e) -> ir::Expr {
        if (const auto done = known.find(e.get()); done != known.end()) return done->second;
        ir::Expr result = rewriter().unique(ir::map_children(e, clamped_in));
        const auto* read = ir::as<ir::Read>(result);
        if (read != nullptr && member_of(result) == nullptr) {
            std::vector<ir::Expr> indices = read->indices;
            for (std::size_t d = 0; d < indices.size(); ++d) {
                static constexpr std::array kNames{"x", "y", "z"};
                const std::string name = kNames.at(std::min(indices.size() - 1 - d, kNames.size() - 1));
                const bool inner = ir::any_node(indices[d], is_inner);
                indices[d] = clamped(indices[d], array_box(read->source, d), name, inner);
            }
            result = rewriter().unique(ir::read(read->source, result->type, std::move(indices), result->range));
        }
        return known.emplace(e.get(), std::move(result)).first->second;
    };
    return clamped_in(value);
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
    if (ends.shared) {
        for (std::size_t d = 0; d < at.size(); ++d) bindings[ends.of_loads[d]] = at[d];
    } else if (!ends.of_loads.empty()) {
        const std::vector<ir::Expr> inner = nearest(m, offsets);
        for (std::size_t d = 0; d < at.size(); ++d) {
            bindings[ends.of_loads[d]] = inner[d];
            if (ends.nearest[d]) at[d] = inner[d];
        }
    }
    for (std::size_t d = 0; d < at.size(); ++d) bindings[m.definition.dims[d].var] = at[d];
    const ir::Expr value = rewriter().instance(ends.value, bindings);
    return ends.shared ? with_clamped_loads(value) : value;
}

/// What is loaded before anything is computed, or else before the first point that has it: others may, too. `stays`:
/// its register is taken until something is computed. It is not where one of two loads says what the other one loads:
/// the code may do without either.
Value RegisterCode::edge_load(const ir::Expr& e, bool stays) {
    const auto known = loaded_.find(e.get());
    if (known != loaded_.end()) return known->second;
    const ir::VarId var = builder().variable(name_of(ir::as<ir::Read>(e)->source), e->type);
    add(edge_loads_first_ ? edge_loads_ : *body_, kernel::Define{var, with_bases(e)});
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
