// The `stage` strategy: one kernel computes one stage over its domain; every point is computed on its own. Stages with
// the same points that do not read each other may share the kernel: a thread computes all of them at its points, and
// what they read in common is read once.
//
// A thread computes V adjacent points of the lane dimension (the innermost one in memory that is long), and all points
// of the short constant dimensions inside of it (the channels of interleaved colour). A block is 32 x 8 threads in the
// lane and the next dimension, other dimensions are in the grid, which is linear. Coordinates are absolute: the first
// column of a thread is a multiple of V, wherever the domain begins, so that what is aligned is known when the code is
// made. Threads whose points all lie in the interior take straight-line code with accesses of several elements; the
// others check each point. Where a point takes loops, a thread has the points of a block whose terms have most in
// common (fusion/loop_block.h), all of them in one loop; the last block of a dimension is moved back to be whole.
#include "codegen/strategies/stage/stage_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "codegen/expr/interior.h"
#include "codegen/expr/pack.h"
#include "codegen/expr/point_loops.h"
#include "codegen/expr/strides.h"
#include "fusion/written_out.h"
#include "ir/build.h"
#include "ir/certain_reads.h"
#include "ir/visit.h"
#include "plan/lane_patches.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

/// Threads of a block that a schedule may ask for.
constexpr int kMostThreads = 1024;

ir::Expr floor_div(const ir::Expr& a, std::int64_t b) {
    return b == 1 ? a : ir::binary(BinaryOp::Div, a, constant(b));
}

std::int64_t node_count(const std::vector<ir::Expr>& roots) {
    std::int64_t count = 0;
    for (const ir::Expr& e : roots) ir::for_each_node(e, [&](const ir::Expr&) { ++count; });
    return count;
}

/// The dimension of a stage that an index follows, whatever a boundary condition does to it.
int followed(const ir::Stage& stage, const ir::Expr& index) {
    std::set<int> dims;
    ir::for_each_node(index, [&](const ir::Expr& e) {
        if (ir::as<ir::Read>(e) != nullptr) dims.insert(plan::kAnyPlace);
        const auto* variable = ir::as<ir::Variable>(e);
        for (std::size_t d = 0; variable != nullptr && d < stage.dims.size(); ++d) {
            if (stage.dims[d].var == variable->id) dims.insert(static_cast<int>(d));
        }
    });
    return dims.empty() ? -1 : dims.size() == 1 ? *dims.begin() : plan::kAnyPlace;
}

void add_read_dims(const ir::Pipeline& pipeline, int stage, const ir::Expr& value, std::vector<plan::ReadDims>& reads) {
    ir::for_each_node(value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr) return;
        const std::vector<int> order = memory_order(pipeline, read->source);
        plan::ReadDims dims;
        for (auto d = order.rbegin(); d != order.rend(); ++d) {
            dims.push_back(followed(pipeline.stages[static_cast<std::size_t>(stage)],
                                    read->indices[static_cast<std::size_t>(*d)]));
        }
        reads.push_back(std::move(dims));
    });
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------ mapping

void StageKernel::arrange(const std::vector<StageValue>& stages) {
    order_ = memory_order(program_.pipeline, {ir::Source::Kind::Stage, stages.front().stage});
    for (const poly::Interval& interval : domain_.box) {
        const auto lo = ir::as_int(interval.lo), hi = ir::as_int(interval.hi);
        extents_.push_back(lo && hi ? std::optional(std::max<std::int64_t>(0, *hi - *lo)) : std::nullopt);
    }
    bool loops = false;
    std::vector<plan::ReadDims> reads;
    for (const auto& [stage, value] : stages) {
        loops = loops || fusion::has_loops(value);
        add_read_dims(program_.pipeline, stage, value, reads);
    }
    axes_ = plan::stage_axes(order_, extents_, loops, reads);
    lane_ = axes_.lane;
}

