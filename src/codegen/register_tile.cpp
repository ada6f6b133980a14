// Each lane computes V adjacent columns of every stage, for all rows of the tile, as straight-line code: one variable
// for each point that the outputs need. A point in a column of another lane is fetched from there with a shuffle;
// inputs are read once by the lane whose columns they are, and fetched in the same way. The outermost lanes of a warp
// compute for their neighbours only and store nothing.
//
// At the edges of the image the same is done for a few rows at a time, with guarded values: registers and code stay
// small where speed does not count. There an index of a stage may not be at a constant distance (a clamp at the
// boundary); the value is then selected among all that it can be.
#include "codegen/register_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "codegen/column_sums.h"
#include "codegen/kernel_build.h"
#include "codegen/kernel_flow.h"
#include "codegen/pack.h"
#include "codegen/register_shape.h"
#include "codegen/rewrite.h"
#include "codegen/tile_space.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// What a tile may have of points to compute in a lane: more fits no register file.
constexpr std::int64_t kLargestTile = 4096;
/// The places that an index of no constant distance is selected from.
constexpr std::int64_t kLargestChoice = 64;
/// Rows that are computed at a time at an edge.
constexpr std::int64_t kEdgeRows = 2;

std::int64_t floor_div_of(std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}
std::int64_t ceil_div_of(std::int64_t a, std::int64_t b) {
    return -floor_div_of(-a, b);
}

/// Lanes whose values a value depends on, relative to its own.
struct Reach {
    std::int64_t lo = 0, hi = 0;
    void add(const Reach& other, std::int64_t lanes) {
        lo = std::min(lo, other.lo + lanes);
        hi = std::max(hi, other.hi + lanes);
    }
};

struct Value {
    ir::Expr expr;  ///< a variable, or a constant
    Reach reach;
};

class RegisterTile {
public:
    using Member = TileSpace::Member;

    RegisterTile(kernel::Program& program, const poly::Group& group, const RegisterShape& shape)
        : shape_(shape),
          space_(program, group, true, shape.cuts, [this](const Member& m, std::size_t dim) { return extent(m, dim); }),
          sums_(space_.rewriter) {
        space_.build.kernel.layout = shape.load_bytes > 0 ? kernel::Layout::Wide : kernel::Layout::Dense;
    }

    /// Throws a Refusal.
    kernel::Kernel build() {
        return space_.kernel(space_.members.back().definition.name, [&](bool interior) { return code(interior); });
    }
    /// Of all that was stored.
    [[nodiscard]] const Reach& reach() const { return reach_; }
    /// Arrays of which the code reads one kind of column sums only.
    [[nodiscard]] std::set<ir::Source> uniform_sums() const { return sums_.uniform(); }

private:
    /// Offsets of a point from the tile's (slice's) origin, by dimension of its stage; the column's from the lane's
    /// first.
    using Offsets = std::vector<std::int64_t>;

    [[nodiscard]] poly::TileExtent extent(const Member& m, std::size_t dim) const;
    [[nodiscard]] std::size_t position(const Member& m) const { return space_.group.position(m.stage); }
    [[nodiscard]] bool is_lane(const Member& m, std::size_t dim) const {
        return m.alignment[dim].dim == static_cast<int>(shape_.lane_dim);
    }
    [[nodiscard]] bool is_row(const Member& m, std::size_t dim) const {
        return shape_.row_dim && m.alignment[dim].dim == static_cast<int>(*shape_.row_dim);
    }
    /// Columns of a lane.
    [[nodiscard]] std::int64_t columns(const Member& m, std::size_t dim) const {
        return shape_.columns / m.alignment[dim].scale;
    }
    [[nodiscard]] std::string name(const Member& m, const Offsets& offsets) const;

