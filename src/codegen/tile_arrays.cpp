#include "codegen/tile_arrays.h"

#include <algorithm>

#include "codegen/shared_memory.h"
#include "ir/build.h"

namespace pipec::codegen {

TileArrays::TileArrays(TileSpace& space) : space_(space) {
    std::vector<kernel::SharedArray>& shared = space.build.kernel.shared;
    std::vector<Lifetime> lifetimes;
    for (std::size_t i = 0; i < space.members.size(); ++i) {
        const TileSpace::Member& m = space.members[i];
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

TileArrays::Axes TileArrays::axes(const TileSpace::Member& m) const {
    Axes axes;
    const int x = space_.group.rank - 1;
    for (std::size_t d = 0; d < m.alignment.size(); ++d) {
        const int g = m.alignment[d].dim;
        if (g >= 0 && g == x)
            axes.columns = d;
        else
            axes.order.push_back(d);
        if (g >= 0 && g == x - 1) axes.rows = d;
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
    return [this](const ir::Expr& e) -> ir::Expr {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return e;
        const TileSpace::Member* m = space_.member(read->source.index);
        if (m == nullptr) return e;
        return ir::read({ir::Source::Kind::Local, of(*m)}, e->type, indices(*m, space_.offsets(*m, read->indices)),
                        e->range);
    };
}

}  // namespace pipec::codegen
