// Slices in two dimensions that are shared out among blocks: overlapped tiles in these and along the scan. A launch
// computes some slices. A block loads what launches before have computed of the last slices, for its own points and
// those around that they depend on. From slice to slice there are fewer of these, until with the last one only its own
// are left.
#include <algorithm>
#include <functional>
#include <tuple>

#include "codegen/expr/interior.h"
#include "codegen/expr/strides.h"
#include "codegen/strategies/scan/shared_slices.h"
#include "codegen/strategies/scan/slice_code.h"
#include "ir/build.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Rows of a thread that are loaded at once, and those that are computed, of definitions up to so many nodes.
constexpr std::int64_t kLoadsAtOnce = 8, kPointsAtOnce = 4, kNodesAtOnce = 256;

/// The array in shared memory.
constexpr ir::Source kRing{ir::Source::Kind::Local, 0};

class SlicePatches : public SliceCode {
public:
    SlicePatches(kernel::Program& program, int stage, const plan::SlicePatch& patch)
        : SliceCode(program, stage, unwrapped(program, stage, patch)),
          patch_(patch),
          row_dim_(patch.row_dim),
          column_dim_(patch.column_dim) {
        for (const kernel::KeptSlices& kept : program.kept) {
            const std::int64_t last = std::max<std::int64_t>(kept.last, stage_.scan->distance);
            if (kept.stage == stage && last <= patch.ring) last_ = last;
        }
    }

    kernel::Kernel build();

private:
    /// What of the patch there is in a dimension. What wraps goes on beyond the ends of the stage, with the points of
    /// the other end.
    struct Side {
        ir::Expr first, begin, end;  ///< the first coordinate, and places from it on that have points
        ir::Expr behind;             ///< the place behind the stage's last point, if that is in the patch
        ir::Expr place;              ///< of the thread's point
        bool wraps = false;
    };
    static ir::Expr unwrapped(const kernel::Program& program, int stage, const plan::SlicePatch& patch);
    ir::Expr coordinate_of(std::size_t dim, const Side& side, const ir::Expr& place);
    Side side(kernel::Body& body, std::size_t dim, const ir::Expr& tile, const ir::ScanReach& beside, std::int64_t own,
              std::int64_t points);
    using Value = std::function<ir::Expr()>;  ///< at the point `at_`
    using Storage = std::function<void(kernel::Body&, const ir::Expr& value)>;
    void each_point(kernel::Body& body, const ir::Expr& first_row, const ir::Expr& end_row, const ir::Expr& has_column,
                    std::int64_t copies, const Value& value, const Storage& store);
    void points_in_rows(kernel::Body& body, const ir::Expr& row, std::int64_t copies, const Value& value,
                        const Storage& store);
    ir::Expr place(std::size_t dim, const Side& side, const ir::Expr& index);
    [[nodiscard]] ir::Expr slot(kernel::Body& body, const ir::Expr& position, std::int64_t before);
    std::vector<ir::Expr> place_in_ring(const ir::Expr& slot, const std::vector<ir::Expr>& indices);
    void load_before(kernel::Body& body);
    void compute_slice(kernel::Body& body, const ir::Expr& turn);
    void compute_points(kernel::Body& body, const ir::Expr& turn, const ir::Expr& definition);
    void store_last(kernel::Body& body);
    ir::Expr is_interior();

    const plan::SlicePatch patch_;
    std::int64_t last_ = 0;  ///< slices of a launch that go to memory; 0: all
    const std::size_t row_dim_, column_dim_;
    Side rows_, columns_;
    ir::Expr thread_row_, first_position_, count_, interior_patch_;
    std::vector<ir::Expr> slots_;  ///< of the slice itself, the one before, ...
};

ir::Expr SlicePatches::unwrapped(const kernel::Program& program, int stage, const plan::SlicePatch& patch) {
    const ir::Stage& scan = program.pipeline.stages.at(static_cast<std::size_t>(stage));
    ir::Expr value = std::get<ir::Pure>(scan.definition).value;
    if (patch.beside_rows.wraps) value = ir::without_wrapping(scan, stage, value, patch.row_dim);
    if (patch.beside_columns.wraps) value = ir::without_wrapping(scan, stage, value, patch.column_dim);
    return value;
}