    kernel::Body code(bool interior);
    void outputs(kernel::Body& body);
    void store_rows(kernel::Body& body, const Member& m);
    ir::Expr owns(const Member& m, const Offsets& offsets);
    void store(kernel::Body& body, const Member& m, const std::vector<Offsets>& points);
    Linear origin(const Member& m, std::size_t dim);
    std::vector<ir::Expr> place(const Member& m, const Offsets& offsets);
    ir::Expr inside(const Member& m, const std::vector<ir::Expr>& at);
    Value at(const Member& m, const Offsets& offsets);
    Value resolve(const Member& m, const Offsets& offsets, const ir::Expr& value);
    Value column_sum(const Member& m, const Offsets& offsets, const ir::Expr& e);
    [[nodiscard]] std::int64_t first_column(const ColumnSums::Sum& sum) const;
    Value member_read(const Member& reader, const Offsets& from, const ir::Read& read);
    Value choose(const Member& p, const std::vector<std::vector<std::int64_t>>& choices, Offsets& offsets,
                 std::size_t dim, const std::vector<ir::Expr>& indices);
    std::vector<std::int64_t> choices(const Member& reader, const Offsets& from, const Member& p, std::size_t dim);
    std::optional<Value> input_read(const ir::Expr& e);
    void all_lanes_touch(const ir::Read& read, std::size_t d, std::int64_t n, std::int64_t column);
    void all_lanes_read(const Member& m, const ir::Read& read);
    ir::Expr with_bases(const ir::Expr& e);
    std::vector<ir::Expr> with_bases(std::vector<ir::Expr> all);
    Value lane_value(const Member& m, Offsets offsets);
    Value fetched(const Value& value, std::int64_t lanes, const std::string& name);
    std::vector<Pack> packs(const std::vector<Element>& elements, std::int64_t most_bytes);
    void loads(kernel::Body& body);
    [[nodiscard]] std::string name_of(ir::Source source) const;

    Rewriter& rewriter() { return space_.rewriter; }
    KernelBuilder& builder() { return space_.build; }

    RegisterShape shape_;
    TileSpace space_;
    ColumnSums sums_;
    bool interior_ = false;
    Reach reach_;
    // Of the piece of code that is being made:
    ir::Expr unit_;                ///< shape.columns * unit: the lane's first column, in group coordinates
    ir::Expr slice_;               ///< the number of the slice of rows; null where all rows are one
    std::int64_t slice_rows_ = 0;  ///< in group coordinates
    kernel::Body* body_ = nullptr;
    std::map<std::pair<int, Offsets>, Value> values_;
    std::map<std::pair<ir::VarId, std::int64_t>, Value> fetched_;
    std::map<const ir::Node*, Value> column_sums_;
    ir::Expr first_lane_, end_lane_;               ///< that store, of a tile in the interior
    std::map<std::size_t, ir::Expr> moved_;        ///< by how many steps, by dimension of the group
    kernel::Body bases_;                           ///< defines products of the tile's and the lane's number, once each
    std::map<const ir::Node*, ir::Expr> base_of_;  ///< by product
    std::map<std::array<const ir::Node*, 3>, ir::Expr> inside_;  ///< by coordinate and bounds
    std::vector<ir::Expr> reads_;                                ///< that the lane does at the start, in order
    std::map<const ir::Node*, Value> loaded_;                    ///< what they give
};

// ------------------------------------------------------------------------------------------------------------ geometry

/// What the tile's own points need; other lanes compute something, which nobody uses.
poly::TileExtent RegisterTile::extent(const Member& m, std::size_t dim) const {
    const poly::Alignment& a = m.alignment[dim];
    const auto g = static_cast<std::size_t>(a.dim);
    const TileSpace::Cut& cut = shape_.cuts[g];
    return poly::tile_extent(a, space_.group.reach[position(m)][g], std::max(cut.size, cut.cover));
}

/// The first coordinate of the lane, of the slice, or of the tile.
Linear RegisterTile::origin(const Member& m, std::size_t dim) {
    if (is_lane(m, dim)) {
        Linear sum{{}, shape_.shift[position(m)]};
        return sum.add(*rewriter().linear(unit_), columns(m, dim));
    }
    Linear sum = space_.origin(m, dim);
    if (slice_ && is_row(m, dim)) sum.add(*rewriter().linear(slice_), slice_rows_ / m.alignment[dim].scale);
    return sum;
}

std::vector<ir::Expr> RegisterTile::place(const Member& m, const Offsets& offsets) {
    std::vector<ir::Expr> result;
    for (std::size_t d = 0; d < offsets.size(); ++d) {
        Linear sum = origin(m, d);
        sum.constant += offsets[d];
        result.push_back(rewriter().expr(sum));
    }
    return result;
}

