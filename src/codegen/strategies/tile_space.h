// Where the tiles of a group lie and which threads compute them: what all tilings have in common. A team (a block or a
// warp) computes one tile of the group's live-outs. Group dimension d is cut into tiles of size[d] coordinates; tile q
// begins at size[d] * q, so that a stage of scale s has its points from size[d] / s * q on, and the distance between
// points of two stages of one tile is a constant.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/expr/bound.h"
#include "codegen/expr/interior.h"
#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/kernel/kernel_ir.h"
#include "plan/plan.h"
#include "poly/group.h"

namespace pipec::codegen {

/// The least scale of members in a dimension of the group.
std::int64_t finest_scale(const poly::Group& group, std::size_t dim);

/// The part of a kernel that says which tiles a block computes, with all that the kernel is then given.
struct BlockOrder {
    std::vector<kernel::Argument> arguments;
    std::vector<kernel::Special> specials;
    kernel::Body tiles;
    std::size_t begin = 0, end = 0;  ///< of the statements of the kernel's body in whose place they stand

    void replace_in(kernel::Kernel& kernel) const;
};

class TileSpace {
public:
    struct Dim : plan::Cut {
        int axis = -1;                    ///< 0, 1, 2: x, y, z; -1: an outer one
        ir::Expr tile, lane;              ///< the team's tile, the thread's number in the team
        ir::Expr first, end;              ///< tiles that there are
        ir::Expr inner_first, inner_end;  ///< tiles in the interior; where they move, the steps at which they may begin
        ir::Expr origin, plain;           ///< where they move: the step where this tile begins, and where it would have
    };
    struct Member {
        int stage = -1;
        ir::Stage definition;  // copies: adding variables to the pipeline must not move them
        poly::Domain domain;
        /// Instances, over the dimensions' own variables. Of an accumulate the value is what it starts from; `guard`
        /// may be null.
        ir::Expr value, guard;
        bool accumulates = false;
        Interior interior;
        std::vector<poly::Alignment> alignment;  ///< by dimension of the stage
        std::vector<poly::TileExtent> extent;    ///< the points a team computes; whole dimensions from their first one
        /// Those of `extent` that the code of the interior needs, where less is known to do; else empty.
        std::vector<poly::TileExtent> needed;
        bool live = false;     ///< an output of the group
        bool is_read = false;  ///< by a member; accumulates read what they are so far
    };
    /// Something of which a tile touches, in group dimension `dim`, per_tile * tile + [first, first + count), which
    /// lies in `box` for tiles of the interior.
    struct Access {
        std::size_t dim = 0;
        poly::Interval box;
        std::int64_t per_tile = 0;
        poly::TileExtent extent;
    };
    /// Where a member's values are between its definition and their readers: registers hold them in the type of the
    /// definition, memory in the narrower one that is enough (fusion/narrow_stages.h).
    enum class Values { InMemory, InRegisters };
    TileSpace(kernel::Program& of, const poly::Group& tiled, const plan::Tiles& tiles,
              Values values = Values::InMemory);
    TileSpace(const TileSpace&) = delete;

    kernel::Program& program;
    const poly::Group& group;
    const bool per_warp;
    Rewriter rewriter;
    KernelBuilder build;
    std::vector<Member> members;
    std::vector<Dim> dims;
    std::vector<Access> accesses;  ///< of interior code, besides its members' points; `kernel` asks after making it
    int teams = 1;                 ///< of a block
    const bool ends_first;         ///< plan::Tiles::ends_first
    ir::Expr lane;                 ///< the thread's number in its team
    ir::Expr team;                 ///< the warp's number in its block; null where a block is one team

    /// The kernel that runs `code(true)` for tiles in the interior, where guards hold and boundary conditions have
    /// nothing to do, and `code(false)` for those at the edges. Once the tiles are placed.
    kernel::Kernel kernel(const std::string& name, const std::function<kernel::Body(bool interior)>& code);
    /// Of that kernel, once it is made: how its blocks go through the tiles where it is one of several.
    BlockOrder in_turns();

