#include "codegen/strategies/tile_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "codegen/expr/both_sides.h"
#include "fusion/narrow_stages.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "plan/tiles.h"
#include "support/integers.h"

namespace pipec::codegen {

using ir::BinaryOp;

std::int64_t finest_scale(const poly::Group& group, std::size_t dim) {
    std::int64_t finest = poly::tile_unit(group, static_cast<int>(dim));
    for (const std::vector<poly::Alignment>& member : group.alignment) {
        for (const poly::Alignment& a : member) {
            if (a.dim == static_cast<int>(dim)) finest = std::min(finest, a.scale);
        }
    }
    return finest;
}

TileSpace::TileSpace(kernel::Program& of, const poly::Group& tiled, const plan::Tiles& tiles, Values values)
    : program(of),
      group(tiled),
      per_warp(tiles.by_warp),
      rewriter(of.pipeline, of.fast_math),
      build(of.pipeline, rewriter),
      ends_first(tiles.ends_first),
      order_(tiles.order) {
    if (std::ranges::all_of(group.stages, [&](int stage) { return both_sides_are_safe(of.pipeline, of.model, stage); }))
        rewriter.compute_both_sides();
    for (std::size_t g = 0; g < tiles.cuts.size(); ++g) {
        Dim& dim = dims.emplace_back();
        static_cast<plan::Cut&>(dim) = tiles.cuts[g];
        dim.axis = plan::axis_of(group.rank, g);
        teams *= dim.thread_groups;
    }
    for (const int stage : group.stages) {
        if (values == Values::InRegisters && std::ranges::find(group.live_outs, stage) == group.live_outs.end())
            wide_.emplace(stage, fusion::wide_type(of.pipeline.stages.at(static_cast<std::size_t>(stage))));
    }
    for (std::size_t m = 0; m < group.stages.size(); ++m) add_member(group.stages[m], tiles.parts[m]);
    find_tiles();
}

/// All points of a member along one of its dimensions belong to one tile: conditions on them are part of its code.
bool TileSpace::in_one_tile(const Member& m, std::size_t d) const {
    const poly::Alignment& a = m.alignment[d];
    if (a.dim < 0) return true;
    const auto lo = ir::as_int(m.domain.box[d].lo), hi = ir::as_int(m.domain.box[d].hi);
    const Dim& dim = dims[static_cast<std::size_t>(a.dim)];
    const std::int64_t points = dim.size / a.scale;
    return lo && hi && points > 1 && dim.step == 0 && floor_quotient(*lo, points) == floor_quotient(*hi - 1, points);
}

void TileSpace::add_member(int stage, const plan::Part& part) {
    const auto index = static_cast<std::size_t>(stage);
    Member m;
    m.stage = stage;
    m.definition = fusion::widened(program.pipeline, stage, wide_);
    m.domain = program.model.domains.at(index);
    m.alignment = group.alignment[group.position(stage)];
    m.extent = part.extent;
    for (std::size_t d = 0; d < m.definition.dims.size(); ++d) {
        rewriter.index(m.definition.dims[d].var, m.domain.box[d]);
    }
    const auto* accumulate = std::get_if<ir::Accumulate>(&m.definition.definition);
    m.accumulates = accumulate != nullptr;
    m.value = rewriter.instance(accumulate ? accumulate->init : std::get<ir::Pure>(m.definition.definition).value, {});
    if (m.domain.guard) m.guard = rewriter.instance(m.domain.guard, {});
    std::vector<bool> splits;
    for (std::size_t d = 0; d < m.alignment.size(); ++d) splits.push_back(!in_one_tile(m, d));
    m.interior = find_interior(rewriter, m.definition, m.domain, m.value, m.guard, splits);
    m.live = std::find(group.live_outs.begin(), group.live_outs.end(), stage) != group.live_outs.end();
    m.is_read = m.accumulates || std::any_of(group.edges.begin(), group.edges.end(),
                                             [&](const poly::GroupEdge& edge) { return edge.producer == stage; });
    has_interior_ = has_interior_ && !m.interior.guard;
    members.push_back(std::move(m));
}

const TileSpace::Member* TileSpace::member(int stage) const {
    for (const Member& m : members) {
        if (m.stage == stage) return &m;
    }
    return nullptr;
}

std::int64_t TileSpace::points(const Member& m, std::size_t dim) const {
    const poly::Alignment& a = m.alignment[dim];
    return dims[static_cast<std::size_t>(a.dim)].size / a.scale;
}

Linear TileSpace::origin(const Member& m, std::size_t dim) {
    const poly::Alignment& a = m.alignment[dim];
    if (a.dim < 0) return Linear{{}, m.extent[dim].first};
    const Dim& cut = dims[static_cast<std::size_t>(a.dim)];
    if (cut.origin) return Linear{}.add(*rewriter.linear(cut.origin), cut.step / a.scale);
    return Linear{}.add(*rewriter.linear(dims[static_cast<std::size_t>(a.dim)].tile), points(m, dim));
}

Linear TileSpace::first(const Member& m, std::size_t dim) {
    Linear sum = origin(m, dim);
    if (m.alignment[dim].dim >= 0) sum.constant += m.extent[dim].first;
    return sum;
}

ir::Expr TileSpace::coordinate(const Member& m, std::size_t dim, const ir::Expr& offset) {
    return rewriter.expr(first(m, dim).add(*rewriter.linear(offset), 1));
}

std::vector<ir::Expr> TileSpace::offsets(const Member& m, const std::vector<ir::Expr>& indices) {
    std::vector<ir::Expr> offsets;
    for (std::size_t d = 0; d < indices.size(); ++d) {
        const Linear begin = first(m, d);
        if (auto sum = rewriter.linear(indices[d]))
            offsets.push_back(rewriter.expr(sum->add(begin, -1)));
        else
            offsets.push_back(rewriter.unique(difference(indices[d], rewriter.expr(begin))));
    }
    return offsets;
}

Rewriter::Hook TileSpace::reads_from(
    std::function<int(const Member&)> array,
    std::function<std::vector<ir::Expr>(const Member&, const std::vector<ir::Expr>&)> element) {
    return [this, array = std::move(array), element = std::move(element)](const ir::Expr& e) -> ir::Expr {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return e;
        const Member* m = member(read->source.index);
        if (m == nullptr) return e;
        return ir::read({ir::Source::Kind::Local, array(*m)}, e->type, element(*m, offsets(*m, read->indices)),
                        e->range);
    };
}

ir::Expr TileSpace::owned(const Member& m, const std::vector<ir::Expr>& offset) {
    ir::Expr result = writes(m);
    for (std::size_t d = 0; d < offset.size(); ++d) {
        if (m.alignment[d].dim < 0) continue;
        const poly::TileExtent& extent = m.extent[d];
        const std::int64_t n = points(m, d);
        if (extent.first < 0) result = both(result, ir::binary(BinaryOp::Ge, offset[d], constant(-extent.first)));
        if (extent.first + extent.count > n) {
            result = both(result, ir::binary(BinaryOp::Lt, offset[d], constant(n - extent.first)));
        }
    }
    return result;
}

bool TileSpace::has(const Member& m, std::size_t group_dim) {
    return std::any_of(m.alignment.begin(), m.alignment.end(),
                       [&](const poly::Alignment& a) { return a.dim == static_cast<int>(group_dim); });
}

std::string TileSpace::name(const Member& m, std::size_t dim) const {
    return program.pipeline.variables.at(static_cast<std::size_t>(m.definition.dims[dim].var)).name;
}

ir::Expr TileSpace::inside(const Member& m, std::size_t dim, const ir::Expr& at) {
    if (m.alignment[dim].dim < 0) return nullptr;
    const poly::Interval& box = m.domain.box[dim];
    return both(ir::binary(BinaryOp::Ge, at, build.argument(name(m, dim) + "_begin", box.lo)),
                ir::binary(BinaryOp::Lt, at, build.argument(name(m, dim) + "_end", box.hi)));
}

bool TileSpace::loads_everywhere(const Member& m) {
    if (m.guard || m.accumulates) return false;
    for (std::size_t d = 0; d < m.alignment.size(); ++d) {
        if (m.alignment[d].dim < 0) continue;
        const auto lo = rewriter.linear(m.domain.box[d].lo);
        auto points = rewriter.linear(m.domain.box[d].hi);
        if (!lo || !points || rewriter.least(points->add(*lo, -1)) < 1) return false;
    }
    return true;
}

ir::Expr TileSpace::nearest(kernel::Body& body, const Member& m, std::size_t dim, const ir::Expr& at) {
    const poly::Interval& box = m.domain.box[dim];
    const auto plane = ir::as_int(at), lo = ir::as_int(box.lo), hi = ir::as_int(box.hi);
    if (plane && lo && hi && *lo <= *plane && *plane < *hi) return at;
    const ir::Expr first = build.argument(name(m, dim) + "_begin", box.lo);
    const ir::Expr last = difference(build.argument(name(m, dim) + "_end", box.hi), constant(1));
    const ir::VarId var = build.variable(name(m, dim), ir::Type::Int32);
    add(body, kernel::Define{var, ir::binary(BinaryOp::Max, ir::binary(BinaryOp::Min, at, last), first), true});
    rewriter.index(var, box);
    return rewriter.unique(ir::variable(var, ir::Type::Int32));
}

/// Tiles along a dimension that a live-out has not would all write the same: the first one does.
ir::Expr TileSpace::writes(const Member& m) {
    ir::Expr result;
    for (std::size_t g = 0; g < dims.size(); ++g) {
        if (has(m, g) || ir::as_int(dims[g].tile)) continue;
        result = both(result, ir::binary(BinaryOp::Eq, dims[g].tile, build.argument("first", dims[g].first)));
    }
    return result;
}

/// What of its members the tiles own (outputs only) or compute.
std::vector<TileSpace::Access> TileSpace::points_of_members(std::size_t d, bool inner, std::int64_t size) {
    std::vector<Access> result;
    for (const Member& m : members) {
        if (!inner && !m.live) continue;
        for (std::size_t i = 0; i < m.definition.dims.size(); ++i) {
            if (m.alignment[i].dim != static_cast<int>(d)) continue;
            const std::int64_t n = size / m.alignment[i].scale;
            if (inner)
                result.push_back({d, m.interior.box[i], n, m.needed.empty() ? m.extent[i] : m.needed[i]});
            else
                result.push_back({d, m.domain.box[i], n, {0, n}});
        }
    }
    return result;
}

/// The sums whose minimum or maximum (`op`) an expression is; false where it is none. `inner`: sums that bound it do as
/// well, so that of a minimum in a maximum one sum is enough.
bool TileSpace::sums(const ir::Expr& e, BinaryOp op, bool inner, std::vector<Linear>& found) {
    const auto* n = ir::as<ir::Binary>(e);
    if (n != nullptr && n->op == op) return sums(n->a, op, inner, found) && sums(n->b, op, inner, found);
    if (inner && n != nullptr && (n->op == BinaryOp::Min || n->op == BinaryOp::Max)) {
        // Images are large: interiors begin behind a constant rather than a size, and end before a size.
        const bool constant_first = ir::as_int(n->a).has_value();
        const bool first = constant_first == (op == BinaryOp::Max);
        return sums(first ? n->a : n->b, op, inner, found);
    }
    const auto sum = rewriter.linear(e);
    if (sum) found.push_back(*sum);
    return sum.has_value();
}

/// Tiles q of dimension d, each of `size` coordinates, with, for every output, a point in its domain, or (inner) for
/// every access all points in its box. False where a box is no sum of sizes.
bool TileSpace::limits(std::size_t d, bool inner, std::int64_t size, std::vector<Bound>& lo, std::vector<Bound>& hi) {
    std::vector<Access> found = points_of_members(d, inner, size);
    if (inner) found.insert(found.end(), accesses.begin(), accesses.end());
    for (const Access& access : found) {
        if (access.dim != d) continue;
        const std::int64_t n = access.per_tile;
        // Of a box that begins at the greatest of several sums every one is a bound; tiles that reach a box begin with
        // the least.
        std::vector<Linear> begins, ends;
        if (!sums(access.box.lo, inner ? BinaryOp::Max : BinaryOp::Min, inner, begins)) return false;
        if (!sums(access.box.hi, inner ? BinaryOp::Min : BinaryOp::Max, inner, ends)) return false;
        for (Linear& begin : begins) {
            // n q + first >= begin  <=>  q >= ceil((begin - first) / n);  floor(begin / n) <= q
            if (inner) begin.constant += n - 1 - access.extent.first;
            tighten(lo, {begin, n}, inner);
        }
        for (Linear& end : ends) {
            // n q + first + count <= end;  q < ceil(end / n)
            end.constant += inner ? n - access.extent.first - access.extent.count : n - 1;
            tighten(hi, {end, n}, !inner);
        }
    }
    return true;
}

ir::Expr TileSpace::merged(const std::vector<Bound>& bounds, bool greatest) {
    ir::Expr result;
    for (const Bound& bound : bounds) {
        ir::Expr e = rewriter.expr(bound.sum);
        if (bound.divisor > 1) e = ir::binary(BinaryOp::Div, e, constant(bound.divisor));
        result = result ? ir::binary(greatest ? BinaryOp::Max : BinaryOp::Min, result, e) : e;
    }
    return result;
}

/// The first tile of `size` coordinates that has a point of an output, and the one after the last.
std::pair<ir::Expr, ir::Expr> TileSpace::ends_of_tiles(std::size_t d, std::int64_t size) {
    std::vector<Bound> lo, hi;
    if (limits(d, false, size, lo, hi)) return {merged(lo, false), merged(hi, true)};
    // A box that is no sum of sizes: a choice between such.
    ir::Expr first, end;
    for (const Access& a : points_of_members(d, false, size)) {
        const ir::Expr begin = ir::binary(BinaryOp::Div, a.box.lo, constant(a.per_tile));
        const ir::Expr after = ceil_div(a.box.hi, a.per_tile);
        first = first ? ir::binary(BinaryOp::Min, first, begin) : begin;
        end = end ? ir::binary(BinaryOp::Max, end, after) : after;
    }
    return {first, end};
}

void TileSpace::find_tiles() {
    for (std::size_t d = 0; d < dims.size(); ++d) {
        std::tie(dims[d].first, dims[d].end) = ends_of_tiles(d, dims[d].size);
    }
}

void TileSpace::find_interior_tiles() {
    for (std::size_t d = 0; d < dims.size(); ++d) {
        std::vector<Bound> lo, hi;
        const std::int64_t size = dims[d].step > 0 ? dims[d].step : dims[d].size;
        has_interior_ = limits(d, true, size, lo, hi) && has_interior_;
        dims[d].inner_first = merged(lo, true);
        dims[d].inner_end = merged(hi, false);
    }
}

// ---------------------------------------------------------------------------------------------------------------- code

/// Defines each dimension's lane, and says what the variables of tiles are, which define_tiles defines.
void TileSpace::place(kernel::Body& body) {
    using Id = kernel::Special::Id;
    int threads = per_warp ? kWarp * teams : 1;
    for (const Dim& dim : dims) threads *= per_warp ? 1 : dim.lanes;
    const ir::Expr thread = build.special(Id::ThreadX);
    build.kernel.block = {threads, 1, 1};
    const auto div = [](const ir::Expr& a, const ir::Expr& b) { return ir::binary(BinaryOp::Div, a, b); };
    const auto mod = [](const ir::Expr& a, const ir::Expr& b) { return ir::binary(BinaryOp::Mod, a, b); };

    lane = thread;
    if (per_warp) {
        lane = build.define(body, "lane", mod(thread, constant(kWarp)), 0);
        if (teams > 1) {
            // From lane 0: then the compiler knows that the whole warp takes the same branches.
            const ir::VarId var = build.variable("warp", ir::Type::Int32);
            add(body, kernel::Shuffle{var, div(thread, constant(kWarp)), kernel::Shuffle::From::Index, constant(0)});
            rewriter.index(var, 1, 0, kWarp);
            team = rewriter.unique(ir::variable(var, ir::Type::Int32));
        }
    }
    ir::Expr rest_of_lane = lane;
    ir::Expr blocks = constant(1);
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
        const ir::Expr count = tile_count(dim->first, dim->end, dim->thread_groups);
        blocks = count_product(blocks, count);
    }
    build.kernel.grid[0] = blocks;

