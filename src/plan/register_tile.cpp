#include "plan/register_tile.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/tiles.h"
#include "support/integers.h"

namespace pipec::plan {

namespace {

/// The greatest number of points that some members have in a group dimension, in group coordinates; none where it
/// depends on sizes.
std::optional<std::int64_t> constant_end(const fusion::GroupShape& shape, std::size_t dim, bool live_only) {
    std::int64_t end = 1;
    for (std::size_t m = 0; m < shape.shapes.size(); ++m) {
        if (live_only && !shape.live[m]) continue;
        for (std::size_t d = 0; d < shape.group.alignment[m].size(); ++d) {
            const poly::Alignment& a = shape.group.alignment[m][d];
            if (a.dim != static_cast<int>(dim)) continue;
            const auto& range = shape.shapes[m].ranges[d];
            if (!range || range->lo < 0) return std::nullopt;
            end = std::max(end, range->hi * a.scale);
        }
    }
    return end;
}

/// A lane's columns of a stage are among those that its readers' columns ask for, as near to the inputs' as can be:
/// then hi - lo columns of a row come from other lanes, and no stage asks for more than that.
std::vector<std::int64_t> shifts(const fusion::GroupShape& shape, std::size_t lane_dim) {
    const poly::Group& group = shape.group;
    std::vector<std::int64_t> shift(group.stages.size(), 0);
    const auto scale = [&](std::size_t p) {
        for (const poly::Alignment& a : group.alignment[p]) {
            if (a.dim == static_cast<int>(lane_dim)) return a.scale;
        }
        return std::int64_t{0};
    };
    std::vector<std::optional<poly::Distance>> hulls(group.stages.size());  // of what readers ask for
    auto edge = group.edges.rbegin();
    for (std::size_t p = group.stages.size(); p-- > 0;) {
        if (const auto& hull = hulls[p]; hull && scale(p) != 0 && !shape.live[p]) {
            const std::int64_t first = ceil_quotient(hull->lo, scale(p)), last = floor_quotient(hull->hi, scale(p));
            shift[p] = std::clamp<std::int64_t>(0, first, std::max(first, last));
        }
        const std::int64_t g = shift[p] * scale(p);
        for (; edge != group.edges.rend() && edge->reader_place == p; ++edge) {
            const poly::Distance& d = edge->distance[lane_dim];
            auto& hull = hulls[edge->producer_place];
            hull = hull ? poly::Distance{std::min(hull->lo, d.lo + g), std::max(hull->hi, d.hi + g)}
                        : poly::Distance{d.lo + g, d.hi + g};
        }
    }
    return shift;
}

/// All lanes of a warp are of use.
void use_all_lanes(Plan& plan) {
    Cut& across = plan.tiles.cuts[plan.registers->lane_dim];
    across.size = kWarp * plan.registers->columns;
    across.step = plan.registers->columns;
}

}  // namespace

std::variant<Plan, Refusal> make_register_tile(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule) {
    if (shape.group.rank == 0) return "the group has no dimensions";
    if (schedule.block[0] % kWarp != 0) return "a block is a multiple of 32 threads wide";
    Plan plan;
    plan.strategy = schedule.strategy;
    Tiles& tiles = plan.tiles;
    tiles.block = schedule.block;
    tiles.by_warp = true;
    tiles.cuts.resize(shape.units.size());
    RegisterTile& registers = plan.registers.emplace();
    int axis = 0;  // of the dimension below: 0 for columns, 1 for rows, 2 for planes
    bool has_lanes = false;
    for (std::size_t g = shape.units.size(); g-- > 0;) {
        Cut& cut = tiles.cuts[g];
        const std::int64_t unit = shape.units[g];
        // Short dimensions inside of the columns are in every lane as a whole. So are rows and planes that one tile has
        // all of, as far as they are stored: no tile begins at any other.
        const bool planes = has_lanes || g == 0;
        const std::int64_t most =
            !planes ? fusion::kShortExtent
            : axis == 1 || axis == 2
                ? std::min<std::int64_t>(schedule.tile[static_cast<std::size_t>(axis)], fusion::kShortExtent)
                : 0;
        const auto end = constant_end(shape, g, planes);
        if (end && *end <= most) {
            cut.size = tile_size(*end, unit);
            continue;
        }
        cut.size = unit;
        if (axis > 2) continue;
        const int points = schedule.tile[static_cast<std::size_t>(axis)];
        cut.thread_groups = axis == 0 ? schedule.block[0] / kWarp : schedule.block[static_cast<std::size_t>(axis)];
        if (axis == 0) {
            has_lanes = true;
            registers.lane_dim = g;
            registers.columns = points;
            cut.lanes = kWarp;
            if (points % unit != 0) {
                return fmt::format("{} columns of a lane are no multiple of {}, which the scales of the group ask for",
                                   points, unit);
            }
        } else {
            if (axis == 1) registers.row_dim = g;
            cut.size = tile_size(points, unit);
            if (cut.size > unit) cut.step = unit;
        }
        ++axis;
    }
    // One tile has all rows: the warps that would have others of them lie beside each other.
    if (axis == 1 && has_lanes && shape.units.size() > 1) {
        tiles.cuts[registers.lane_dim].thread_groups *= schedule.block[1];
        axis = 2;
    }
    for (; axis < 3; ++axis) {
        if (schedule.block[static_cast<std::size_t>(axis)] > 1)
            return "the group has fewer dimensions than the block of warps";
    }
    registers.prefetch = schedule.prefetch;
    registers.packed = schedule.choices.packed;
    registers.edges = schedule.choices.edges;
    take_block_order(schedule, schedule.prefetch, tiles);
    registers.shift = shifts(shape, registers.lane_dim);
    use_all_lanes(plan);
    return plan;
}

std::int64_t part_for_elements(const fusion::GroupShape& shape) {
    std::int64_t narrowest = fusion::kAccessBytes;
    for (std::size_t m = 0; m < shape.shapes.size(); ++m) {
        if (shape.live[m]) narrowest = std::min<std::int64_t>(narrowest, shape.shapes[m].bytes);
    }
    return fusion::kAccessBytes / narrowest;
}

std::int64_t fewer_columns(const fusion::GroupShape& shape, const RegisterTile& tile, std::int64_t part) {
    const std::int64_t unit = shape.units[tile.lane_dim];
    return std::max<std::int64_t>(1, tile.columns / part / unit) * unit;
}

Plan with_fewer_columns(const fusion::GroupShape& shape, Plan plan, std::int64_t part) {
    RegisterTile& registers = *plan.registers;
    const std::int64_t before = registers.columns;
    registers.columns = fewer_columns(shape, registers, part);
    if (registers.row_dim) {
        Cut &across = plan.tiles.cuts[registers.lane_dim], &down = plan.tiles.cuts[*registers.row_dim];
        for (std::int64_t left = before / registers.columns; left > 1 && down.thread_groups % 2 == 0; left /= 2) {
            across.thread_groups *= 2;
            down.thread_groups /= 2;
        }
        if (before / registers.columns >= 4 && down.step > 0) down.size *= 2;
    }
    use_all_lanes(plan);
    complete(shape, plan.tiles);
    return plan;
}

std::string access_suffix(const RegisterTile& tile) {
    if (tile.load_bytes == 0) return {};
    const std::string loads = fmt::format("_wide{}", tile.load_bytes);
    return tile.store_bytes == tile.load_bytes ? loads : fmt::format("{}_{}", loads, tile.store_bytes);
}

namespace {

/// The least that a lane with so many columns stores of a row, up to a sector.
std::int64_t stored_bytes(const fusion::GroupShape& shape, std::size_t lane_dim, std::int64_t columns) {
    std::int64_t bytes = kSectorBytes;
    for (std::size_t m = 0; m < shape.shapes.size(); ++m) {
        for (const poly::Alignment& a : shape.group.alignment[m]) {
            if (shape.live[m] && a.dim == static_cast<int>(lane_dim))
                bytes = std::min(bytes, columns / a.scale * shape.shapes[m].bytes);
        }
    }
    return bytes;
}

/// Lanes of `lanes` that store, of which each stores `bytes` of a row: whole sectors, unless fewer than `least` would.
std::int64_t storing_lanes(std::int64_t lanes, std::int64_t bytes, std::int64_t least) {
    const std::int64_t whole = kSectorBytes / bytes, rounded = lanes / whole * whole;
    return rounded >= least ? rounded : lanes;
}

}  // namespace

void cut_lanes(const fusion::GroupShape& shape, Plan& plan, std::int64_t left, std::int64_t right) {
    RegisterTile& registers = *plan.registers;
    const std::int64_t useful = kWarp - left - right;
    // Single elements go to arrays that lie anywhere.
    const std::int64_t lanes =
        registers.store_bytes > 0
            ? storing_lanes(useful, stored_bytes(shape, registers.lane_dim, registers.columns), useful * 7 / 8)
            : useful;
    registers.left = left;
    registers.right = kWarp - left - lanes;
    Cut& cut = plan.tiles.cuts[registers.lane_dim];
    cut.size = lanes * registers.columns;
    cut.cover = useful * registers.columns;
}

void leave_lanes(const fusion::GroupShape& shape, Plan& plan, std::int64_t left, std::int64_t right) {
    cut_lanes(shape, plan, left, right);
    complete(shape, plan.tiles);
}

}  // namespace pipec::plan
