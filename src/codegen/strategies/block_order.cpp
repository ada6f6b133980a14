// Which tiles a block computes: in what order the blocks of a grid, which start one after the other, go through them.
#include <algorithm>
#include <tuple>

#include "codegen/strategies/tile_space.h"
#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "ir/build.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

ir::Expr quotient(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Div, a, b);
}
ir::Expr rest(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Mod, a, b);
}
bool is_one(const ir::Expr& e) {
    return ir::as_int(e).value_or(0) == 1;
}

}  // namespace

/// Whatever the size of an image like a photograph, the first or the last tile of a dimension is not of the interior.
/// (With some sizes all are, where only the ends of tiles and the alignment of rows count.) Once the code of the
/// interior is made.
bool TileSpace::has_edges(const Dim& dim) {
    if (!has_interior_) return false;
    ir::Expr first = dim.first, end = dim.end;
    std::int64_t more = 0;  // that a moved tile covers
    if (dim.step > 0) {
        std::tie(first, end) = ends_of_tiles(static_cast<std::size_t>(&dim - dims.data()), dim.step);
        more = std::max(dim.cover, dim.size) / dim.step - 1;
    }
    constexpr int kSizes = 16;
    std::vector<std::int64_t> sizes = fusion::usual_sizes(program.pipeline);
    for (int i = 0; i < kSizes; ++i) {
        const auto of = [&](const ir::Expr& e) { return fusion::evaluate(e, sizes); };
        const auto least = of(first), beyond = of(end), inner = of(dim.inner_first), inner_end = of(dim.inner_end);
        if (least && beyond && inner && inner_end && *inner <= *least && *inner_end + more >= *beyond) return false;
        for (std::int64_t& size : sizes) --size;
    }
    return true;
}

/// Of so many blocks the last ones are a small part, and the ends of all rows lie in memory so that they keep only some
/// of its channels busy.
constexpr std::int64_t kManyBlocks = 16384;

/// Where a block is among the blocks, by dimension. They go through rows of tiles in the plan's order. Tiles at the
/// edges of the image take a few times as long as others; begun last, they would be what a kernel ends with, alone. So
/// both ends of all rows come first, and the last row before the others. Where kernels follow each other (`in_turns`),
/// every second one goes through the rows from the last to the first: it begins with what the one before has touched
/// last, which the L2 cache still has. The launch says which, so that kernels of equal stages are the same code.
std::vector<ir::Expr> TileSpace::block_places(kernel::Body& body, bool in_turns) {
    const std::vector<std::size_t>& order = order_;
    const auto count = [&](std::size_t d) { return tile_count(dims[d].first, dims[d].end, dims[d].thread_groups); };
    const auto name = [&](std::size_t d) {
        return "tiles_" + (dims[d].axis < 0 ? std::to_string(d) : std::string(1, "xyz"[dims[d].axis]));
    };
    std::vector<ir::Expr> places(dims.size());
    ir::Expr block = build.special(kernel::Special::Id::BlockX);
    std::size_t i = 0;
    if (ends_first && order.size() > 1 && dims[order[0]].axis == 0 && !ir::as_int(count(order[0])) &&
        has_edges(dims[order[0]])) {
        // Rows of three or more have ends; where there are very many tiles, those are not worth it.
        const ir::Expr all = count(order[0]), one = constant(1), two = constant(2);
        const ir::Expr have_ends = both(ir::binary(BinaryOp::Gt, all, two),
                                        ir::binary(BinaryOp::Lt, build.kernel.grid[0], constant(kManyBlocks)));
        const ir::Expr both_ends = ir::select(have_ends, two, constant(0));
        const ir::Expr ends = build.argument("ends", both_ends, 0);
        const ir::Expr between = build.divisor("between", difference(all, both_ends));
        ir::Expr at_ends = ends;
        for (std::size_t k = 1; k < order.size(); ++k)
            at_ends = product(at_ends, build.argument(name(order[k]), count(order[k]), 1));
        at_ends = build.define(body, "at_ends", at_ends, 0);
        const ir::Expr is_end = ir::binary(BinaryOp::Lt, block, at_ends), number = difference(block, at_ends);
        const ir::Expr last = difference(build.argument("tiles_x", all, 1), one);
        places[order[0]] =
            ir::select(is_end, product(rest(block, two), last), sum(quotient(ends, two), rest(number, between)));
        block = build.define(body, "block", ir::select(is_end, quotient(block, two), quotient(number, between)), 0);
        i = 1;
    }
    for (; i < order.size(); ++i) {
        const std::size_t d = order[i];
        const ir::Expr all = count(d);
        if (is_one(all)) {
            places[d] = constant(0);
            continue;
        }
        ir::Expr place = block;
        if (i + 1 < order.size()) {
            const ir::Expr tiles = build.divisor(name(d), all);
            place = rest(block, tiles);
            block = build.define(body, "block", quotient(block, tiles), 0);
        }
        const bool last_first = dims[d].axis == 1 && has_edges(dims[d]);
        if ((i > 0 || order.size() == 1) && (last_first || in_turns)) {
            place = build.define(body, "row", place, 0);
            const ir::Expr last = difference(build.argument(name(d), all, 1), constant(1));
            if (last_first) {
                place = ir::select(ir::binary(BinaryOp::Eq, place, constant(0)), last, difference(place, constant(1)));
            }
            if (in_turns) {
                if (last_first) place = build.define(body, "row", place, 0);
                const ir::Expr backwards = build.turn("backwards");
                place = ir::select(ir::binary(BinaryOp::Ne, backwards, constant(0)), difference(last, place), place);
            }
        }
        places[d] = place;
    }
    return places;
}

}  // namespace pipec::codegen
