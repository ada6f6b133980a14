#include "codegen/strategies/register/register_homes.h"

#include <algorithm>
#include <cstdlib>

#include "ir/visit.h"
#include "support/integers.h"

namespace pipec::codegen {

namespace {

/// How many reads there are at each distance, in lanes.
using Distances = std::map<std::int64_t, int>;

/// Counts the reads of a lane's points of `m`, which has its columns in dimension `along`.
void count_reads(TileSpace& space, const plan::RegisterTile& tile, const TileSpace::Member& m, std::size_t along,
                 std::map<ColumnsOf, Distances>& counts) {
    const std::int64_t columns = tile.columns / m.alignment[along].scale;
    const std::int64_t first = tile.shift[space.group.position(m.stage)];
    ir::for_each_node(m.interior.value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr) return;
        if (read->source.kind == ir::Source::Kind::Stage && space.member(read->source.index) != nullptr) return;
        for (std::size_t d = 0; d < read->indices.size(); ++d) {
            const auto sum = space.rewriter.linear(read->indices[d]);
            if (!sum || sum->terms.size() != 1) continue;
            const std::int64_t factor = sum->factor_of(m.definition.dims[along].var), n = factor * columns;
            if (factor <= 0) continue;
            for (std::int64_t i = 0; i < columns; ++i)
                ++counts[{read->source, d, n}][floor_quotient(factor * (first + i) + sum->constant, n)];
        }
    });
}

}  // namespace

Homes find_homes(TileSpace& space, const plan::RegisterTile& tile) {
    std::map<ColumnsOf, Distances> counts;
    for (const TileSpace::Member& m : space.members) {
        for (std::size_t d = 0; d < m.alignment.size(); ++d) {
            if (m.alignment[d].dim == static_cast<int>(tile.lane_dim)) count_reads(space, tile, m, d, counts);
        }
    }
    Homes homes;
    for (const auto& [columns, distances] : counts) {
        if (distances.begin()->first <= 0 && distances.rbegin()->first >= 0) continue;
        const auto most = std::max_element(distances.begin(), distances.end(), [](const auto& a, const auto& b) {
            return std::pair(a.second, -std::abs(a.first)) < std::pair(b.second, -std::abs(b.first));
        });
        homes.emplace(columns, most->first);
    }
    return homes;
}

}  // namespace pipec::codegen