/// Of a place in the patch.
ir::Expr SlicePatches::coordinate_of(std::size_t dim, const Side& side, const ir::Expr& place) {
    const ir::Expr coordinate = sum(side.first, place);
    if (!side.wraps) return coordinate;
    return ir::binary(BinaryOp::Mod, coordinate, build_.argument(name(dim) + "_extent", extent(dim), 1));
}

SlicePatches::Side SlicePatches::side(kernel::Body& body, std::size_t dim, const ir::Expr& tile,
                                      const ir::ScanReach& beside, std::int64_t own, std::int64_t points) {
    const ir::Expr begin = first(dim), end = build_.argument(name(dim) + "_end", domain_.box[dim].hi);
    Side result;
    const std::int64_t least = ir::as_int(domain_.box[dim].lo).value_or(-kernel::kVariableLimit + 1 + beside.below);
    result.first =
        build_.define(body, name(dim) + "_begin",
                      sum(sum(product(tile, constant(own)), constant(-beside.below)), begin), least - beside.below);
    result.begin = build_.define(body, "begin", ir::binary(BinaryOp::Max, difference(begin, result.first), constant(0)),
                                 0, 1, points + 1);
    // Each patch has a point; saying so keeps the arithmetic of places within 32 bits.
    const ir::Expr most = ir::binary(BinaryOp::Min, difference(end, result.first), constant(points));
    result.behind = build_.define(body, "end", ir::binary(BinaryOp::Max, most, constant(1)), 1, 1, points + 1);
    result.end = beside.wraps ? constant(points) : result.behind;
    result.wraps = beside.wraps;
    if (result.wraps) result.begin = constant(0);
    return result;
}

/// The thread's points in these rows, where it has a column: rows one below the other, `copies` of them at once, whose
/// values are computed before one is stored, and then the rows that are left.
void SlicePatches::each_point(kernel::Body& body, const ir::Expr& first_row, const ir::Expr& end_row,
                              const ir::Expr& has_column, std::int64_t copies, const Value& value,
                              const Storage& store) {
    const std::int64_t thread_rows = plan::kPatchThreads / patch_.columns;
    kernel::Body& there = KernelBuilder::guarded(body, has_column);
    ir::Expr row;
    kernel::Body& together =
        build_.loop(there, "row", sum(first_row, product(thread_row_, constant(copies))),
                    difference(end_row, constant(copies - 1)), constant(copies * thread_rows), row);
    points_in_rows(together, row, copies, value, store);
    if (copies == 1) return;
    const ir::Expr rest = build_.define(
        there, "rest", ir::binary(BinaryOp::Mod, difference(end_row, first_row), constant(copies)), 0, 1, copies);
    kernel::Body& alone =
        build_.loop(there, "row", sum(difference(end_row, rest), thread_row_), end_row, constant(thread_rows), row);
    points_in_rows(alone, row, 1, value, store);
}

void SlicePatches::points_in_rows(kernel::Body& body, const ir::Expr& row, std::int64_t copies, const Value& value,
                                  const Storage& store) {
    const ir::Expr first_row =
        rows_.wraps ? nullptr : build_.define(body, name(row_dim_), coordinate_of(row_dim_, rows_, row));
    std::vector<ir::Expr> wrapped;
    for (std::int64_t i = 0; rows_.wraps && i < copies; ++i)
        wrapped.push_back(
            build_.define(body, name(row_dim_), coordinate_of(row_dim_, rows_, sum(row, constant(i))), 0));
    kernel::Body* points = &body;
    for (const std::size_t dim : patch_.whole_dims) {
        ir::Expr place;
        points = &build_.loop(*points, name(dim), constant(0), constant(*extents_[dim]), constant(1), place, true);
        at_[dim] = build_.define(*points, name(dim), sum(first(dim), place));
    }
    const auto set_row = [&](std::int64_t i) {
        rows_.place = sum(row, constant(i));
        at_[row_dim_] = rows_.wraps ? wrapped.at(static_cast<std::size_t>(i)) : sum(first_row, constant(i));
    };
    std::vector<ir::Expr> values;
    for (std::int64_t i = 0; i < copies; ++i) {
        set_row(i);
        if (guard_) points = &KernelBuilder::guarded(*points, rewriter_.instance(guard_, bindings(at_)));
        const ir::VarId var = build_.variable(stage_.name, stage_.type);
        add(*points, kernel::Define{var, value()});
        values.push_back(ir::variable(var, stage_.type));
    }
    for (std::int64_t i = 0; i < copies; ++i) {
        set_row(i);
        store(*points, values[static_cast<std::size_t>(i)]);
    }
}