/// All have the interior of the first one, where they have the same; else none has one.
void StageKernel::add_members(const std::vector<StageValue>& stages) {
    // All points of the inner dimensions belong to one thread, whatever they are.
    std::vector<bool> splits;
    for (const Role role : axes_.roles) splits.push_back(role != Role::Inner);
    bool agree = true;
    for (const auto& [stage, definition] : stages) {
        const std::vector<ir::Dimension>& dims = program_.pipeline.stages[static_cast<std::size_t>(stage)].dims;
        Point place;
        for (std::size_t d = 0; d < dims.size(); ++d) {
            if (dims[d].var != stage_.dims[d].var) place[dims[d].var] = ir::variable(stage_.dims[d].var, Type::Int32);
        }
        const ir::Expr value = rewriter_.instance(definition, place);
        Interior interior = find_interior(rewriter_, stage_, domain_, value, guard_, splits);
        if (members_.empty()) {
            interior_ = interior.box;
            inner_guard_ = interior.guard;
        }
        agree = agree && poly::same_box(interior_, interior.box);
        has_simpler_ = has_simpler_ || interior.simpler;
        members_.push_back({stage, value, interior.value});
    }
    if (agree) return;
    interior_ = domain_.box;
    has_simpler_ = false;
    for (Member& member : members_) member.inner = member.value;
}

std::vector<ir::Expr> StageKernel::inner_values() const {
    std::vector<ir::Expr> result;
    for (const Member& member : members_) result.push_back(member.inner);
    return result;
}

/// Code of the interior may have to be followed by that of the edges (kernel::If::same_points).
static bool may_round_otherwise(const std::vector<ir::Expr>& values) {
    bool found = false;
    const auto look = [&](const ir::Expr& e) {
        const auto* binary = ir::as<ir::Binary>(e);
        const auto* call = ir::as<ir::Call>(e);
        found = found || (ir::is_float(e->type) &&
                          ((binary != nullptr && binary->op == BinaryOp::Div) ||
                           (call != nullptr && (call->fn == ir::Builtin::Sqrt || call->fn == ir::Builtin::Rsqrt))));
    };
    for (const ir::Expr& value : values) ir::for_each_node(value, look);
    return found;
}

bool StageKernel::splits() const {
    bool loops = false;
    const auto is_loop = [](const ir::Expr& e) { return ir::as<ir::Reduce>(e) != nullptr; };
    for (const Member& member : members_) {
        ir::for_each_node(member.inner, [&](const ir::Expr& e) { loops = loops || is_loop(e); });
    }
    return lane_ && !loops && !inner_guard_;
}

/// Each point reads a row of adjacent elements of its own: these are what one access can load.
bool StageKernel::rows_of_threads() {
    const ir::VarId var = stage_.dims[*lane_].var;
    for (const ir::Expr& e : ir::certain_reads(inner_values())) {
        const auto* read = ir::as<ir::Read>(e);
        const std::vector<int> order = memory_order(program_.pipeline, read->source);
        if (order.empty()) continue;
        const auto sum = rewriter_.linear(read->indices[static_cast<std::size_t>(order.back())]);
        if (!sum) continue;
        for (const auto& [atom, factor] : sum->terms) {
            const auto* variable = ir::as<ir::Variable>(atom);
            if (variable != nullptr && variable->id == var &&
                std::abs(factor) * ir::bytes(e->type) >= plan::kAccessBytes) {
                return true;
            }
        }
    }
    return false;
}

bool StageKernel::have_own_blocks() const {
    std::vector<std::set<ir::Source>> read;
    bool loops = true;
    for (const Member& member : members_) {
        std::set<ir::Source>& sources = read.emplace_back();
        ir::for_each_node(member.value, [&](const ir::Expr& e) {
            if (const auto* n = ir::as<ir::Read>(e)) sources.insert(n->source);
        });
        loops = loops && ir::has_reduction(member.value);
    }
    return plan::have_own_blocks(read, loops);
}

