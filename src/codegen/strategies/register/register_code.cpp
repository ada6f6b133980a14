// Code of a register tile around its values: places, loads, stores, slices of rows.
#include "codegen/strategies/register/register_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/expr/point_loops.h"
#include "codegen/expr/strides.h"
#include "codegen/kernel/kernel_flow.h"
#include "codegen/strategies/register/register_order.h"
#include "codegen/strategies/register/register_pressure.h"
#include "fusion/written_out.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "support/integers.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Rows of a slice, at an edge where registers are few.
constexpr std::int64_t kEdgeRows = 2;
/// What code may take of a lane's registers in any case, as estimated: it leaves a multiprocessor full of warps.
constexpr std::int64_t kFewRegisters = 40;
/// The same where the interior is in an order with few registers, or where points at the edges share loads that stand
/// late.
constexpr std::int64_t kOrderedRegisters = 80;
/// What the loop over slices has around loads that points share: with less nvcc spilled 76 bytes of harris on sm_80.
constexpr std::int64_t kSliceRegisters = 12;
/// With more there are too few warps to issue an instruction in most cycles: on an H100 in 52 % of them with 8 warps of
/// a multiprocessor, 75 % with 16, 85 % with 24.
constexpr std::int64_t kManyRegisters = 128;

/// A point at the edges may load for itself unless that makes so many times the loads, which all miss their
/// neighbours': 16 columns of three channels under a window of 15 load 90 elements together, and 720 alone.
constexpr std::int64_t kMoreLoads = 4;

/// Elements that statements read, each by itself.
std::int64_t elements_read(const kernel::Body& body) {
    std::int64_t result = 0;
    kernel::for_each_stmt(body, [&](const kernel::Stmt& stmt) {
        for (const ir::Expr& e : kernel::expressions(stmt)) {
            ir::for_each_node(e, [&](const ir::Expr& node) { result += ir::as<ir::Read>(node) != nullptr; });
        }
    });
    return result;
}

}  // namespace

Refusal too_many_registers(std::int64_t needed, std::int64_t there_are) {
    return {fmt::format("a lane would need about {} registers at once, and has {}", needed, there_are)};
}

/// The first coordinate of the lane, of the slice, or of the tile.
Linear RegisterCode::origin(const Member& m, std::size_t dim) {
    if (is_lane(m, dim)) {
        Linear sum{{}, tile_.shift[position(m)]};
        return sum.add(*rewriter().linear(unit_), columns(m, dim));
    }
    Linear sum = space_.origin(m, dim);
    if (slice_ && is_row(m, dim)) sum.add(*rewriter().linear(slice_), slice_rows_ / m.alignment[dim].scale);
    return sum;
}

std::vector<ir::Expr> RegisterCode::place(const Member& m, const Offsets& offsets) {
    std::vector<ir::Expr> result;
    for (std::size_t d = 0; d < offsets.size(); ++d) {
        Linear sum = origin(m, d);
        sum.constant += offsets[d];
        result.push_back(rewriter().expr(sum));
    }
    return result;
}

/// The point is in its stage's domain; null where that is certain.
ir::Expr RegisterCode::inside(const Member& m, const std::vector<ir::Expr>& at) {
    ir::Expr result;
    Rewriter::Bindings point;
    for (std::size_t d = 0; d < at.size(); ++d) {
        point[m.definition.dims[d].var] = at[d];
        if (m.alignment[d].dim < 0) continue;
        // Once for all points that lie there.
        const poly::Interval box = box_of(m, d);
        ir::Expr& known = inside_[{at[d].get(), box.lo.get(), box.hi.get()}];
        if (!known) {
            const std::string& dim = space_.name(m, d);
            const ir::Expr coordinate = builder().define(*body_, dim, with_bases(at[d]));
            const ir::VarId var = builder().variable(dim + "_inside", ir::Type::Bool);
            add(*body_, kernel::Define{var, space_.inside(m, d, coordinate)});
            known = ir::variable(var, ir::Type::Bool);
        }
        result = both(result, known);
    }
    if (m.guard) result = both(result, rewriter().instance(m.guard, point));
    return result;
}

