// Every element of a register tile is a variable of its own. Iteration (x, y, ...) of a stage is one point of each
// lane: along the split dimension number R - 1 - x of the W points wide pieces from the stage's right end, along the
// others number y from its first point.
#include "codegen/strategies/hybrid/hybrid_registers.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/strategies/register/register_pressure.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Points that a lane computes in straight-line code: more takes nvcc minutes.
constexpr std::int64_t kMostLanePoints = 2048;

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
    if (points() > kMostLanePoints) return;
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
        for (const ir::Expr& e : member_reads(value(reader, at))) {
            const auto* read = ir::as<ir::Read>(e);
            const Member& p = tile_.member(read->source.index);
            if (tile_.part(p).in_registers && !places(p, *read)) tile_.part(p).in_registers = false;
        }
    }
}

std::vector<ir::Expr> HybridRegisters::member_reads(const ir::Expr& value) const {
    std::vector<ir::Expr> result;
    ir::for_each_node(value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return;
        if (tile_.space.member(read->source.index) != nullptr) result.push_back(e);
    });
    return result;
}

/// Points of a member that a lane computes.
std::int64_t HybridRegisters::points(const Member& m) const {
    std::int64_t n = tile_.part(m).iterations == 0 ? 0 : 1;
    for (std::size_t d = 0; d < m.alignment.size(); ++d) n = std::min(n * count(m, d), kMostLanePoints + 1);
    return n;
}

std::int64_t HybridRegisters::points() const {
    std::int64_t sum = 0;
    for (const Member& m : tile_.space.members) sum += points(m);
    return sum;
}

std::optional<std::string> HybridRegisters::too_large() const {
    if (points() > kMostLanePoints)
        return fmt::format("a lane would compute more than {} points in registers", kMostLanePoints);
    std::int64_t most = 0;
    for (const Member& m : tile_.space.members) {
        std::int64_t alive = 0;  // where m has been computed
        for (const Member& p : tile_.space.members) {
            if (!tile_.part(p).in_registers || p.stage > m.stage) continue;
            const bool is_needed = std::any_of(
                tile_.space.group.edges.begin(), tile_.space.group.edges.end(),
                [&](const poly::GroupEdge& edge) { return edge.producer == p.stage && edge.reader >= m.stage; });
            const std::int64_t words = (ir::bytes(p.definition.type) + kRegisterBytes - 1) / kRegisterBytes;
            if (is_needed) alive += points(p) * words;
        }
        most = std::max(most, alive);
    }
    const std::int64_t registers = registers_for_values(tile_.space.program.target.gpu());
    if (most > registers) return fmt::format("{} registers of a lane would hold values, more than {}", most, registers);
    return std::nullopt;
}

// ---------------------------------------------------------------------------------------------------------------- code

ir::Expr HybridRegisters::value(const Member& m, const Iterations& at) {
    Rewriter::Bindings point;
    for (std::size_t d = 0; d < at.size(); ++d) {
        Linear place = tile_.first(m, d);
        place.constant += offset(m, d, at[d]);
        place.add(*rewriter().linear(tile_.lane(m, d)), 1);
        point[m.definition.dims[d].var] = rewriter().expr(place);
    }
    return rewriter().instance(m.interior.value, point);
}

std::string HybridRegisters::name(const Member& m, const Iterations& at) const {
    std::string text = m.definition.name;
    for (std::size_t d = 0; d < at.size(); ++d) {
        if (count(m, d) > 1) text += fmt::format("_{}", at[d]);
    }
    return text;
}