std::int64_t StageKernel::best_width() {
    std::int64_t widest = 1;
    for (const Member& member : members_) widest = std::max<std::int64_t>(widest, ir::bytes(member.value->type));
    // What all lanes read alike, a threshold or a mean, is no access of several elements.
    const ir::VarId lane = stage_.dims[*lane_].var;
    for (const ir::Expr& read : ir::certain_reads(inner_values())) {
        bool follows = false;
        ir::for_each_node(read, [&](const ir::Expr& e) {
            const auto* variable = ir::as<ir::Variable>(e);
            follows = follows || (variable != nullptr && variable->id == lane);
        });
        if (follows) widest = std::max<std::int64_t>(widest, ir::bytes(read->type));
    }
    // Rows of their own are loaded by one access each already.
    if (own_rows_) return 1;
    std::int64_t columns = plan::stage_columns(axes_, extents_, widest, node_count(inner_values()));
    while (columns > 1 && loaded_registers(columns) > plan::kMostStageLoaded) columns /= 2;
    return columns;
}

/// What so many columns of a thread read.
std::int64_t StageKernel::loaded_registers(std::int64_t width) {
    std::vector<ir::Expr> values;
    const ir::VarId lane = stage_.dims[*lane_].var;
    const ir::Expr first = product(ir::variable(lane, Type::Int32), constant(width));
    for (const ir::Expr& value : inner_values()) {
        for (std::int64_t i = 0; i < width; ++i) {
            values.push_back(rewriter_.instance(value, {{lane, sum(first, constant(i))}}));
        }
    }
    std::int64_t bytes = 0;
    for (const ir::Expr& read : ir::certain_reads(values)) bytes += ir::bytes(read->type);
    return bytes / 4;
}

std::optional<std::string> StageKernel::refusal() const {
    if (const auto& threads = choices_.threads; threads && (*threads)[0] * (*threads)[1] > kMostThreads) {
        return fmt::format("{} x {} threads: a block has at most {}", (*threads)[0], (*threads)[1], kMostThreads);
    }
    if (choices_.shared_lanes.value_or(false) && !lane_terms_.enough) {
        return fmt::format("`shared_lanes`: no reduction of `{}` may have {} terms, one for each lane of a warp",
                           stage_.name, fusion::kLeastLaneTerms);
    }
    if (!choices_.columns || !splits()) return std::nullopt;
    const std::int64_t nodes = node_count(inner_values()) * *choices_.columns * inner_points();
    if (*choices_.columns == 1 || nodes <= plan::kMostStageNodes) return std::nullopt;
    return fmt::format("with {} columns the straight-line code of a thread of `{}` has {} operations, and at most {}",
                       *choices_.columns, stage_.name, nodes, plan::kMostStageNodes);
}

std::optional<std::int64_t> StageKernel::all_points() const {
    std::int64_t points = 1;
    for (const auto& extent : extents_) {
        if (!extent || *extent > kMostThreads * kMostThreads) return std::nullopt;
        points = std::min<std::int64_t>(points * *extent, kMostThreads * kMostThreads);
    }
    return points;
}

void StageKernel::share_lanes(const std::vector<StageValue>& stages) {
    shares_lanes_ = true;
    leave_blocks();
    // A warp for each point has work enough; one for each point and member would have too little.
    own_blocks_ = false;
    if (lane_) {
        std::ranges::fill(axes_.roles, Role::Outer);
        axes_.roles[*lane_] = Role::Row;
        axes_.inner_points = 1;
    }
    // What is written out would be done by all lanes; those whose order cannot be told are up to twice as long.
    rewriter_.write_out_at_most((fusion::kLeastLaneTerms - 1) / 2);
    members_.clear();
    has_simpler_ = false;
    add_members(stages);
}

/// As plan/stage_tile.h divides them, or as a schedule asks.
void StageKernel::shape_block(std::int64_t width) {
    if (shares_lanes_) {
        const std::int64_t warps = lane_ ? plan::stage_lane_warps(extents_[*lane_]) : 1;
        kernel().block = {static_cast<int>(plan::kWarp), static_cast<int>(warps), 1};
        return;
    }
    if (!lane_) return;
    auto [x, y, z] = plan::stage_block(axes_, extents_, width);
    if (const auto& asked = choices_.threads) {
        const auto [across, down] = *asked;
        x = axes_.row ? across : across * down;
        y = axes_.row ? down : 1;
        z = plan::stage_layers(axes_, extents_, width, x, y);
    }
    kernel().block = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
}

