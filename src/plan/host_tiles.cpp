#include "plan/host_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/build.h"
#include "plan/shared_memory.h"

namespace pipec::plan {

namespace {

/// Rows and arrays of the scratch begin at multiples of it, in bytes.
constexpr std::int64_t kLine = 64;
/// What a thread has for a tile at most.
constexpr std::int64_t kMostScratch = std::int64_t{8} << 20;

std::optional<poly::TileExtent> constant_range(const poly::Interval& interval) {
    const auto lo = ir::as_int(interval.lo), hi = ir::as_int(interval.hi);
    if (!lo || !hi) return std::nullopt;
    return poly::TileExtent{*lo, std::max<std::int64_t>(0, *hi - *lo)};
}

std::int64_t round_up(std::int64_t n, std::int64_t unit) {
    return (n + unit - 1) / unit * unit;
}

/// A dimension that loops run over as a whole: the channels of interleaved colour.
bool is_inner(const ir::Pipeline& pipeline, const poly::Model& model, int stage, std::size_t dim) {
    const ir::Stage& s = pipeline.stages[static_cast<std::size_t>(stage)];
    std::vector<int> order;
    if (s.output >= 0) {
        order = pipeline.outputs[static_cast<std::size_t>(s.output)].buffer.order;
    } else {
        for (std::size_t d = 0; d < s.dims.size(); ++d) order.push_back(static_cast<int>(d));
    }
    for (std::size_t i = order.size(); i-- > 1;) {
        const auto d = static_cast<std::size_t>(order[i]);
        const auto range = constant_range(model.domains.at(static_cast<std::size_t>(stage)).box[d]);
        if (!range || range->count > kHostInnerPoints) return false;
        if (d == dim) return true;
    }
    return false;
}

}  // namespace

std::variant<HostTiles, Refusal> host_tiles(const ir::Pipeline& pipeline, const poly::Model& model,
                                            const poly::Group& group, const fusion::GroupSchedule& schedule) {
    if (schedule.strategy != fusion::Strategy::Otptb) return "the host has the strategies `stage` and `otptb`";
    HostTiles tiles;
    const auto rank = static_cast<std::size_t>(group.rank);
    if (rank == 0) return "its stages have no dimension in common";
    for (std::size_t d = 0; d < rank; ++d) {
        const std::size_t axis = rank - 1 - d;
        const std::int64_t points = axis < 3 ? schedule.tile[axis] : 1;
        tiles.size.push_back(round_up(points, poly::tile_unit(group, static_cast<int>(d))));
    }
    std::vector<bool> is_live(group.stages.size(), false);
    for (std::size_t m = 0; m < group.stages.size(); ++m) {
        const int stage = group.stages[m];
        const ir::Stage& s = pipeline.stages[static_cast<std::size_t>(stage)];
        const std::vector<poly::Interval>& box = model.domains.at(static_cast<std::size_t>(stage)).box;
        is_live[m] = std::find(group.live_outs.begin(), group.live_outs.end(), stage) != group.live_outs.end();
        if (!std::holds_alternative<ir::Pure>(s.definition) || s.scan || s.dims.empty()) {
            return fmt::format("`{}` is no pure stage with dimensions", s.name);
        }
        std::vector<bool> has(rank, false);
        for (std::size_t d = 0; d < s.dims.size(); ++d) {
            const poly::Alignment& alignment = group.alignment[m][d];
            if (alignment.dim < 0) continue;
            const auto g = static_cast<std::size_t>(alignment.dim);
            has[g] = true;
            if (!is_inner(pipeline, model, stage, d)) continue;
            const auto range = constant_range(box[d]);
            // One tile has all of it, wherever that begins.
            tiles.size[g] = std::max(tiles.size[g], round_up((std::abs(range->first) + range->count) * alignment.scale,
                                                             poly::tile_unit(group, alignment.dim)));
            if (range->first < 0) return fmt::format("`{}` has points before the first tile", s.name);
        }
        if (is_live[m] && std::find(has.begin(), has.end(), false) != has.end()) {
            return fmt::format("several tiles would write the same points of `{}`", s.name);
        }
    }
    std::vector<Lifetime> lifetimes;
    std::vector<std::size_t> kept;
    for (std::size_t m = 0; m < group.stages.size(); ++m) {
        const int stage = group.stages[m];
        const ir::Stage& s = pipeline.stages[static_cast<std::size_t>(stage)];
        HostTiles::Member& member = tiles.members.emplace_back();
        member.in_scratch = !is_live[m];
        for (std::size_t d = 0; d < s.dims.size(); ++d) {
            const poly::Alignment& alignment = group.alignment[m][d];
            const auto range = constant_range(model.domains.at(static_cast<std::size_t>(stage)).box[d]);
            member.whole.push_back(alignment.dim < 0 || is_inner(pipeline, model, stage, d));
            if (member.whole.back()) {
                if (!range) return fmt::format("a dimension of `{}` has no constant extent", s.name);
                member.extent.push_back(*range);
                continue;
            }
            const auto g = static_cast<std::size_t>(alignment.dim);
            const poly::TileExtent extent = poly::tile_extent(alignment, group.reach[m][g], tiles.size[g]);
            if (is_live[m] && (extent.first != 0 || extent.count != tiles.size[g] / alignment.scale)) {
                return fmt::format("`{}` is needed outside of the group, and beyond its tile inside of it", s.name);
            }
            member.extent.push_back(extent);
        }
        if (!member.in_scratch) continue;
        std::int64_t elements = 1;
        member.strides.assign(s.dims.size(), 0);
        for (std::size_t d = s.dims.size(); d-- > 0;) {
            member.strides[d] = elements;
            elements *= std::max<std::int64_t>(1, member.extent[d].count);
            const std::int64_t line = kLine / ir::bytes(s.type);
            if (elements >= line && d + 1 == s.dims.size()) elements = round_up(elements, line);
            if (elements * ir::bytes(s.type) > kMostScratch) return "a tile needs too much memory";
        }
        member.bytes = round_up(elements * ir::bytes(s.type), kLine);
        std::size_t last = m;
        for (const poly::GroupEdge& edge : group.edges) {
            if (edge.producer_place == m) last = std::max(last, edge.reader_place);
        }
        lifetimes.push_back({m, last, member.bytes});
        kept.push_back(m);
    }
    const std::vector<std::int64_t> offsets = place_arrays(lifetimes);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        HostTiles::Member& member = tiles.members[kept[i]];
        member.offset = offsets[i];
        tiles.scratch = std::max(tiles.scratch, member.offset + member.bytes);
    }
    tiles.scratch = round_up(tiles.scratch, 4096);
    if (tiles.scratch > kMostScratch) return "a tile needs too much memory";
    return tiles;
}

}  // namespace pipec::plan