/// Algorithm 1, lines 2 to 15. What is kept in registers is computed when somebody needs it: then few values are alive
/// at a time, and neighbouring stages' reads of the same inputs are close to each other.
void HybridRegisters::compute(kernel::Body& body, const Member& m) {
    if (tile_.is_deferred(m)) return;
    const HybridTile::Part& part = tile_.part(m);
    for (const Iterations& at : all(m)) {
        std::vector<ir::Expr> offsets, indices;
        ir::Expr owned = tile_.space.writes(m);
        for (std::size_t d = 0; d < at.size(); ++d) {
            const std::int64_t first = offset(m, d, at[d]);
            Linear place = *rewriter().linear(tile_.lane(m, d));
            place.constant += first;
            offsets.push_back(rewriter().expr(place));
            indices.push_back(rewriter().expr(place.add(tile_.first(m, d), 1)));
            owned = both(owned, tile_.owned(m, d, offsets.back(), first, first + tile_.lanes(m, d) - 1));
        }
        const ir::Expr result = element(body, m, at);
        const ir::Expr writes = both(active(m, at), tile_.first_lane(m));
        if (m.is_read && !part.in_registers) {
            const ir::Source array{ir::Source::Kind::Local, tile_.array(m)};
            add(body, kernel::Store{array, tile_.element(offsets), {result}, writes});
        }
        if (m.live) {
            add(body, kernel::Store{{ir::Source::Kind::Stage, m.stage}, indices, {result}, both(writes, owned)});
        }
    }
}

/// The lane's point is one of the tile's; null where all lanes' points are.
ir::Expr HybridRegisters::active(const Member& m, const Iterations& at) const {
    ir::Expr result;
    for (std::size_t d = 0; d < at.size(); ++d) {
        const std::int64_t left = tile_.part(m).extent[d].count - offset(m, d, at[d]);
        if (left >= tile_.lanes(m, d)) continue;
        result = both(result, ir::binary(BinaryOp::Lt, tile_.lane(m, d), constant(left)));
    }
    return result;
}

/// The variable of a point of each lane. All lanes take part in what it needs of others, whatever they need themselves.
ir::Expr HybridRegisters::element(kernel::Body& body, const Member& m, const Iterations& at) {
    const auto key = std::make_pair(m.stage, at);
    if (const auto known = elements_.find(key); known != elements_.end()) return known->second;
    const ir::Expr definition = value(m, at);
    std::map<const ir::Node*, ir::Expr> loads;
    for (const ir::Expr& e : member_reads(definition)) {
        const auto* read = ir::as<ir::Read>(e);
        const Member& p = tile_.member(read->source.index);
        if (tile_.part(p).in_registers) loads[e.get()] = load(body, p, *read, e, *places(p, *read));
    }
    ir::Expr result = rewriter().instance(definition, {}, [&](const ir::Expr& e) -> ir::Expr {
        if (const auto known = loads.find(e.get()); known != loads.end()) return known->second;
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return e;
        const Member* p = tile_.space.member(read->source.index);
        return p == nullptr ? e : tile_.local_read(*p, *read, e);
    });
    if (const ir::Expr condition = active(m, at))
        result = ir::select(condition, result, ir::constant(m.definition.type, 0));
    const ir::VarId var = tile_.space.build.variable(name(m, at), m.definition.type);
    add(body, kernel::Define{var, result});
    return elements_.emplace(key, ir::variable(var, m.definition.type)).first->second;
}

/// The figure "Three code generation cases" and its generalisation in the appendix.
ir::Expr HybridRegisters::load(kernel::Body& body, const Member& p, const ir::Read& read, const ir::Expr& e,
                               const Places& at) {
    const std::size_t split = *tile_.part(p).split;
    if (at[split].shared()) return tile_.local_read(p, read, e);
    if (std::all_of(at.begin(), at.end(), [](const LanePlace& place) { return place.own(); })) {
        Iterations own;
        for (const LanePlace& place : at) own.push_back(place.iteration);
        return element(body, p, own);
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
    const ir::Expr value = published(body, p, at, {});
    const ir::VarId var = tile_.space.build.variable(p.definition.name + from, p.definition.type);
    add(body, kernel::Shuffle{var, value, kernel::Shuffle::From::Index, source_lane(body, shift)});
    return shuffled_.emplace(key, ir::variable(var, p.definition.type)).first->second;
}

/// What a lane publishes: along each dimension with a shift one of two iterations, where there are both. `chosen` are
/// the iterations along the first dimensions.
ir::Expr HybridRegisters::published(kernel::Body& body, const Member& p, const Places& at, const Iterations& chosen) {
    const std::size_t d = chosen.size();
    if (d == at.size()) return element(body, p, chosen);
    const auto with = [&](std::int64_t iteration) {
        Iterations more = chosen;
        more.push_back(iteration);
        return published(body, p, at, more);
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

}  // namespace pipec::codegen
