#include "codegen/tile_arrays.h"

#include <algorithm>

#include "codegen/kernel_build.h"
#include "codegen/pack.h"
#include "codegen/shared_memory.h"
#include "codegen/strides.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

TileArrays::TileArrays(TileSpace& space) : space_(space) {
    std::vector<kernel::SharedArray>& shared = space.build.kernel.shared;
    std::vector<Lifetime> lifetimes;
    for (std::size_t i = 0; i < space.members.size(); ++i) {
        const TileSpace::Member& m = space.members[i];
        axes_.push_back(find_axes(m));
        arrays_.push_back(m.is_read ? static_cast<int>(shared.size()) : -1);
        if (!m.is_read) continue;
        kernel::SharedArray array{m.definition.name + "_tile", m.definition.type, {}};
        if (space.teams > 1) array.extents.push_back(space.teams);
        for (const std::size_t d : axes(m).order) array.extents.push_back(count(m, d));
        Lifetime lifetime{i, i, bytes_of_team(m)};
        for (const poly::GroupEdge& edge : space.group.edges) {
            if (edge.producer == m.stage) lifetime.last = std::max(lifetime.last, space.group.position(edge.reader));
        }
        lifetimes.push_back(lifetime);
        team_bytes_.push_back(lifetime.bytes);
        shared.push_back(std::move(array));
    }
    const std::vector<std::int64_t> offsets = place_arrays(lifetimes);
    std::int64_t apart = 0, scratch = 0;  // bytes of a team
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        apart += align_shared(team_bytes_[i]);
        scratch = std::max(scratch, align_shared(offsets[i] + team_bytes_[i]));
    }
    if (scratch == apart && apart * space.teams <= kStaticSharedBytes) return;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        shared[i].offset = offsets[i];
        if (space.teams > 1) shared[i].pitch = scratch;
    }
}

/// What two points beside each other in a dimension read.
std::size_t TileArrays::reads_of_two(const TileSpace::Member& m, std::size_t dim) const {
    const ir::VarId var = m.definition.dims[dim].var;
    const ir::Expr next = sum(ir::variable(var, ir::Type::Int32), constant(1));
    const ir::Expr& value = m.interior.value;
    return certain_reads({space_.rewriter.instance(value, {}), space_.rewriter.instance(value, {{var, next}})}).size();
}

/// Where readers find the member's elements at places that depend on data: the whole dimension, of 2 or 4 points, of
/// which they know the index. They read all of these points at one place, then, in one access.
std::optional<std::size_t> TileArrays::read_together(const TileSpace::Member& m) const {
    bool by_data = false;
    std::vector<bool> constant_index(m.alignment.size(), true);
    for (const TileSpace::Member& reader : space_.members) {
        ir::for_each_node(reader.interior.value, [&](const ir::Expr& e) {
            const auto* read = ir::as<ir::Read>(e);
            if (read == nullptr || read->source != ir::Source{ir::Source::Kind::Stage, m.stage}) return;
            for (std::size_t d = 0; d < constant_index.size(); ++d) {
                by_data = by_data || !space_.rewriter.linear(read->indices[d]);
                constant_index[d] = constant_index[d] && ir::as_int(read->indices[d]);
            }
        });
    }
    for (std::size_t d = 0; by_data && d < constant_index.size(); ++d) {
        const std::int64_t count = m.extent[d].count;
        if (m.alignment[d].dim < 0 && constant_index[d] && (count == 2 || count == 4)) return d;
    }
    return std::nullopt;
}

/// Of an accumulate a lane has a cell: lanes beside each other update elements in different banks, whichever they are.
TileArrays::Axes TileArrays::find_axes(const TileSpace::Member& m) const {
    Axes axes;
    const int x = space_.group.rank - 1;
    const auto dim = [&](std::size_t d) { return m.alignment[d].dim; };
    for (std::size_t d = 0; d < m.alignment.size(); ++d) {
        if (dim(d) >= 0 && dim(d) == x) axes.columns = d;
        if (dim(d) >= 0 && dim(d) == x - 1) axes.rows = d;
    }
    const std::vector<int> order = memory_order(space_.program.pipeline, {ir::Source::Kind::Stage, m.stage});
    if (!m.accumulates && !order.empty()) {
        const std::optional<std::size_t> across = axes.columns;
        const auto innermost = static_cast<std::size_t>(order.back());
        const std::optional<std::size_t> together = m.live ? std::nullopt : read_together(m);
        axes.whole = together || (dim(innermost) < 0 && m.extent[innermost].count > 1);
        if (axes.whole) axes.columns = together.value_or(innermost);
        if (axes.whole && across && (!axes.rows || reads_of_two(m, *across) < reads_of_two(m, *axes.rows)))
            axes.rows = across;
    }
    for (std::size_t d = 0; d < m.alignment.size(); ++d) {
        if (d != axes.columns) axes.order.push_back(d);
    }
    if (axes.columns) axes.order.push_back(*axes.columns);
    return axes;
}

/// What only goes from there to global memory, dimension after dimension, is in rows of an odd length, lest all lanes
/// ask one bank.
std::int64_t TileArrays::count(const TileSpace::Member& m, std::size_t dim) const {
    const auto is_read = [&](const poly::GroupEdge& edge) { return edge.producer == m.stage; };
    const bool only_written = std::none_of(space_.group.edges.begin(), space_.group.edges.end(), is_read);
    const std::int64_t count = m.extent[dim].count;
    return m.accumulates && only_written && axes(m).columns == dim ? count | 1 : count;
}

std::int64_t TileArrays::bytes_of_team(const TileSpace::Member& m) const {
    std::int64_t bytes = ir::bytes(m.definition.type);
    for (std::size_t d = 0; d < m.extent.size(); ++d) bytes *= count(m, d);
    return bytes;
}

bool TileArrays::overlap(int a, int b) const {
    if (a == b) return true;
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    const std::int64_t first = space_.build.kernel.shared[i].offset, second = space_.build.kernel.shared[j].offset;
    return first >= 0 && second >= 0 && first < second + team_bytes_[j] && second < first + team_bytes_[i];
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
