// Stage after stage: first the left part of the tile, in shared memory, then the iterations in registers, which depend
// on it.
//
// That is the code for tiles in the interior, where all distances are constants. At the edges, where boundary
// conditions make indices that are not, and points must be guarded, tiles are computed from shared memory alone, in
// pieces that are as large as fits into the scratch memory.
#include "codegen/strategies/hybrid/hybrid_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codegen/kernel/shared_memory.h"
#include "codegen/strategies/hybrid/hybrid_registers.h"
#include "codegen/strategies/hybrid/hybrid_tile.h"
#include "ir/build.h"
#include "plan/make_plan.h"
#include "plan/tiles.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// What a warp may take of shared memory for pieces of edge tiles, if the interior takes less. It leaves room for about
/// as many warps on a multiprocessor as have 72 registers a lane. Smaller pieces cost more than fewer warps.
constexpr std::int64_t kEdgeBytes = 8192;

using Refusal = std::string;

class HybridKernel {
public:
    HybridKernel(kernel::Program& program, const fusion::GroupShape& shape, plan::Plan plan)
        : shape_(shape), plan_(std::move(plan)), space_(program, shape_.group, plan_.tiles) {}

    /// Throws a Refusal.
    kernel::Kernel build();

private:
    using Member = HybridTile::Member;

    kernel::Body interior();
    kernel::Body edge();
    void stages(kernel::Body& body, HybridTile& tile, HybridRegisters* registers);
    void shared_points(kernel::Body& body, HybridTile& tile, const Member& m, bool interior);
    /// By dimension of a stage, from its first point in the tile.
    struct Box {
        std::vector<std::int64_t> first, count;
    };
    void points(kernel::Body& body, HybridTile& tile, const Member& m, bool interior, const Box& box, bool by_number);
    kernel::Body& deal(kernel::Body& body, const std::string& name, std::int64_t count, std::int64_t lanes, bool unroll,
                       ir::Expr& i);
    kernel::Body& deal_by_place(kernel::Body& body, const HybridTile& tile, const Member& m, const Box& box,
                                bool unroll, std::vector<ir::Expr>& offset);
    kernel::Body& deal_by_number(kernel::Body& body, const Member& m, const Box& box, bool unroll,
                                 std::vector<ir::Expr>& offset);
    const fusion::GroupShape& shape_;
    plan::Plan plan_;
    TileSpace space_;
    std::int64_t scratch_ = 0;  ///< of a warp, in bytes: for the interior, or for an edge if that is more
};

/// The part of a member that is computed from shared memory.
void HybridKernel::shared_points(kernel::Body& body, HybridTile& tile, const Member& m, bool interior) {
    Box box;
    for (std::size_t d = 0; d < m.alignment.size(); ++d) {
        box.first.push_back(0);
        box.count.push_back(tile.shared_count(m, d));
    }
    const auto split = tile.part(m).split;
    if (interior && split && tile.lanes(m, *split) == kWarp) {
        // What is left over of whole iterations is often one or two columns.
        Box rest = box;
        const std::int64_t left = box.count[*split] % kWarp;
        box.count[*split] -= left;
        rest.first[*split] = box.count[*split];
        rest.count[*split] = left;
        points(body, tile, m, interior, rest, true);
    }
    points(body, tile, m, interior, box, false);
}

/// `i` becomes the lane's number among `count`, in a loop where one turn is not enough.
kernel::Body& HybridKernel::deal(kernel::Body& outer, const std::string& name, std::int64_t count, std::int64_t lanes,
                                 bool unroll, ir::Expr& i) {
    kernel::Body* body = &outer;
    if (count > lanes) {
        ir::Expr round;
        body = &space_.build.loop(*body, name + "_round", constant(0), constant((count + lanes - 1) / lanes),
                                  constant(1), round, unroll);
        i = lanes == 1 ? round : space_.build.define(*body, name + "_i", sum(product(round, constant(lanes)), i), 0);
    }
    if (count % lanes != 0) body = &KernelBuilder::guarded(*body, ir::binary(BinaryOp::Lt, i, constant(count)));
    return *body;
}

