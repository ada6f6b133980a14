// Every element of a register tile is a variable of its own. Iteration (x, y, ...) of a stage is one point of each
// lane: along the split dimension number R - 1 - x of the W points wide pieces from the stage's right end, along the
// others number y from its first point.
#include "codegen/hybrid_registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/kernel_flow.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// 32-bit registers of a lane for values that are alive at the same time. Of 255 that a lane can have, addresses,
/// indices and values on the way take some.
constexpr std::int64_t kRegisters = 200;
/// Points that a lane computes in straight-line code: more takes nvcc minutes.
constexpr std::int64_t kPoints = 2048;
constexpr std::int64_t kRegisterBytes = 4;

}  // namespace

// ------------------------------------------------------------------------------------------------------------ geometry

std::int64_t HybridRegisters::count(const Member& m, std::size_t dim) const {
    const HybridTile::Part& part = tile_.part(m);
    if (part.split == dim) return part.iterations;
    const std::int64_t lanes = tile_.lanes(m, dim);
    return (part.extent[dim].count + lanes - 1) / lanes;
}

std::vector<HybridRegisters::Iterations> HybridRegisters::all(const Member& m) const {
    std::vector<Iterations> list{{}};
    if (tile_.part(m).iterations == 0) return {};
    for (std::size_t d = 0; d < m.alignment.size(); ++d) {
        std::vector<Iterations> longer;
        for (const Iterations& at : list) {
            for (std::int64_t i = 0; i < count(m, d); ++i) {
                longer.push_back(at);
                longer.back().push_back(i);
            }
        }
        list = std::move(longer);
    }
    return list;
}

std::int64_t HybridRegisters::offset(const Member& m, std::size_t dim, std::int64_t iteration) const {
    const std::int64_t begin = tile_.part(m).split == dim ? tile_.shared_count(m, dim) : 0;
    return begin + iteration * tile_.lanes(m, dim);
}

/// Where the lanes find what they read of `p`; none where that is at no constant distance from the lanes.
std::optional<HybridRegisters::Places> HybridRegisters::places(const Member& p, const ir::Read& read) {
    Places result;
    for (std::size_t d = 0; d < read.indices.size(); ++d) {
        auto sum = rewriter().linear(read.indices[d]);
        if (!sum) return std::nullopt;
        sum->add(tile_.first(p, d), -1).add(*rewriter().linear(tile_.lane(p, d)), -1);
        if (!sum->terms.empty()) return std::nullopt;
        const std::int64_t lanes = tile_.lanes(p, d), iterations = count(p, d);
        const LanePlace place = lane_place(sum->constant - offset(p, d, 0), lanes);
        const bool is_split = tile_.part(p).split == d;
        if (place.iteration >= iterations || (!is_split && place.iteration < 0)) return std::nullopt;
        if (is_split && place.iteration == iterations - 1 && place.shift > 0) return std::nullopt;
        result.push_back(place);
    }
    return result;
}

// ----------------------------------------------------------------------------------------------------------- decisions

HybridRegisters::HybridRegisters(HybridTile& tile) : tile_(tile) {
    if (too_large()) return;
    for (const Member& m : tile_.space.members) find_registers(m);
}

/// What a stage reads where the lanes cannot find it stays in shared memory: at another scale (a down-sampled stage's
/// points are not next to each other in lanes), at an index that depends on data, by a stage without iterations.
void HybridRegisters::find_registers(const Member& reader) {
    if (tile_.part(reader).iterations == 0) {
        for (const poly::GroupEdge& edge : tile_.space.group.edges) {
            if (edge.reader == reader.stage) tile_.part(tile_.member(edge.producer)).in_registers = false;
        }
        return;
    }
    for (const Iterations& at : all(reader)) {
        ir::for_each_node(value(reader, at, {}), [&](const ir::Expr& e) {
            const auto* read = ir::as<ir::Read>(e);
            if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return;
            const Member* p = tile_.space.member(read->source.index);
            if (p == nullptr || !tile_.part(*p).in_registers) return;
            if (!places(*p, *read)) tile_.part(*p).in_registers = false;
        });
    }
}