/// max(0, hi - lo), over sizes.
ir::Expr StageKernel::length(const ir::Expr& lo, const ir::Expr& hi) {
    const auto first = rewriter_.linear(lo), end = rewriter_.linear(hi);
    if (!first || !end) return ir::binary(BinaryOp::Max, difference(hi, lo), constant(0));
    Linear sum = *end;
    sum.add(*first, -1);
    const ir::Expr e = rewriter_.expr(sum);
    return rewriter_.least(sum) >= 0 ? e : ir::binary(BinaryOp::Max, e, constant(0));
}

/// Where the thread's points begin, from its number and its block's.
void StageKernel::place_thread(kernel::Body& body) {
    using Id = kernel::Special::Id;
    struct Tiles {
        std::size_t dim;
        std::int64_t points;  ///< of a block in this dimension
        ir::Expr first, count;
    };
    std::vector<Tiles> tiles;  // innermost first
    for (auto d = order_.rbegin(); d != order_.rend(); ++d) {
        const auto dim = static_cast<std::size_t>(*d);
        if (axes_.roles[dim] == Role::Inner) continue;
        const bool is_lane = dim == *lane_;
        const poly::Interval& box = domain_.box[dim];
        const ir::Expr first = is_lane && width_ > 1 ? product(floor_div(box.lo, width_), constant(width_)) : box.lo;
        const std::int64_t points = block_points(dim);
        tiles.push_back({dim, points, first, ceil_div(length(first, box.hi), points)});
    }
    ir::Expr blocks = constant(1);
    for (const Tiles& t : tiles) blocks = count_product(blocks, t.count);
    const bool one_block = ir::as_int(blocks).value_or(0) == 1;
    ir::Expr rest = one_block ? constant(0) : build_.special(Id::BlockX);
    if (own_blocks_) {
        const ir::Expr members = constant(static_cast<std::int64_t>(members_.size()));
        const ir::Expr block = build_.special(Id::BlockX);
        blocks = count_product(blocks, members);
        member_ = build_.define(body, "member", ir::binary(BinaryOp::Mod, block, members), 0);
        rest = one_block ? rest : build_.define(body, "tile", ir::binary(BinaryOp::Div, block, members), 0);
    }
    kernel().grid[0] = blocks;

    at_.assign(stage_.dims.size(), nullptr);
    owned_from_.clear();
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const Tiles& t = tiles[i];
        ir::Expr tile = rest;
        if (ir::as_int(t.count).value_or(0) == 1) {
            tile = constant(0);
        } else if (i + 1 < tiles.size()) {
            const ir::Expr count = build_.argument(name(t.dim) + "_tiles", t.count, 1);
            if (ir::as<ir::Variable>(rest) == nullptr) rest = build_.define(body, "tile", rest, 0);
            tile = ir::binary(BinaryOp::Mod, rest, count);
            rest = ir::binary(BinaryOp::Div, rest, count);
        }
        const Role role = axes_.roles[t.dim];
        const Id id = role == Role::Lane ? Id::ThreadX : role == Role::Row ? Id::ThreadY : Id::ThreadZ;
        const std::int64_t threads = this->threads(t.dim);
        ir::Expr place = tile;
        if (distance(t.dim) > 1) {  // the threads have neighbours, and each of them further points
            place = within_points(body, t.dim, product(tile, constant(t.points)));
            if (threads > 1) place = sum(place, build_.special(id));
        } else {
            if (threads > 1) place = sum(product(tile, constant(threads)), build_.special(id));
            place = product(place, constant(points(t.dim)));
        }
        const ir::Expr first = build_.argument(name(t.dim) + "_first", t.first);
        at_[t.dim] = build_.define(body, name(t.dim), sum(place, first), -kernel::kVariableLimit + 1,
                                   role == Role::Lane ? width_ : 1);
    }
}

