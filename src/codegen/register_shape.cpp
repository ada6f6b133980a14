#include "codegen/register_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "support/integers.h"

namespace pipec::codegen {

namespace {

constexpr std::int64_t kSectorBytes = 32;

/// The greatest number of points that some members have in a group dimension, in group coordinates; none where it
/// depends on sizes.
std::optional<std::int64_t> constant_end(const kernel::Program& program, const poly::Group& group, int dim,
                                         const std::vector<int>& members) {
    std::int64_t end = 1;
    for (const int stage : members) {
        const std::size_t p = group.position(stage);
        for (std::size_t d = 0; d < group.alignment[p].size(); ++d) {
            const poly::Alignment& a = group.alignment[p][d];
            if (a.dim != dim) continue;
            const poly::Interval& box = program.model.domains.at(static_cast<std::size_t>(group.stages[p])).box[d];
            const auto lo = ir::as_int(box.lo), hi = ir::as_int(box.hi);
            if (!lo || !hi || *lo < 0) return std::nullopt;
            end = std::max(end, *hi * a.scale);
        }
    }
    return end;
}

/// A lane's columns of a stage are among those that its readers' columns ask for, as near to the inputs' as can be:
/// then hi - lo columns of a row come from other lanes, and no stage asks for more than that.
std::vector<std::int64_t> shifts(const poly::Group& group, std::size_t lane_dim) {
    std::vector<std::int64_t> shift(group.stages.size(), 0);
    const auto scale = [&](std::size_t p) {
        for (const poly::Alignment& a : group.alignment[p]) {
            if (a.dim == static_cast<int>(lane_dim)) return a.scale;
        }
        return std::int64_t{0};
    };
    for (std::size_t p = group.stages.size(); p-- > 0;) {
        if (scale(p) == 0) continue;
        if (std::find(group.live_outs.begin(), group.live_outs.end(), group.stages[p]) != group.live_outs.end())
            continue;
        std::optional<poly::Distance> hull;
        for (const poly::GroupEdge& edge : group.edges) {
            if (edge.producer != group.stages[p]) continue;
            const std::size_t reader = group.position(edge.reader);
            const std::int64_t g = shift[reader] * scale(reader);
            const poly::Distance& d = edge.distance[lane_dim];
            hull = hull ? poly::Distance{std::min(hull->lo, d.lo + g), std::max(hull->hi, d.hi + g)}
                        : poly::Distance{d.lo + g, d.hi + g};
        }
        if (hull)
            shift[p] = std::clamp<std::int64_t>(
                0, ceil_quotient(hull->lo, scale(p)),
                std::max(ceil_quotient(hull->lo, scale(p)), floor_quotient(hull->hi, scale(p))));
    }
    return shift;
}

}  // namespace

RegisterShape register_shape(const kernel::Program& program, const poly::Group& group,
                             const fusion::GroupSchedule& schedule) {
    RegisterShape shape;
    if (group.rank == 0) throw Refusal("the group has no dimensions");
    if (schedule.block[0] % kWarp != 0) throw Refusal("a block is a multiple of 32 threads wide");
    int axis = 0;  // of the dimension below: 0 for columns, 1 for rows, 2 for planes
    bool has_lanes = false;
    shape.cuts.resize(static_cast<std::size_t>(group.rank));
    for (int g = group.rank - 1; g >= 0; --g) {
        TileSpace::Cut& cut = shape.cuts[static_cast<std::size_t>(g)];
        const std::int64_t unit = poly::tile_unit(group, g);
        // So do planes that one tile has all of, as far as they are stored: no tile begins at any other.
        const bool planes = has_lanes || g == 0;
        const std::int64_t most = !planes     ? fusion::kShortExtent
                                  : axis == 2 ? std::min<std::int64_t>(schedule.tile[2], fusion::kShortExtent)
                                              : 0;
        const auto end = constant_end(program, group, g, planes ? group.live_outs : group.stages);
        if (end && *end <= most) {
            cut.size = (*end + unit - 1) / unit * unit;
            continue;
        }
        cut.size = unit;
        if (axis > 2) continue;
        const int points = schedule.tile[static_cast<std::size_t>(axis)];
        cut.teams = axis == 0 ? schedule.block[0] / kWarp : schedule.block[static_cast<std::size_t>(axis)];
        if (axis == 0) {
            has_lanes = true;
            shape.lane_dim = static_cast<std::size_t>(g);
            shape.columns = points;
            cut.lanes = kWarp;
            if (points % unit != 0) {
                throw Refusal(fmt::format(
                    "{} columns of a lane are no multiple of {}, which the scales of the group ask for", points, unit));
            }
        } else {
            if (axis == 1) shape.row_dim = static_cast<std::size_t>(g);
            cut.size = (points + unit - 1) / unit * unit;
            if (cut.size > unit) cut.step = unit;
        }
        ++axis;
    }
    for (; axis < 3; ++axis) {
        if (schedule.block[static_cast<std::size_t>(axis)] > 1) {
            throw Refusal("the group has fewer dimensions than the block of warps");
        }
    }
    shape.prefetch = schedule.prefetch;
    shape.shift = shifts(group, shape.lane_dim);
    shape.cuts[shape.lane_dim].size = kWarp * shape.columns;
    shape.cuts[shape.lane_dim].step = shape.columns;
    return shape;
}

RegisterShape with_lanes(const kernel::Program& program, const poly::Group& group, RegisterShape shape,
                         std::int64_t left, std::int64_t right) {
    shape.left = left;
    std::int64_t lanes = kWarp - left - right;
    std::int64_t bytes = kSectorBytes;  // the least that a lane stores of a row
    for (const int stage : group.live_outs) {
        const auto& alignment = group.alignment[group.position(stage)];
        for (const poly::Alignment& a : alignment) {
            if (a.dim != static_cast<int>(shape.lane_dim)) continue;
            bytes = std::min(bytes, shape.columns / a.scale *
                                        ir::bytes(program.pipeline.stages.at(static_cast<std::size_t>(stage)).type));
        }
    }
    // Single elements go to arrays that lie anywhere.
    if (shape.store_bytes > 0) {
        const std::int64_t rounded = lanes / (kSectorBytes / bytes) * (kSectorBytes / bytes);
        if (rounded >= lanes * 7 / 8) lanes = rounded;
    }
    shape.right = kWarp - left - lanes;
    TileSpace::Cut& cut = shape.cuts[shape.lane_dim];
    cut.size = lanes * shape.columns;
    cut.cover = (kWarp - left - right) * shape.columns;
    return shape;
}

}  // namespace pipec::codegen