std::string RegisterCode::name(const Member& m, const Offsets& offsets) const {
    std::string text = m.definition.name;
    for (std::size_t d = 0; d < offsets.size(); ++d) {
        if (m.extent[d].count == 1) continue;
        const std::int64_t first = is_lane(m, d) || m.alignment[d].dim < 0 ? 0 : m.extent[d].first;
        text += fmt::format("_{}", offsets[d] - first);
    }
    return text;
}

std::string RegisterCode::name_of(ir::Source source) const {
    const auto index = static_cast<std::size_t>(source.index);
    return source.kind == ir::Source::Kind::Input ? space_.program.pipeline.inputs.at(index).name
                                                  : space_.program.pipeline.stages.at(index).name;
}

// ---------------------------------------------------------------------------------------------------------------- code

std::vector<Pack> RegisterCode::packs(const std::vector<Element>& elements, std::int64_t most_bytes) {
    std::vector<Pack> result;
    if (most_bytes > 0)
        return find_packs(rewriter(), space_.program.pipeline, space_.program.model, elements, {}, most_bytes);
    for (std::size_t i = 0; i < elements.size(); ++i) result.push_back({i});
    return result;
}

/// The lane's own reads, several elements at once where that is allowed.
std::vector<RowLoad> RegisterCode::loads() {
    const auto says_row = [&](const ir::Expr& index) {
        bool has_unit = false;
        ir::for_each_node(index, [&](const ir::Expr& node) { has_unit = has_unit || node == unit_; });
        return !has_unit && !ir::as_int(index);
    };
    std::vector<RowLoad> result;
    std::vector<Element> elements;
    for (const ir::Expr& e : reads_) elements.push_back({ir::as<ir::Read>(e)->source, ir::as<ir::Read>(e)->indices});
    for (const Pack& pack : packs(elements, tile_.load_bytes)) {
        const std::vector<ir::Expr>& indices = elements[pack.front()].indices;
        RowLoad& row = result.emplace_back(RowLoad{{{}, elements[pack.front()].source, with_bases(indices)}, {}});
        for (const std::size_t i : pack) {
            row.load.vars.push_back(ir::as<ir::Variable>(loaded_.at(reads_[i].get()).expr)->id);
        }
        std::copy_if(indices.begin(), indices.end(), std::back_inserter(row.row), says_row);
    }
    return result;
}

/// The tile (of a moved one: what it would have been) owns a row of points, and the lane's part of it. Lanes that
/// compute for their neighbours store nothing, and of a stage without columns one lane stores all.
ir::Expr RegisterCode::owns(const Member& m, const Offsets& offsets) {
    ir::Expr result;
    bool has_columns = false;
    const auto within = [&](const ir::Expr& e, std::int64_t lo, std::int64_t hi, std::int64_t least, std::int64_t end) {
        if (lo > least) result = both(result, ir::binary(BinaryOp::Ge, e, constant(lo)));
        if (hi < end) result = both(result, ir::binary(BinaryOp::Lt, e, constant(hi)));
    };
    const std::int64_t lanes = kWarp - tile_.left - tile_.right;
    for (std::size_t d = 0; d < offsets.size(); ++d) {
        if (is_lane(m, d)) {
            has_columns = true;
            const TileSpace::Dim& dim = space_.dims[tile_.lane_dim];
            if (!interior_) {
                within(space_.lane, tile_.left, tile_.left + lanes, 0, kWarp);
                continue;
            }
            if (!first_lane_) {
                // Of a moved tile's lanes those whose columns are the tile's.
                const ir::Expr begin = sum(difference(dim.plain, dim.origin), constant(tile_.left));
                const std::int64_t end = tile_.left + std::max(dim.cover, dim.size) / dim.step;
                first_lane_ =
                    builder().define(*body_, "first_lane", ir::binary(BinaryOp::Max, begin, constant(tile_.left)));
                end_lane_ = builder().define(*body_, "end_lane",
                                             ir::binary(BinaryOp::Min, sum(begin, constant(lanes)), constant(end)));
            }
            result = both(result, both(ir::binary(BinaryOp::Ge, space_.lane, first_lane_),
                                       ir::binary(BinaryOp::Lt, space_.lane, end_lane_)));
        } else if (interior_ && m.alignment[d].dim >= 0) {
            const auto g = static_cast<std::size_t>(m.alignment[d].dim);
            const TileSpace::Dim& dim = space_.dims[g];
            if (dim.step == 0 || dim.step == dim.size) continue;
            ir::Expr& moved = moved_[g];
            if (!moved) moved = builder().define(*body_, "moved", difference(dim.origin, dim.plain));
            const std::int64_t at = offsets[d] / (dim.step / m.alignment[d].scale);
            within(moved, -at, dim.size / dim.step - at, -dim.size, dim.size);
        }
    }
    if (has_columns) return result;
    return both(result, ir::binary(BinaryOp::Eq, space_.lane, constant(tile_.left)));
}

