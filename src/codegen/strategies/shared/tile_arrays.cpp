#include "codegen/strategies/shared/tile_arrays.h"

#include <algorithm>
#include <set>

#include "codegen/expr/pack.h"
#include "codegen/kernel/kernel_build.h"
#include "fusion/inline.h"
#include "ir/build.h"
#include "ir/certain_reads.h"
#include "ir/visit.h"

namespace pipec::codegen {

bool in_registers(const std::vector<ir::Expr>& values) {
    std::set<const ir::Node*> nodes;
    for (const ir::Expr& value : values) ir::for_each_node(value, [&](const ir::Expr& e) { nodes.insert(e.get()); });
    return ir::certain_reads(values).size() + values.size() <= std::size_t{plan::kPatchElements} &&
           nodes.size() <= std::size_t{plan::kPatchNodes};
}

std::vector<ir::Expr> patch_values(TileSpace& space, const TileSpace::Member& m, const TileSpace::Member& first,
                                   const plan::PatchAxes& axes, std::int64_t columns, std::int64_t rows) {
    std::vector<ir::Expr> values;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
        Rewriter::Bindings point;
        for (std::size_t d = 0; d < m.definition.dims.size(); ++d) {
            const ir::Expr at = ir::variable(first.definition.dims[d].var, ir::Type::Int32);
            const int dim = static_cast<int>(d);
            const std::int64_t by = dim == axes.columns ? i % columns : dim == axes.rows ? i / columns : 0;
            point[m.definition.dims[d].var] = sum(at, constant(by));
        }
        values.push_back(space.rewriter.instance(m.interior.value, point));
    }
    return values;
}

plan::PatchReads patch_reads(TileSpace& space, const TileSpace::Member& m) {
    plan::PatchReads reads;
    reads.narrowest = ir::bytes(m.definition.type);
    for (const ir::Expr& read : ir::certain_reads({m.interior.value}))
        reads.narrowest = std::min(reads.narrowest, ir::bytes(read->type));
    reads.elements = [&](const plan::PatchAxes& axes, std::int64_t columns, std::int64_t rows) {
        return static_cast<double>(ir::certain_reads(patch_values(space, m, m, axes, columns, rows)).size());
    };
    reads.in_registers = [&](const plan::PatchAxes& axes, std::int64_t columns) {
        return in_registers(patch_values(space, m, m, axes, columns, 1));
    };
    reads.operations = [&](const plan::PatchAxes& axes, std::int64_t columns) {
        std::set<const ir::Node*> nodes;
        double sum = 0;
        for (const ir::Expr& value : patch_values(space, m, m, axes, columns, 1)) {
            ir::for_each_node(value, [&](const ir::Expr& e) {
                if (nodes.insert(e.get()).second) sum += static_cast<double>(fusion::operations(e));
            });
        }
        return sum;
    };
    return reads;
}

TileArrays::TileArrays(TileSpace& space, const fusion::GroupShape& shape, const plan::SharedMemory& shared)
    : space_(space), shape_(shape), arrays_(space.members.size(), -1) {
    for (const TileSpace::Member& m : space.members) axes_.push_back(find_axes(m));
    for (const plan::SharedArray& planned : shared.arrays) {
        const TileSpace::Member& m = space.members[planned.member];
        arrays_[planned.member] = space.add_array(planned);
        kernel::SharedArray& array = space.build.kernel.shared.back();
        if (space.teams > 1) array.extents.push_back(space.teams);
        for (const std::size_t d : axes(m).order) array.extents.push_back(planned.extents[d]);
        if (space.teams > 1) array.pitch = shared.scratch;
    }
}

fusion::FoundBy TileArrays::found_by(const TileSpace::Member& m) const {
    fusion::FoundBy found{false, std::vector<bool>(m.alignment.size(), true)};
    for (const TileSpace::Member& reader : space_.members) {
        ir::for_each_node(reader.interior.value, [&](const ir::Expr& e) {
            const auto* read = ir::as<ir::Read>(e);
            if (read == nullptr || read->source != ir::Source{ir::Source::Kind::Stage, m.stage}) return;
            for (std::size_t d = 0; d < found.constant.size(); ++d) {
                found.data = found.data || !space_.rewriter.linear(read->indices[d]);
                found.constant[d] = found.constant[d] && ir::as_int(read->indices[d]);
            }
        });
    }
    return found;
}

TileArrays::Axes TileArrays::find_axes(const TileSpace::Member& m) const {
    const std::size_t position = space_.group.position(m.stage);
    const int together = fusion::read_together(shape_, position, found_by(m));
    const plan::PatchAxes found = plan::patch_axes(shape_, position, together, patch_reads(space_, m));
    Axes axes;
    if (found.columns >= 0) axes.columns = static_cast<std::size_t>(found.columns);
    if (found.rows >= 0) axes.rows = static_cast<std::size_t>(found.rows);
    axes.whole = found.whole;
    for (std::size_t d = 0; d < m.alignment.size(); ++d) {
        if (d != axes.columns) axes.order.push_back(d);
    }
    if (axes.columns) axes.order.push_back(*axes.columns);
    return axes;
}

std::vector<ir::Expr> TileArrays::indices(const TileSpace::Member& m, const std::vector<ir::Expr>& offset) const {
    std::vector<ir::Expr> indices;
    if (space_.teams > 1) indices.push_back(space_.team);
    for (const std::size_t d : axes(m).order) indices.push_back(offset[d]);
    return indices;
}

/// A member's point is in its array at its index - (first point of the tile's part).
Rewriter::Hook TileArrays::reads() {
    return space_.reads_from(
        [this](const TileSpace::Member& m) { return of(m); },
        [this](const TileSpace::Member& m, const std::vector<ir::Expr>& offset) { return indices(m, offset); });
}

}  // namespace pipec::codegen
