#include "codegen/strategies/hybrid/hybrid_tile.h"

#include <algorithm>
#include <set>

#include "ir/build.h"

namespace pipec::codegen {

using ir::BinaryOp;

HybridTile::HybridTile(TileSpace& of, const fusion::GroupShape& shape, const plan::Tiles& tiles, plan::HybridTile plan)
    : space(of),
      piece(plan.size.size()),
      shape_(shape),
      tiles_(tiles),
      plan_(std::move(plan)),
      arrays_(plan_.parts.size(), -1) {}

std::vector<const HybridTile::Part*> HybridTile::reads(const Member& m) const {
    std::set<int> done, open{m.stage};
    std::vector<const Part*> result;
    while (!open.empty()) {
        const int reader = *open.begin();
        open.erase(open.begin());
        done.insert(reader);
        for (const poly::GroupEdge& edge : space.group.edges) {
            if (edge.reader != reader) continue;
            const Member& p = member(edge.producer);
            if (array(p) >= 0) result.push_back(&part(p));
            if (is_deferred(p) && done.count(p.stage) == 0) open.insert(p.stage);
        }
    }
    return result;
}

void HybridTile::declare_arrays() {
    std::vector<kernel::SharedArray>& shared = space.build.kernel.shared;
    for (const Member& m : space.members) {
        const Part& p = part(m);
        if (p.bytes == 0) continue;
        arrays_[position(m)] = static_cast<int>(shared.size());
        kernel::SharedArray& array = shared.emplace_back();
        array.name = m.definition.name + "_tile";
        array.type = m.definition.type;
        array.offset = p.offset;
        if (space.teams > 1) array.extents.push_back(space.teams);
        for (std::size_t d = 0; d < p.extent.size(); ++d) {
            array.extents.push_back(p.in_registers ? shared_count(m, d) : p.extent[d].count);
        }
    }
}

bool HybridTile::overlap(const Part& a, const Part& b) const {
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

ir::Expr HybridTile::lane(const Member& m, std::size_t dim) const {
    return lanes(m, dim) == 1 ? constant(0) : space.dims[static_cast<std::size_t>(m.alignment[dim].dim)].lane;
}

Linear HybridTile::first(const Member& m, std::size_t dim) {
    Linear at = space.origin(m, dim);
    const poly::Alignment& a = m.alignment[dim];
    if (a.dim < 0) return at;
    const auto g = static_cast<std::size_t>(a.dim);
    at.constant += part(m).extent[dim].first;
    if (piece[g]) at.add(*space.rewriter.linear(piece[g]), plan_.size[g] / a.scale);
    return at;
}

ir::Expr HybridTile::owned(const Member& m, std::size_t dim, const ir::Expr& offset, std::int64_t lo,
                           std::int64_t hi) const {
    const poly::Alignment& a = m.alignment[dim];
    if (a.dim < 0) return nullptr;
    const std::int64_t begin = -part(m).extent[dim].first;
    const std::int64_t end = begin + plan_.size[static_cast<std::size_t>(a.dim)] / a.scale;
    ir::Expr result;
    if (lo < begin) result = ir::binary(BinaryOp::Ge, offset, constant(begin));
    if (hi >= end) result = both(result, ir::binary(BinaryOp::Lt, offset, constant(end)));
    return result;
}

ir::Expr HybridTile::first_lane(const Member& m) const {
    ir::Expr result;
    for (std::size_t g = 0; g < space.dims.size(); ++g) {
        if (TileSpace::has(m, g) || space.dims[g].lanes == 1) continue;
        result = both(result, ir::binary(BinaryOp::Eq, space.dims[g].lane, constant(0)));
    }
    return result;
}

std::vector<ir::Expr> HybridTile::element(const std::vector<ir::Expr>& offset) const {
    std::vector<ir::Expr> indices;
    if (space.teams > 1) indices.push_back(space.team);
    indices.insert(indices.end(), offset.begin(), offset.end());
    return indices;
}

ir::Expr HybridTile::local_read(const Member& producer, const ir::Read& read, const ir::Expr& e) {
    std::vector<ir::Expr> offset;
    for (std::size_t d = 0; d < read.indices.size(); ++d) {
        const Linear base = first(producer, d);
        if (auto sum = space.rewriter.linear(read.indices[d]))
            offset.push_back(space.rewriter.expr(sum->add(base, -1)));
        else
            offset.push_back(space.rewriter.unique(difference(read.indices[d], space.rewriter.expr(base))));
    }
    return ir::read({ir::Source::Kind::Local, array(producer)}, e->type, element(offset), e->range);
}

}  // namespace pipec::codegen
