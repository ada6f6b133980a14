#include "plan/march.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/integers.h"

namespace pipec::plan {

namespace {

/// The stage's dimension that lies along one of the group.
std::optional<std::size_t> along(const poly::Group& group, std::size_t position, std::size_t dim) {
    const std::vector<poly::Alignment>& alignment = group.alignment[position];
    for (std::size_t d = 0; d < alignment.size(); ++d) {
        if (alignment[d].dim == static_cast<int>(dim)) return d;
    }
    return std::nullopt;
}

/// The most points of a member that a block computes in a dimension, for so many coordinates of its own.
std::int64_t most_points(const poly::Group& group, std::size_t dim, std::int64_t size) {
    std::int64_t most = 0;
    for (std::size_t p = 0; p < group.stages.size(); ++p) {
        if (const auto d = along(group, p, dim))
            most = std::max(most, poly::tile_extent(group.alignment[p][*d], group.reach[p][dim], size).count);
    }
    return most;
}

/// What a block owns of the columns, for all that it computes of them to be `columns` at most; 0 where there is
/// nothing.
std::int64_t own_columns(const poly::Group& group, std::size_t dim, std::int64_t columns) {
    const std::int64_t unit = poly::tile_unit(group, static_cast<int>(dim));
    std::int64_t size = columns * unit;
    while (size > 0 && most_points(group, dim, size) > columns) size -= unit;
    return size;
}

/// Steps that a member is late. Members that are computed before the march hold nobody up.
std::int64_t lateness(const poly::Group& group, const March& march, std::size_t position) {
    std::int64_t late = 0;
    for (const poly::GroupEdge& edge : group.edges) {
        const March::Member& producer = march.members[edge.producer_place];
        if (edge.reader == group.stages[position] && producer.rows) late = std::max(late, producer.late + 1);
    }
    return late;
}

/// The rows of a member that lie between the oldest one that a reader asks for in a step and the newest one that is
/// written in it, both included.
std::int64_t window(const poly::Group& group, const March& march, std::size_t position) {
    const March::Member& m = march.members[position];
    const poly::Alignment& own = group.alignment[position][*m.rows];
    const auto first_row = [&](std::size_t p) {  // of step 0, from the block's first own row
        const poly::Alignment& a = group.alignment[p][*march.members[p].rows];
        const poly::TileExtent extent = poly::tile_extent(a, group.reach[p][march.dim], march.size[march.dim]);
        return extent.first + march.members[p].ahead;
    };
    const std::int64_t newest = first_row(position) + m.each - 1;
    std::int64_t rows = 0;
    for (const poly::GroupEdge& edge : group.edges) {
        if (edge.producer != group.stages[position]) continue;
        const std::size_t reader = edge.reader_place;
        const poly::Alignment& theirs = group.alignment[reader][*march.members[reader].rows];
        const std::int64_t least = theirs.scale * first_row(reader) + edge.distance[march.dim].lo;
        rows = std::max(rows, newest - ceil_quotient(least, own.scale) + 1);
    }
    return rows;
}

}  // namespace

std::variant<March, std::string> make_march(const poly::Group& group, const std::array<int, 3>& block,
                                            const std::array<int, 3>& tile) {
    if (group.rank < 2) return "the group has one dimension, and none to march along";
    March march;
    march.dim = static_cast<std::size_t>(group.rank) - 2;
    std::int64_t step = 1;  // group coordinates of a step
    for (int g = 0; g < group.rank; ++g) {
        const auto axis = static_cast<std::size_t>(group.rank - 1 - g);
        const std::int64_t unit = poly::tile_unit(group, g);
        std::int64_t& size = march.size.emplace_back(unit);
        if (axis > 2) continue;
        const std::int64_t points = std::int64_t{block[axis]} * tile[axis];
        size = ceil_quotient(points, unit) * unit;
        if (axis == 0) {
            size = own_columns(group, static_cast<std::size_t>(g), points);
            if (size == 0) {
                return fmt::format("its blocks compute {} columns, but the least that an output takes is {}", points,
                                   most_points(group, static_cast<std::size_t>(g), unit));
            }
        } else if (axis == 1) {
            step = ceil_quotient(block[axis], unit) * unit;
            size = step * tile[axis];
        }
    }
    march.members.resize(group.stages.size());
    std::int64_t steps = 0;
    for (std::size_t p = 0; p < group.stages.size(); ++p) {
        March::Member& m = march.members[p];
        m.rows = along(group, p, march.dim);
        if (!m.rows) continue;
        const poly::Alignment& a = group.alignment[p][*m.rows];
        m.each = step / a.scale;
        m.count = poly::tile_extent(a, group.reach[p][march.dim], march.size[march.dim]).count;
        m.late = lateness(group, march, p);
        steps = std::max(steps, ceil_quotient(m.count, m.each));
    }
    for (March::Member& m : march.members) {
        if (!m.rows) continue;
        // But for being late all reach their last rows in the same step.
        m.ahead = m.count - m.each * (steps + m.late);
        march.steps = std::max(march.steps, steps + m.late);
    }
    for (std::size_t p = 0; p < group.stages.size(); ++p) {
        if (march.members[p].rows) march.members[p].window = window(group, march, p);
    }
    return march;
}

}  // namespace pipec::plan
