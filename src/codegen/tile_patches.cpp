// Points beside and below each other are worth computing together as far as they read the same, and as registers hold
// what they read and compute.
#include "codegen/tile_patches.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/kernel_build.h"
#include "codegen/pack.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

/// The widest access.
constexpr std::int64_t kAccessBytes = 16;

/// What is read and computed fits into the registers of a lane, and the code into the instruction cache.
bool in_registers(const std::vector<ir::Expr>& values) {
    std::set<const ir::Node*> nodes;
    for (const ir::Expr& value : values) ir::for_each_node(value, [&](const ir::Expr& e) { nodes.insert(e.get()); });
    return certain_reads(values).size() + values.size() <= std::size_t{plan::kPatchElements} &&
           nodes.size() <= std::size_t{plan::kPatchNodes};
}

}  // namespace

/// Single points.
Patches TilePatches::points_of(const TileSpace::Member& m) const {
    const TileArrays::Axes& axes = arrays_.axes(m);
    Patches points;
    for (const std::size_t d : axes.order) {
        std::int64_t& count = d == axes.columns ? points.across : d == axes.rows ? points.down : points.others;
        count *= m.extent[d].count;
    }
    return points;
}

/// Instances of the points of a patch, row after row. Of members with the same points: over the variables of `first`.
std::vector<ir::Expr> TilePatches::values_of(const TileSpace::Member& m, const TileSpace::Member& first,
                                             std::int64_t columns, std::int64_t rows) {
    const TileArrays::Axes& axes = arrays_.axes(m);
    std::vector<ir::Expr> values;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
        Rewriter::Bindings point;
        for (std::size_t d = 0; d < m.definition.dims.size(); ++d) {
            const ir::Expr at = ir::variable(first.definition.dims[d].var, ir::Type::Int32);
            const std::int64_t by = d == axes.columns ? i % columns : d == axes.rows ? i / columns : 0;
            point[m.definition.dims[d].var] = sum(at, constant(by));
        }
        values.push_back(space_.rewriter.instance(m.interior.value, point));
    }
    return values;
}

/// Adjacent columns that a lane computes. Along the tile's x those of the schedule, as long as one access moves them;
/// of a whole dimension what one access moves, or all where neighbours read the same.
std::int64_t TilePatches::columns_of(const TileSpace::Member& m) {
    const TileArrays::Axes& axes = arrays_.axes(m);
    if (!axes.columns) return 1;
    int narrowest = ir::bytes(m.definition.type);
    for (const ir::Expr& read : certain_reads({m.interior.value}))
        narrowest = std::min(narrowest, ir::bytes(read->type));
    if (!axes.whole) return std::min(vector_, kAccessBytes / narrowest);
    const std::int64_t count = m.extent[*axes.columns].count;
    if (count <= plan::kWholeColumns) {
        const std::vector<ir::Expr> one = values_of(m, m, 1, 1), all = values_of(m, m, count, 1);
        const auto alone = certain_reads(one).size() * all.size();
        if (certain_reads(all).size() * 2 <= alone && in_registers(all)) return count;
    }
    std::int64_t columns = access_bytes_ / narrowest;
    while (columns > 1 && count % columns != 0) columns /= 2;
    return std::max<std::int64_t>(columns, 1);
}

/// Where the member reads another one, of which it has several columns for each, at places that depend on data: how
/// many columns. The lanes of a warp then compute a block as wide as that: what they read lies close together, in
/// different banks or in the same place.
std::int64_t TilePatches::columns_of_cell(const TileSpace::Member& m) {
    const int x = space_.group.rank - 1;
    const auto scale_of = [&](const TileSpace::Member& member) {
        for (const poly::Alignment& a : member.alignment) {
            if (a.dim == x) return a.scale;
        }
        return std::int64_t{0};
    };
    std::int64_t columns = 1;
    ir::for_each_node(m.interior.value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return;
        const TileSpace::Member* of = space_.member(read->source.index);
        const bool by_data = std::any_of(read->indices.begin(), read->indices.end(),
                                         [&](const ir::Expr& index) { return !space_.rewriter.linear(index); });
        if (of != nullptr && by_data && scale_of(m) > 0) columns = std::max(columns, scale_of(*of) / scale_of(m));
    });
    return columns;
}

/// Vectors of columns, and as many rows as pay off and as registers hold what is read and computed.
std::vector<Patches> TilePatches::of(const Members& together) {
    const Patches points = points_of(*together.front());
    std::int64_t columns = 1;
    for (const TileSpace::Member* member : together) columns = std::max(columns, columns_of(*member));
    std::map<std::int64_t, bool> known;  // by rows
    const auto fits = [&](const Patches& patches) {
        if (const auto found = known.find(patches.rows); found != known.end()) return found->second;
        if (patches.rows == 1) return true;
        std::vector<ir::Expr> values;
        for (const TileSpace::Member* member : together) {
            const std::vector<ir::Expr> of_member = values_of(*member, *together.front(), columns, patches.rows);
            values.insert(values.end(), of_member.begin(), of_member.end());
        }
        return known[patches.rows] = in_registers(values);
    };
    Patches vectors = points;
    vectors.columns = columns;
    vectors.across /= columns;
    vectors = plan::in_blocks(vectors, columns_of_cell(*together.front()) / columns);
    if (vectors.block_down > 1) return {vectors};
    const auto ways = plan::patches_by_cost(points, columns, lanes_, plan::kPatchPoints / columns);
    for (const std::vector<Patches>& way : ways) {
        if (std::all_of(way.begin(), way.end(), fits)) return way;
    }
    return ways.front();
}

Patches TilePatches::at_edges(const TileSpace::Member& m) {
    Patches patches = points_of(m);
    if (arrays_.axes(m).columns && !m.interior.guard) patches.columns = columns_of(m);
    patches.across /= patches.columns;
    return plan::in_blocks(patches, columns_of_cell(m) / patches.columns);
}

}  // namespace pipec::codegen
