// How the members of a group lie in a tile of the strategy `hybrid`, or in one piece of it: which points are computed
// from shared memory, which ones lane by lane in registers, and where the arrays are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/strategies/tile_space.h"
#include "plan/hybrid_tile.h"

namespace pipec::codegen {

class HybridTile {
public:
    using Member = TileSpace::Member;

    using Part = plan::HybridTile::Part;

    /// `shape` and `tiles` stay where they are.
    HybridTile(TileSpace& space, const fusion::GroupShape& shape, const plan::Tiles& tiles, plan::HybridTile plan);

    TileSpace& space;
    std::vector<ir::Expr> piece;  ///< by group dimension: its number in the tile; null where the tile is one piece

    [[nodiscard]] Part& part(const Member& m) { return plan_.parts[position(m)]; }
    [[nodiscard]] const Part& part(const Member& m) const { return plan_.parts[position(m)]; }
    [[nodiscard]] const Member& member(int stage) const { return *space.member(stage); }
    [[nodiscard]] const plan::HybridTile& plan() const { return plan_; }
    /// The member's array in shared memory, of the kernel; -1: none.
    [[nodiscard]] int array(const Member& m) const { return arrays_[position(m)]; }

    [[nodiscard]] bool is_deferred(const Member& m) const { return plan::is_deferred(shape_, plan_, position(m)); }
    /// The parts with arrays that code reads which is made for a member, for itself and for what it needs.
    [[nodiscard]] std::vector<const Part*> reads(const Member& m) const;

    /// Places the arrays in the thread group's scratch, once it is decided what is in registers.
    void place_arrays() { plan::place_arrays(shape_, tiles_, plan_); }
    /// Adds them to the kernel. How far the scratches of two thread groups are apart is not known yet.
    void declare_arrays();

    /// Threads of the thread group along a dimension of the member, and the thread's number among them.
    [[nodiscard]] std::int64_t lanes(const Member& m, std::size_t dim) const {
        return plan::lanes_along(shape_, tiles_, position(m), dim);
    }
    [[nodiscard]] ir::Expr lane(const Member& m, std::size_t dim) const;
    /// How many points are computed from shared memory.
    [[nodiscard]] std::int64_t shared_count(const Member& m, std::size_t dim) const {
        return plan::shared_count(shape_, tiles_, plan_, position(m), dim);
    }
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
    [[nodiscard]] std::size_t position(const Member& m) const { return space.group.position(m.stage); }

    const fusion::GroupShape& shape_;
    const plan::Tiles& tiles_;
    plan::HybridTile plan_;
    std::vector<int> arrays_;  ///< of members
};

}  // namespace pipec::codegen