    static constexpr const char* kAxes[] = {"x", "y", "z"};
    const auto suffix_of = [&](std::size_t d) {
        return dims[d].axis >= 0 ? kAxes[dims[d].axis] : fmt::format("{}", d);
    };
    for (std::size_t d = dims.size(); d-- > 0;) {
        Dim& dim = dims[d];
        if (dim.axis < 0) continue;
        // x varies fastest, in the lanes of a team as in the teams of a block.
        const bool last = std::none_of(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(d),
                                       [](const Dim& other) { return other.lanes > 1; });
        if (dim.lanes == 1)
            dim.lane = constant(0);
        else if (last)
            dim.lane = rest_of_lane;
        else
            dim.lane = build.define(body, "lane_" + suffix_of(d), mod(rest_of_lane, constant(dim.lanes)), 0);
        if (dim.lanes > 1 && !last)
            rest_of_lane = build.define(body, "lane_rest", div(rest_of_lane, constant(dim.lanes)), 0);
    }
    for (std::size_t d = dims.size(); d-- > 0;) {
        Dim& dim = dims[d];
        // A dimension of one tile.
        const auto only = ir::as_int(dim.first), end = ir::as_int(dim.end);
        if (only && end && *end - *only == 1 && dim.thread_groups == 1) {
            dim.tile = rewriter.unique(constant(*only));
            continue;
        }
        // The finest stage's points stay below the limit of all indices.
        const std::int64_t tiles = kernel::kVariableLimit / (dim.size / finest_scale(group, d));
        const ir::VarId var = build.variable("tile_" + suffix_of(d), ir::Type::Int32);
        rewriter.index(var, 1, only.value_or(-tiles), tiles);
        dim.tile = rewriter.unique(ir::variable(var, ir::Type::Int32));
    }
}

