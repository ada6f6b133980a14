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

#include "codegen/kernel_build.h"
#include "codegen/pack.h"
#include "codegen/rewrite.h"
#include "codegen/tile_space.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// A dimension of the group with no more points lies in every lane as a whole.
constexpr std::int64_t kShortExtent = 8;
/// What a tile may have of points to compute in a lane: more fits no register file.
constexpr std::int64_t kLargestTile = 4096;
/// The places that an index of no constant distance is selected from.
constexpr std::int64_t kLargestChoice = 64;
/// Rows that are computed at a time at an edge.
constexpr std::int64_t kEdgeRows = 2;
constexpr std::int64_t kSectorBytes = 32;

using Refusal = std::string;

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}
std::int64_t ceil_div_of(std::int64_t a, std::int64_t b) {
    return -floor_div(-a, b);
}

/// How a group lies in registers.
struct Shape {
    std::size_t lane_dim = 0;            ///< of the group: columns
    std::optional<std::size_t> row_dim;  ///< rows
    std::int64_t columns = 1;            ///< of a lane, in group coordinates
    std::int64_t left = 0, right = 0;    ///< lanes that store nothing
    std::vector<std::int64_t> shift;     ///< of members: a lane's first column is `shift` behind where its tile's is
    std::vector<TileSpace::Cut> cuts;
};

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

    RegisterTile(kernel::Program& program, const poly::Group& group, const Shape& shape, kernel::Layout layout)
        : shape_(shape),
          layout_(layout),
          space_(program, group, true, shape.cuts,
                 [this](const Member& m, std::size_t dim) { return extent(m, dim); }) {
        space_.build.kernel.layout = layout;
    }

    /// Throws a Refusal.
    kernel::Kernel build() {
        return space_.kernel(space_.members.back().definition.name, [&](bool interior) { return code(interior); });
    }
    /// Of all that was stored.
    [[nodiscard]] const Reach& reach() const { return reach_; }
    [[nodiscard]] bool has_packs() const { return has_packs_; }

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
    void store(kernel::Body& body, const Member& m, const std::vector<Offsets>& points);
    Linear origin(const Member& m, std::size_t dim);
    std::vector<ir::Expr> place(const Member& m, const Offsets& offsets);
    ir::Expr inside(const Member& m, const std::vector<ir::Expr>& at);
    Value at(const Member& m, const Offsets& offsets);
    Value resolve(const Member& m, const Offsets& offsets, const ir::Expr& value);
    Value member_read(const Member& reader, const Offsets& from, const ir::Read& read);
    Value choose(const Member& p, const std::vector<std::vector<std::int64_t>>& choices, Offsets& offsets,
                 std::size_t dim, const std::vector<ir::Expr>& indices);
    std::vector<std::int64_t> choices(const Member& reader, const Offsets& from, const Member& p, std::size_t dim);
    std::optional<Value> input_read(const ir::Expr& e);
    ir::Expr with_bases(const ir::Expr& e);
    std::vector<ir::Expr> with_bases(std::vector<ir::Expr> all);
    Value lane_value(const Member& m, Offsets offsets);
    Value fetched(const Value& value, std::int64_t lanes, const std::string& name);
    void loads(kernel::Body& body);
    [[nodiscard]] std::string name_of(ir::Source source) const;

    Rewriter& rewriter() { return space_.rewriter; }
    KernelBuilder& builder() { return space_.build; }

    Shape shape_;
    kernel::Layout layout_;
    TileSpace space_;
    bool interior_ = false;
    bool has_packs_ = false;
    Reach reach_;
    // Of the piece of code that is being made:
    ir::Expr unit_;                ///< shape.columns * unit: the lane's first column, in group coordinates
    ir::Expr slice_;               ///< the number of the slice of rows; null where all rows are one
    std::int64_t slice_rows_ = 0;  ///< in group coordinates
    kernel::Body* body_ = nullptr;
    std::map<std::pair<int, Offsets>, Value> values_;
    std::map<std::pair<ir::VarId, std::int64_t>, Value> fetched_;
    kernel::Body bases_;                           ///< defines products of the tile's and the lane's number, once each
    std::map<const ir::Node*, ir::Expr> base_of_;  ///< by product
    std::map<std::array<const ir::Node*, 3>, ir::Expr> inside_;  ///< by coordinate and bounds
    std::vector<ir::Expr> reads_;                                ///< that the lane does at the start, in order
    std::map<const ir::Node*, Value> loaded_;                    ///< what they give
};