    /// The member that is a stage (by index in the pipeline); null for other stages.
    [[nodiscard]] const Member* member(int stage) const;
    /// How many points of a member a tile owns in dimension `dim` of the stage, which is aligned.
    [[nodiscard]] std::int64_t points(const Member& m, std::size_t dim) const;
    /// The first of them, or the first point of a whole dimension.
    [[nodiscard]] Linear origin(const Member& m, std::size_t dim);
    /// The first point that the team computes: of the tile and its reach, or of a whole dimension.
    [[nodiscard]] Linear first(const Member& m, std::size_t dim);
    /// The coordinate of a point whose offset is from that first one, and the offsets of a point that a read means.
    ir::Expr coordinate(const Member& m, std::size_t dim, const ir::Expr& offset);
    std::vector<ir::Expr> offsets(const Member& m, const std::vector<ir::Expr>& indices);
    /// For instances of members: what they read of each other comes from arrays of the kernel. `array` and `element`
    /// say where a point of a member lies whose offset is from the first one that the team computes.
    Rewriter::Hook reads_from(
        std::function<int(const Member&)> array,
        std::function<std::vector<ir::Expr>(const Member&, const std::vector<ir::Expr>&)> element);
    /// Whether the tile, not one beside it, writes this point of a live-out; null where it writes all that it computes.
    ir::Expr owned(const Member& m, const std::vector<ir::Expr>& offset);
    /// Adds to the kernel a shared array that the plan has for a member, still without extents. Returns its number in
    /// kernel::Kernel::shared.
    int add_array(const plan::SharedArray& planned);
    /// Whether the member has a dimension that is aligned with this one of the group.
    [[nodiscard]] static bool has(const Member& m, std::size_t group_dim);
    /// The name of a member's dimension.
    [[nodiscard]] std::string name(const Member& m, std::size_t dim) const;
    /// The point lies in the member's domain, as far as its box says so.
    ir::Expr inside(const Member& m, std::size_t dim, const ir::Expr& at);
    /// At the edges of the image lanes may load, for points of the member that do not exist, what the nearest one is
    /// made of. Not where there may be holes in the domain, nor where it is not certain that there is a point at all.
    bool loads_everywhere(const Member& m);
    /// Defines the coordinate in the member's domain that is nearest to `at`.
    ir::Expr nearest(kernel::Body& body, const Member& m, std::size_t dim, const ir::Expr& at);
    /// The team's tile is the one that writes a live-out without all of the group's dimensions; null where it has all.
    ir::Expr writes(const Member& m);

private:
    void add_member(int stage, const plan::Part& part);
    std::vector<Access> points_of_members(std::size_t d, bool inner, std::int64_t size);
    bool sums(const ir::Expr& e, ir::BinaryOp op, bool inner, std::vector<Linear>& found);
    bool limits(std::size_t d, bool inner, std::int64_t size, std::vector<Bound>& lo, std::vector<Bound>& hi);
    ir::Expr merged(const std::vector<Bound>& bounds, bool greatest);
    std::pair<ir::Expr, ir::Expr> ends_of_tiles(std::size_t d, std::int64_t size);
    void find_tiles();
    [[nodiscard]] bool in_one_tile(const Member& m, std::size_t d) const;
    void find_interior_tiles();
    bool has_edges(const Dim& dim);
    std::vector<ir::Expr> block_places(kernel::Body& body, bool in_turns);
    void place(kernel::Body& body);
    void define_tiles(kernel::Body& body, bool in_turns);
    void add_code(kernel::Body& into, const std::function<kernel::Body(bool interior)>& code);
    ir::Expr in_interior(const Dim& dim);
    ir::Expr in_moved_interior(kernel::Body& body, std::size_t d);

    const std::vector<std::size_t> order_;  ///< plan::Tiles::order
    std::map<int, ir::Type> wide_;          ///< of members whose values nothing but registers hold
    bool has_interior_ = true;
    BlockOrder without_order_;  ///< what the kernel was given before the order of its blocks was written
};

}  // namespace pipec::codegen