std::optional<std::string> HybridRegisters::too_large() const {
    const auto elements = [&](const Member& m) {
        std::int64_t n = tile_.part(m).iterations == 0 ? 0 : 1;
        for (std::size_t d = 0; d < m.alignment.size(); ++d) n = std::min(n * count(m, d), kPoints + 1);
        return n;
    };
    std::int64_t points = 0, most = 0;
    for (const Member& m : tile_.space.members) {
        points += elements(m);
        std::int64_t alive = 0;  // where m has been computed
        for (const Member& p : tile_.space.members) {
            if (!tile_.part(p).in_registers || p.stage > m.stage) continue;
            const bool is_needed = std::any_of(
                tile_.space.group.edges.begin(), tile_.space.group.edges.end(),
                [&](const poly::GroupEdge& edge) { return edge.producer == p.stage && edge.reader >= m.stage; });
            const std::int64_t words = (ir::bytes(p.definition.type) + kRegisterBytes - 1) / kRegisterBytes;
            if (is_needed) alive += elements(p) * words;
        }
        most = std::max(most, alive);
    }
    if (points > kPoints) return fmt::format("a lane would compute more than {} points in registers", kPoints);
    if (most > kRegisters)
        return fmt::format("{} registers of a lane would hold values, more than {}", most, kRegisters);
    return std::nullopt;
}

// ---------------------------------------------------------------------------------------------------------------- code

ir::Expr HybridRegisters::value(const Member& m, const Iterations& at, const Rewriter::Hook& hook) {
    Rewriter::Bindings point;
    for (std::size_t d = 0; d < at.size(); ++d) {
        Linear place = tile_.first(m, d);
        place.constant += offset(m, d, at[d]);
        place.add(*rewriter().linear(tile_.lane(m, d)), 1);
        point[m.definition.dims[d].var] = rewriter().expr(place);
    }
    return rewriter().instance(m.interior.value, point, hook);
}

std::string HybridRegisters::name(const Member& m, const Iterations& at) const {
    std::string text = m.definition.name;
    for (std::size_t d = 0; d < at.size(); ++d) {
        if (count(m, d) > 1) text += fmt::format("_{}", at[d]);
    }
    return text;
}

/// Algorithm 1, lines 2 to 15.
void HybridRegisters::compute(kernel::Body& body, const Member& m) {
    const Rewriter::Hook loads = [&](const ir::Expr& e) -> ir::Expr {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return e;
        const Member* p = tile_.space.member(read->source.index);
        if (p == nullptr) return e;
        if (!tile_.part(*p).in_registers) return tile_.local_read(*p, *read, e);
        return load(body, *p, *read, e, *places(*p, *read));
    };
    const HybridTile::Part& part = tile_.part(m);
    for (const Iterations& at : all(m)) {
        std::vector<ir::Expr> offsets, indices;
        ir::Expr active;  // the point is one of the tile's
        ir::Expr owned = tile_.space.writes(m);
        for (std::size_t d = 0; d < at.size(); ++d) {
            const std::int64_t lanes = tile_.lanes(m, d), first = offset(m, d, at[d]);
            Linear place = *rewriter().linear(tile_.lane(m, d));
            place.constant += first;
            offsets.push_back(rewriter().expr(place));
            indices.push_back(rewriter().expr(place.add(tile_.first(m, d), 1)));
            owned = both(owned, tile_.owned(m, d, offsets.back(), first, first + lanes - 1));
            const std::int64_t left = part.extent[d].count - first;
            if (left < lanes) active = both(active, ir::binary(BinaryOp::Lt, tile_.lane(m, d), constant(left)));
        }
        ir::Expr result = value(m, at, loads);
        if (active) result = ir::select(active, result, ir::constant(m.definition.type, 0));
        const ir::VarId var = tile_.space.build.variable(name(m, at), m.definition.type);
        add(body, kernel::Define{var, result});
        result = ir::variable(var, m.definition.type);
        if (part.in_registers) registers_[{m.stage, at}] = result;
        const ir::Expr writes = both(active, tile_.first_lane(m));
        if (m.is_read && !part.in_registers) {
            const ir::Source array{ir::Source::Kind::Local, part.array};
            add(body, kernel::Store{array, tile_.element(offsets), {result}, writes});
        }
        if (m.live) {
            add(body, kernel::Store{{ir::Source::Kind::Stage, m.stage}, indices, {result}, both(writes, owned)});
        }
    }
}

