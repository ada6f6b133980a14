// Each lane computes V adjacent columns of every stage, for all rows of the tile, as straight-line code: one variable
// for each point that the outputs need. A point in a column of another lane is fetched from there with a shuffle;
// inputs are read once by the lane whose columns they are, and fetched in the same way. The outermost lanes of a warp
// compute for their neighbours only and store nothing.
//
// At the edges of the image the same is done with guarded values; where that takes more registers than the interior
// does, for a few rows at a time. There an index of a stage may not be at a constant distance (a clamp at the
// boundary); the value is then selected among all that it can be.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/expr/pack.h"
#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/kernel/kernel_ir.h"
#include "codegen/strategies/register/column_sums.h"
#include "codegen/strategies/register/pending_factors.h"
#include "codegen/strategies/register/register_prefetch.h"
#include "codegen/strategies/register/register_reads.h"
#include "codegen/strategies/register/register_shape.h"
#include "codegen/strategies/tile_space.h"

namespace pipec::codegen {

/// Lanes whose values a value depends on, relative to its own.
struct Reach {
    std::int64_t lo = 0, hi = 0;
    friend bool operator==(const Reach&, const Reach&) = default;
    void add(const Reach& other, std::int64_t lanes) {
        lo = std::min(lo, other.lo + lanes);
        hi = std::max(hi, other.hi + lanes);
    }
};

struct Value {
    ir::Expr expr;  ///< a variable, or a constant
    Reach reach;
};

/// Why there is no code that takes so many.
Refusal too_many_registers(std::int64_t needed, std::int64_t there_are);

/// The kernel of one shape.
class RegisterCode {
public:
    using Member = TileSpace::Member;

    RegisterCode(const RegisterCode&) = delete;
    /// `most_registers`: that a lane has.
    RegisterCode(kernel::Program& program, const poly::Group& group, const RegisterShape& shape,
                 std::int64_t most_registers)
        : shape_(shape),
          most_registers_(most_registers),
          picks_halves_(program.target.gpu().capability_major >= 9),
          tile_(*shape_.plan.registers),
          space_(program, group, shape_.plan.tiles, TileSpace::Values::InRegisters),
          sums_(space_.rewriter),
          factors_(space_.rewriter, [this](const ir::Expr& e, const ir::Expr& value) { return whole(e, value); }) {
        space_.build.kernel.layout = tile_.load_bytes > 0 ? kernel::Layout::Wide : kernel::Layout::Dense;
    }

    /// Throws a Refusal, also where the interior alone takes more registers than a lane has, unless without small
    /// integers that lie two in a register it may take fewer.
    kernel::Kernel build() {
        kernel::Kernel kernel =
            space_.kernel(space_.members.back().definition.name, [&](bool interior) { return code(interior); });
        place_prefetched(kernel, space_.program.target);
        return kernel;
    }
    /// Of the kernel that was built.
    BlockOrder in_turns() { return space_.in_turns(); }
    /// Of all that was stored.
    [[nodiscard]] const Reach& reach() const { return reach_; }
    /// An estimate of what a lane needs.
    [[nodiscard]] std::int64_t registers() const { return registers_; }
    /// Whether statements are in an order that takes few registers (register_order.h).
    [[nodiscard]] bool is_ordered() const { return is_ordered_; }
    /// False where not all points of a stage in halves have the range that the first one has: there must be none
    /// then.
    [[nodiscard]] bool halves_hold() const { return halves_hold_; }
    /// RegisterShape::edge_way that gives the same code at once.
    [[nodiscard]] std::size_t edge_way() const { return edge_way_; }
    /// How the code at the edges is written; none where there are no edges.
    [[nodiscard]] std::optional<fusion::EdgeCode> edges() const { return edges_; }
    /// Whether some integers lie two in a register.
    [[nodiscard]] bool packs() const { return packs_; }
    /// Arrays of which the code reads one kind of column sums only.
    [[nodiscard]] std::set<ir::Source> uniform_sums() const { return sums_.uniform(); }

private:
    /// Offsets of a point from the tile's (slice's) origin, by dimension of its stage; the column's from the lane's
    /// first.
    using Offsets = std::vector<std::int64_t>;