void RegisterCode::store(kernel::Body& body, const Member& m, const std::vector<Offsets>& points) {
    const ir::Source self{ir::Source::Kind::Stage, m.stage};
    std::vector<Element> targets;
    std::vector<ir::Expr> values, exists;
    for (const Offsets& offsets : points) {
        const Value value = at(m, offsets);
        reach_.add(value.reach, 0);
        values.push_back(value.expr);
        targets.push_back({self, place(m, offsets)});
        if (!interior_) exists.push_back(inside(m, targets.back().indices));
    }
    ir::Expr owned = both(space_.writes(m), owns(m, points.front()));
    kernel::Body& guarded = KernelBuilder::guarded(body, owned);
    if (!interior_) {
        for (std::size_t i = 0; i < targets.size(); ++i) {
            add(guarded, kernel::Store{self, with_bases(targets[i].indices), {values[i]}, exists[i]});
        }
        return;
    }
    for (const Pack& pack : packs(targets, tile_.store_bytes)) {
        kernel::Store stored{self, with_bases(targets[pack.front()].indices), {}, nullptr};
        for (const std::size_t i : pack) stored.values.push_back(values[i]);
        add(guarded, std::move(stored));
    }
}

/// A tile has all of a dimension that runs faster in memory than the columns do: a lane's part of a row is in one
/// piece.
bool RegisterCode::runs_inside(const Member& m, std::size_t d) {
    if (m.alignment[d].dim < 0 || is_row(m, d)) return false;
    const TileSpace::Dim& dim = space_.dims[static_cast<std::size_t>(m.alignment[d].dim)];
    if (dim.step != 0 && dim.step != dim.size) return false;
    const std::vector<int> order = memory_order(space_.program.pipeline, {ir::Source::Kind::Stage, m.stage});
    bool after_columns = false;
    for (const int each : order) {
        if (each == static_cast<int>(d)) return after_columns;
        after_columns = after_columns || is_lane(m, static_cast<std::size_t>(each));
    }
    return false;
}

/// All points of an output that the tile (the slice) owns, row by row.
std::vector<std::vector<RegisterCode::Offsets>> RegisterCode::rows_of(const Member& m) {
    std::vector<Offsets> rows{Offsets(m.definition.dims.size(), 0)};
    std::vector<std::size_t> in_row;  // dimensions that are stored together
    const auto extend = [&](std::vector<Offsets>& points, std::size_t d, std::int64_t count) {
        std::vector<Offsets> more;
        for (const Offsets& point : points) {
            for (std::int64_t i = 0; i < count; ++i) {
                more.push_back(point);
                more.back()[d] = i;
            }
        }
        points = std::move(more);
    };
    for (std::size_t d = 0; d < m.definition.dims.size(); ++d) {
        const int g = m.alignment[d].dim;
        const bool inner = g < 0 || static_cast<std::size_t>(g) >= tile_.lane_dim || runs_inside(m, d);
        if (inner)
            in_row.push_back(d);
        else
            extend(rows, d, (is_row(m, d) ? slice_rows_ / m.alignment[d].scale : space_.points(m, d)));
    }
    if (half_range(m)) {  // a row, then the one that is computed with it
        const std::size_t d = row_of(m);
        const std::int64_t distance = half_distance(m);
        std::stable_sort(rows.begin(), rows.end(),
                         [&](const Offsets& a, const Offsets& b) { return a[d] % distance < b[d] % distance; });
    }
    std::vector<std::vector<Offsets>> points;
    for (const Offsets& row : rows) {
        points.push_back({row});
        for (const std::size_t d : in_row) {
            extend(points.back(), d,
                   m.alignment[d].dim < 0 ? m.extent[d].count
                   : is_lane(m, d)        ? columns(m, d)
                                          : space_.points(m, d));
        }
    }
    return points;
}