/// The ring's number of the slice so many before the position.
ir::Expr SlicePatches::slot(kernel::Body& body, const ir::Expr& position, std::int64_t before) {
    const ir::Expr slice = before == 0 ? position : sum(position, constant(patch_.ring - before));
    return build_.define(body, "slot", ir::binary(BinaryOp::Mod, slice, constant(patch_.ring)), 0, 1, patch_.ring);
}

/// Of a coordinate in the patch.
ir::Expr SlicePatches::place(std::size_t dim, const Side& side, const ir::Expr& index) {
    if (auto by = rewriter_.linear(index)) {
        by->add(*rewriter_.linear(at_[dim]), -1);
        if (by->terms.empty()) return sum(side.place, constant(by->constant));
    }
    return difference(index, side.first);
}

std::vector<ir::Expr> SlicePatches::place_in_ring(const ir::Expr& slot, const std::vector<ir::Expr>& indices) {
    ir::Expr number = slot;
    for (const std::size_t dim : patch_.whole_dims)
        number = sum(product(number, constant(*extents_[dim])), difference(indices[dim], first(dim)));
    const ir::Expr row = place(row_dim_, rows_, indices[row_dim_]);
    const ir::Expr column = place(column_dim_, columns_, indices[column_dim_]);
    return {number, sum(product(row, constant(patch_.columns)), column)};
}

/// What launches before have computed.
void SlicePatches::load_before(kernel::Body& body) {
    for (std::int64_t k = 1; k <= stage_.scan->distance; ++k) {
        kernel::Body& there = KernelBuilder::guarded(body, ir::binary(BinaryOp::Ge, first_position_, constant(k)));
        set_slice(there, build_.define(there, "position", difference(first_position_, constant(k)), 0));
        const ir::Expr slot_before = slot(there, first_position_, k);
        each_point(
            there, rows_.begin, rows_.end,
            both(ir::binary(BinaryOp::Ge, columns_.place, columns_.begin),
                 ir::binary(BinaryOp::Lt, columns_.place, columns_.end)),
            guard_ ? 1 : kLoadsAtOnce,
            [&] {
                return ir::read({ir::Source::Kind::Stage, index_}, stage_.type, at_);
            },
            [&](kernel::Body& point, const ir::Expr& value) {
                add(point, kernel::Store{kRing, place_in_ring(slot_before, at_), {value}, nullptr});
            });
    }
}

/// All points of the patch are where the definition has no conditions of places.
ir::Expr SlicePatches::is_interior() {
    ir::Expr result;
    for (const auto& [dim, side, points] :
         {std::tuple(row_dim_, rows_, patch_.rows), std::tuple(column_dim_, columns_, patch_.columns)}) {
        const poly::Interval& box = interior_.box[dim];
        result =
            both(result, ir::binary(BinaryOp::Ge, side.first, build_.argument(name(dim) + "_inner_begin", box.lo)));
        result = both(result, ir::binary(BinaryOp::Le, sum(side.first, constant(points)),
                                         build_.argument(name(dim) + "_inner_end", box.hi)));
    }
    return result;
}