    [[nodiscard]] std::size_t position(const Member& m) const { return space_.group.position(m.stage); }
    [[nodiscard]] bool is_lane(const Member& m, std::size_t dim) const {
        return m.alignment[dim].dim == static_cast<int>(tile_.lane_dim);
    }
    [[nodiscard]] bool is_row(const Member& m, std::size_t dim) const {
        return tile_.row_dim && m.alignment[dim].dim == static_cast<int>(*tile_.row_dim);
    }
    /// Columns of a lane.
    [[nodiscard]] std::int64_t columns(const Member& m, std::size_t dim) const {
        return tile_.columns / m.alignment[dim].scale;
    }
    [[nodiscard]] std::string name(const Member& m, const Offsets& offsets) const;

    [[nodiscard]] std::pair<std::int64_t, std::int64_t> rows_and_slice() const;
    kernel::Body code(bool interior);
    void outputs(kernel::Body& body);
    void note_needed();
    bool runs_inside(const Member& m, std::size_t d);
    std::vector<std::vector<Offsets>> rows_of(const Member& m);
    ir::Expr owns(const Member& m, const Offsets& offsets);
    void store(kernel::Body& body, const Member& m, const std::vector<Offsets>& points);
    Linear origin(const Member& m, std::size_t dim);
    std::vector<ir::Expr> place(const Member& m, const Offsets& offsets);
    ir::Expr inside(const Member& m, const std::vector<ir::Expr>& at);
    Value at(const Member& m, const Offsets& offsets);
    ir::Expr define(const std::string& name, const ir::Expr& value);
    ir::Expr define_waiting(const std::string& name, const ir::Expr& value);
    ir::Expr whole(const ir::Expr& variable, const ir::Expr& value);
    ir::Expr formula(const Member& m, const std::vector<ir::Expr>& point);
    Value resolve(const Member& m, const Offsets& offsets, const ir::Expr& value);
    Value column_sum(const Member& m, const Offsets& offsets, const ir::Expr& e);
    [[nodiscard]] std::int64_t first_column(const ColumnSums::Sum& sum) const;
    [[nodiscard]] std::int64_t home(const plan::ColumnsOf& columns) const;
    Offsets member_offsets(const Member& p, const ir::Read& read);
    Value member_read(const Member& reader, const Offsets& from, const ir::Read& read);
    Value choose(const Member& p, const std::vector<std::vector<std::int64_t>>& choices, Offsets& offsets,
                 std::size_t dim, const std::vector<ir::Expr>& indices);
    std::vector<std::int64_t> choices(const Member& reader, const Offsets& from, const Member& p, std::size_t dim);
    std::optional<std::pair<Value, std::int64_t>> own_read(const ir::Expr& e);
    std::optional<Value> input_read(const ir::Expr& e);
    void all_lanes_touch(const ir::Read& read, std::size_t d, std::int64_t n, std::int64_t column);
    [[nodiscard]] bool says_columns(const ir::Expr& e) const;
    void all_lanes_read(const Member& m, const ir::Read& read);
    ir::Expr with_bases(const ir::Expr& e);
    std::vector<ir::Expr> with_bases(std::vector<ir::Expr> all);
    [[nodiscard]] std::pair<Offsets, std::int64_t> own_offsets(const Member& m, Offsets offsets) const;
    Value lane_value(const Member& m, const Offsets& offsets);
    Value fetched(const Value& value, std::int64_t lanes, const std::string& name);
    std::vector<Pack> packs(const std::vector<Element>& elements, std::int64_t most_bytes);
    std::vector<RowLoad> loads();
    [[nodiscard]] std::string name_of(ir::Source source) const;

    // At the edges of the image (register_edges.cpp):
    /// What a member's points are there, where some do not exist.
    struct Ends {
        ir::Expr value;                   ///< over the coordinates, and those that loads have
        std::vector<ir::VarId> of_loads;  ///< by dimension, the latter; empty where they are the former
        std::vector<bool> nearest;        ///< all that depends on the coordinate is the nearest point's
        std::vector<bool> repeated;       ///< points beyond the domain have what the nearest point has
        bool guarded;                     ///< what does not exist is not computed
        bool shared = false;              ///< loads clamp their indices to the array, so that points share them
    };
    /// How a value depends on a coordinate, other than by what it loads.
    struct Uses {
        bool members = false;  ///< it reads members there
        bool others = false;   ///< beyond the domain it is not what it is at the nearest point
    };
    const Ends& ends(const Member& m);
    ir::Expr with_loads_apart(const ir::Expr& value, const std::map<ir::VarId, ir::Expr>& coordinates);
    Uses uses_of(const Member& m, std::size_t d, const ir::Expr& value);
    std::vector<ir::Expr> nearest(const Member& m, const Offsets& offsets);
    bool shares_loads(const Member& m);
    bool shares_any_loads();
    ir::Expr with_clamped_loads(const ir::Expr& value);
    ir::Expr clamped(const ir::Expr& index, const poly::Interval& box, const std::string& name, bool inner);
    [[nodiscard]] poly::Interval array_box(ir::Source source, std::size_t d) const;
    ir::Expr formula_at_edges(const Member& m, const Offsets& offsets);
    Value edge_load(const ir::Expr& e, bool stays);
    /// Thrown where what the code at the edges loads first takes more registers than it may have.
    struct TooManyLoads {};
    ir::Expr without_clamps(const Member& p, std::size_t d, ir::Expr index);
    poly::Interval box_of(const Member& m, std::size_t d);
    [[nodiscard]] const Member* member_of(const ir::Expr& e) const;