/// Where a block begins that is moved back so far that all of its points are in the domain, if that has as many: points
/// that no block has in full are computed one after the other, each in loops of its own. Some are computed twice, and
/// stored by the block that they would have been in (owned).
ir::Expr StageKernel::within_points(kernel::Body& body, std::size_t dim, const ir::Expr& begin) {
    const poly::Interval& box = domain_.box[dim];
    const ir::Expr whole = length(box.lo, box.hi);
    const std::int64_t points = block_points(dim);
    if (const auto count = ir::as_int(whole); count && *count % points == 0) return begin;
    const ir::Expr last = ir::binary(BinaryOp::Max, difference(whole, constant(points)), constant(0));
    const ir::Expr first = build_.define(body, name(dim) + "_begin", begin, 0);
    owned_from_[dim] = sum(first, build_.argument(name(dim) + "_first", box.lo));
    return ir::binary(BinaryOp::Min, first, build_.argument(name(dim) + "_last", last, 0));
}

ir::Expr StageKernel::short_extent(std::int64_t threads) {
    if (!lane_ || !axes_.row || axes_.turned || block_[*lane_] == 1) return nullptr;
    const ir::Expr extent = length(domain_.box[*lane_].lo, domain_.box[*lane_].hi);
    const auto known = ir::as_int(extent);
    return known && *known >= threads * block_[*lane_] ? nullptr : extent;
}

/// A place of each dimension is no other block's; null where that is certain.
ir::Expr StageKernel::owned(const std::vector<ir::Expr>& places) const {
    ir::Expr result;
    for (const auto& [dim, from] : owned_from_) result = both(result, ir::binary(BinaryOp::Ge, places[dim], from));
    return result;
}

// ------------------------------------------------------------------------------------------------------------- bodies

/// The thread's points (the first, or all of them) lie in a box, as far as that is not certain.
ir::Expr StageKernel::inside(const std::vector<poly::Interval>& box, bool whole) {
    ir::Expr result;
    for (const int d : order_) {
        const auto dim = static_cast<std::size_t>(d);
        if (axes_.roles[dim] == Role::Inner) continue;
        const bool is_lane = dim == *lane_;
        const bool is_domain = &box == &domain_.box;
        const std::string prefix = name(dim) + (is_domain ? "_" : "_inner_");
        const auto lo = ir::as_int(box[dim].lo), hi = ir::as_int(box[dim].hi);
        const auto first = ir::as_int(domain_.box[dim].lo), end = ir::as_int(domain_.box[dim].hi);
        // The first point of the thread with the lowest number: the domain's, rounded down for the lane dimension.
        const std::int64_t unit = is_lane ? width_ : 1;
        const bool starts_exactly = unit == 1 || (first && *first % unit == 0);
        const bool same_lo = (lo && first && *lo <= *first) || ir::structurally_equal(box[dim].lo, domain_.box[dim].lo);
        if (!(same_lo && starts_exactly)) {
            result = both(result, ir::binary(BinaryOp::Ge, at_[dim], build_.argument(prefix + "begin", box[dim].lo)));
        }
        // Dimensions that are tiled by single points end exactly.
        const std::int64_t points = block_points(dim);
        const bool ends_exactly = points == 1 || (first && end && starts_exactly && (*end - *first) % points == 0);
        const bool same_hi = (hi && end && *hi >= *end) || ir::structurally_equal(box[dim].hi, domain_.box[dim].hi);
        if (!(same_hi && ends_exactly)) {
            const std::int64_t beyond = (this->points(dim) - 1) * distance(dim);
            const ir::Expr last = whole && beyond > 0 ? sum(at_[dim], constant(beyond)) : at_[dim];
            result = both(result, ir::binary(BinaryOp::Lt, last, build_.argument(prefix + "end", box[dim].hi)));
        }
    }
    return result;
}

