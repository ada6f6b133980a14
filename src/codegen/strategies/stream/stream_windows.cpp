#include "codegen/strategies/stream/stream_windows.h"

#include <bit>

#include "ir/build.h"
#include "support/integers.h"

namespace pipec::codegen {

using ir::BinaryOp;

StreamWindows::StreamWindows(TileSpace& space, const plan::Plan& plan)
    : space_(space), march_(*plan.march), arrays_(space.members.size(), -1) {
    for (const plan::SharedArray& planned : plan.shared.arrays) {
        const TileSpace::Member& m = space.members[planned.member];
        arrays_[planned.member] = space.add_array(planned);
        kernel::SharedArray& array = space.build.kernel.shared.back();
        for (const std::size_t d : order(m)) array.extents.push_back(planned.extents[d]);
    }
}

/// From outermost to innermost: neighbouring threads have neighbouring columns.
std::vector<std::size_t> StreamWindows::order(const TileSpace::Member& m) const {
    std::vector<std::size_t> order, columns;
    for (std::size_t d = 0; d < m.alignment.size(); ++d) {
        (m.alignment[d].dim == space_.group.rank - 1 ? columns : order).push_back(d);
    }
    order.insert(order.end(), columns.begin(), columns.end());
    return order;
}

/// Row `row` of those that the block computes lies at row mod window, whoever asks for it.
ir::Expr StreamWindows::in_ring(const ir::Expr& row, std::int64_t rows) {
    Rewriter& rewriter = space_.rewriter;
    if (rows == 1) return constant(0);
    if (std::has_single_bit(static_cast<std::uint64_t>(rows)))
        return rewriter.unique(ir::binary(BinaryOp::BitAnd, row, constant(rows - 1)));
    auto sum = rewriter.linear(row);
    if (!sum) return rewriter.unique(ir::binary(BinaryOp::Mod, row, constant(rows)));
    // Whole rings more, so that C++ and the language mean the same remainder.
    const std::int64_t least = rewriter.least(*sum);
    if (least < 0) sum->constant += ceil_quotient(-least, rows) * rows;
    return rewriter.unique(ir::binary(BinaryOp::Mod, rewriter.expr(*sum), constant(rows)));
}

std::vector<ir::Expr> StreamWindows::indices(const TileSpace::Member& m, const std::vector<ir::Expr>& offset) {
    const plan::March::Member& rows = march_.members[space_.group.position(m.stage)];
    std::vector<ir::Expr> indices;
    for (const std::size_t d : order(m))
        indices.push_back(d == rows.rows ? in_ring(offset[d], rows.window) : offset[d]);
    return indices;
}

Rewriter::Hook StreamWindows::reads() {
    return space_.reads_from(
        [this](const TileSpace::Member& m) { return of(m); },
        [this](const TileSpace::Member& m, const std::vector<ir::Expr>& offset) { return indices(m, offset); });
}

}  // namespace pipec::codegen