// ------------------------------------------------------------------------------------------------------------ geometry

poly::TileExtent RegisterTile::extent(const Member& m, std::size_t dim) const {
    const poly::Alignment& a = m.alignment[dim];
    const auto g = static_cast<std::size_t>(a.dim);
    const std::size_t index = space_.group.position(m.stage);
    if (!is_lane(m, dim)) return poly::tile_extent(a, space_.group.reach[index][g], shape_.cuts[g].size);
    const std::int64_t n = columns(m, dim);
    return {shape_.shift[index] - shape_.left * n, kWarp * n};
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
    Value value = resolve(m, offsets, rewriter().instance(interior_ ? m.interior.value : m.value, bindings));
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
    std::vector<ir::Expr> found;
    ir::for_each_node(value, [&](const ir::Expr& e) {
        if (ir::as<ir::Read>(e) != nullptr) found.push_back(e);
        if (ir::as<ir::Reduce>(e) == nullptr) return;
        ir::for_each_node(e, [&](const ir::Expr& inner) {
            const auto* read = ir::as<ir::Read>(inner);
            if (read != nullptr && read->source.kind == ir::Source::Kind::Stage &&
                space_.member(read->source.index) != nullptr) {
                throw Refusal(fmt::format("`{}` reads `{}` in a loop", m.definition.name, name_of(read->source)));
            }
        });
    });
    for (const ir::Expr& e : found) {
        const auto* read = ir::as<ir::Read>(e);
        if (read->source.kind == ir::Source::Kind::Stage && space_.member(read->source.index) != nullptr) {
            use(e, member_read(m, offsets, *read));
        }
    }
    if (interior_) {
        for (const ir::Expr& e : certain_reads({value})) {
            const auto* read = ir::as<ir::Read>(e);
            if (replaced.count(e.get()) > 0 || read->source.kind == ir::Source::Kind::Local) continue;
            if (const auto v = input_read(e)) use(e, *v);
        }
    }
    if (replaced.empty()) return {value, reach};
    const Rewriter::Hook hook = [&](const ir::Expr& e) {
        const auto known = replaced.find(e.get());
        return known == replaced.end() ? e : known->second;
    };
    return {rewriter().instance(value, {}, hook), reach};
}

