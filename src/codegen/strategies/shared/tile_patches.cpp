// Points beside and below each other are worth computing together as far as they read the same, and as registers hold
// what they read and compute.
#include "codegen/strategies/shared/tile_patches.h"

#include <algorithm>
#include <map>

#include "ir/visit.h"

namespace pipec::codegen {

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

plan::PatchAxes TilePatches::axes(const TileSpace::Member& m) const {
    const TileArrays::Axes& found = arrays_.axes(m);
    const auto dim = [](const std::optional<std::size_t>& d) { return d ? static_cast<int>(*d) : -1; };
    return {dim(found.columns), dim(found.rows), found.whole};
}

std::int64_t TilePatches::columns_of(const TileSpace::Member& m) {
    return plan::patch_columns(shape_, space_.group.position(m.stage), axes(m), vector_, access_bytes_,
                               patch_reads(space_, m), points_of(m).count(), lanes_);
}

std::int64_t TilePatches::columns_of_cell(const TileSpace::Member& m) {
    std::vector<std::size_t> found;
    ir::for_each_node(m.interior.value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return;
        const TileSpace::Member* of = space_.member(read->source.index);
        const bool by_data = std::any_of(read->indices.begin(), read->indices.end(),
                                         [&](const ir::Expr& index) { return !space_.rewriter.linear(index); });
        if (of != nullptr && by_data) found.push_back(space_.group.position(of->stage));
    });
    return plan::columns_of_cell(shape_, space_.group.position(m.stage), found);
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
            const std::vector<ir::Expr> of_member =
                patch_values(space_, *member, *together.front(), axes(*together.front()), columns, patches.rows);
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