/// The figure "Three code generation cases" and its generalisation in the appendix.
ir::Expr HybridRegisters::load(kernel::Body& body, const Member& p, const ir::Read& read, const ir::Expr& e,
                               const Places& at) {
    const std::size_t split = *tile_.part(p).split;
    if (at[split].shared()) return tile_.local_read(p, read, e);
    if (std::all_of(at.begin(), at.end(), [](const LanePlace& place) { return place.own(); })) {
        Iterations own;
        for (const LanePlace& place : at) own.push_back(place.iteration);
        return registers_.at({p.stage, own});
    }
    const ir::Expr other = shuffled(body, p, at);
    if (!at[split].partly_shared()) return other;
    const std::int64_t falls_off = tile_.lanes(p, split) - at[split].shift;
    return ir::select(ir::binary(BinaryOp::Lt, tile_.lane(p, split), constant(falls_off)), tile_.local_read(p, read, e),
                      other);
}

/// One shuffle for all reads of the same elements at the same distance.
ir::Expr HybridRegisters::shuffled(kernel::Body& body, const Member& p, const Places& at) {
    Iterations iterations;
    std::vector<std::int64_t> shift(tile_.space.dims.size(), 0);
    std::string from;
    for (std::size_t d = 0; d < at.size(); ++d) {
        iterations.push_back(at[d].iteration);
        if (at[d].shift == 0) continue;
        shift[static_cast<std::size_t>(p.alignment[d].dim)] = at[d].shift;
        from += fmt::format("_{}{}", tile_.space.name(p, d), at[d].shift);
    }
    const auto key = std::make_tuple(p.stage, iterations, shift);
    if (const auto known = shuffled_.find(key); known != shuffled_.end()) return known->second;
    const ir::Expr value = published(p, at, {});
    const ir::VarId var = tile_.space.build.variable(p.definition.name + from, p.definition.type);
    add(body, kernel::Shuffle{var, value, kernel::Shuffle::From::Index, source_lane(body, shift)});
    return shuffled_.emplace(key, ir::variable(var, p.definition.type)).first->second;
}

/// What a lane publishes: along each dimension with a shift one of two iterations, where there are both. `chosen` are
/// the iterations along the first dimensions.
ir::Expr HybridRegisters::published(const Member& p, const Places& at, const Iterations& chosen) {
    const std::size_t d = chosen.size();
    if (d == at.size()) return registers_.at({p.stage, chosen});
    const auto with = [&](std::int64_t iteration) {
        Iterations more = chosen;
        more.push_back(iteration);
        return published(p, at, more);
    };
    const std::int64_t here = published_iteration(at[d], at[d].shift), next = published_iteration(at[d], 0);
    if (here == next || next >= count(p, d)) return with(here);
    if (here < 0) return with(next);  // those who would read this lane read shared memory
    return ir::select(ir::binary(BinaryOp::Lt, tile_.lane(p, d), constant(at[d].shift)), with(next), with(here));
}

/// (t + shift) mod W in every dimension; x varies fastest.
ir::Expr HybridRegisters::source_lane(kernel::Body& body, const std::vector<std::int64_t>& shift) {
    if (const auto known = source_lanes_.find(shift); known != source_lanes_.end()) return known->second;
    ir::Expr lane;
    std::int64_t stride = 1;
    for (std::size_t g = shift.size(); g-- > 0;) {
        const TileSpace::Dim& dim = tile_.space.dims[g];
        if (dim.lanes == 1) continue;
        ir::Expr of_dim = dim.lane;
        if (shift[g] > 0) of_dim = ir::binary(BinaryOp::Mod, sum(of_dim, constant(shift[g])), constant(dim.lanes));
        of_dim = product(of_dim, constant(stride));
        lane = lane ? sum(lane, of_dim) : of_dim;
        stride *= dim.lanes;
    }
    return source_lanes_[shift] = tile_.space.build.define(body, "from_lane", lane, 0, 1, kWarp);
}

void drop_unused(kernel::Body& body) {
    std::set<ir::VarId> used;
    const auto use = [&](const kernel::Stmt& stmt) {
        for (const ir::Expr& root : kernel::expressions(stmt)) {
            ir::for_each_node(root, [&](const ir::Expr& e) {
                if (const auto* variable = ir::as<ir::Variable>(e)) used.insert(variable->id);
            });
        }
    };
    kernel::Body kept;
    for (auto stmt = body.rbegin(); stmt != body.rend(); ++stmt) {
        const auto* define = std::get_if<kernel::Define>(&stmt->value);
        const auto* shuffle = std::get_if<kernel::Shuffle>(&stmt->value);
        if (define != nullptr && used.count(define->var) == 0) continue;
        if (shuffle != nullptr && used.count(shuffle->var) == 0) continue;
        kernel::for_each_stmt({*stmt}, use);
        kept.push_back(std::move(*stmt));
    }
    body.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

}  // namespace pipec::codegen