    // Two small integers in a register (register_halves.cpp):
    struct Range {
        std::int64_t lo, hi;
    };
    /// A part of the formula of a point.
    struct At {
        const Member& m;
        const Offsets& offsets;
        ir::Expr e;
    };
    /// Of a point divided by 2^shift, and of the one below.
    struct Halves {
        Value value;
        std::int64_t shift;
    };
    [[nodiscard]] std::int64_t half_distance(const Member& m) const;
    [[nodiscard]] std::size_t row_of(const Member& m) const;
    [[nodiscard]] bool has_halves_of(ir::BinaryOp op) const;
    std::optional<Range> half_range(const Member& m);
    std::optional<Range> half_range(const ir::Expr& e, int& operations);
    Value half(const Member& m, const Offsets& offsets);
    const Halves& halves(const Member& m, const Offsets& low);
    Value divided_halves(const Member& m, const Offsets& low);
    Value halves_of(const At& low, const At& high);
    Value read_halves(const At& low, const At& high);
    Value together(const Value& low, const Value& high, const std::string& name);

    Rewriter& rewriter() { return space_.rewriter; }
    KernelBuilder& builder() { return space_.build; }

    const RegisterShape shape_;
    const std::int64_t most_registers_;
    const bool picks_halves_;  ///< the device has minima and maxima of halves
    const plan::RegisterTile& tile_;
    TileSpace space_;
    ColumnSums sums_;
    PendingFactors factors_;
    bool interior_ = false;
    Reach reach_;
    std::int64_t registers_ = 0;
    bool is_ordered_ = false;
    std::size_t edge_way_ = 0;
    std::optional<fusion::EdgeCode> edges_;
    bool packs_ = false;
    // Of the piece of code that is being made:
    ir::Expr unit_;                ///< shape.columns * unit: the lane's first column, in group coordinates
    ir::Expr slice_;               ///< the number of the slice of rows; null where all rows are one
    std::int64_t slice_rows_ = 0;  ///< in group coordinates
    kernel::Body* body_ = nullptr;
    std::map<std::pair<int, Offsets>, Value> values_;
    std::map<std::pair<ir::VarId, std::int64_t>, Value> fetched_;
    std::map<const ir::Node*, Value> column_sums_;
    std::map<int, std::optional<Range>> half_ranges_;  ///< by stage
    bool halves_hold_ = true;
    std::map<std::pair<int, Offsets>, Halves> halves_;
    std::map<std::pair<int, Offsets>, Value> divided_;
    std::map<std::pair<const ir::Node*, const ir::Node*>, Value> together_;
    ir::Expr first_lane_, end_lane_;               ///< that store, of a tile in the interior
    std::map<std::size_t, ir::Expr> moved_;        ///< by how many steps, by dimension of the group
    kernel::Body bases_;                           ///< defines products of the tile's and the lane's number, once each
    std::map<const ir::Node*, ir::Expr> base_of_;  ///< by product
    std::set<ir::VarId> bound_;                    ///< variables of loops and lets
    std::map<std::array<const ir::Node*, 3>, ir::Expr> inside_, nearest_;  ///< by coordinate and bounds
    std::map<int, Ends> ends_;                                             ///< by stage
    bool edge_loads_first_ = false;  ///< not each where it is used: that takes registers
    bool edge_loads_shared_ = true;  ///< as Ends::shared says
    kernel::Body edge_loads_;
    std::int64_t edge_bytes_ = 0;              ///< of registers that these take, all at once
    std::int64_t most_edge_bytes_ = 0;         ///< that they may take
    std::vector<ir::Expr> reads_;              ///< that the lane does at the start, in order
    std::map<const ir::Node*, Value> loaded_;  ///< what they give
};

}  // namespace pipec::codegen