/// The point is in its stage's domain; null where that is certain.
ir::Expr RegisterTile::inside(const Member& m, const std::vector<ir::Expr>& at) {
    ir::Expr result;
    Rewriter::Bindings point;
    for (std::size_t d = 0; d < at.size(); ++d) {
        point[m.definition.dims[d].var] = at[d];
        if (m.alignment[d].dim < 0) continue;
        // Once for all points that lie there.
        const poly::Interval& box = m.domain.box[d];
        const ir::Expr lo = rewriter().instance(box.lo, {}), hi = rewriter().instance(box.hi, {});
        ir::Expr& known = inside_[{at[d].get(), lo.get(), hi.get()}];
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

std::string RegisterTile::name(const Member& m, const Offsets& offsets) const {
    std::string text = m.definition.name;
    for (std::size_t d = 0; d < offsets.size(); ++d) {
        if (m.extent[d].count == 1) continue;
        const std::int64_t first = is_lane(m, d) || m.alignment[d].dim < 0 ? 0 : m.extent[d].first;
        text += fmt::format("_{}", offsets[d] - first);
    }
    return text;
}

std::string RegisterTile::name_of(ir::Source source) const {
    const auto index = static_cast<std::size_t>(source.index);
    return source.kind == ir::Source::Kind::Input ? space_.program.pipeline.inputs.at(index).name
                                                  : space_.program.pipeline.stages.at(index).name;
}

// -------------------------------------------------------------------------------------------------------------- values

/// A stage's value at a point of the lane itself.
Value RegisterTile::at(const Member& m, const Offsets& offsets) {
    const auto key = std::make_pair(m.stage, offsets);
    if (const auto known = values_.find(key); known != values_.end()) return known->second;
    if (static_cast<std::int64_t>(values_.size()) > kLargestTile) {
        throw Refusal(fmt::format("a lane would compute more than {} points", kLargestTile));
    }
    const std::vector<ir::Expr> point = place(m, offsets);
    Rewriter::Bindings bindings;
    for (std::size_t d = 0; d < offsets.size(); ++d) bindings[m.definition.dims[d].var] = point[d];
    ir::Expr formula = rewriter().instance(interior_ ? m.interior.value : m.value, bindings);
    if (interior_ && space_.program.fast_math) formula = sums_.factored(formula, unit_);
    Value value = resolve(m, offsets, formula);
    value.expr = with_bases(value.expr);
    if (!interior_) {
        // Nothing is read for points that do not exist.
        if (const ir::Expr exists = inside(m, point)) {
            value.expr = ir::select(exists, value.expr, ir::constant(m.definition.type, 0));
        }
    }
    const ir::VarId var = builder().variable(name(m, offsets), m.definition.type);
    add(*body_, kernel::Define{var, value.expr});
    value.expr = ir::variable(var, m.definition.type);
    return values_.emplace(key, value).first->second;
}

/// `value` with every read of members and inputs that is one of other lanes' registers, or at the start of the code,
/// replaced.
Value RegisterTile::resolve(const Member& m, const Offsets& offsets, const ir::Expr& value) {
    Reach reach;
    std::map<const ir::Node*, ir::Expr> replaced;
    const auto use = [&](const ir::Expr& e, const Value& v) {
        replaced[e.get()] = v.expr;
        reach.add(v.reach, 0);
    };
    const auto is_member = [&](const ir::Read* read) {
        return read != nullptr && read->source.kind == ir::Source::Kind::Stage &&
               space_.member(read->source.index) != nullptr;
    };
    std::set<const ir::Node*> certain;
    if (interior_) {
        for (const ir::Expr& e : certain_reads({value})) certain.insert(e.get());
    }
    std::set<const ir::Node*> seen;
    const std::function<void(const ir::Expr&)> visit = [&](const ir::Expr& e) {
        if (!seen.insert(e.get()).second) return;
        const ColumnSums::Sum* sum = e == value ? nullptr : sums_.find(e);
        const auto known = [&](const ir::Expr& read) {
            return certain.count(read.get()) > 0 || is_member(ir::as<ir::Read>(read));
        };
        if (sum != nullptr && std::all_of(sum->reads.begin(), sum->reads.end(), known)) {
            use(e, column_sum(m, offsets, e));
            return;
        }
        for (const ir::Expr& operand : ir::children(e)) visit(operand);
        const auto* read = ir::as<ir::Read>(e);
        if (is_member(read)) {
            use(e, member_read(m, offsets, *read));
        } else if (read != nullptr && interior_) {
            const auto v = certain.count(e.get()) > 0 ? input_read(e) : std::nullopt;
            if (v)
                use(e, *v);
            else
                all_lanes_read(m, *read);
        }
        if (ir::as<ir::Reduce>(e) == nullptr) return;
        ir::for_each_node(e, [&](const ir::Expr& inner) {
            if (!is_member(ir::as<ir::Read>(inner))) return;
            throw Refusal(
                fmt::format("`{}` reads `{}` in a loop", m.definition.name, name_of(ir::as<ir::Read>(inner)->source)));
        });
    };
    visit(value);
    if (replaced.empty()) return {value, reach};
    const Rewriter::Hook hook = [&](const ir::Expr& e) {
        const auto known = replaced.find(e.get());
        return known == replaced.end() ? e : known->second;
    };
    return {rewriter().instance(value, {}, hook), reach};
}

/// The sum down a column, computed once. Where a lane has all that is asked of its columns, others fetch the sum; where
/// several kinds of sums are made of the same elements, they fetch those.
Value RegisterTile::column_sum(const Member& m, const Offsets& offsets, const ir::Expr& e) {
    if (const auto known = column_sums_.find(e.get()); known != column_sums_.end()) return known->second;
    const ColumnSums::Sum& sum = *sums_.find(e);
    const std::string name = name_of(sum.array) + "_sum";
    const std::int64_t first = first_column(sum);
    const std::int64_t lanes = floor_div_of(sum.column - first, sum.columns);
    Value value;
    if (lanes != 0 && shape_.fetched_sums.count(sum.array) > 0) {
        const ir::Expr own = sums_.moved(sum, -lanes * sum.columns);
        value = fetched(column_sum(m, offsets, own), lanes, name);
    } else {
        value = resolve(m, offsets, e);
        value.expr = with_bases(value.expr);
        const ir::VarId var = builder().variable(name, e->type);
        add(*body_, kernel::Define{var, value.expr});
        value.expr = ir::variable(var, e->type);
    }
    return column_sums_.emplace(e.get(), value).first->second;
}

/// Where a lane's columns of an array begin, before its unit.
std::int64_t RegisterTile::first_column(const ColumnSums::Sum& sum) const {
    const Member* m = sum.array.kind == ir::Source::Kind::Stage ? space_.member(sum.array.index) : nullptr;
    return m == nullptr ? 0 : shape_.shift[position(*m)];
}

/// What a member's point in any lane is.
Value RegisterTile::lane_value(const Member& m, Offsets offsets) {
    for (std::size_t d = 0; d < offsets.size(); ++d) {
        if (!is_lane(m, d)) continue;
        const std::int64_t n = columns(m, d), lanes = floor_div_of(offsets[d], n);
        offsets[d] -= lanes * n;
        return fetched(at(m, offsets), lanes, name(m, offsets));
    }
    return at(m, offsets);
}

/// The value that the lane `lanes` further has.
Value RegisterTile::fetched(const Value& value, std::int64_t lanes, const std::string& name) {
    const auto* variable = ir::as<ir::Variable>(value.expr);
    if (lanes == 0 || variable == nullptr) return value;
    if (std::abs(lanes) >= kWarp) throw Refusal("a distance is more than a warp has lanes");
    const auto key = std::make_pair(variable->id, lanes);
    if (const auto known = fetched_.find(key); known != fetched_.end()) return known->second;
    using From = kernel::Shuffle::From;
    const std::string suffix = fmt::format("{}{}", lanes < 0 ? "left" : "right",
                                           std::abs(lanes) > 1 ? fmt::format("{}", std::abs(lanes)) : "");
    const ir::VarId var = builder().variable(name + "_" + suffix, value.expr->type);
    add(*body_, kernel::Shuffle{var, value.expr, lanes < 0 ? From::Up : From::Down, constant(std::abs(lanes))});
    Value result{ir::variable(var, value.expr->type), {}};
    result.reach.add(value.reach, lanes);
    return fetched_.emplace(key, result).first->second;
}

/// The offsets that a point of `p` can have in dimension `dim` where the reader's point has `from`.
std::vector<std::int64_t> RegisterTile::choices(const Member& reader, const Offsets& from, const Member& p,
                                                std::size_t dim) {
    const poly::Alignment& a = p.alignment[dim];
    std::vector<std::int64_t> result;
    if (a.dim < 0) {
        for (std::int64_t i = 0; i < p.extent[dim].count; ++i) result.push_back(i);
        return result;
    }
    std::optional<poly::Distance> hull;
    for (const poly::GroupEdge& edge : space_.group.edges) {
        if (edge.reader != reader.stage || edge.producer != p.stage) continue;
        const poly::Distance& d = edge.distance[static_cast<std::size_t>(a.dim)];
        hull = hull ? poly::Distance{std::min(hull->lo, d.lo), std::max(hull->hi, d.hi)} : d;
    }
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (reader.alignment[d].dim != a.dim) continue;
        const std::int64_t own = is_lane(p, dim) ? shape_.shift[position(reader)] : 0;
        const std::int64_t other = is_lane(p, dim) ? shape_.shift[position(p)] : 0;
        const std::int64_t g = (from[d] + own) * reader.alignment[d].scale;
        const std::int64_t lo = ceil_div_of(g + hull->lo, a.scale), hi = floor_div_of(g + hull->hi, a.scale);
        for (std::int64_t i = lo; i <= hi; ++i) result.push_back(i - other);
        return result;
    }
    throw Refusal(fmt::format("`{}` reads `{}` at a place that is not at a constant distance", reader.definition.name,
                              p.definition.name));
}

Value RegisterTile::member_read(const Member& reader, const Offsets& from, const ir::Read& read) {
    const Member& p = *space_.member(read.source.index);
    Offsets offsets(read.indices.size());
    std::vector<std::vector<std::int64_t>> open(read.indices.size());
    std::int64_t count = 1;
    for (std::size_t d = 0; d < read.indices.size(); ++d) {
        if (auto sum = rewriter().linear(read.indices[d])) {
            sum->add(origin(p, d), -1);
            if (sum->terms.empty()) {
                offsets[d] = sum->constant;
                continue;
            }
        }
        open[d] = choices(reader, from, p, d);
        count *= static_cast<std::int64_t>(open[d].size());
        if (interior_ || count > kLargestChoice) {
            throw Refusal(fmt::format("`{}` reads `{}` at a place that is not at a constant distance",
                                      reader.definition.name, p.definition.name));
        }
    }
    return choose(p, open, offsets, 0, read.indices);
}

/// The value at one of the places, by comparing the indices with each.
Value RegisterTile::choose(const Member& p, const std::vector<std::vector<std::int64_t>>& choices, Offsets& offsets,
                           std::size_t dim, const std::vector<ir::Expr>& indices) {
    if (dim == choices.size()) return lane_value(p, offsets);
    if (choices[dim].empty()) return choose(p, choices, offsets, dim + 1, indices);
    Value result;
    for (const std::int64_t offset : choices[dim]) {
        offsets[dim] = offset;
        const Value value = choose(p, choices, offsets, dim + 1, indices);
        if (!result.expr) {
            result = value;
            continue;
        }
        Linear place = origin(p, dim);
        place.constant += offset;
        const ir::Expr here = ir::binary(BinaryOp::Eq, indices[dim], rewriter().expr(place));
        result.expr = rewriter().unique(ir::select(rewriter().unique(here), value.expr, result.expr));
        result.reach.add(value.reach, 0);
    }
    return result;
}

/// All lanes of a tile in the interior, also those that nothing is stored of, read n * unit + column in dimension `d`.
void RegisterTile::all_lanes_touch(const ir::Read& read, std::size_t d, std::int64_t n, std::int64_t column) {
    const auto index = static_cast<std::size_t>(read.source.index);
    const poly::Interval box = read.source.kind == ir::Source::Kind::Input
                                   ? poly::Interval{constant(0), space_.program.pipeline.inputs.at(index).extents[d]}
                                   : space_.program.model.domains.at(index).box[d];
    space_.accesses.push_back({shape_.lane_dim, box, n, {column - shape_.left * n, (kWarp - 1) * n + 1}});
}

/// The same for a read that stays where it is: in bounds for all lanes, or else all of them are points of `m`.
void RegisterTile::all_lanes_read(const Member& m, const ir::Read& read) {
    const ir::VarId unit = ir::as<ir::Variable>(unit_)->id;
    for (std::size_t d = 0; d < read.indices.size(); ++d) {
        bool has_unit = false;
        ir::for_each_node(read.indices[d], [&](const ir::Expr& node) { has_unit = has_unit || node == unit_; });
        if (!has_unit) continue;
        const auto sum = rewriter().linear(read.indices[d]);
        if (sum && sum->terms.size() == 1 && sum->factor_of(unit) > 0) {
            all_lanes_touch(read, d, sum->factor_of(unit), sum->constant);
            continue;
        }
        for (std::size_t i = 0; i < m.alignment.size(); ++i) {
            if (!is_lane(m, i)) continue;
            const std::int64_t n = columns(m, i);
            space_.accesses.push_back(
                {shape_.lane_dim, m.interior.box[i], n, {shape_.shift[position(m)] - shape_.left * n, kWarp * n}});
        }
    }
}

/// A read of an input, or of a stage in global memory, at a constant distance from the lane's columns: the lane whose
/// columns they are does it. None for other reads; they stay where they are.
std::optional<Value> RegisterTile::input_read(const ir::Expr& e) {
    const auto* read = ir::as<ir::Read>(e);
    const ir::VarId unit = ir::as<ir::Variable>(unit_)->id;
    std::optional<std::size_t> along;
    std::vector<ir::Expr> indices = read->indices;
    std::int64_t lanes = 0;
    for (std::size_t d = 0; d < indices.size(); ++d) {
        const auto sum = rewriter().linear(indices[d]);
        if (!sum) return std::nullopt;
        const std::int64_t n = sum->factor_of(unit);
        const bool alone = sum->terms.size() == 1 && n > 0;
        for (const auto& [atom, factor] : sum->terms) {
            bool has_unit = false;  // also inside of quotients
            ir::for_each_node(atom, [&](const ir::Expr& node) { has_unit = has_unit || node == unit_; });
            if (has_unit && (!alone || along)) return std::nullopt;
        }
        if (n == 0) continue;
        along = d;
        lanes = floor_div_of(sum->constant, n);
        Linear own = *sum;
        own.constant -= lanes * n;
        indices[d] = rewriter().expr(own);
        all_lanes_touch(*read, d, n, own.constant);
    }
    if (!along) return std::nullopt;  // the same for all lanes
    const ir::Expr own = rewriter().unique(ir::read(read->source, e->type, std::move(indices), e->range));
    auto known = loaded_.find(own.get());
    if (known == loaded_.end()) {
        const ir::VarId var = builder().variable(name_of(read->source), e->type);
        reads_.push_back(own);
        known = loaded_.emplace(own.get(), Value{ir::variable(var, e->type), {}}).first;
    }
    return fetched(known->second, lanes, name_of(read->source));
}

/// With products of the tile's and the lane's number as variables: they are indices, on the way to which nothing wraps.
ir::Expr RegisterTile::with_bases(const ir::Expr& e) {
    return rewriter().instance(e, {}, [&](const ir::Expr& node) {
        const auto* n = ir::as<ir::Binary>(node);
        if (n == nullptr || n->op != BinaryOp::Mul || ir::as<ir::Variable>(n->b) == nullptr) return node;
        if (!ir::as_int(n->a) || !rewriter().linear(node)) return node;
        ir::Expr& known = base_of_[node.get()];
        if (!known) {
            std::string text = n->b == unit_ ? "column" : "row";
            for (const TileSpace::Dim& dim : space_.dims) {
                if (n->b == dim.tile && dim.axis >= 0)
                    text = std::array{"x", "y", "z"}[static_cast<std::size_t>(dim.axis)];
            }
            known = builder().define(bases_, text, node);
        }
        return known;
    });
}

std::vector<ir::Expr> RegisterTile::with_bases(std::vector<ir::Expr> all) {
    for (ir::Expr& e : all) e = with_bases(e);
    return all;
}

// ---------------------------------------------------------------------------------------------------------------- code

std::vector<Pack> RegisterTile::packs(const std::vector<Element>& elements, std::int64_t most_bytes) {
    std::vector<Pack> result;
    if (most_bytes > 0)
        return find_packs(rewriter(), space_.program.pipeline, space_.program.model, elements, {}, most_bytes);
    for (std::size_t i = 0; i < elements.size(); ++i) result.push_back({i});
    return result;
}

/// The lane's own reads, several elements at once where that is allowed.
void RegisterTile::loads(kernel::Body& body) {
    std::vector<Element> elements;
    for (const ir::Expr& e : reads_) elements.push_back({ir::as<ir::Read>(e)->source, ir::as<ir::Read>(e)->indices});
    for (const Pack& pack : packs(elements, shape_.load_bytes)) {
        kernel::Load load{{}, elements[pack.front()].source, with_bases(elements[pack.front()].indices)};
        for (const std::size_t i : pack) {
            load.vars.push_back(ir::as<ir::Variable>(loaded_.at(reads_[i].get()).expr)->id);
        }
        add(body, std::move(load));
    }
}

/// The tile (of a moved one: what it would have been) owns a row of points, and the lane's part of it. Lanes that
/// compute for their neighbours store nothing, and of a stage without columns one lane stores all.
ir::Expr RegisterTile::owns(const Member& m, const Offsets& offsets) {
    ir::Expr result;
    bool has_columns = false;
    const auto within = [&](const ir::Expr& e, std::int64_t lo, std::int64_t hi, std::int64_t least, std::int64_t end) {
        if (lo > least) result = both(result, ir::binary(BinaryOp::Ge, e, constant(lo)));
        if (hi < end) result = both(result, ir::binary(BinaryOp::Lt, e, constant(hi)));
    };
    const std::int64_t lanes = kWarp - shape_.left - shape_.right;
    for (std::size_t d = 0; d < offsets.size(); ++d) {
        if (is_lane(m, d)) {
            has_columns = true;
            const TileSpace::Dim& dim = space_.dims[shape_.lane_dim];
            if (!interior_) {
                within(space_.lane, shape_.left, shape_.left + lanes, 0, kWarp);
                continue;
            }
            if (!first_lane_) {
                // Of a moved tile's lanes those whose columns are the tile's.
                const ir::Expr begin = sum(difference(dim.plain, dim.origin), constant(shape_.left));
                const std::int64_t end = shape_.left + std::max(dim.cover, dim.size) / dim.step;
                first_lane_ =
                    builder().define(*body_, "first_lane", ir::binary(BinaryOp::Max, begin, constant(shape_.left)));
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
    return both(result, ir::binary(BinaryOp::Eq, space_.lane, constant(shape_.left)));
}

void RegisterTile::store(kernel::Body& body, const Member& m, const std::vector<Offsets>& points) {
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
    for (const Pack& pack : packs(targets, shape_.store_bytes)) {
        kernel::Store stored{self, with_bases(targets[pack.front()].indices), {}, nullptr};
        for (const std::size_t i : pack) stored.values.push_back(values[i]);
        add(guarded, std::move(stored));
    }
}

/// All points of an output that the tile (the slice) owns, row by row.
void RegisterTile::store_rows(kernel::Body& body, const Member& m) {
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
        const bool inner = g < 0 || static_cast<std::size_t>(g) >= shape_.lane_dim;
        if (inner)
            in_row.push_back(d);
        else
            extend(rows, d, (is_row(m, d) ? slice_rows_ / m.alignment[d].scale : space_.points(m, d)));
    }
    for (const Offsets& row : rows) {
        std::vector<Offsets> points{row};
        for (const std::size_t d : in_row) {
            extend(points, d,
                   m.alignment[d].dim < 0 ? m.extent[d].count
                   : is_lane(m, d)        ? columns(m, d)
                                          : space_.points(m, d));
        }
        store(body, m, points);
    }
}

void RegisterTile::outputs(kernel::Body& body) {
    values_.clear();
    fetched_.clear();
    column_sums_.clear();
    inside_.clear();
    first_lane_ = end_lane_ = nullptr;
    moved_.clear();
    bases_.clear();
    base_of_.clear();
    reads_.clear();
    loaded_.clear();
    kernel::Body computed;
    body_ = &computed;
    for (const Member& m : space_.members) {
        if (m.live) store_rows(computed, m);
    }
    kernel::Body loaded;
    loads(loaded);
    body.insert(body.end(), bases_.begin(), bases_.end());
    body.insert(body.end(), loaded.begin(), loaded.end());
    body.insert(body.end(), computed.begin(), computed.end());
}

kernel::Body RegisterTile::code(bool interior) {
    interior_ = interior;
    kernel::Body body;
    ir::Expr unit = sum(space_.dims[shape_.lane_dim].origin, space_.lane);
    if (shape_.left > 0) unit = difference(unit, constant(shape_.left));
    const std::int64_t units = kernel::kVariableLimit / (shape_.columns / finest_scale(space_.group, shape_.lane_dim));
    unit_ = builder().define(body, "unit", unit, -units, 1, units);
    slice_ = nullptr;
    slice_rows_ = shape_.row_dim ? shape_.cuts[*shape_.row_dim].size : 1;
    kernel::Body* inner = &body;
    if (!interior && shape_.row_dim) {
        const std::int64_t unit_rows = poly::tile_unit(space_.group, static_cast<int>(*shape_.row_dim));
        std::int64_t rows = (kEdgeRows + unit_rows - 1) / unit_rows * unit_rows;
        if (slice_rows_ % rows != 0) rows = unit_rows;
        if (rows < slice_rows_) {
            inner = &builder().loop(body, "slice", constant(0), constant(slice_rows_ / rows), constant(1), slice_);
            slice_rows_ = rows;
        }
    }
    outputs(*inner);
    return body;
}

// ------------------------------------------------------------------------------------------------------------ variants

/// Bytes that accesses of several elements need arrays to be aligned to.
using Needs = std::map<ir::Source, std::int64_t>;

Needs needs_of(const kernel::Program& program, const kernel::Kernel& kernel) {
    Needs needs;
    const auto add_need = [&](ir::Source array, std::size_t count) {
        const auto index = static_cast<std::size_t>(array.index);
        const ir::Type type = array.kind == ir::Source::Kind::Input ? program.pipeline.inputs.at(index).type
                                                                    : program.pipeline.stages.at(index).type;
        if (count > 1) needs[array] = std::max(needs[array], static_cast<std::int64_t>(count) * ir::bytes(type));
    };
    kernel::for_each_stmt(kernel.body, [&](const kernel::Stmt& stmt) {
        if (const auto* load = std::get_if<kernel::Load>(&stmt.value)) add_need(load->array, load->vars.size());
        if (const auto* store = std::get_if<kernel::Store>(&stmt.value)) add_need(store->array, store->values.size());
    });
    return needs;
}

/// From the widest accesses to single elements. Narrow ones of many columns would not be coalesced, so that lanes have
/// fewer columns there; a store at half the width of loads still fills its sectors.
std::vector<RegisterShape> variants(const kernel::Program& program, const poly::Group& group,
                                    const RegisterShape& asked) {
    std::int64_t narrowest = 16;
    for (const int stage : group.live_outs) {
        narrowest = std::min<std::int64_t>(narrowest,
                                           ir::bytes(program.pipeline.stages.at(static_cast<std::size_t>(stage)).type));
    }
    const std::int64_t unit = poly::tile_unit(group, static_cast<int>(asked.lane_dim));
    std::vector<RegisterShape> result;
    const auto add_variant = [&](std::int64_t part, std::int64_t load, std::int64_t store) {
        RegisterShape shape = asked;
        shape.columns = std::max<std::int64_t>(1, asked.columns / part / unit) * unit;
        shape.cuts[shape.lane_dim].size = kWarp * shape.columns;
        shape.cuts[shape.lane_dim].step = shape.columns;
        shape.load_bytes = load;
        shape.store_bytes = store;
        result.push_back(std::move(shape));
    };
    add_variant(1, 16, 16);
    add_variant(1, 16, 8);
    for (std::int64_t bytes = 8; bytes > narrowest; bytes /= 2) add_variant(16 / bytes, bytes, bytes);
    add_variant(16 / narrowest, 0, 0);
    return result;
}

}  // namespace

std::variant<kernel::Step, std::string> register_tile_step(kernel::Program& program, const poly::Group& group,
                                                           const fusion::GroupSchedule& schedule) {
    if (auto reason = check_block(schedule.block, 3)) return *reason;
    for (const int points : schedule.tile) {
        if (points < 1) return "a tile has at least one point";
    }
    try {
        const RegisterShape asked = register_shape(program, group, schedule);
        kernel::Step step;
        std::vector<Needs> needs;
        for (RegisterShape& shape : variants(program, group, asked)) {
            // The lanes that serve their neighbours only are counted by making the code.
            kernel::Program trial = program;
            if (program.fast_math) {
                RegisterTile sums(trial, group, shape);
                sums.build();
                shape.fetched_sums = sums.uniform_sums();
            }
            RegisterTile first(trial, group, shape);
            first.build();
            const std::int64_t left = -first.reach().lo, right = first.reach().hi;
            if (left + right > kWarp / 2) {
                return fmt::format("{} of 32 lanes would serve their neighbours only", left + right);
            }
            kernel::Kernel kernel =
                RegisterTile(program, group, with_lanes(program, group, shape, left, right)).build();
            if (kernel.layout == kernel::Layout::Wide) {
                // Of no use where it needs nothing, or never less than one before it.
                const Needs now = needs_of(program, kernel);
                const auto covers = [&](const Needs& before) {
                    return std::all_of(before.begin(), before.end(), [&](const auto& need) {
                        const auto found = now.find(need.first);
                        return found != now.end() && found->second >= need.second;
                    });
                };
                if (now.empty() || std::any_of(needs.begin(), needs.end(), covers)) continue;
                needs.push_back(now);
                kernel.name += fmt::format("_wide{}", shape.load_bytes);
                if (shape.store_bytes != shape.load_bytes) kernel.name += fmt::format("_{}", shape.store_bytes);
            }
            step.variants.push_back(std::move(kernel));
        }
        return step;
    } catch (const Refusal& refusal) {
        return refusal;
    }
}

}  // namespace pipec::codegen
