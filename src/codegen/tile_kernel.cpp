// Stage after stage, each over the tile and its reach beyond it, into shared memory, with a barrier of the team
// between.
#include "codegen/tile_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codegen/kernel_build.h"
#include "codegen/rewrite.h"
#include "codegen/tile_space.h"
#include "ir/build.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

constexpr std::int64_t kStaticSharedBytes = 48 * 1024;

std::vector<TileSpace::Cut> cuts_of(const poly::Group& group, const fusion::GroupSchedule& schedule) {
    const bool per_warp = schedule.strategy == fusion::Strategy::Otpw;
    const std::array<int, 3> warp = warp_shape(schedule.block);
    std::vector<TileSpace::Cut> cuts;
    for (int g = 0; g < group.rank; ++g) {
        TileSpace::Cut& cut = cuts.emplace_back();
        const int axis = group.rank - 1 - g;
        cut.size = poly::tile_unit(group, g);  // one coordinate of the coarsest stage
        if (axis > 2) continue;
        const auto a = static_cast<std::size_t>(axis);
        cut.lanes = per_warp ? warp[a] : schedule.block[a];
        cut.teams = per_warp ? schedule.block[a] / warp[a] : 1;
        const std::int64_t unit = cut.size;
        cut.size = (static_cast<std::int64_t>(schedule.tile[a]) * cut.lanes + unit - 1) / unit * unit;
    }
    return cuts;
}

class TileKernel {
public:
    TileKernel(kernel::Program& program, const poly::Group& group, const fusion::GroupSchedule& schedule)
        : space_(program, group, schedule.strategy == fusion::Strategy::Otpw, cuts_of(group, schedule)) {}

    std::optional<std::string> prepare();
    kernel::Kernel build();

private:
    using Member = TileSpace::Member;

    kernel::Body stages(bool interior);
    void stage(kernel::Body& body, const Member& member, bool interior);
    ir::Expr local_index(const Member& member, std::size_t dim, const ir::Expr& index);
    Rewriter::Hook local_reads();
    [[nodiscard]] int array(const Member& m) const { return arrays_[space_.group.position(m.stage)]; }
    [[nodiscard]] Rewriter& rewriter() { return space_.rewriter; }

    TileSpace space_;
    std::vector<int> arrays_;  ///< of members, in shared memory; -1: nobody in the group reads it
};

std::optional<std::string> TileKernel::prepare() {
    std::int64_t bytes = 0;
    for (const Member& m : space_.members) {
        arrays_.push_back(-1);
        if (!m.is_read) continue;
        kernel::SharedArray array{m.definition.name + "_tile", m.definition.type, {}};
        if (space_.teams > 1) array.extents.push_back(space_.teams);
        for (const poly::TileExtent& extent : m.extent) array.extents.push_back(extent.count);
        std::int64_t size = ir::bytes(array.type);
        for (const std::int64_t extent : array.extents) size *= extent;
        bytes += size;
        arrays_.back() = static_cast<int>(space_.build.kernel.shared.size());
        space_.build.kernel.shared.push_back(std::move(array));
    }
    if (bytes > kStaticSharedBytes) {
        return fmt::format("its tiles take {} bytes of shared memory, but a block has {}", bytes, kStaticSharedBytes);
    }
    return std::nullopt;
}

/// Where in a member's array a point is: index - (first point of the tile).
ir::Expr TileKernel::local_index(const Member& m, std::size_t dim, const ir::Expr& index) {
    Linear base = space_.origin(m, dim);
    if (m.alignment[dim].dim >= 0) base.constant += m.extent[dim].first;
    if (const auto sum = rewriter().linear(index)) {
        Linear difference = *sum;
        return rewriter().expr(difference.add(base, -1));
    }
    return rewriter().unique(ir::binary(BinaryOp::Sub, index, rewriter().expr(base)));
}

Rewriter::Hook TileKernel::local_reads() {
    return [this](const ir::Expr& e) -> ir::Expr {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return e;
        const Member* m = space_.member(read->source.index);
        if (m == nullptr) return e;
        std::vector<ir::Expr> indices;
        if (space_.teams > 1) indices.push_back(space_.team);
        for (std::size_t d = 0; d < read->indices.size(); ++d) indices.push_back(local_index(*m, d, read->indices[d]));
        return ir::read({ir::Source::Kind::Local, array(*m)}, e->type, std::move(indices), e->range);
    };
}

