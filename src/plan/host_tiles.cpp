#include "plan/host_tiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/shared_memory.h"

namespace pipec::plan {

namespace {

/// Rows and arrays of the scratch begin at multiples of it, in bytes.
constexpr std::int64_t kLine = 64;
/// What a thread has for a tile at most.
constexpr std::int64_t kMostScratch = std::int64_t{8} << 20;

std::int64_t round_up(std::int64_t n, std::int64_t unit) {
    return (n + unit - 1) / unit * unit;
}

/// A dimension that loops run over as a whole: the channels of interleaved colour.
bool is_inner(const fusion::StageShape& stage, std::size_t dim) {
    for (std::size_t i = stage.order.size(); i-- > 1;) {
        const auto d = static_cast<std::size_t>(stage.order[i]);
        const auto& range = stage.ranges[d];
        if (!range || range->hi - range->lo > kHostInnerPoints) return false;
        if (d == dim) return true;
    }
    return false;
}

poly::TileExtent whole_extent(const fusion::StageShape::Range& range) {
    return {range.lo, std::max<std::int64_t>(0, range.hi - range.lo)};
}

}  // namespace

std::variant<HostTiles, Refusal> host_tiles(const ir::Pipeline& pipeline, const fusion::GroupShape& shape,
                                            const fusion::GroupSchedule& schedule) {
    if (schedule.strategy != fusion::Strategy::Otptb) return "the host has the strategies `stage` and `otptb`";
    HostTiles tiles;
    const poly::Group& group = shape.group;
    const auto name = [&](std::size_t m) -> const std::string& {
        return pipeline.stages[static_cast<std::size_t>(group.stages[m])].name;
    };
    const auto rank = static_cast<std::size_t>(group.rank);
    if (rank == 0) return "its stages have no dimension in common";
    for (std::size_t d = 0; d < rank; ++d) {
        const std::size_t axis = rank - 1 - d;
        const std::int64_t points = axis < 3 ? schedule.tile[axis] : 1;
        tiles.size.push_back(round_up(points, shape.units[d]));
    }
    for (std::size_t m = 0; m < group.stages.size(); ++m) {
        const fusion::StageShape& stage = shape.shapes[m];
        if (stage.accumulates || stage.scans || stage.ranges.empty()) {
            return fmt::format("`{}` is no pure stage with dimensions", name(m));
        }
        std::vector<bool> has(rank, false);
        for (std::size_t d = 0; d < stage.ranges.size(); ++d) {
            const poly::Alignment& alignment = group.alignment[m][d];
            if (alignment.dim < 0) continue;
            const auto g = static_cast<std::size_t>(alignment.dim);
            has[g] = true;
            if (!is_inner(stage, d)) continue;
            const poly::TileExtent range = whole_extent(*stage.ranges[d]);
            if (range.first < 0) return fmt::format("`{}` has points before the first tile", name(m));
            // One tile has all of it, wherever that begins.
            tiles.size[g] =
                std::max(tiles.size[g], round_up((range.first + range.count) * alignment.scale, shape.units[g]));
        }
        if (shape.live[m] && std::find(has.begin(), has.end(), false) != has.end()) {
            return fmt::format("several tiles would write the same points of `{}`", name(m));
        }
    }
    std::vector<Lifetime> lifetimes;
    std::vector<std::size_t> kept;
    for (std::size_t m = 0; m < group.stages.size(); ++m) {
        const fusion::StageShape& stage = shape.shapes[m];
        HostTiles::Member& member = tiles.members.emplace_back();
        member.in_scratch = !shape.live[m];
        for (std::size_t d = 0; d < stage.ranges.size(); ++d) {
            const poly::Alignment& alignment = group.alignment[m][d];
            member.whole.push_back(alignment.dim < 0 || is_inner(stage, d));
            if (member.whole.back()) {
                if (!stage.ranges[d]) return fmt::format("a dimension of `{}` has no constant extent", name(m));
                member.extent.push_back(whole_extent(*stage.ranges[d]));
                continue;
            }
            const auto g = static_cast<std::size_t>(alignment.dim);
            const poly::TileExtent extent = poly::tile_extent(alignment, group.reach[m][g], tiles.size[g]);
            if (shape.live[m] && (extent.first != 0 || extent.count != tiles.size[g] / alignment.scale)) {
                return fmt::format("`{}` is needed outside of the group, and beyond its tile inside of it", name(m));
            }
            member.extent.push_back(extent);
        }
        if (!member.in_scratch) continue;
        std::int64_t elements = 1;
        member.strides.assign(stage.ranges.size(), 0);
        for (std::size_t d = stage.ranges.size(); d-- > 0;) {
            member.strides[d] = elements;
            elements *= std::max<std::int64_t>(1, member.extent[d].count);
            const std::int64_t line = kLine / stage.bytes;
            if (elements >= line && d + 1 == stage.ranges.size()) elements = round_up(elements, line);
            if (elements * stage.bytes > kMostScratch) return "a tile needs too much memory";
        }
        member.bytes = round_up(elements * stage.bytes, kLine);
        lifetimes.push_back({m, shape.last_reader[m], member.bytes});
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