int TileSpace::add_array(const plan::SharedArray& planned) {
    const Member& m = members[planned.member];
    kernel::SharedArray& array = build.kernel.shared.emplace_back();
    array.name = m.definition.name + "_tile";
    array.type = m.definition.type;
    array.offset = planned.offset;
    return static_cast<int>(build.kernel.shared.size()) - 1;
}

/// Defines each dimension's tile: that of the block, and in it of the team, x before y before z.
void TileSpace::define_tiles(kernel::Body& body, bool in_turns) {
    const std::vector<ir::Expr> blocks = block_places(body, in_turns);
    ir::Expr rest_of_team = team;
    for (std::size_t d = dims.size(); d-- > 0;) {
        const Dim& dim = dims[d];
        ir::Expr tile = blocks[d];
        if (dim.thread_groups > 1) {
            const ir::Expr teams_here = constant(dim.thread_groups);
            tile = sum(product(tile, teams_here), ir::binary(BinaryOp::Mod, rest_of_team, teams_here));
            rest_of_team = ir::binary(BinaryOp::Div, rest_of_team, teams_here);
        }
        const ir::Expr first = build.argument("first_tile", dim.first);
        if (ir::as_int(first).value_or(1) != 0) tile = sum(tile, first);
        if (const auto* variable = ir::as<ir::Variable>(dim.tile)) add(body, kernel::Define{variable->id, tile, true});
    }
}

