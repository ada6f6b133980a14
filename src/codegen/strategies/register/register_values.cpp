// Values of a register tile: of points, of other lanes, of inputs.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "codegen/strategies/register/register_code.h"
#include "ir/build.h"
#include "ir/certain_reads.h"
#include "ir/visit.h"
#include "support/integers.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// What a tile may have of points to compute in a lane: more fits no register file.
constexpr std::int64_t kLargestTile = 4096;
/// The places that an index of no constant distance is selected from.
constexpr std::int64_t kLargestChoice = 64;

Refusal reads_elsewhere(const TileSpace::Member& reader, const TileSpace::Member& member) {
    return {fmt::format("`{}` reads `{}` at a place that is not at a constant distance", reader.definition.name,
                        member.definition.name),
            std::pair(reader.stage, member.stage)};
}

}  // namespace

/// A stage's value at a point of the lane itself.
Value RegisterCode::at(const Member& m, const Offsets& offsets) {
    const auto key = std::make_pair(m.stage, offsets);
    if (const auto known = values_.find(key); known != values_.end()) return known->second;
    if (static_cast<std::int64_t>(values_.size()) > kLargestTile) {
        throw Refusal{fmt::format("a lane would compute more than {} points", kLargestTile)};
    }
    Value value = half_range(m)
                      ? half(m, offsets)
                      : resolve(m, offsets, interior_ ? formula(m, place(m, offsets)) : formula_at_edges(m, offsets));
    if (!interior_ && ends(m).guarded) {
        if (const ir::Expr exists = inside(m, place(m, offsets))) {
            value.expr = ir::select(exists, value.expr, ir::constant(m.definition.type, 0));
        }
    }
    value.expr = m.live ? define(name(m, offsets), value.expr) : define_waiting(name(m, offsets), value.expr);
    return values_.emplace(key, value).first->second;
}

/// What a point's value is in the interior, over reads.
ir::Expr RegisterCode::formula(const Member& m, const std::vector<ir::Expr>& point) {
    Rewriter::Bindings bindings;
    for (std::size_t d = 0; d < point.size(); ++d) bindings[m.definition.dims[d].var] = point[d];
    const ir::Expr value = rewriter().instance(m.interior.value, bindings);
    return space_.program.fast_math ? sums_.factored(value, unit_) : value;
}

/// A variable for a value.
ir::Expr RegisterCode::define(const std::string& name, const ir::Expr& value) {
    const bool fast_math = interior_ && space_.program.fast_math;
    const ir::VarId var = builder().variable(name, value->type);
    // What it is made of may be defined on the way.
    const ir::Expr defined = with_bases(fast_math ? factors_.applied(value) : value);
    add(*body_, kernel::Define{var, defined});
    return ir::variable(var, value->type);
}

/// The same for what is read further: its factor may wait.
ir::Expr RegisterCode::define_waiting(const std::string& name, const ir::Expr& value) {
    const bool has_factor = value->type == ir::Type::Float32 || value->type == ir::Type::Float64;
    if (!interior_ || !space_.program.fast_math || !has_factor) return define(name, value);
    const FloatTerm split = factors_.split(value);
    const ir::VarId var = builder().variable(name, value->type);
    add(*body_, kernel::Define{var, with_bases(split.node)});
    const ir::Expr variable = ir::variable(var, value->type);
    factors_.set(variable, split.factor);
    return variable;
}

/// The number that a variable with a pending factor stands for.
ir::Expr RegisterCode::whole(const ir::Expr& variable, const ir::Expr& value) {
    const auto id = static_cast<std::size_t>(ir::as<ir::Variable>(variable)->id);
    const ir::VarId var = builder().variable(space_.program.pipeline.variables.at(id).name + "_whole", value->type);
    add(*body_, kernel::Define{var, value});
    return rewriter().unique(ir::variable(var, value->type));
}

