// Tiles: their sizes, threads and points.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/group_shape.h"
#include "plan/plan.h"

namespace pipec::plan {

/// Threads of a warp in x, y, z (the paper's W_x, W_y, W_z).
std::array<int, 3> warp_shape(const std::array<int, 3>& block);

/// Why a block of threads is of no use for tiles of a group; none where it is. Powers of two or, in x, multiples of 32.
std::optional<Refusal> check_block(const std::array<int, 3>& block, int rank);

/// The lane axis of a group dimension: 0, 1, 2 for x, y, z; -1 for outer dimensions, in which a tile has one coordinate
/// of the coarsest stage.
int axis_of(int rank, std::size_t dim);

/// Group coordinates of a tile of `points` of the finest stage: a multiple of `unit`.
std::int64_t tile_size(std::int64_t points, std::int64_t unit);

/// Sizes by group dimension of tiles of which each lane has `tile` points.
std::vector<std::int64_t> tile_sizes(const fusion::GroupShape& shape, const std::array<int, 3>& lanes,
                                     const std::array<int, 3>& tile);

/// The points of dimension `dim` of member `m` that tiles of these sizes compute.
poly::TileExtent part_along(const fusion::GroupShape& shape, std::size_t m, std::size_t dim, std::int64_t size);

/// Tiles::parts; of a moved tile all that it can compute.
std::vector<Part> parts_of(const fusion::GroupShape& shape, const std::vector<Cut>& cuts);

/// What a tile computes beside its `own` points, which begin at its origin. A stage that all readers read to the right
/// lies to the right as a whole: that is no halo.
struct Halo {
    std::int64_t before = 0, after = 0;
};
Halo halo(const poly::TileExtent& extent, std::int64_t own);

/// Points of member `m` that belong to a tile alone; dimensions that are computed as a whole count as such.
std::int64_t own_points(const fusion::GroupShape& shape, const Tiles& tiles, std::size_t m);

/// Tiles::order. Rows of tiles follow each other, so that what two of them read is still in the L2 cache. Of a few
/// planes that read the same points (a mask, the alpha channel) the rows take turns: then these come from memory once.
std::vector<std::size_t> block_order(const fusion::GroupShape& shape, const std::vector<Cut>& cuts);
/// The order of a group's dimensions that a schedule asks for, and the first order of a schedule that means `order`;
/// none where dimensions outside of z are not the last ones.
std::vector<std::size_t> asked_order(fusion::BlockOrder order, int rank);
std::optional<fusion::BlockOrder> order_of(const std::vector<std::size_t>& order);

/// What the schedule says of the blocks' way through the tiles. Where tiles fetch rows ahead (`prefetch` of them),
/// those at the ends of rows do not come first by default: nvcc 13.0 gives such kernels so few registers (32) that it
/// spills what that takes.
void take_block_order(const fusion::GroupSchedule& schedule, int prefetch, Tiles& tiles);
/// What tiles say of it, as choices of a schedule.
fusion::Choices decided(const Tiles& tiles);

/// What follows from the cuts: parts and order.
void complete(const fusion::GroupShape& shape, Tiles& tiles);

/// The tiles of Otptb, Otpw and Hybrid, to be completed. The schedule has passed check_schedule (make_plan.h).
Tiles make_tiles(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule);
/// The strips of Stream, to be completed.
Tiles make_strips(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule, const March& march);

}  // namespace pipec::plan