void SlicePatches::compute_points(kernel::Body& body, const ir::Expr& turn, const ir::Expr& definition) {
    // Of all slices of a launch, the last one has the fewest points around the block's own.
    const ir::Expr step = sum(turn, constant(1));
    const auto from = [&](const ir::ScanReach& beside, const Side& of) {
        const ir::Expr least = product(step, constant(beside.below / patch_.slices));
        return build_.define(body, "from", ir::binary(BinaryOp::Max, least, of.begin), 0);
    };
    const auto to = [&](const ir::ScanReach& beside, const Side& of, std::int64_t points) {
        const ir::Expr most = difference(constant(points), product(step, constant(beside.above / patch_.slices)));
        return build_.define(body, "to", ir::binary(BinaryOp::Min, most, of.end), 1, 1, points + 1);
    };
    const ir::Expr first_row = from(patch_.beside_rows, rows_), end_row = to(patch_.beside_rows, rows_, patch_.rows);
    const ir::Expr first_column = from(patch_.beside_columns, columns_);
    const ir::Expr end_column = to(patch_.beside_columns, columns_, patch_.columns);
    const Rewriter::Hook from_ring = [&](const ir::Expr& e) -> ir::Expr {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source != ir::Source{ir::Source::Kind::Stage, index_}) return e;
        const ir::Expr& slot = slots_.at(static_cast<std::size_t>(slices_back(*read)));
        return ir::read(kRing, stage_.type, place_in_ring(slot, read->indices));
    };
    const auto is_own = [](const Side& side, const ir::ScanReach& beside, std::int64_t points) {
        const ir::Expr end = side.wraps ? ir::binary(BinaryOp::Min, side.behind, constant(points - beside.above))
                                        : constant(points - beside.above);
        return both(ir::binary(BinaryOp::Ge, side.place, constant(beside.below)),
                    ir::binary(BinaryOp::Lt, side.place, end));
    };
    each_point(
        body, first_row, end_row,
        both(ir::binary(BinaryOp::Ge, columns_.place, first_column),
             ir::binary(BinaryOp::Lt, columns_.place, end_column)),
        guard_ ? 1 : std::clamp<std::int64_t>(kNodesAtOnce / ir::node_count(definition), 1, kPointsAtOnce),
        [&] { return rewriter_.instance(definition, bindings(at_), from_ring); },
        [&](kernel::Body& point, const ir::Expr& value) {
            add(point, kernel::Store{kRing, place_in_ring(slots_[0], at_), {value}, nullptr});
            if (last_ > 0) return;
            add(point, kernel::Store{{ir::Source::Kind::Stage, index_},
                                     at_,
                                     {value},
                                     both(is_own(rows_, patch_.beside_rows, patch_.rows),
                                          is_own(columns_, patch_.beside_columns, patch_.columns))});
        });
}

/// The last slices of a launch go to memory, where nobody reads others.
void SlicePatches::store_last(kernel::Body& body) {
    const auto own = [&](const Side& side, const ir::ScanReach& beside, std::int64_t points) {
        return std::pair(
            build_.define(body, "from", ir::binary(BinaryOp::Max, constant(beside.below), side.begin), 0),
            build_.define(body, "to", ir::binary(BinaryOp::Min, constant(points - beside.above), side.behind), 1));
    };
    const auto [first_row, end_row] = own(rows_, patch_.beside_rows, patch_.rows);
    const auto [first_column, end_column] = own(columns_, patch_.beside_columns, patch_.columns);
    for (std::int64_t k = last_; k > 0; --k) {
        kernel::Body& there = KernelBuilder::guarded(body, ir::binary(BinaryOp::Ge, count_, constant(k)));
        const ir::Expr end = sum(first_position_, count_);
        const ir::Expr position = build_.define(there, "position", difference(end, constant(k)), 0);
        set_slice(there, position);
        const ir::Expr slot_there = slot(there, position, 0);
        each_point(
            there, first_row, end_row,
            both(ir::binary(BinaryOp::Ge, columns_.place, first_column),
                 ir::binary(BinaryOp::Lt, columns_.place, end_column)),
            guard_ ? 1 : kPointsAtOnce, [&] { return ir::read(kRing, stage_.type, place_in_ring(slot_there, at_)); },
            [&](kernel::Body& point, const ir::Expr& value) {
                add(point, kernel::Store{{ir::Source::Kind::Stage, index_}, at_, {value}, nullptr});
            });
    }
}

void SlicePatches::compute_slice(kernel::Body& body, const ir::Expr& turn) {
    const ir::Expr position = build_.define(body, "position", sum(first_position_, turn), 0);
    set_slice(body, position);
    slots_.clear();
    for (std::int64_t k = 0; k <= stage_.scan->distance; ++k) slots_.push_back(slot(body, position, k));
    if (interior_patch_) {
        const ir::Expr inside = both(interior_patch_, this->inside(at_[scan_], at_[scan_]));
        kernel::If& choice = add(body, kernel::If{inside, {}, {}, kernel::If::Uniform::Block});
        compute_points(choice.then, turn, interior_.value);
        compute_points(choice.otherwise, turn, definition_);
    } else {
        compute_points(body, turn, definition_);
    }
    add(body, kernel::kBlockBarrier);
}

