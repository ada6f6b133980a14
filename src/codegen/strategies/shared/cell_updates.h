// What a lane does for a cell of a member that accumulates: the updates at those points of their loops that the cell
// owns (poly/gather.h), in the program's order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/expr/pack.h"
#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_ir.h"
#include "codegen/strategies/shared/tile_arrays.h"
#include "codegen/strategies/tile_space.h"
#include "poly/gather.h"

namespace pipec::codegen {

class CellUpdates {
public:
    CellUpdates(TileSpace& space, const TileArrays& arrays, PackWriter& packs, const TileSpace::Member& m,
                bool interior);

    /// The lane's cell: its offset from the first one of the tile's part, by dimension. Of a free one it has all.
    std::vector<ir::Expr> offset;
    [[nodiscard]] bool is_free(std::size_t dim) const { return m_.alignment[dim].dim < 0; }
    /// The coordinate of what is at the offset.
    [[nodiscard]] ir::Expr coordinate(std::size_t dim);

    /// Loads what the first updates read, where the lane has the registers and nothing has to be asked before. What
    /// `collect` adds may use it.
    void read_ahead(kernel::Body& body);
    /// Adds all updates of the cell.
    void collect(kernel::Body& body);

private:
    using Updates = std::vector<ir::Update>;
    using Owners = std::vector<std::optional<poly::Owner>>;
    /// A point of some loops.
    struct Point {
        Rewriter::Bindings at;
        ir::Expr exists;  ///< there is such a point; null where that is certain
    };
    /// The points of a range that the cell owns.
    struct Owned {
        std::string name;
        Linear begin;        ///< the first one, whether the range has it or not
        ir::Expr first;      ///< the same as a variable; null where the range certainly has all of them
        ir::Expr low, last;  ///< the range's own
    };
    /// An update at a point: what it does to which element.
    struct Ready {
        ir::ReduceOp op;
        ir::Expr value;
        std::vector<ir::Expr> element;
        ir::Expr exists;
    };

    [[nodiscard]] Updates updates_from(std::size_t first) const;
    void collect(kernel::Body& body, std::size_t first, const Updates& together);

    static std::optional<std::size_t> dim_of(const Owners& owners, std::size_t range);
    bool stand_side_by_side(std::size_t first, const Updates& together, std::size_t range);
    bool is_plain(const ir::Range& range);

    Owned open(kernel::Body*& body, const ir::Range& range, std::size_t dim, const poly::Owner& owner);
    std::pair<ir::Expr, ir::Expr> place(kernel::Body& body, const Owned& owned, const ir::Expr& i, bool defines);
    void each_point(kernel::Body*& body, const ir::Range& range, std::size_t dim, const poly::Owner& owner,
                    bool unroll);
    std::vector<Ready> read_points(kernel::Body*& body, std::size_t first, const Updates& together, std::size_t range);

    Ready ready(const ir::Update& update, const Point& point);
    void define(kernel::Body& body, Ready& update);
    void perform(kernel::Body& body, const Ready& update);
    void perform_all(kernel::Body& body, std::vector<Ready> updates);
    void update_point(kernel::Body& body, const Updates& together);

    TileSpace& space_;
    const TileArrays& arrays_;
    PackWriter& packs_;
    const TileSpace::Member& m_;
    const ir::Accumulate& accumulate_;
    const bool interior_;
    poly::Gather gather_;
    Point here_;                ///< where the loops are
    std::vector<Ready> ahead_;  ///< the first updates, of which all is read
};

}  // namespace pipec::codegen
