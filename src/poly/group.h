// Alignment and scaling of a group of stages (paper, section "Background", after PolyMage): one common coordinate
// system in which every dependence between members has a constant range of distances. What tilings need follows from
// it by integer arithmetic.
//
//     g = scale * v        group coordinate g of a stage's point v in an aligned dimension
//
// A stage that is read at 2 x is scaled by half as much as its reader, one that is read at x / 2 by twice as much;
// scales are integers without a common factor. Dimensions of constant extent that cannot be aligned (the channels of
// an image that becomes gray) are computed as a whole in every tile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "ir/pipeline.h"
#include "poly/dependences.h"
#include "poly/model.h"

namespace pipec::poly {

/// Points of a last dimension that may be the channels of an image. As long as two dimensions of more points are left,
/// it is the group's first one instead: tiles have the columns and rows of the image.
inline constexpr std::int64_t kChannels = 4;

/// How one dimension of a stage lies in its group.
struct Alignment {
    int dim = -1;            ///< the group's dimension; -1: computed as a whole
    std::int64_t scale = 1;  ///< > 0; of no meaning for a whole dimension
    friend bool operator==(const Alignment&, const Alignment&) = default;
};

/// lo <= difference <= hi, in group coordinates.
struct Distance {
    std::int64_t lo = 0, hi = 0;
    friend bool operator==(const Distance&, const Distance&) = default;
};

/// { producer point - reader point } for one read, by group dimension; [0, 0] where the producer has no such dimension.
struct GroupEdge {
    int reader = -1, producer = -1;                    ///< stages, by index in the pipeline
    std::size_t reader_place = 0, producer_place = 0;  ///< Group::position of both
    std::vector<Distance> distance;
    SourceRange range;
};

struct Group {
    std::vector<int> stages;                        ///< members, by index in the pipeline, in its (topological) order
    int rank = 0;                                   ///< number of group dimensions
    std::vector<std::vector<Alignment>> alignment;  ///< of members, by dimension of the stage
    std::vector<GroupEdge> edges;                   ///< sorted by reader
    /// For each member and group dimension: the points that a tile [a, b) of the live-outs needs of it lie in
    /// [a + lo, b + hi), in group coordinates. lo <= 0 <= hi for live-outs.
    std::vector<std::vector<Distance>> reach;
    std::vector<int> live_outs;  ///< members that are outputs or read by stages outside

    [[nodiscard]] std::size_t position(int stage) const;
};

/// Why stages cannot be one group: a sentence, and the read that it is about.
struct Illegal {
    std::string reason;
    SourceRange range;
};

/// Aligns and scales `stages`, which are connected: one reads the other, both read the same array from outside of the
/// group, or both have the same domain. Of accumulates each point must be able to gather what belongs to it (gather.h);
/// dimensions of which that is not so are computed as a whole.
std::variant<Group, Illegal> make_group(const ir::Pipeline& pipeline, const Model& model,
                                        const std::vector<Dependence>& dependences, const std::vector<int>& stages);

/// Whether the bounds of both are written alike.
bool same_box(const std::vector<Interval>& a, const std::vector<Interval>& b);

/// Whether the domains of two stages have equal boxes.
bool have_same_domain(const Model& model, int a, int b);

/// The points of a member that a tile needs: `count` of them from tile_origin / scale + first, for a tile of `size`
/// group coordinates whose origin and size are multiples of all scales of the dimension.
struct TileExtent {
    std::int64_t first = 0, count = 0;
};
TileExtent tile_extent(const Alignment& alignment, const Distance& reach, std::int64_t size);

/// The least common multiple of the members' scales in one group dimension: what tile origins and sizes are multiples
/// of.
std::int64_t tile_unit(const Group& group, int dim);

/// The point of a member at which tiles are to begin, given the first one that is needed (from the tile's origin): that
/// one or one before it, less than n points. The members that read it, which stand behind it, have their reach already.
using FirstPoint = std::function<std::int64_t(const Group& group, std::size_t position, std::int64_t needed)>;

/// The same group with a longer reach in one dimension: where tiles are multiples of `n` times tile_unit, the points
/// that a tile needs of a member are a multiple of n. They begin at a multiple of n, or where `first_point` says.
/// Producers have what the rounded readers read.
Group with_multiple(Group group, int dim, std::int64_t n, const FirstPoint& first_point = {});

/// For tests and `pipec explain`.
std::string to_string(const ir::Pipeline& pipeline, const Group& group);

}  // namespace pipec::poly
