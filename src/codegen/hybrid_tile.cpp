#include "codegen/hybrid_tile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "codegen/shared_memory.h"
#include "ir/build.h"
#include "support/integers.h"

namespace pipec::codegen {

using ir::BinaryOp;

HybridTile::HybridTile(TileSpace& tiles, std::size_t split, std::vector<std::int64_t> sizes)
    : space(tiles), split_dim(split), piece(sizes.size()), size_(std::move(sizes)) {
    for (const Member& m : space.members) {
        Part& part = parts_.emplace_back();
        for (std::size_t d = 0; d < m.alignment.size(); ++d) {
            const poly::Alignment& a = m.alignment[d];
            if (a.dim < 0) {
                part.extent.push_back(m.extent[d]);
                continue;
            }
            const auto g = static_cast<std::size_t>(a.dim);
            part.extent.push_back(poly::tile_extent(a, space.group.reach[space.group.position(m.stage)][g], size_[g]));
            if (g == split_dim) part.split = d;
        }
    }
}

/// Stages of one scale have the same number of iterations, so that what one of them needs of another one at a constant
/// distance is at a constant distance in registers, too.
void HybridTile::split(double fraction) {
    const std::int64_t lanes = space.dims[split_dim].lanes;
    std::map<std::int64_t, std::int64_t> most;  // iterations, by scale
    for (const Member& m : space.members) {
        const Part& p = part(m);
        if (!p.split) continue;
        const std::int64_t scale = m.alignment[*p.split].scale;
        const std::int64_t wanted =
            std::llround(fraction * static_cast<double>(size_[split_dim]) / static_cast<double>(scale * lanes));
        const auto known = most.try_emplace(scale, wanted).first;
        known->second = std::min(known->second, p.extent[*p.split].count / lanes);
    }
    // What is in shared memory is computed first, from nothing but shared memory: of a source with another scale fewer
    // iterations may then be in registers.
    const auto shared_end = [&](const Member& m) {  // beyond the shared points, from the tile's first coordinate on
        const Part& p = part(m);
        const poly::TileExtent& extent = p.extent[*p.split];
        return extent.first + extent.count - most.at(m.alignment[*p.split].scale) * lanes;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (const poly::GroupEdge& edge : space.group.edges) {
            const Member &m = member(edge.reader), &source = member(edge.producer);
            if (!part(m).split || !part(source).split) continue;
            const std::int64_t scale = source.alignment[*part(source).split].scale;
            const std::int64_t last = (shared_end(m) - 1) * m.alignment[*part(m).split].scale;
            std::int64_t& iterations = most.at(scale);
            if (iterations == 0 || floor_quotient(last + edge.distance[split_dim].hi, scale) < shared_end(source))
                continue;
            --iterations;
            changed = true;
        }
    }
    for (const Member& m : space.members) {
        Part& p = part(m);
        if (!p.split) continue;
        p.iterations = most.at(m.alignment[*p.split].scale);
        p.in_registers = m.is_read && p.iterations > 0;
    }
}

/// By member: the last one for which code is made that reads its array.
std::vector<std::size_t> HybridTile::last_uses() const {
    std::vector<std::size_t> last(parts_.size());
    for (std::size_t i = parts_.size(); i-- > 0;) {
        last[i] = i;
        for (const poly::GroupEdge& edge : space.group.edges) {
            if (edge.producer != space.group.stages[i]) continue;
            const std::size_t reader = space.group.position(edge.reader);
            last[i] = std::max(last[i], is_deferred(member(edge.reader)) ? last[reader] : reader);
        }
    }
    return last;
}

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
            if (part(p).array >= 0) result.push_back(&part(p));
            if (is_deferred(p) && done.count(p.stage) == 0) open.insert(p.stage);
        }
    }
    return result;
}

void HybridTile::place_arrays() {
    std::vector<Part*> placed;
    std::vector<Lifetime> lifetimes;
    const std::vector<std::size_t> last = last_uses();
    for (const Member& m : space.members) {
        Part& p = part(m);
        p.bytes = m.is_read ? ir::bytes(m.definition.type) : 0;
        for (std::size_t d = 0; d < p.extent.size(); ++d) {
            p.bytes *= p.in_registers ? shared_count(m, d) : p.extent[d].count;
        }
        if (p.bytes == 0) continue;
        placed.push_back(&p);
        lifetimes.push_back({space.group.position(m.stage), last[space.group.position(m.stage)], p.bytes});
    }
    const std::vector<std::int64_t> offsets = codegen::place_arrays(lifetimes);
    scratch_ = 0;
    for (std::size_t i = 0; i < placed.size(); ++i) {
        placed[i]->offset = offsets[i];
        const std::int64_t end = offsets[i] + placed[i]->bytes;
        scratch_ = std::max(scratch_, (end + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment);
    }
}

void HybridTile::declare_arrays() {
    std::vector<kernel::SharedArray>& shared = space.build.kernel.shared;
    for (const Member& m : space.members) {
        Part& p = part(m);
        if (p.bytes == 0) continue;
        p.array = static_cast<int>(shared.size());
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

std::int64_t HybridTile::lanes(const Member& m, std::size_t dim) const {
    const int g = m.alignment[dim].dim;
    return g < 0 ? 1 : space.dims[static_cast<std::size_t>(g)].lanes;
}

ir::Expr HybridTile::lane(const Member& m, std::size_t dim) const {
    return lanes(m, dim) == 1 ? constant(0) : space.dims[static_cast<std::size_t>(m.alignment[dim].dim)].lane;
}

std::int64_t HybridTile::shared_count(const Member& m, std::size_t dim) const {
    const Part& p = part(m);
    return p.extent[dim].count - (p.split == dim ? p.iterations * lanes(m, dim) : 0);
}

Linear HybridTile::first(const Member& m, std::size_t dim) {
    Linear at = space.origin(m, dim);
    const poly::Alignment& a = m.alignment[dim];
    if (a.dim < 0) return at;
    const auto g = static_cast<std::size_t>(a.dim);
    at.constant += part(m).extent[dim].first;
    if (piece[g]) at.add(*space.rewriter.linear(piece[g]), size_[g] / a.scale);
    return at;
}

ir::Expr HybridTile::owned(const Member& m, std::size_t dim, const ir::Expr& offset, std::int64_t lo,
                           std::int64_t hi) const {
    const poly::Alignment& a = m.alignment[dim];
    if (a.dim < 0) return nullptr;
    const std::int64_t begin = -part(m).extent[dim].first;
    const std::int64_t end = begin + size_[static_cast<std::size_t>(a.dim)] / a.scale;
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
    return ir::read({ir::Source::Kind::Local, part(producer).array}, e->type, element(offset), e->range);
}

}  // namespace pipec::codegen