/// The tile lies in the interior, as far as that is not certain.
ir::Expr TileSpace::in_interior(const Dim& dim) {
    ir::Expr inner;
    // What holds for all tiles is not asked.
    const auto first = ir::as_int(dim.first), inner_first = ir::as_int(dim.inner_first);
    if (!first || !inner_first || *inner_first > *first) {
        inner = ir::binary(BinaryOp::Ge, dim.tile, build.argument("inner_first", dim.inner_first));
    }
    const auto end = ir::as_int(dim.end), inner_end = ir::as_int(dim.inner_end);
    if (!end || !inner_end || *inner_end < *end) {
        inner = both(inner, ir::binary(BinaryOp::Lt, dim.tile, build.argument("inner_end", dim.inner_end)));
    }
    return inner;
}

/// Moves the tile into the interior; true where it still covers all points that it owns.
ir::Expr TileSpace::in_moved_interior(kernel::Body& body, std::size_t d) {
    const Dim& dim = dims[d];
    const std::int64_t steps = dim.size / dim.step, cover = std::max(dim.cover, dim.size) / dim.step;
    const auto [first_step, end_step] = ends_of_tiles(d, dim.step);
    const ir::Expr first = build.argument("first_step", first_step);
    const ir::Expr end = build.argument("end_step", end_step);
    const ir::Expr inner_first = build.argument("inner_first", dim.inner_first);
    const ir::Expr inner_last = build.argument("inner_last", difference(dim.inner_end, constant(1)));
    const auto least = [](const ir::Expr& a, const ir::Expr& b) { return ir::binary(BinaryOp::Min, a, b); };
    const auto greatest = [](const ir::Expr& a, const ir::Expr& b) { return ir::binary(BinaryOp::Max, a, b); };
    const ir::Expr inward = greatest(least(dim.plain, inner_last), inner_first);
    add(body, kernel::Define{ir::as<ir::Variable>(dim.origin)->id, inward, true});
    const ir::Expr nonempty = ir::binary(BinaryOp::Le, inner_first, inner_last);
    const ir::Expr from_first = ir::binary(BinaryOp::Le, dim.origin, greatest(dim.plain, first));
    const ir::Expr to_end =
        ir::binary(BinaryOp::Ge, sum(dim.origin, constant(cover)), least(sum(dim.plain, constant(steps)), end));
    return both(nonempty, both(from_first, to_end));
}