void RegisterCode::outputs(kernel::Body& body) {
    values_.clear();
    fetched_.clear();
    column_sums_.clear();
    half_ranges_.clear();
    halves_.clear();
    divided_.clear();
    together_.clear();
    factors_.clear();
    inside_.clear();
    nearest_.clear();
    ends_.clear();
    first_lane_ = end_lane_ = nullptr;
    moved_.clear();
    bases_.clear();
    base_of_.clear();
    reads_.clear();
    loaded_.clear();
    edge_loads_.clear();
    edge_bytes_ = 0;
    kernel::Body computed;
    body_ = &computed;
    const bool has_loops = std::any_of(space_.members.begin(), space_.members.end(),
                                       [](const Member& m) { return fusion::has_loops(m.interior.value); });
    if (interior_ && has_loops) {
        // One loop for all points, in which their loads are on their way together.
        for (const Member& m : space_.members) {
            if (!m.live) continue;
            for (const std::vector<Offsets>& row : rows_of(m)) {
                for (const Offsets& offsets : row) at(m, offsets);
            }
        }
    }
    for (const Member& m : space_.members) {
        if (!m.live) continue;
        for (const std::vector<Offsets>& row : rows_of(m)) store(computed, m, row);
    }
    std::vector<RowLoad> loaded = loads();
    // What is read where data say lies in no row.
    PackWriter packs(space_.program, builder(), rewriter(), tile_.load_bytes);
    computed = packs.with_loads(std::move(computed));
    if (interior_ && has_loops) {
        computed = PointLoops(space_.program, builder(), rewriter(), packs, false).with_loops(std::move(computed));
    }
    body.insert(body.end(), bases_.begin(), bases_.end());
    if (interior_ && tile_.prefetch > 0) {
        computed = with_prefetch(space_, std::move(loaded), std::move(computed), tile_.prefetch);
    } else {
        for (RowLoad& row : loaded) add(body, std::move(row.load));
        body.insert(body.end(), edge_loads_.begin(), edge_loads_.end());
    }
    body.insert(body.end(), computed.begin(), computed.end());
}

/// Rows of a tile, in group coordinates, and those of them that are computed at a time where registers are few.
std::pair<std::int64_t, std::int64_t> RegisterCode::rows_and_slice() const {
    if (!tile_.row_dim) return {1, 1};
    const std::int64_t all = shape_.plan.tiles.cuts[*tile_.row_dim].size;
    const std::int64_t unit = poly::tile_unit(space_.group, static_cast<int>(*tile_.row_dim));
    const std::int64_t slice = (kEdgeRows + unit - 1) / unit * unit;
    return {all, all % slice == 0 ? slice : unit};
}

/// Says which planes of its members the code of the interior computes. A plane that some stage lacks, as the fourth
/// channel of three, may have no reader, and then there is nothing that has to exist.
void RegisterCode::note_needed() {
    for (Member& m : space_.members) {
        m.needed = m.extent;
        for (std::size_t d = 0; d < m.alignment.size(); ++d) {
            if (m.alignment[d].dim < 0 || is_lane(m, d) || is_row(m, d)) continue;
            std::optional<std::int64_t> first, last;
            for (const auto& [point, value] : values_) {
                if (point.first != m.stage) continue;
                first = std::min(first.value_or(point.second[d]), point.second[d]);
                last = std::max(last.value_or(point.second[d]), point.second[d]);
            }
            if (first) m.needed[d] = {*first, *last - *first + 1};
        }
    }
}