/// Each lane gets the points of its own place in all dimensions. Of a stage without some of the dimensions, one of the
/// lanes that differ in them does.
kernel::Body& HybridKernel::deal_by_place(kernel::Body& outer, const HybridTile& tile, const Member& m, const Box& box,
                                          bool unroll, std::vector<ir::Expr>& offset) {
    kernel::Body* body = &KernelBuilder::guarded(outer, tile.first_lane(m));
    for (std::size_t d = 0; d < box.count.size(); ++d) {
        offset.push_back(tile.lane(m, d));
        body = &deal(*body, space_.name(m, d), box.count[d], tile.lanes(m, d), unroll, offset.back());
    }
    return *body;
}

/// The points are numbered through all dimensions, and each lane gets every 32nd.
kernel::Body& HybridKernel::deal_by_number(kernel::Body& outer, const Member& m, const Box& box, bool unroll,
                                           std::vector<ir::Expr>& offset) {
    std::int64_t left = 1;  // numbers in the dimensions that are not done
    for (const std::int64_t count : box.count) left *= count;
    ir::Expr number = space_.lane;
    kernel::Body& body = deal(outer, m.definition.name, left, kWarp, unroll, number);
    offset.resize(box.count.size());
    for (std::size_t d = offset.size(); d-- > 0;) {
        const std::int64_t count = box.count[d];
        offset[d] = constant(0);
        if (count == 1) continue;
        const ir::Expr i = count == left ? number : ir::binary(BinaryOp::Mod, number, constant(count));
        offset[d] = space_.build.define(body, space_.name(m, d) + "_i", i, 0, 1, count);
        left /= count;
        number = ir::binary(BinaryOp::Div, number, constant(count));
    }
    return body;
}

void HybridKernel::points(kernel::Body& outer, HybridTile& tile, const Member& m, bool interior, const Box& box,
                          bool by_number) {
    if (std::count(box.count.begin(), box.count.end(), 0) > 0) return;
    Rewriter& rewriter = space_.rewriter;
    std::vector<ir::Expr> offset, indices;
    kernel::Body* body = by_number ? &deal_by_number(outer, m, box, interior, offset)
                                   : &deal_by_place(outer, tile, m, box, interior, offset);
    ir::Expr owned = m.live ? space_.writes(m) : nullptr, inside;
    Rewriter::Bindings point;
    for (std::size_t d = 0; d < offset.size(); ++d) {
        const std::int64_t first = box.first[d];
        Linear at = *rewriter.linear(rewriter.unique(offset[d]));
        at.constant += first;
        offset[d] = rewriter.expr(at);
        indices.push_back(rewriter.expr(tile.first(m, d).add(at, 1)));
        point[m.definition.dims[d].var] = indices.back();
        if (!interior) inside = both(inside, space_.inside(m, d, indices.back()));
        if (m.live) owned = both(owned, tile.owned(m, d, offset[d], first, first + box.count[d] - 1));
    }
    if (!interior && m.guard) inside = both(inside, rewriter.instance(m.guard, point));
    body = &KernelBuilder::guarded(*body, inside);
    const Rewriter::Hook loads = [&](const ir::Expr& e) -> ir::Expr {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return e;
        const Member* p = space_.member(read->source.index);
        return p == nullptr ? e : tile.local_read(*p, *read, e);
    };
    const ir::VarId var = space_.build.variable(m.definition.name, m.definition.type);
    add(*body, kernel::Define{var, rewriter.instance(interior ? m.interior.value : m.value, point, loads)});
    const ir::Expr value = ir::variable(var, m.definition.type);
    if (const int array = tile.array(m); array >= 0) {
        add(*body, kernel::Store{{ir::Source::Kind::Local, array}, tile.element(offset), {value}, nullptr});
    }
    if (m.live) add(*body, kernel::Store{{ir::Source::Kind::Stage, m.stage}, indices, {value}, owned});
}