/// One stage over its part of the tile: loops over what the lanes do not cover at once.
void TileKernel::stage(kernel::Body& outer, const Member& m, bool interior) {
    kernel::Body* body = &outer;
    const std::size_t rank = m.definition.dims.size();
    std::vector<ir::Expr> offset(rank);  // from the first point of the tile's part
    // Lanes of dimensions that this stage has not would all compute the same.
    ir::Expr condition;
    for (std::size_t g = 0; g < space_.dims.size(); ++g) {
        if (TileSpace::has(m, g) || space_.dims[g].lanes == 1) continue;
        condition = both(condition, ir::binary(BinaryOp::Eq, space_.dims[g].lane, constant(0)));
    }
    body = &KernelBuilder::guarded(*body, condition);
    for (std::size_t d = 0; d < rank; ++d) {
        const int g = m.alignment[d].dim;
        const std::int64_t count = m.extent[d].count;
        const int lanes = g >= 0 ? space_.dims[static_cast<std::size_t>(g)].lanes : 1;
        const ir::Expr lane = g >= 0 ? space_.dims[static_cast<std::size_t>(g)].lane : nullptr;
        ir::Expr i;
        if (lanes == 1 && count == 1) {
            i = constant(0);
        } else if (count <= lanes) {
            i = lane;
        } else {
            const std::int64_t rounds = (count + lanes - 1) / lanes;
            body = &space_.build.loop(*body, space_.name(m, d) + "_round", constant(0), constant(rounds), constant(1),
                                      i, true);
            if (lanes > 1) {
                i = space_.build.define(*body, space_.name(m, d) + "_i", sum(product(i, constant(lanes)), lane), 0);
            }
        }
        if (count % lanes != 0) body = &KernelBuilder::guarded(*body, ir::binary(BinaryOp::Lt, i, constant(count)));
        offset[d] = rewriter().unique(i);
    }
    ir::Expr owned = m.live ? space_.writes(m) : nullptr, inside;
    Rewriter::Bindings point;
    std::vector<ir::Expr> indices, local;
    if (space_.teams > 1) local.push_back(space_.team);
    for (std::size_t d = 0; d < rank; ++d) {
        const poly::TileExtent& extent = m.extent[d];
        Linear at = space_.origin(m, d);
        if (m.alignment[d].dim >= 0) at.constant += extent.first;
        at.add(*rewriter().linear(offset[d]), 1);
        const ir::Expr v = rewriter().expr(at);
        point[m.definition.dims[d].var] = v;
        indices.push_back(v);
        local.push_back(offset[d]);
        if (!interior) inside = both(inside, space_.inside(m, d, v));
        if (!m.live || m.alignment[d].dim < 0) continue;
        const std::int64_t n = space_.points(m, d);
        if (extent.first < 0) owned = both(owned, ir::binary(BinaryOp::Ge, offset[d], constant(-extent.first)));
        if (extent.first + extent.count > n) {
            owned = both(owned, ir::binary(BinaryOp::Lt, offset[d], constant(n - extent.first)));
        }
    }
    if (!interior && m.guard) inside = both(inside, rewriter().instance(m.guard, point));
    body = &KernelBuilder::guarded(*body, inside);
    const ir::Expr value = rewriter().instance(interior ? m.interior.value : m.value, point, local_reads());
    const ir::VarId result = space_.build.variable(m.definition.name, m.definition.type);
    add(*body, kernel::Define{result, value});
    const ir::Expr computed = ir::variable(result, m.definition.type);
    if (m.is_read) add(*body, kernel::Store{{ir::Source::Kind::Local, array(m)}, local, {computed}, nullptr});
    if (m.live) add(*body, kernel::Store{{ir::Source::Kind::Stage, m.stage}, indices, {computed}, owned});
}

kernel::Body TileKernel::stages(bool interior) {
    kernel::Body body;
    bool pending = false;  // something was written that the next stage may read
    for (const Member& m : space_.members) {
        if (pending) {
            const auto scope = space_.per_warp ? kernel::Barrier::Scope::Warp : kernel::Barrier::Scope::Block;
            const auto reads_member = [&](const poly::GroupEdge& edge) { return edge.reader == m.stage; };
            if (std::any_of(space_.group.edges.begin(), space_.group.edges.end(), reads_member)) {
                body.emplace_back(kernel::Stmt{kernel::Barrier{scope}});
                pending = false;
            }
        }
        body.emplace_back(kernel::Stmt{kernel::Remark{m.definition.name}});
        stage(body, m, interior);
        pending = pending || m.is_read;
    }
    return body;
}

kernel::Kernel TileKernel::build() {
    return space_.kernel(space_.members.back().definition.name, [&](bool interior) { return stages(interior); });
}

}  // namespace

std::variant<kernel::Step, std::string> tile_step(kernel::Program& program, const poly::Group& group,
                                                  const fusion::GroupSchedule& schedule) {
    if (auto reason = check_block(schedule.block, group.rank)) return *reason;
    for (const int points : schedule.tile) {
        if (points < 1) return "a tile has at least one point";
    }
    TileKernel builder(program, group, schedule);
    if (auto reason = builder.prepare()) return *reason;
    return kernel::Step{{builder.build()}};
}

}  // namespace pipec::codegen