/// What a member's point in any lane is.
Value RegisterTile::lane_value(const Member& m, Offsets offsets) {
    for (std::size_t d = 0; d < offsets.size(); ++d) {
        if (!is_lane(m, d)) continue;
        const std::int64_t n = columns(m, d), lanes = floor_div(offsets[d], n);
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
        const std::int64_t lo = ceil_div_of(g + hull->lo, a.scale), hi = floor_div(g + hull->hi, a.scale);
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
        lanes = floor_div(sum->constant, n);
        Linear own = *sum;
        own.constant -= lanes * n;
        indices[d] = rewriter().expr(own);
        if (lanes == 0) continue;
        // The lane reads for others, whatever its own points need.
        const auto index = static_cast<std::size_t>(read->source.index);
        const poly::Interval box =
            read->source.kind == ir::Source::Kind::Input
                ? poly::Interval{constant(0), space_.program.pipeline.inputs.at(index).extents[d]}
                : space_.program.model.domains.at(index).box[d];
        const std::int64_t per_tile = n * (kWarp - shape_.left - shape_.right);
        space_.accesses.push_back(
            {shape_.lane_dim, box, per_tile, {own.constant - shape_.left * n, (kWarp - 1) * n + 1}});
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

/// The lane's own reads, several elements at once where that is allowed.
void RegisterTile::loads(kernel::Body& body) {
    std::vector<Element> elements;
    for (const ir::Expr& e : reads_) elements.push_back({ir::as<ir::Read>(e)->source, ir::as<ir::Read>(e)->indices});
    std::vector<Pack> packs;
    if (layout_ == kernel::Layout::Wide)
        packs = find_packs(rewriter(), space_.program.pipeline, space_.program.model, elements);
    else
        for (std::size_t i = 0; i < elements.size(); ++i) packs.push_back({i});
    for (const Pack& pack : packs) {
        has_packs_ = has_packs_ || pack.size() > 1;
        kernel::Load load{{}, elements[pack.front()].source, with_bases(elements[pack.front()].indices)};
        for (const std::size_t i : pack) {
            load.vars.push_back(ir::as<ir::Variable>(loaded_.at(reads_[i].get()).expr)->id);
        }
        add(body, std::move(load));
    }
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
    // Lanes for their neighbours store nothing, and of a stage without columns one lane stores all.
    bool has_columns = false;
    for (std::size_t d = 0; d < m.alignment.size(); ++d) has_columns = has_columns || is_lane(m, d);
    ir::Expr owned = space_.writes(m);
    const ir::Expr& lane = space_.lane;
    if (!has_columns) {
        owned = both(owned, ir::binary(BinaryOp::Eq, lane, constant(shape_.left)));
    } else {
        if (shape_.left > 0) owned = both(owned, ir::binary(BinaryOp::Ge, lane, constant(shape_.left)));
        if (shape_.right > 0) owned = both(owned, ir::binary(BinaryOp::Lt, lane, constant(kWarp - shape_.right)));
    }
    kernel::Body& guarded = KernelBuilder::guarded(body, owned);
    if (!interior_) {
        for (std::size_t i = 0; i < targets.size(); ++i) {
            add(guarded, kernel::Store{self, with_bases(targets[i].indices), {values[i]}, exists[i]});
        }
        return;
    }
    std::vector<Pack> packs;
    if (layout_ == kernel::Layout::Wide)
        packs = find_packs(rewriter(), space_.program.pipeline, space_.program.model, targets);
    else
        for (std::size_t i = 0; i < targets.size(); ++i) packs.push_back({i});
    for (const Pack& pack : packs) {
        has_packs_ = has_packs_ || pack.size() > 1;
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
    inside_.clear();
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
    const TileSpace::Dim& dim = space_.dims[shape_.lane_dim];
    const std::int64_t stored = kWarp - shape_.left - shape_.right;
    ir::Expr unit = sum(product(dim.tile, constant(stored)), space_.lane);
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

// --------------------------------------------------------------------------------------------------------------- shape

/// The greatest number of points that members have in a group dimension, in group coordinates; none where it depends
/// on sizes.
std::optional<std::int64_t> constant_end(const kernel::Program& program, const poly::Group& group, int dim) {
    std::int64_t end = 1;
    for (std::size_t p = 0; p < group.stages.size(); ++p) {
        for (std::size_t d = 0; d < group.alignment[p].size(); ++d) {
            const poly::Alignment& a = group.alignment[p][d];
            if (a.dim != dim) continue;
            const poly::Interval& box = program.model.domains.at(static_cast<std::size_t>(group.stages[p])).box[d];
            const auto lo = ir::as_int(box.lo), hi = ir::as_int(box.hi);
            if (!lo || !hi || *lo < 0) return std::nullopt;
            end = std::max(end, *hi * a.scale);
        }
    }
    return end;
}

/// A lane's columns of a stage are among those that its readers' columns ask for, as near to the inputs' as can be:
/// then hi - lo columns of a row come from other lanes, and no stage asks for more than that.
std::vector<std::int64_t> shifts(const poly::Group& group, std::size_t lane_dim) {
    std::vector<std::int64_t> shift(group.stages.size(), 0);
    const auto scale = [&](std::size_t p) {
        for (const poly::Alignment& a : group.alignment[p]) {
            if (a.dim == static_cast<int>(lane_dim)) return a.scale;
        }
        return std::int64_t{0};
    };
    for (std::size_t p = group.stages.size(); p-- > 0;) {
        if (scale(p) == 0) continue;
        if (std::find(group.live_outs.begin(), group.live_outs.end(), group.stages[p]) != group.live_outs.end())
            continue;
        std::optional<poly::Distance> hull;
        for (const poly::GroupEdge& edge : group.edges) {
            if (edge.producer != group.stages[p]) continue;
            const std::size_t reader = group.position(edge.reader);
            const std::int64_t g = shift[reader] * scale(reader);
            const poly::Distance& d = edge.distance[lane_dim];
            hull = hull ? poly::Distance{std::min(hull->lo, d.lo + g), std::max(hull->hi, d.hi + g)}
                        : poly::Distance{d.lo + g, d.hi + g};
        }
        if (hull)
            shift[p] =
                std::clamp<std::int64_t>(0, ceil_div_of(hull->lo, scale(p)),
                                         std::max(ceil_div_of(hull->lo, scale(p)), floor_div(hull->hi, scale(p))));
    }
    return shift;
}

/// Throws a Refusal.
Shape shape_of(const kernel::Program& program, const poly::Group& group, const fusion::GroupSchedule& schedule) {
    Shape shape;
    if (group.rank == 0) throw Refusal("the group has no dimensions");
    if (schedule.block[0] % kWarp != 0) throw Refusal("a block is a multiple of 32 threads wide");
    int axis = 0;  // of the dimension below: 0 for columns, 1 for rows, 2 for planes
    bool has_lanes = false;
    shape.cuts.resize(static_cast<std::size_t>(group.rank));
    for (int g = group.rank - 1; g >= 0; --g) {
        TileSpace::Cut& cut = shape.cuts[static_cast<std::size_t>(g)];
        const std::int64_t unit = poly::tile_unit(group, g);
        const auto end = constant_end(program, group, g);
        if (!has_lanes && g > 0 && end && *end <= kShortExtent) {
            cut.size = (*end + unit - 1) / unit * unit;
            continue;
        }
        cut.size = unit;
        if (axis > 2) continue;
        const int points = schedule.tile[static_cast<std::size_t>(axis)];
        cut.teams = axis == 0 ? schedule.block[0] / kWarp : schedule.block[static_cast<std::size_t>(axis)];
        if (axis == 0) {
            has_lanes = true;
            shape.lane_dim = static_cast<std::size_t>(g);
            shape.columns = points;
            cut.lanes = kWarp;
            if (points % unit != 0) {
                throw Refusal(fmt::format(
                    "{} columns of a lane are no multiple of {}, which the scales of the group ask for", points, unit));
            }
        } else {
            if (axis == 1) shape.row_dim = static_cast<std::size_t>(g);
            cut.size = (points + unit - 1) / unit * unit;
        }
        ++axis;
    }
    for (; axis < 3; ++axis) {
        if (schedule.block[static_cast<std::size_t>(axis)] > 1) {
            throw Refusal("the group has fewer dimensions than the block of warps");
        }
    }
    shape.shift = shifts(group, shape.lane_dim);
    shape.cuts[shape.lane_dim].size = kWarp * shape.columns;
    return shape;
}

/// Stored strips begin and end with sectors of global memory, as far as that costs less than a quarter of the lanes.
std::int64_t rounded_lanes(const kernel::Program& program, const poly::Group& group, const Shape& shape) {
    std::int64_t lanes = kWarp - shape.left - shape.right;
    std::int64_t bytes = kSectorBytes;  // the least that a lane stores of a row
    for (const int stage : group.live_outs) {
        const auto& alignment = group.alignment[group.position(stage)];
        for (const poly::Alignment& a : alignment) {
            if (a.dim != static_cast<int>(shape.lane_dim)) continue;
            bytes = std::min(bytes, shape.columns / a.scale *
                                        ir::bytes(program.pipeline.stages.at(static_cast<std::size_t>(stage)).type));
        }
    }
    while (lanes > 3 * kWarp / 4 && lanes * bytes % kSectorBytes != 0) --lanes;
    return lanes;
}

}  // namespace

std::variant<kernel::Step, std::string> register_tile_step(kernel::Program& program, const poly::Group& group,
                                                           const fusion::GroupSchedule& schedule) {
    if (auto reason = check_block(schedule.block, 3)) return *reason;
    for (const int points : schedule.tile) {
        if (points < 1) return "a tile has at least one point";
    }
    try {
        Shape shape = shape_of(program, group, schedule);
        // The lanes that serve their neighbours only are counted by making the code.
        kernel::Program trial = program;
        RegisterTile first(trial, group, shape, kernel::Layout::Wide);
        first.build();
        shape.left = -first.reach().lo;
        shape.right = first.reach().hi;
        if (shape.left + shape.right > kWarp / 2) {
            return fmt::format("{} of 32 lanes would serve their neighbours only", shape.left + shape.right);
        }
        const std::int64_t stored = rounded_lanes(program, group, shape);
        shape.right = kWarp - shape.left - stored;
        shape.cuts[shape.lane_dim].size = stored * shape.columns;
        kernel::Step step;
        RegisterTile wide(program, group, shape, kernel::Layout::Wide);
        kernel::Kernel kernel = wide.build();
        if (wide.has_packs()) {
            kernel.name += "_wide";
            step.variants.push_back(std::move(kernel));
        }
        step.variants.push_back(RegisterTile(program, group, shape, kernel::Layout::Dense).build());
        return step;
    } catch (const Refusal& refusal) {
        return refusal;
    }
}

}  // namespace pipec::codegen