/// `value` with every read of members and inputs that is one of other lanes' registers, or at the start of the code,
/// replaced.
Value RegisterCode::resolve(const Member& m, const Offsets& offsets, const ir::Expr& value) {
    Reach reach;
    std::map<const ir::Node*, ir::Expr> replaced;
    const auto use = [&](const ir::Expr& e, const Value& v) {
        replaced[e.get()] = v.expr;
        reach.add(v.reach, 0);
    };
    std::set<const ir::Node*> certain;
    const bool loads_ahead = interior_ || (!ends(m).of_loads.empty() && (edge_loads_first_ || ends(m).shared));
    if (loads_ahead) {
        for (const ir::Expr& e : ir::certain_reads({value})) certain.insert(e.get());
    }
    std::set<const ir::Node*> seen;
    int outer_reads = 0;  // that the node stands in
    const std::function<void(const ir::Expr&)> visit = [&](const ir::Expr& e) {
        if (!seen.insert(e.get()).second) return;
        const ColumnSums::Sum* sum = e == value ? nullptr : sums_.find(e);
        const auto known = [&](const ir::Expr& read) {
            return certain.count(read.get()) > 0 || member_of(read) != nullptr;
        };
        if (sum != nullptr && std::all_of(sum->reads.begin(), sum->reads.end(), known)) {
            use(e, column_sum(m, offsets, e));
            return;
        }
        const auto* read = ir::as<ir::Read>(e);
        outer_reads += read != nullptr ? 1 : 0;
        for (const ir::Expr& operand : ir::children(e)) visit(operand);
        outer_reads -= read != nullptr ? 1 : 0;
        if (member_of(e) != nullptr) {
            use(e, member_read(m, offsets, *read));
        } else if (read != nullptr && interior_) {
            const auto v = certain.count(e.get()) > 0 ? input_read(e) : std::nullopt;
            if (v)
                use(e, *v);
            else
                all_lanes_read(m, *read);
        } else if (read != nullptr && certain.count(e.get()) > 0) {
            use(e, edge_load(e, outer_reads == 0));
        }
        if (ir::as<ir::Reduce>(e) == nullptr) return;
        ir::for_each_node(e, [&](const ir::Expr& inner) {
            if (member_of(inner) == nullptr) return;
            throw Refusal{
                fmt::format("`{}` reads `{}` in a loop", m.definition.name, name_of(ir::as<ir::Read>(inner)->source)),
                std::pair(m.stage, ir::as<ir::Read>(inner)->source.index)};
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
Value RegisterCode::column_sum(const Member& m, const Offsets& offsets, const ir::Expr& e) {
    if (const auto known = column_sums_.find(e.get()); known != column_sums_.end()) return known->second;
    const ColumnSums::Sum& sum = *sums_.find(e);
    const std::string name = name_of(sum.array) + "_sum";
    const std::int64_t first = first_column(sum);
    const std::int64_t lanes = floor_quotient(sum.column - first, sum.columns);
    Value value;
    if (lanes != 0 && shape_.fetched_sums.count(sum.array) > 0) {
        const ir::Expr own = sums_.moved(sum, -lanes * sum.columns);
        value = fetched(column_sum(m, offsets, own), lanes, name);
    } else {
        value = resolve(m, offsets, e);
        value.expr = define_waiting(name, value.expr);
    }
    return column_sums_.emplace(e.get(), value).first->second;
}

/// Where a lane's columns of an array begin, before its unit.
std::int64_t RegisterCode::first_column(const ColumnSums::Sum& sum) const {
    const Member* m = sum.array.kind == ir::Source::Kind::Stage ? space_.member(sum.array.index) : nullptr;
    return m == nullptr ? home({sum.array, sum.dim, sum.columns}) * sum.columns : tile_.shift[position(*m)];
}

/// How many lanes further a lane's own columns of an array are.
std::int64_t RegisterCode::home(const plan::ColumnsOf& columns) const {
    const auto known = tile_.homes.find(columns);
    return known == tile_.homes.end() ? 0 : known->second;
}

/// A point in any lane as one of the lane itself, and how many lanes further it is.
std::pair<RegisterCode::Offsets, std::int64_t> RegisterCode::own_offsets(const Member& m, Offsets offsets) const {
    for (std::size_t d = 0; d < offsets.size(); ++d) {
        if (!is_lane(m, d)) continue;
        const std::int64_t n = columns(m, d), lanes = floor_quotient(offsets[d], n);
        offsets[d] -= lanes * n;
        return {offsets, lanes};
    }
    return {offsets, 0};
}

/// What a member's point in any lane is.
Value RegisterCode::lane_value(const Member& m, const Offsets& offsets) {
    const auto [own, lanes] = own_offsets(m, offsets);
    return fetched(at(m, own), lanes, name(m, own));
}

/// The value that the lane `lanes` further has.
Value RegisterCode::fetched(const Value& value, std::int64_t lanes, const std::string& name) {
    const auto* variable = ir::as<ir::Variable>(value.expr);
    if (lanes == 0 || variable == nullptr) return value;
    if (std::abs(lanes) >= kWarp) throw Refusal{"a distance is more than a warp has lanes"};
    const auto key = std::make_pair(variable->id, lanes);
    if (const auto known = fetched_.find(key); known != fetched_.end()) return known->second;
    using From = kernel::Shuffle::From;
    const std::string suffix = fmt::format("{}{}", lanes < 0 ? "left" : "right",
                                           std::abs(lanes) > 1 ? fmt::format("{}", std::abs(lanes)) : "");
    const ir::VarId var = builder().variable(name + "_" + suffix, value.expr->type);
    add(*body_, kernel::Shuffle{var, value.expr, lanes < 0 ? From::Up : From::Down, constant(std::abs(lanes))});
    Value result{ir::variable(var, value.expr->type), {}};
    factors_.set(result.expr, factors_.of(rewriter().unique(value.expr)));
    result.reach.add(value.reach, lanes);
    return fetched_.emplace(key, result).first->second;
}

/// The offsets that a point of `p` can have in dimension `dim` where the reader's point has `from`.
std::vector<std::int64_t> RegisterCode::choices(const Member& reader, const Offsets& from, const Member& p,
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
        const std::int64_t own = is_lane(p, dim) ? tile_.shift[position(reader)] : 0;
        const std::int64_t other = is_lane(p, dim) ? tile_.shift[position(p)] : 0;
        const std::int64_t g = (from[d] + own) * reader.alignment[d].scale;
        const std::int64_t lo = ceil_quotient(g + hull->lo, a.scale), hi = floor_quotient(g + hull->hi, a.scale);
        for (std::int64_t i = lo; i <= hi; ++i) result.push_back(i - other);
        return result;
    }
    throw reads_elsewhere(reader, p);
}

/// Of a read that is at a constant distance, as all are in the interior.
RegisterCode::Offsets RegisterCode::member_offsets(const Member& p, const ir::Read& read) {
    Offsets offsets;
    for (std::size_t d = 0; d < read.indices.size(); ++d) {
        auto sum = rewriter().linear(read.indices[d]);
        if (sum) sum->add(origin(p, d), -1);
        if (!sum || !sum->terms.empty())
            throw Refusal{fmt::format("`{}` is read at a place that is not at a constant distance", p.definition.name)};
        offsets.push_back(sum->constant);
    }
    return offsets;
}

Value RegisterCode::member_read(const Member& reader, const Offsets& from, const ir::Read& read) {
    const Member& p = *space_.member(read.source.index);
    Offsets offsets(read.indices.size());
    std::vector<std::vector<std::int64_t>> open(read.indices.size());
    std::vector<ir::Expr> indices = read.indices;
    std::int64_t count = 1;
    for (std::size_t d = 0; d < indices.size(); ++d) {
        indices[d] = without_clamps(p, d, indices[d]);
        if (auto sum = rewriter().linear(indices[d])) {
            sum->add(origin(p, d), -1);
            if (sum->terms.empty()) {
                offsets[d] = sum->constant;
                continue;
            }
        }
        open[d] = choices(reader, from, p, d);
        count *= static_cast<std::int64_t>(open[d].size());
        if (interior_ || count > kLargestChoice) {
            throw reads_elsewhere(reader, p);
        }
    }
    return choose(p, open, offsets, 0, indices);
}

/// The value at one of the places, by comparing the indices with each.
Value RegisterCode::choose(const Member& p, const std::vector<std::vector<std::int64_t>>& choices, Offsets& offsets,
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
void RegisterCode::all_lanes_touch(const ir::Read& read, std::size_t d, std::int64_t n, std::int64_t column) {
    space_.accesses.push_back(
        {tile_.lane_dim, array_box(read.source, d), n, {column - tile_.left * n, (kWarp - 1) * n + 1}});
}

/// Whether an expression depends on the lane's columns other than through what is read there.
bool RegisterCode::says_columns(const ir::Expr& e) const {
    std::set<const ir::Node*> seen;
    const std::function<bool(const ir::Expr&)> says = [&](const ir::Expr& node) {
        if (node == unit_) return true;
        if (ir::as<ir::Read>(node) != nullptr || !seen.insert(node.get()).second) return false;
        const std::vector<ir::Expr> operands = ir::children(node);
        return std::any_of(operands.begin(), operands.end(), says);
    };
    return says(e);
}

/// The same for a read that stays where it is: in bounds for all lanes, or else all of them are points of `m`. An index
/// made of what is read alone is in bounds for whatever that is.
void RegisterCode::all_lanes_read(const Member& m, const ir::Read& read) {
    const ir::VarId unit = ir::as<ir::Variable>(unit_)->id;
    for (std::size_t d = 0; d < read.indices.size(); ++d) {
        if (!says_columns(read.indices[d])) continue;
        const auto sum = rewriter().linear(read.indices[d]);
        if (sum && sum->terms.size() == 1 && sum->factor_of(unit) > 0) {
            all_lanes_touch(read, d, sum->factor_of(unit), sum->constant);
            continue;
        }
        for (std::size_t i = 0; i < m.alignment.size(); ++i) {
            if (!is_lane(m, i)) continue;
            const std::int64_t n = columns(m, i);
            space_.accesses.push_back(
                {tile_.lane_dim, m.interior.box[i], n, {tile_.shift[position(m)] - tile_.left * n, kWarp * n}});
        }
    }
}

/// A read of an input, or of a stage in global memory, at a constant distance from the lane's columns: what the lane
/// whose columns they are reads, and how many lanes further that is. None for other reads; they stay where they are.
std::optional<std::pair<Value, std::int64_t>> RegisterCode::own_read(const ir::Expr& e) {
    const auto* read = ir::as<ir::Read>(e);
    const auto found = column_read(rewriter(), *read, unit_);
    if (!found) return std::nullopt;
    const std::int64_t n = found->columns;
    const std::int64_t lanes = floor_quotient(found->index, n) - home({read->source, found->along, n});
    std::vector<ir::Expr> indices = read->indices;
    Linear in_own = *rewriter().linear(indices[found->along]);
    in_own.constant -= lanes * n;
    indices[found->along] = rewriter().expr(in_own);
    all_lanes_touch(*read, found->along, n, in_own.constant);
    const ir::Expr own = rewriter().unique(ir::read(read->source, e->type, std::move(indices), e->range));
    auto known = loaded_.find(own.get());
    if (known == loaded_.end()) {
        const ir::VarId var = builder().variable(name_of(read->source), e->type);
        reads_.push_back(own);
        known = loaded_.emplace(own.get(), Value{ir::variable(var, e->type), {}}).first;
    }
    return std::make_pair(known->second, lanes);
}

std::optional<Value> RegisterCode::input_read(const ir::Expr& e) {
    const auto own = own_read(e);
    if (!own) return std::nullopt;
    return fetched(own->first, own->second, name_of(ir::as<ir::Read>(e)->source));
}

/// With products of the tile's and the lane's number as variables: they are indices, on the way to which nothing wraps.
/// Products of what expressions bind, such as the variable of a loop, stay where they are. (A loop whose bounds change
/// gets a new variable on the way, and the same one the next time.)
ir::Expr RegisterCode::with_bases(const ir::Expr& e) {
    bound_.merge(ir::bound_variables(e));
    const auto first_new = static_cast<ir::VarId>(space_.program.pipeline.variables.size());
    const ir::Expr result = rewriter().instance(e, {}, [&](const ir::Expr& node) {
        const auto* n = ir::as<ir::Binary>(node);
        const auto* variable = n != nullptr && n->op == BinaryOp::Mul ? ir::as<ir::Variable>(n->b) : nullptr;
        if (variable == nullptr || variable->id >= first_new || bound_.contains(variable->id)) return node;
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
    bound_.merge(ir::bound_variables(result));
    return result;
}

std::vector<ir::Expr> RegisterCode::with_bases(std::vector<ir::Expr> all) {
    for (ir::Expr& e : all) e = with_bases(e);
    return all;
}

}  // namespace pipec::codegen
