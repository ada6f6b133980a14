// A cell is what one combination of the aligned dimensions' indices has: one element for each point of the free
// dimensions. All elements get their first values; behind a barrier the updates follow (cell_updates.h); and of a
// live-out the elements then go to global memory, side by side where they lie side by side there.
#include "codegen/strategies/shared/tile_accumulate.h"

#include <algorithm>
#include <vector>

#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/strategies/shared/cell_updates.h"
#include "ir/build.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Loops over no more elements than this are written for the compiler to unroll.
constexpr std::int64_t kUnrolledElements = 16;

class TileAccumulate {
public:
    TileAccumulate(TileSpace& space, const TileArrays& arrays, PackWriter& packs, const TileSpace::Member& m,
                   std::int64_t lanes, bool interior)
        : space_(space),
          arrays_(arrays),
          m_(m),
          lanes_(lanes),
          interior_(interior),
          cell_(space, arrays, packs, m, interior) {}

    void write(kernel::Body& body) {
        kernel::Body* cells = &each_cell(body);
        // Where each lane has one cell, it is the same on both sides of a barrier: what the cell reads is on its way
        // while its elements get their first values.
        const bool stays = cells == &body;
        const std::vector<ir::Expr> cell = cell_.offset;
        if (stays) cell_.read_ahead(body);
        initialise(*cells);
        barrier(body);
        if (stays)
            cell_.offset = cell;
        else
            cells = &each_cell(body);
        cell_.collect(*cells);
        if (!m_.live) return;
        barrier(body);
        write_out(body);
    }

private:
    void barrier(kernel::Body& body) const {
        const auto scope = space_.per_warp ? kernel::Barrier::Scope::Warp : kernel::Barrier::Scope::Block;
        add(body, kernel::Barrier{scope});
    }
    [[nodiscard]] Rewriter::Bindings point() {
        Rewriter::Bindings result;
        for (std::size_t d = 0; d < cell_.offset.size(); ++d) result[m_.definition.dims[d].var] = cell_.coordinate(d);
        return result;
    }

    kernel::Body& share_out(kernel::Body& body, std::int64_t count, ir::Expr& number);
    kernel::Body& each_cell(kernel::Body& body);
    void initialise(kernel::Body& body);
    void write_out(kernel::Body& body);

    TileSpace& space_;
    const TileArrays& arrays_;
    const TileSpace::Member& m_;
    const std::int64_t lanes_;
    const bool interior_;
    CellUpdates cell_;
};

/// Opens a loop over those of `count` things that are the lane's.
kernel::Body& TileAccumulate::share_out(kernel::Body& body, std::int64_t count, ir::Expr& number) {
    number = space_.lane;
    if (count == lanes_) return body;
    if (count < lanes_) return KernelBuilder::guarded(body, ir::binary(BinaryOp::Lt, number, constant(count)));
    return space_.build.loop(body, "cell", space_.lane, constant(count), constant(lanes_), number);
}

/// Columns are innermost, as in the array.
kernel::Body& TileAccumulate::each_cell(kernel::Body& outer) {
    std::vector<std::size_t> order = arrays_.axes(m_).order;
    std::erase_if(order, [&](std::size_t d) { return cell_.is_free(d); });
    std::int64_t left = 1;
    for (const std::size_t d : order) left *= m_.extent[d].count;
    ir::Expr rest;
    kernel::Body* body = &share_out(outer, left, rest);
    cell_.offset.assign(m_.alignment.size(), constant(0));
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
        const std::int64_t count = m_.extent[*d].count;
        if (count == 1) continue;
        const bool last = count == left;
        const ir::Expr i = last ? rest : ir::binary(BinaryOp::Mod, rest, constant(count));
        cell_.offset[*d] = last ? rest : space_.build.define(*body, space_.name(m_, *d) + "_i", i, 0);
        left /= count;
        if (!last) rest = space_.build.define(*body, "cell", ir::binary(BinaryOp::Div, rest, constant(count)), 0);
    }
    if (interior_) return *body;
    ir::Expr inside;
    for (const std::size_t d : order) inside = both(inside, space_.inside(m_, d, cell_.coordinate(d)));
    return KernelBuilder::guarded(*body, inside);
}

void TileAccumulate::initialise(kernel::Body& outer) {
    kernel::Body* body = &outer;
    for (std::size_t d = 0; d < cell_.offset.size(); ++d) {
        if (!cell_.is_free(d) || m_.extent[d].count == 1) continue;
        body = &space_.build.loop(*body, space_.name(m_, d), constant(0), constant(m_.extent[d].count), constant(1),
                                  cell_.offset[d], m_.extent[d].count <= kUnrolledElements);
    }
    const ir::Expr value = space_.rewriter.instance(interior_ ? m_.interior.value : m_.value, point());
    add(*body,
        kernel::Store{{ir::Source::Kind::Local, arrays_.of(m_)}, arrays_.indices(m_, cell_.offset), {value}, nullptr});
}

/// The elements that the tile owns, numbered in the order of the stage's dimensions.
void TileAccumulate::write_out(kernel::Body& outer) {
    std::vector<std::int64_t> counts;
    std::int64_t left = 1;
    for (std::size_t d = 0; d < m_.alignment.size(); ++d) {
        counts.push_back(cell_.is_free(d) ? m_.extent[d].count : space_.points(m_, d));
        left *= counts.back();
    }
    ir::Expr rest;
    kernel::Body* body = &share_out(KernelBuilder::guarded(outer, space_.writes(m_)), left, rest);
    for (std::size_t d = counts.size(); d-- > 0;) {
        const bool last = counts[d] == left;
        ir::Expr i = counts[d] == 1 ? constant(0) : last ? rest : ir::binary(BinaryOp::Mod, rest, constant(counts[d]));
        left /= counts[d];
        if (left > 1)
            rest = space_.build.define(*body, "cell", ir::binary(BinaryOp::Div, rest, constant(counts[d])), 0);
        if (!cell_.is_free(d)) i = sum(i, constant(-m_.extent[d].first));
        cell_.offset[d] = ir::as_int(i) ? i : space_.build.define(*body, space_.name(m_, d) + "_i", i, 0);
    }
    std::vector<ir::Expr> at;
    ir::Expr inside;
    for (std::size_t d = 0; d < counts.size(); ++d) {
        at.push_back(cell_.coordinate(d));
        if (!interior_) inside = both(inside, space_.inside(m_, d, at.back()));
    }
    const ir::Expr value =
        ir::read({ir::Source::Kind::Local, arrays_.of(m_)}, m_.definition.type, arrays_.indices(m_, cell_.offset));
    add(KernelBuilder::guarded(*body, inside),
        kernel::Store{{ir::Source::Kind::Stage, m_.stage}, at, {value}, nullptr});
}

}  // namespace

void accumulate_tile(kernel::Body& body, TileSpace& space, const TileArrays& arrays, PackWriter& packs,
                     const TileSpace::Member& m, std::int64_t lanes, bool interior) {
    TileAccumulate(space, arrays, packs, m, lanes, interior).write(body);
}

}  // namespace pipec::codegen