kernel::Kernel TileSpace::kernel(const std::string& name, const std::function<kernel::Body(bool interior)>& code) {
    kernel::Kernel& kernel = build.kernel;
    kernel.name = name;
    place(kernel.body);
    kernel::Body rest, tiles;
    add_code(rest, code);
    // In what order blocks go through the tiles depends on where the interior is, and that on what the code touches.
    without_order_ = {kernel.arguments, kernel.specials, {}, kernel.body.size(), 0};
    define_tiles(tiles, program.has_turns);
    without_order_.end = without_order_.begin + tiles.size();
    kernel.body.insert(kernel.body.end(), tiles.begin(), tiles.end());
    kernel.body.insert(kernel.body.end(), rest.begin(), rest.end());
    return kernel;
}

BlockOrder TileSpace::in_turns() {
    BlockOrder result = without_order_;
    std::swap(build.kernel.arguments, result.arguments);
    std::swap(build.kernel.specials, result.specials);
    define_tiles(result.tiles, true);
    std::swap(build.kernel.arguments, result.arguments);
    std::swap(build.kernel.specials, result.specials);
    return result;
}

void BlockOrder::replace_in(kernel::Kernel& kernel) const {
    kernel.arguments = arguments;
    kernel.specials = specials;
    const auto at = [&](std::size_t i) { return kernel.body.begin() + static_cast<std::ptrdiff_t>(i); };
    kernel.body.erase(at(begin), at(end));
    kernel.body.insert(at(begin), tiles.begin(), tiles.end());
}

