#include "plan/stage_tile.h"

#include <algorithm>
#include <iterator>

#include "fusion/schedule.h"
#include "plan/lane_patches.h"

namespace pipec::plan {

namespace {

constexpr std::int64_t kThreads = kStageThreads, kLineThreads = 64;
constexpr std::int64_t kMostLayers = 64;  // threads in z: CUDA's limit
constexpr std::int64_t kTurnedLanes = 8;
/// That a thread computes at most, where it accesses several elements at once.
constexpr std::int64_t kPointsPerThread = 16;

using Extents = std::vector<std::optional<std::int64_t>>;

/// At most `threads`, and no more than there are points for.
std::int64_t least(std::int64_t threads, const std::optional<std::int64_t>& extent, std::int64_t points) {
    return extent ? std::clamp<std::int64_t>((*extent + points - 1) / points, 1, threads) : threads;
}

/// A long dimension outside of the lanes along which some read lies in memory that the lanes follow, too.
std::optional<std::size_t> along_reads(const StageAxes& axes, const Extents& extents,
                                       const std::vector<ReadDims>& reads) {
    for (const ReadDims& read : reads) {
        if (!axes.lane || std::ranges::find(read, static_cast<int>(*axes.lane)) == read.end()) continue;
        const auto innermost = std::ranges::find_if(read, [&](int dim) {
            return dim == kAnyPlace || (dim >= 0 && axes.roles[static_cast<std::size_t>(dim)] != StageRole::Inner);
        });
        if (innermost == read.end() || *innermost < 0 || *innermost == static_cast<int>(*axes.lane)) continue;
        const auto dim = static_cast<std::size_t>(*innermost);
        if (!extents[dim] || *extents[dim] > fusion::kShortExtent) return dim;
    }
    return std::nullopt;
}

}  // namespace

StageAxes stage_axes(const std::vector<int>& order, const Extents& extents, bool loops,
                     const std::vector<ReadDims>& reads) {
    StageAxes axes;
    axes.loops = loops;
    axes.roles.assign(extents.size(), StageRole::Outer);
    std::vector<std::size_t> outside;  // of the lanes, innermost first
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
        const auto dim = static_cast<std::size_t>(*d);
        const auto& extent = extents[dim];
        const bool shares = !loops && !axes.lane && std::next(d) != order.rend();
        if (shares && extent && *extent * axes.inner_points <= kInnerPoints) {
            axes.roles[dim] = StageRole::Inner;
            axes.inner_points *= std::max<std::int64_t>(1, *extent);
        } else if (!axes.lane) {
            axes.roles[dim] = StageRole::Lane;
            axes.lane = dim;
        } else {
            outside.push_back(dim);
        }
    }
    if (const auto along = along_reads(axes, extents, reads); along && !loops) {
        axes.turned = true;
        const auto found = std::ranges::find(outside, *along);
        std::rotate(outside.begin(), found, std::next(found));
    }
    if (!outside.empty()) axes.row = outside[0], axes.roles[outside[0]] = StageRole::Row;
    if (outside.size() > 1) axes.layer = outside[1], axes.roles[outside[1]] = StageRole::Layer;
    return axes;
}

std::int64_t stage_columns(const StageAxes& axes, const Extents& extents, std::int64_t widest, std::int64_t nodes) {
    std::int64_t columns = std::max<std::int64_t>(1, kAccessBytes / widest);
    while (columns > 1 &&
           (columns * axes.inner_points > kPointsPerThread || nodes * columns * axes.inner_points > kMostStageNodes)) {
        columns /= 2;
    }
    const auto extent = extents[*axes.lane];
    return extent && *extent < columns ? 1 : columns;
}

std::int64_t stage_least_blocks(std::int64_t multiprocessors, bool along_memory) {
    return std::max<std::int64_t>(1, multiprocessors / (along_memory ? 2 : 32));
}

bool has_few_points(std::int64_t points, std::int64_t multiprocessors, bool along_memory) {
    return points < stage_least_blocks(multiprocessors, along_memory) * kStageThreads;
}

std::int64_t stage_lane_warps(const std::optional<std::int64_t>& extent) {
    return least(2, extent, 1);
}

bool have_own_blocks(const std::vector<std::set<ir::Source>>& read, bool loops) {
    if (read.size() < 2 || !loops) return false;
    std::set<ir::Source> seen;
    std::size_t count = 0;
    for (const std::set<ir::Source>& sources : read) {
        if (sources.empty()) return false;
        seen.insert(sources.begin(), sources.end());
        count += sources.size();
    }
    return seen.size() == count;
}

std::int64_t stage_layers(const StageAxes& axes, const Extents& extents, std::int64_t columns, std::int64_t across,
                          std::int64_t down) {
    if (!axes.layer || across * down >= kThreads) return 1;
    const auto &lanes = extents[*axes.lane], &rows = extents[*axes.row];
    const bool whole = lanes && rows && across * columns >= *lanes && down >= *rows;
    return whole ? least(std::min(kMostLayers, kThreads / (across * down)), extents[*axes.layer], 1) : 1;
}

std::array<std::int64_t, 3> stage_block(const StageAxes& axes, const Extents& extents, std::int64_t columns) {
    const auto& lanes = extents[*axes.lane];
    std::int64_t across = least(axes.turned  ? kTurnedLanes
                                : axes.row   ? kWarp
                                : axes.loops ? kLineThreads
                                             : kThreads,
                                lanes, columns);
    const std::int64_t down = axes.row ? least(kThreads / across, extents[*axes.row], 1) : 1;
    if (axes.row && across == kWarp && across * down < kThreads && !lanes) across = kThreads / down;
    return {across, down, stage_layers(axes, extents, columns, across, down)};
}

}  // namespace pipec::plan