kernel::Kernel SlicePatches::build() {
    kernel::Kernel& kernel = build_.kernel;
    kernel.name = stage_.name + "_patch";
    const ir::Expr tiles = ceil_div(extent(column_dim_), patch_.own_columns());
    kernel.grid[0] = count_product(ceil_div(extent(row_dim_), patch_.own_rows()), tiles);
    kernel.grid[2] = lines();
    kernel.repetitions = ceil_div(extent(scan_), patch_.slices);
    add_shared("ring", stage_.type, {patch_.ring * patch_.whole, patch_.rows * patch_.columns});
    kernel.shared.back().ring = true;
    std::vector<bool> splits(stage_.dims.size(), false);
    splits[scan_] = splits[row_dim_] = splits[column_dim_] = true;
    interior_ = find_interior(rewriter_, stage_, domain_, definition_, nullptr, splits);

    kernel::Body& body = kernel.body;
    const ir::Expr own = thread(plan::kPatchThreads);
    length_ = build_.argument("length", extent(scan_), 1);
    set_places(body, outer_dims_, build_.special(kernel::Special::Id::BlockZ));
    const ir::Expr number = build_.special(kernel::Special::Id::BlockX);
    const ir::Expr divisor = build_.divisor("tiles_" + name(column_dim_), tiles);
    const ir::Expr tile_row =
        build_.define(body, "tile_" + name(row_dim_), ir::binary(BinaryOp::Div, number, divisor), 0);
    const ir::Expr tile_column =
        build_.define(body, "tile_" + name(column_dim_), ir::binary(BinaryOp::Mod, number, divisor), 0);
    rows_ = side(body, row_dim_, tile_row, patch_.beside_rows, patch_.own_rows(), patch_.rows);
    columns_ = side(body, column_dim_, tile_column, patch_.beside_columns, patch_.own_columns(), patch_.columns);
    const std::int64_t thread_rows = plan::kPatchThreads / patch_.columns;
    columns_.place =
        build_.define(body, "column", ir::binary(BinaryOp::Mod, own, constant(patch_.columns)), 0, 1, patch_.columns);
    thread_row_ =
        build_.define(body, "thread_row", ir::binary(BinaryOp::Div, own, constant(patch_.columns)), 0, 1, thread_rows);
    at_[column_dim_] = build_.define(body, name(column_dim_), coordinate_of(column_dim_, columns_, columns_.place));
    first_position_ =
        build_.define(body, "first_position", product(build_.repetition("round"), constant(patch_.slices)), 0);
    if (interior_.simpler || rows_.wraps || columns_.wraps) interior_patch_ = is_interior();
    load_before(body);
    add(body, kernel::kBlockBarrier);
    const ir::Expr rest = difference(length_, first_position_);
    count_ =
        build_.define(body, "count", ir::binary(BinaryOp::Min, rest, constant(patch_.slices)), 0, 1, patch_.slices + 1);
    ir::Expr turn;
    kernel::Body& slices = build_.loop(body, "turn", constant(0), count_, constant(1), turn);
    compute_slice(slices, turn);
    if (last_ > 0) store_last(body);
    return std::move(kernel);
}

}  // namespace

std::optional<plan::SlicePatch> slice_patch(kernel::Program& program, int stage) {
    const ir::Stage& s = program.pipeline.stages.at(static_cast<std::size_t>(stage));
    std::vector<std::optional<ir::ScanReach>> reaches;
    for (const int dim : s.scan->across)
        reaches.push_back(
            ir::scan_reach(s, stage, std::get<ir::Pure>(s.definition).value, static_cast<std::size_t>(dim)));
    std::vector<std::optional<std::int64_t>> extents;
    for (const poly::Interval& box : program.model.domains.at(static_cast<std::size_t>(stage)).box)
        extents.push_back(constant_extent(box.lo, box.hi));
    const plan::SlicePoint point{s.scan->distance, ir::bytes(s.type), 0, 1, fusion::slice_work(s)};
    return plan::make_slice_patch(memory_order(program.pipeline, {ir::Source::Kind::Stage, stage}), extents,
                                  s.scan->across, reaches, point, program.target.gpu().shared_per_block);
}

kernel::Kernel slice_patch_kernel(kernel::Program& program, int stage, const plan::SlicePatch& patch) {
    return SlicePatches(program, stage, patch).build();
}

}  // namespace pipec::codegen
