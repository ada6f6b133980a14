// How tiles cut a group, and what of arrays in global memory they touch: for counting what a tile asks of a GPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cost/group_counts.h"
#include "cost/tile_work.h"
#include "fusion/group_facts.h"
#include "fusion/point_terms.h"
#include "plan/plan.h"

namespace pipec::cost {

using fusion::GroupFacts;
using fusion::Load;

using plan::Cut;
using plan::kSectorBytes;
using plan::kWarp;
inline constexpr int kLineBytes = 128;  ///< that the load/store units move at once
/// Wavefronts of an update by a warp in shared memory, which loads and stores an element.
inline constexpr double kUpdateWavefronts = 2;

using Cuts = std::vector<Cut>;

/// The part of the tiles that have points at the edges of the image: where stages or what they read end.
double edge_tiles(const GroupCounts& group, const Cuts& cuts);

/// Tiles that cover the group's outputs, and the part of the computed points that is redundant.
void count_tiles(const GroupCounts& group, const Cuts& cuts, const std::vector<double>& computed, TileWork& work);

inline double ceil_to(double a, double unit) {
    return std::ceil(a / unit) * unit;
}

/// Elements of a source that `n` adjacent points of the reader touch in one dimension.
inline double touched(const poly::IndexRelation& r, double n, std::int64_t extent) {
    const double span =
        (static_cast<double>(r.num) * (n - 1) + static_cast<double>(r.hi - r.lo)) / static_cast<double>(r.den) + 1;
    return std::min(std::floor(span), static_cast<double>(extent));
}

/// A point's reads fill the window that a relation spans. Otherwise they lie further apart than there are of them: a
/// boundary condition, or a table.
inline bool side_by_side(const Load& load, const poly::IndexRelation& r) {
    return static_cast<double>(r.hi - r.lo) / static_cast<double>(r.den) + 1 <= load.reads + 0.5;
}

/// Of a window, what is read at once: loops come to the rest in other turns.
inline double window_at_once(const Load& load, std::size_t index, double window) {
    if ((load.looped >> index & 1U) == 0) return window;
    return static_cast<int>(index) == load.turn ? std::min(window, static_cast<double>(fusion::kTermsInTurn)) : 1;
}

/// What a tile reads of a source in global memory: the box that its readers touch.
struct Footprint {
    double elements = 1, bytes = 0;
    double rows = 1;  ///< runs of elements that lie one after the other
    bool known = true;
    unsigned fixed = 0;  ///< bit i: the index i follows no dimension of the reader
    unsigned whole = 0;  ///< bit i: all of the source is read in it
};

template <class PointsAlong>
Footprint footprint(const Load& load, const PointsAlong& points_along) {
    Footprint f;
    bool whole = true;  // up to here, the innermost dimensions are read as a whole: what lies around them goes on
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
        const auto& r = load.indices[i];
        const auto all = static_cast<double>(load.extents[i]);
        if (!r) {
            f.known = false;
            continue;
        }
        const double n = r->dim < 0 ? std::min(all, static_cast<double>(r->hi - r->lo + 1))
                                    : touched(*r, points_along(static_cast<std::size_t>(r->dim)), load.extents[i]);
        f.elements *= n;
        if (r->dim < 0) f.fixed |= 1U << i;
        if (n >= all) f.whole |= 1U << i;
        if (i > 0 && !whole) f.rows *= n;
        whole = whole && n >= all;
    }
    const double run = f.elements / f.rows * load.bytes;
    f.bytes = f.rows * (ceil_to(run, kSectorBytes) + kSectorBytes / 2.0);
    return f;
}

/// What the readers in a tile touch of one source: the largest box of those that lie alike, each by itself that does
/// not (the plane of a mask beside the tile's own ones), unless another one has it.
class Touched {
public:
    void add(const Footprint& f);
    [[nodiscard]] const std::vector<Footprint>& boxes() const { return boxes_; }

private:
    std::vector<Footprint> boxes_;
};

/// How many times a tile asks for what a member loads, on average.
using TimesAsked = std::function<double(std::size_t m, const Load& load)>;

/// Bytes that a team loads from and stores to global memory for one tile. `columns`: that a lane stores beside each
/// other; `planes_together`: with all that lies between them in memory, where the tile has that.
double tile_bytes(const GroupCounts& group, const Cuts& cuts, const Extents& extents,
                  const std::vector<double>& computed, double columns, bool planes_together,
                  const TimesAsked& times = {});

/// Cache lines that a warp touches with one load, where its lanes, `columns` apart in dimension `lane` of the reader,
/// are not beside each other in memory: of a transposed image each has a line of its own. 0: nothing of the kind.
double lines_apart(const Load& load, int lane, double columns, double lanes = kWarp);

/// Bytes, at most 16, to which all rows of an array are aligned; of `row` bytes each. The compiler's own arrays are
/// padded where rows are not short (runtime.cpp, padded_row).
std::int64_t row_alignment(std::int64_t row, bool is_own);

/// tile_work for Stage, before its counts are simplified: of one stage that has no owners of cells.
std::optional<TileWork> stage_work(const GroupCounts& group);

/// tile_work for RegisterTile, before its counts are simplified.
std::optional<TileWork> register_work(const GroupCounts& group, const GroupSchedule& schedule);

}  // namespace pipec::cost