/// All points of a thread, as values of the dimensions.
std::vector<StageKernel::Point> StageKernel::points_of_thread() {
    std::vector<Point> points(1);
    for (const int d : order_) {
        const auto dim = static_cast<std::size_t>(d);
        const ir::VarId var = stage_.dims[dim].var;
        std::vector<ir::Expr> values;
        if (axes_.roles[dim] == Role::Inner) {
            const std::int64_t lo = *ir::as_int(domain_.box[dim].lo);
            for (std::int64_t i = 0; i < *extents_[dim]; ++i) values.push_back(constant(lo + i));
        } else {
            for (std::int64_t i = 0; i < this->points(dim); ++i) {
                values.push_back(i == 0 ? at_[dim] : sum(at_[dim], constant(i * distance(dim))));
            }
        }
        std::vector<Point> next;
        for (const Point& point : points) {
            for (const ir::Expr& value : values) {
                next.push_back(point);
                next.back()[var] = value;
            }
        }
        points = std::move(next);
    }
    return points;
}

PackWriter StageKernel::packs() {
    return {program_, build_, rewriter_, kernel().layout == kernel::Layout::Wide ? plan::kAccessBytes : 0};
}

/// Straight-line code for all points: loads, then values, then stores.
kernel::Body StageKernel::interior_body() {
    kernel::Body body;
    std::vector<ir::Expr> values;
    std::vector<Element> targets;
    const std::vector<Point> points = points_of_thread();
    for (const Member& member : members_) {
        for (const Point& point : points) {
            values.push_back(rewriter_.instance(member.inner, point));
            targets.push_back({target(member), indices_of(point)});
        }
    }
    PackWriter packs = this->packs();
    packs.load(body, values);
    PointLoops(program_, build_, rewriter_, packs, false).write(body, values);
    if (members_.size() > 1 &&
        std::ranges::any_of(values, [](const ir::Expr& value) { return ir::has_reduction(value); })) {
        // One loop finds what several members reduce over the same ranges, where their values stand together.
        for (std::size_t i = 0; i < values.size(); ++i) {
            const ir::VarId var = build_.variable(name_of(members_[i / points.size()]), values[i]->type);
            body.push_back({kernel::Define{var, values[i]}});
            values[i] = ir::variable(var, values[i]->type);
        }
    }
    packs.store(body, targets, values);
    has_packs_ = has_packs_ || packs.widest() > 0;
    return body;
}

/// All points of a block that are in the domain, in one loop.
kernel::Body StageKernel::loop_body() {
    kernel::Body body, all;
    for (const Point& point : points_of_thread()) {
        kernel::Body stores;
        add_point(body, stores, point, true);
        std::vector<ir::Expr> places;
        for (const ir::Dimension& dim : stage_.dims) places.push_back(point.at(dim.var));
        const ir::Expr condition = owned(places);
        kernel::Body& to = condition ? KernelBuilder::guarded(all, condition) : all;
        to.insert(to.end(), stores.begin(), stores.end());
    }
    PackWriter packs = this->packs();
    body = PointLoops(program_, build_, rewriter_, packs, false).with_loops(std::move(body));
    has_packs_ = has_packs_ || packs.widest() > 0;
    body.insert(body.end(), all.begin(), all.end());
    return body;
}

/// The values of all members at a point, and the stores of these.
void StageKernel::add_point(kernel::Body& values, kernel::Body& stores, const Point& point, bool inner) {
    for (const Member& member : members_) {
        const ir::Expr value = rewriter_.instance(inner ? member.inner : member.value, point);
        const ir::VarId var = build_.variable(name_of(member), value->type);
        values.push_back({kernel::Define{var, value}});
        stores.push_back(
            {kernel::Store{target(member), indices_of(point), {ir::variable(var, value->type)}, first_lane()}});
    }
}

std::vector<ir::Expr> StageKernel::indices_of(const Point& point) {
    std::vector<ir::Expr> indices;
    for (const ir::Dimension& dim : stage_.dims) indices.push_back(rewriter_.unique(point.at(dim.var)));
    return indices;
}