kernel::Body RegisterCode::code(bool interior) {
    interior_ = interior;
    kernel::Body body;
    ir::Expr unit = sum(space_.dims[tile_.lane_dim].origin, space_.lane);
    if (tile_.left > 0) unit = difference(unit, constant(tile_.left));
    const std::int64_t units = kernel::kVariableLimit / (tile_.columns / finest_scale(space_.group, tile_.lane_dim));
    unit_ = builder().define(body, "unit", unit, -units, 1, units);
    // Of the ways to write the code at the edges, the one that the schedule asks for, or the first that takes no more
    // registers than the interior does, or the last. Loads that wait for each other cost more than rows that slices
    // compute again, and loads for each point more than either.
    using fusion::EdgeCode;
    struct Way {
        std::int64_t rows;
        bool loads_first, shares_loads;
        EdgeCode code;
    };
    const auto [rows, slice] = rows_and_slice();
    std::vector<Way> ways{{rows, true, true, EdgeCode::Whole},       {slice, true, true, EdgeCode::Sliced},
                          {rows, false, true, EdgeCode::WholeLate},  {slice, false, true, EdgeCode::SlicedLate},
                          {rows, false, false, EdgeCode::WholeLate}, {slice, false, false, EdgeCode::SlicedLate}};
    const bool shares = !interior && shares_any_loads();
    if (!shares) std::erase_if(ways, [](const Way& way) { return !way.loads_first && way.shares_loads; });
    // (What is fetched ahead is to save registers, and none of it counts.)
    if (tile_.prefetch > 0)
        std::erase_if(ways,
                      [](const Way& way) { return way.code == EdgeCode::Whole || way.code == EdgeCode::WholeLate; });
    if (interior)
        ways = {{rows, false, false, EdgeCode::WholeLate}};
    else if (tile_.edges)
        std::erase_if(ways, [&](const Way& way) { return way.code != *tile_.edges; });
    const auto is_same = [](const Way& a, const Way& b) {
        return a.rows == b.rows && a.loads_first == b.loads_first && a.shares_loads == b.shares_loads;
    };
    ways.erase(std::unique(ways.begin(), ways.end(), is_same), ways.end());
    const kernel::Body before = body;
    std::int64_t registers = 0;
    if (!interior) edge_way_ = std::min(shape_.edge_way, ways.size() - 1);
    /// A way that shares its loads, but has more registers than it should.
    struct Sharing {
        std::size_t number;
        std::int64_t loads;
    };
    std::optional<Sharing> sharing;
    bool is_settled = false;
    for (std::size_t number = interior ? 0 : edge_way_; number < ways.size(); ++number) {
        const Way& way = ways[number];
        if (!interior) {
            edge_way_ = number;
            edges_ = way.code;
        }
        body = before;
        edge_loads_first_ = way.loads_first;
        edge_loads_shared_ = way.shares_loads;
        slice_rows_ = way.rows;
        slice_ = nullptr;
        kernel::Body* inner = &body;
        if (way.rows < rows)
            inner = &builder().loop(body, "slice", constant(0), constant(rows / way.rows), constant(1), slice_);
        const bool may_have_more = is_ordered_ || (way.shares_loads && !way.loads_first);
        const std::int64_t enough = std::max(registers_, may_have_more ? kOrderedRegisters : kFewRegisters);
        // The last way is taken whatever it takes. Of others loads tell early that they take too much: code at the
        // edges is several times as long as that of the interior.
        const bool is_last = is_settled || number + 1 == ways.size();
        most_edge_bytes_ = interior || is_last || is_ordered_ ? INT64_MAX : enough * kRegisterBytes;
        try {
            outputs(*inner);
        } catch (const TooManyLoads&) {
            continue;
        }
        if (interior) note_needed();
        registers = registers_at_once(space_.program.pipeline, body);
        if (registers > (is_ordered_ ? enough : kManyRegisters)) {
            if (auto better = with_fewer_registers(space_.program.pipeline, body)) {
                body = std::move(*better);
                registers = registers_at_once(space_.program.pipeline, body);
                is_ordered_ = true;
            }
        }
        if (is_settled) break;
        if (!interior && !way.shares_loads && sharing && elements_read(body) > kMoreLoads * sharing->loads) {
            is_settled = true;
            number = sharing->number - 1;
            continue;
        }
        if (registers <= enough) break;
        if (!interior && way.shares_loads && registers <= kManyRegisters)
            sharing = Sharing{number, elements_read(body)};
    }
    if (interior && registers > most_registers_ && !packs_) throw too_many_registers(registers, most_registers_);
    if (slice_ && shares && edge_loads_first_) registers += kSliceRegisters;
    registers_ = std::max(registers_, registers);
    return body;
}

}  // namespace pipec::codegen
