// How the members of a group lie in a tile of the strategy `hybrid`, or in one piece of it: which points are computed
// from shared memory, which ones lane by lane in registers, and where the arrays are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/tile_space.h"

namespace pipec::codegen {

class HybridTile {
public:
    using Member = TileSpace::Member;

    /// A member's points in the tile.
    struct Part {
        std::vector<poly::TileExtent> extent;  ///< by dimension of the stage; all that are computed
        /// The right-most `iterations` * lanes points of the split dimension are computed by the lanes in step,
        /// iteration after iteration. Aligning them to the stage's own right end makes the tile's pieces parallelograms
        /// parallel to its right hyperplane: whatever is read lies at the same number or at an earlier one.
        std::int64_t iterations = 0;
        std::optional<std::size_t> split;    ///< the stage's dimension that is the group's split dimension
        bool in_registers = false;           ///< what the iterations compute is kept there only
        int array = -1;                      ///< in shared memory, of the kernel; -1: none
        std::int64_t offset = 0, bytes = 0;  ///< of the array, in the team's scratch memory
    };

    /// `size`, by group dimension, divides the tile's size and is a multiple of the scales.
    HybridTile(TileSpace& space, std::size_t split_dim, std::vector<std::int64_t> size);

    TileSpace& space;
    const std::size_t split_dim;  ///< of the group
    std::vector<ir::Expr> piece;  ///< by group dimension: its number in the tile; null where the tile is one piece

    [[nodiscard]] Part& part(const Member& m) { return parts_[space.group.position(m.stage)]; }
    [[nodiscard]] const Part& part(const Member& m) const { return parts_[space.group.position(m.stage)]; }
    [[nodiscard]] const Member& member(int stage) const { return *space.member(stage); }
    [[nodiscard]] const std::vector<std::int64_t>& size() const { return size_; }

    /// Members that are needed in registers only are computed there when others need them.
    [[nodiscard]] bool is_deferred(const Member& m) const { return part(m).in_registers && !m.live; }
    /// The parts with arrays that code reads which is made for a member, for itself and for what it needs.
    [[nodiscard]] std::vector<const Part*> reads(const Member& m) const;

    /// Cuts this part of the split dimension off for registers.
    void split(double fraction);
    /// Places the arrays in the team's scratch memory.
    void place_arrays();
    [[nodiscard]] std::int64_t scratch() const { return scratch_; }  ///< of a team, in bytes
    /// Adds them to the kernel. How far the scratches of two teams are apart is not known yet.
    void declare_arrays();

    /// Threads of the team along a dimension of the member, and the thread's number among them.
    [[nodiscard]] std::int64_t lanes(const Member& m, std::size_t dim) const;
    [[nodiscard]] ir::Expr lane(const Member& m, std::size_t dim) const;
    /// How many points are computed from shared memory.
    [[nodiscard]] std::int64_t shared_count(const Member& m, std::size_t dim) const;
    /// The first of all points.
    [[nodiscard]] Linear first(const Member& m, std::size_t dim);
    /// Condition on `offset` (from the first point) for the tile to own the point: null where it owns all of
    /// [lo, hi], where `offset` lies.
    [[nodiscard]] ir::Expr owned(const Member& m, std::size_t dim, const ir::Expr& offset, std::int64_t lo,
                                 std::int64_t hi) const;
    /// Of the lanes that differ in dimensions that the member has not, the one that writes.
    [[nodiscard]] ir::Expr first_lane(const Member& m) const;

    /// The element of a member's array at an offset from the first point, and the array's element that a read means.
    [[nodiscard]] std::vector<ir::Expr> element(const std::vector<ir::Expr>& offset) const;
    [[nodiscard]] ir::Expr local_read(const Member& producer, const ir::Read& read, const ir::Expr& e);
    /// Two arrays have memory in common.
    [[nodiscard]] bool overlap(const Part& a, const Part& b) const;

private:
    [[nodiscard]] std::vector<std::size_t> last_uses() const;

    std::vector<std::int64_t> size_;
    std::vector<Part> parts_;
    std::int64_t scratch_ = 0;
};

}  // namespace pipec::codegen