/// One point after the other, each only where it is in the domain.
kernel::Body StageKernel::point_body() {
    kernel::Body body;
    kernel::Body* inner = &body;
    Point point;
    std::vector<ir::Expr> indices(stage_.dims.size());
    const auto set = [&](std::size_t dim, const ir::Expr& value) {
        indices[dim] = rewriter_.unique(value);
        point[stage_.dims[dim].var] = indices[dim];
    };
    const auto loop = [&](const std::string& name, std::int64_t lo, std::int64_t hi) {
        ir::Expr at;
        inner = &build_.loop(*inner, name, constant(lo), constant(hi), constant(1), at);
        return at;
    };
    const auto guarded = [&](const ir::Expr& condition) { inner = &KernelBuilder::guarded(*inner, condition); };
    if (lane_) {
        const std::vector<ir::Expr> thread = at_;
        for (std::size_t dim = 0; dim < stage_.dims.size(); ++dim) {
            if (axes_.roles[dim] == Role::Inner || points(dim) == 1) continue;
            const ir::Expr i = loop("i", 0, points(dim));
            at_[dim] = build_.define(*inner, name(dim) + "_i", sum(at_[dim], product(i, constant(distance(dim)))));
        }
        guarded(both(inside(domain_.box, false), owned(at_)));
        for (std::size_t dim = 0; dim < stage_.dims.size(); ++dim) {
            if (axes_.roles[dim] != Role::Inner) set(dim, at_[dim]);
        }
        at_ = thread;
    }
    for (const int d : order_) {
        const auto dim = static_cast<std::size_t>(d);
        if (axes_.roles[dim] != Role::Inner) continue;
        const std::int64_t lo = *ir::as_int(domain_.box[dim].lo);
        set(dim, loop(name(dim), lo, lo + *extents_[dim]));
    }
    if (guard_) guarded(rewriter_.instance(guard_, point));
    if (members_.size() == 1) {
        const Member& only = members_.front();
        ir::Expr value = rewriter_.instance(only.value, point);
        if (shares_lanes_) {
            const ir::VarId var = build_.variable(name_of(only), value->type);
            inner->push_back({kernel::Define{var, std::exchange(value, ir::variable(var, value->type))}});
        }
        inner->push_back({kernel::Store{target(only), indices, {value}, first_lane()}});
        return body;
    }
    kernel::Body stores;
    add_point(*inner, stores, point, false);
    inner->insert(inner->end(), stores.begin(), stores.end());
    return body;
}

kernel::Kernel StageKernel::build(std::int64_t width, kernel::Layout layout) {
    build_.kernel = {};
    kernel().name = stage_.name + (layout == kernel::Layout::Wide ? "_wide" : shares_lanes_ ? "_lanes" : "");
    kernel().layout = layout;
    kernel().shares_reductions = shares_lanes_;
    width_ = width;
    shape_block(width);
    if (!lane_) {
        kernel().grid[0] = constant(1);
        kernel().body = point_body();
        return kernel();
    }
    place_thread(kernel().body);
    kernel::Body body = own_blocks_ ? body_of_each_member(layout) : thread_body(layout);
    kernel().body.insert(kernel().body.end(), body.begin(), body.end());
    return kernel();
}

/// What a thread does at its points.
kernel::Body StageKernel::thread_body(kernel::Layout layout) {
    // A guard that stays is evaluated for each point, so nothing is gained by a second version of the code.
    const bool split =
        (layout == kernel::Layout::Wide || has_simpler_ || is_block()) && !inner_guard_ && !shares_lanes_;
    if (!split) return point_body();
    ir::Expr condition = inside(interior_, true);
    kernel::Body fast = is_block() ? loop_body() : interior_body();
    if (!condition && !may_round_otherwise(inner_values())) return fast;
    if (!condition) condition = ir::bool_constant(true);
    kernel::Body body;
    body.push_back({kernel::If{condition, std::move(fast), point_body(), kernel::If::Uniform::Lane, true}});
    return body;
}

/// The same for each member, in blocks of its own.
kernel::Body StageKernel::body_of_each_member(kernel::Layout layout) {
    const std::vector<Member> all = std::exchange(members_, {});
    kernel::Body body;
    for (std::size_t m = 0; m < all.size(); ++m) {
        members_ = {all[m]};
        const ir::Expr is_own = ir::binary(BinaryOp::Eq, member_, constant(static_cast<std::int64_t>(m)));
        body.push_back({kernel::If{is_own, thread_body(layout), {}, kernel::If::Uniform::Block}});
    }
    members_ = all;
    return body;
}

}  // namespace pipec::codegen