/// Algorithm 1, lines 24 to 27; a barrier of the warp wherever a stage touches memory that another one has touched.
void HybridKernel::stages(kernel::Body& body, HybridTile& tile, HybridRegisters* registers) {
    std::vector<const HybridTile::Part*> written, read;  // since the last barrier
    const auto touches = [&](const auto& parts, const HybridTile::Part& part) {
        return std::any_of(parts.begin(), parts.end(), [&](const auto* other) { return tile.overlap(*other, part); });
    };
    for (const Member& m : space_.members) {
        const std::vector<const HybridTile::Part*> reads = tile.reads(m);
        const HybridTile::Part& own = tile.part(m);
        const bool waits =
            std::any_of(reads.begin(), reads.end(), [&](const auto* part) { return touches(written, *part); }) ||
            (tile.array(m) >= 0 && (touches(written, own) || touches(read, own)));
        if (waits) {
            add(body, kernel::Barrier{kernel::Barrier::Scope::Warp});
            written.clear();
            read.clear();
        }
        read.insert(read.end(), reads.begin(), reads.end());
        if (tile.array(m) >= 0) written.push_back(&own);
        add(body, kernel::Remark{m.definition.name});
        shared_points(body, tile, m, registers != nullptr);
        if (registers != nullptr) registers->compute(body, m);
    }
}

kernel::Body HybridKernel::interior() {
    HybridTile tile(space_, shape_, plan_.tiles, *plan_.hybrid);
    HybridRegisters registers(tile);
    if (auto reason = registers.too_large()) throw Refusal(*reason);
    tile.place_arrays();
    tile.declare_arrays();
    plan_.hybrid = tile.plan();
    scratch_ = tile.plan().scratch;
    kernel::Body body;
    stages(body, tile, &registers);
    return body;
}

kernel::Body HybridKernel::edge() {
    HybridTile tile(space_, shape_, plan_.tiles,
                    plan::edge_pieces(shape_, plan_.tiles, plan_.hybrid->split_dim, std::max(kEdgeBytes, scratch_)));
    tile.declare_arrays();
    scratch_ = std::max(scratch_, tile.plan().scratch);
    kernel::Body body;
    kernel::Body* piece = &body;
    for (std::size_t g = 0; g < space_.dims.size(); ++g) {
        const std::int64_t pieces = space_.dims[g].size / tile.plan().size[g];
        if (pieces == 1) continue;
        piece = &space_.build.loop(*piece, "piece", constant(0), constant(pieces), constant(1), tile.piece[g]);
    }
    stages(*piece, tile, nullptr);
    if (piece != &body)
        add(*piece, kernel::Barrier{kernel::Barrier::Scope::Warp});  // the next one uses the same memory
    return body;
}

kernel::Kernel HybridKernel::build() {
    kernel::Kernel kernel = space_.kernel(space_.members.back().definition.name,
                                          [&](bool in_interior) { return in_interior ? interior() : edge(); });
    for (kernel::SharedArray& array : kernel.shared) {
        if (space_.teams > 1) array.pitch = scratch_;
    }
    if (auto reason = shared_refusal(scratch_ * space_.teams, space_.program.target, "its tiles")) {
        throw Refusal(std::move(*reason));
    }
    return kernel;
}

}  // namespace

std::variant<kernel::Step, std::string> hybrid_step(kernel::Program& program, const poly::Group& group,
                                                    const fusion::GroupSchedule& schedule) {
    const fusion::GroupShape shape = fusion::group_shape(program.pipeline, program.model, group);
    auto plan = plan::make_plan(shape, schedule);
    if (auto* reason = std::get_if<plan::Refusal>(&plan)) return std::move(*reason);
    const fusion::Choices decided = plan::decided(std::get<plan::Plan>(plan).tiles);
    try {
        return kernel::Step{{HybridKernel(program, shape, std::get<plan::Plan>(std::move(plan))).build()}, decided};
    } catch (const Refusal& refusal) {
        return refusal;
    }
}

}  // namespace pipec::codegen