/// `code` for tiles of the interior and for others.
void TileSpace::add_code(kernel::Body& into, const std::function<kernel::Body(bool interior)>& code) {
    const auto uniform = per_warp ? kernel::If::Uniform::Warp : kernel::If::Uniform::Block;
    kernel::Body* body = &into;
    ir::Expr exists, inner;
    for (const Dim& dim : dims) {
        if (dim.thread_groups > 1) {
            exists = both(exists, ir::binary(BinaryOp::Lt, dim.tile, build.argument("end", dim.end)));
        }
    }
    if (exists) body = &add(*body, kernel::If{exists, {}, {}, uniform}).then;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        Dim& dim = dims[d];
        if (dim.step == 0) continue;
        const std::int64_t steps = kernel::kVariableLimit / (dim.step / finest_scale(group, d));
        dim.plain = build.define(*body, "plain", product(dim.tile, constant(dim.size / dim.step)), -steps, 1, steps);
    }
    kernel::Body fast;
    if (has_interior_) {
        // Where tiles begin follows from what their code touches; the code needs the variable only.
        for (std::size_t d = 0; d < dims.size(); ++d) {
            if (dims[d].step == 0) continue;
            const ir::VarId var = build.variable("origin", ir::Type::Int32);
            const std::int64_t steps = kernel::kVariableLimit / (dims[d].step / finest_scale(group, d));
            rewriter.index(var, 1, -steps, steps);
            dims[d].origin = rewriter.unique(ir::variable(var, ir::Type::Int32));
        }
        fast = code(true);
        find_interior_tiles();
    }
    for (std::size_t d = 0; d < dims.size() && has_interior_; ++d) {
        inner = both(inner, dims[d].step > 0 ? in_moved_interior(*body, d) : in_interior(dims[d]));
    }
    for (Dim& dim : dims) dim.origin = dim.plain;
    kernel::Body edge;
    if (!has_interior_ || inner) edge = code(false);
    if (has_interior_ && !inner) {
        body->insert(body->end(), fast.begin(), fast.end());
        return;
    }
    if (inner)
        add(*body, kernel::If{inner, std::move(fast), std::move(edge), uniform, true});
    else
        body->insert(body->end(), edge.begin(), edge.end());
}

}  // namespace pipec::codegen
