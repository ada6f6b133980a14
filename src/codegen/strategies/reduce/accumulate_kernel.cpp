// An `accumulate` whose points each gather what belongs to them is a tile of itself (tile_accumulate.h). Of others the
// updates are one kernel each, whose threads share out the points of its domain. Updates with
// the same operator and domain, one after the other, are one kernel if their points share targets anyway.
//
// A tile of points has the innermost range across the threads' x and the next one across y; tiles are numbered in the
// grid, outer ranges point by point. A range whose bounds depend on other ranges is a loop of the thread, or of the row
// of threads where it is the innermost one, and so are short ranges inside (the channels of a pixel).
//
// Points may share a target. In order of preference:
// - each point has a target of its own, which its thread alone reads and writes;
// - all points have the same target: a register of each thread, one for the warp by shuffles, then as below;
// - the stage is small: an array of the block in shared memory, merged into the stage at the end;
// - atomic operations on the stage.
// In order (floats, --deterministic): all points of a target belong to one thread, which takes them as they come.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/lower.h"
#include "codegen/strategies/reduce/histogram_kernel.h"
#include "codegen/strategies/reduce/update_facts.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "plan/lane_patches.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

constexpr std::int64_t kThreads = 256;
/// Where blocks keep something until they end: rows of a tile for each thread, and blocks, which fill a large GPU and
/// leave only so much to merge.
constexpr std::int64_t kRowsPerThread = 8;
constexpr std::int64_t kMostBlocks = 1024;

class UpdateKernel {
public:
    /// Of several updates all have the first one's domain and operator, and need atomics.
    UpdateKernel(kernel::Program& program, int stage, std::vector<ir::Update> updates, bool in_order);
    kernel::Kernel build();

private:
    enum class Role : std::uint8_t {
        Thread,  ///< a loop of the thread
        Lane,    ///< across the threads' x
        Row,     ///< across the threads' y
        Outer    ///< in the grid
    };
    struct Axis {
        Role role = Role::Thread;
        bool tiled = false;                  ///< in the grid; otherwise all of it is in every tile
        std::optional<std::int64_t> extent;  ///< where it is constant
        std::int64_t points = 1;             ///< of a tile
    };

    void choose_target();
    void assign_roles();
    void shape_block();
    [[nodiscard]] std::string name(std::size_t range) const {
        return program_.pipeline.variables.at(static_cast<std::size_t>(update_.domain[range].var)).name;
    }
    [[nodiscard]] std::int64_t threads(const Axis& axis) const {
        return axis.role == Role::Lane ? kernel().block[0] : axis.role == Role::Row ? kernel().block[1] : 1;
    }
    ir::Expr thread(const Axis& axis) {
        if (threads(axis) == 1) return constant(0);
        using Id = kernel::Special::Id;
        return builder_.special(axis.role == Role::Lane ? Id::ThreadX : Id::ThreadY);
    }
    ir::Expr bound(const ir::Expr& e) { return rewriter_.instance(e, at_); }

    ir::Expr thread_of_block();
    kernel::Body& tiles(kernel::Body& body);
    void place(kernel::Body& body, ir::Expr tile);
    kernel::Body& loops(kernel::Body& body);
    void point(kernel::Body& body);
    void zero_shared();
    void merge_shared();
    void add_register();
    [[nodiscard]] kernel::Atomic atomic(const std::vector<ir::Expr>& indices, const ir::Expr& value);

    [[nodiscard]] kernel::Kernel& kernel() { return builder_.kernel; }
    [[nodiscard]] const kernel::Kernel& kernel() const { return builder_.kernel; }

    kernel::Program& program_;
    ir::Source target_;
    const ir::Stage stage_;  // copies: adding variables must not move them
    const std::vector<ir::Update> updates_;
    const ir::Update& update_;  ///< the first of them
    const std::vector<poly::Interval> box_;
    Rewriter rewriter_;
    KernelBuilder builder_;

    bool in_order_;
    bool exclusive_ = false;  ///< the thread alone has the target
    bool shared_ = false;     ///< the block has an array of the stage's cells
    bool register_ = false;   ///< the thread has the one cell
    std::int64_t cells_ = 0;
    ir::Expr identity_, register_value_;
    std::vector<Axis> axes_;
    std::optional<std::size_t> lane_, row_;
    Rewriter::Bindings at_;            ///< the ranges' variables at the thread's point
    ir::Expr inside_;                  ///< the thread has a point in the tile; null where that is certain
    std::vector<std::size_t> strips_;  ///< ranges of which a thread has several points in a tile
    std::vector<std::pair<ir::Expr, ir::Expr>> strip_bounds_;
};

UpdateKernel::UpdateKernel(kernel::Program& program, int stage, std::vector<ir::Update> updates, bool in_order)
    : program_(program),
      target_{ir::Source::Kind::Stage, stage},
      stage_(program.pipeline.stages.at(static_cast<std::size_t>(stage))),
      updates_(std::move(updates)),
      update_(updates_.front()),
      box_(program.model.domains.at(static_cast<std::size_t>(stage)).box),
      rewriter_(program.pipeline),
      builder_(program.pipeline, rewriter_),
      in_order_(in_order),
      identity_(ir::identity(update_.op, stage_.type)) {
    choose_target();
    assign_roles();
    shape_block();
}

// ----------------------------------------------------------------------------------------------------------- decisions

void UpdateKernel::choose_target() {
    exclusive_ = in_order_ || has_own_targets(update_);
    if (exclusive_) return;
    register_ = has_one_target(update_);
    const auto cells = constant_cells(box_);
    shared_ = keeps_simple_table(stage_.type, cells);
    if (shared_) cells_ = *cells;
}

void UpdateKernel::assign_roles() {
    const std::set<ir::VarId> owned = owners(update_);
    const auto may_split = [&](std::size_t i) { return !in_order_ || owned.count(update_.domain[i].var) > 0; };
    const auto may_tile = [&](std::size_t i) {
        return may_split(i) && is_size_arithmetic(update_.domain[i].lo) && is_size_arithmetic(update_.domain[i].hi);
    };
    axes_.resize(update_.domain.size());
    std::int64_t inner = 1;
    for (std::size_t i = axes_.size(); i-- > 0;) {
        Axis& axis = axes_[i];
        axis.extent = constant_extent(update_.domain[i].lo, update_.domain[i].hi);
        bool outer_tiles = false;
        for (std::size_t j = 0; j < i; ++j) outer_tiles = outer_tiles || may_tile(j);
        const bool is_short = !lane_ && axis.extent && inner * *axis.extent <= plan::kInnerPoints && outer_tiles;
        if (is_short) inner *= std::max<std::int64_t>(1, *axis.extent);
        if (is_short || !may_split(i) || (lane_ && !may_tile(i))) continue;
        axis.tiled = may_tile(i);
        if (!lane_) {
            axis.role = Role::Lane;
            lane_ = i;
        } else if (!row_) {
            axis.role = Role::Row;
            row_ = i;
        } else {
            axis.role = Role::Outer;
        }
    }
}

/// 32 x 8 threads, narrower where ranges are known to be short; and what a tile has of each range.
void UpdateKernel::shape_block() {
    if (!lane_) return;
    const auto at_most = [](std::int64_t n, const std::optional<std::int64_t>& extent) {
        const auto needed = static_cast<std::uint64_t>(std::max<std::int64_t>(1, extent.value_or(n)));
        return std::min(n, static_cast<std::int64_t>(std::bit_ceil(needed)));
    };
    std::int64_t x = kWarp, y = 1;
    if (register_) {  // whole warps
        y = row_ ? kThreads / kWarp : 1;
        x = kThreads / y;
    } else {
        x = at_most(row_ ? kWarp : kThreads, axes_[*lane_].extent);
        if (row_) y = at_most(kThreads / x, axes_[*row_].extent);
        if (row_) x = at_most(kThreads / y, axes_[*lane_].extent);
    }
    kernel().block = {static_cast<int>(x), static_cast<int>(y), 1};
    const std::int64_t strip = shared_ || register_ ? kRowsPerThread : 1;
    for (Axis& axis : axes_) axis.points = threads(axis);
    Axis& longest = axes_[row_.value_or(*lane_)];
    if (longest.tiled) longest.points *= strip;
}

// ------------------------------------------------------------------------------------------------------------ mapping

ir::Expr UpdateKernel::thread_of_block() {
    using Id = kernel::Special::Id;
    const auto [x, y, z] = kernel().block;
    if (x * y == 1) return constant(0);
    if (y == 1) return builder_.special(Id::ThreadX);
    return sum(product(builder_.special(Id::ThreadY), constant(x)), builder_.special(Id::ThreadX));
}

/// The grid; the body that is run for each tile, with the tile's number.
kernel::Body& UpdateKernel::tiles(kernel::Body& body) {
    ir::Expr count = constant(1);
    std::int64_t points = 1;
    for (std::size_t i = axes_.size(); i-- > 0;) {
        if (!axes_[i].tiled) continue;
        count = count_product(count, tile_count(update_.domain[i].lo, update_.domain[i].hi, axes_[i].points));
        points *= axes_[i].points;
    }
    using Id = kernel::Special::Id;
    if (ir::as_int(count) == 1) {
        kernel().grid[0] = constant(1);
        place(body, constant(0));
        return KernelBuilder::guarded(body, inside_);
    }
    if (!shared_ && !register_) {
        kernel().grid[0] = count;
        place(body, builder_.special(Id::BlockX));
        return KernelBuilder::guarded(body, inside_);
    }
    // A block has more points than cells, so that it pays to merge them.
    const std::int64_t tiles_of_block = shared_ ? std::max<std::int64_t>(1, 2 * cells_ / points) : 1;
    kernel().grid[0] = ir::binary(BinaryOp::Min, ceil_div(count, tiles_of_block), constant(kMostBlocks));
    ir::Expr tile;
    kernel::Body& inner = builder_.loop(body, "tile", builder_.special(Id::BlockX),
                                        builder_.argument("tiles", count, 1), builder_.special(Id::GridX), tile);
    place(inner, tile);
    return KernelBuilder::guarded(inner, inside_);
}

/// Where the thread's points of the tile begin.
void UpdateKernel::place(kernel::Body& body, ir::Expr tile) {
    std::vector<std::size_t> order;  // innermost first
    for (std::size_t i = axes_.size(); i-- > 0;) {
        if (axes_[i].tiled) order.push_back(i);
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
        const std::size_t i = order[k];
        const Axis& axis = axes_[i];
        const ir::Range& range = update_.domain[i];
        const ir::Expr count = tile_count(range.lo, range.hi, axis.points);
        ir::Expr number = tile;
        if (ir::as_int(count) == 1) {
            number = constant(0);
        } else if (k + 1 < order.size()) {
            const ir::Expr tiles = builder_.argument(name(i) + "_tiles", count, 1);
            number = ir::binary(BinaryOp::Mod, tile, tiles);
            tile = builder_.define(body, "tile_row", ir::binary(BinaryOp::Div, tile, tiles), 0);
        }
        const ir::Expr lo = builder_.argument(name(i) + "_first", range.lo);
        const auto hi = [&] { return builder_.argument(name(i) + "_end", range.hi); };
        const std::int64_t least = ir::as_int(lo).value_or(-kernel::kVariableLimit + 1);
        const ir::Expr first = sum(lo, product(number, constant(axis.points)));
        if (axis.points == threads(axis)) {
            const ir::Expr at = builder_.define(body, name(i), sum(first, thread(axis)), least);
            at_[range.var] = at;
            if (axis.points > 1 && axis.extent.value_or(1) % axis.points != 0)
                inside_ = both(inside_, ir::binary(BinaryOp::Lt, at, hi()));
        } else {
            const ir::Expr begin = builder_.define(body, name(i) + "_begin", sum(first, thread(axis)), least);
            const ir::Expr end = ir::binary(BinaryOp::Min, sum(first, constant(axis.points)), hi());
            strips_.push_back(i);
            strip_bounds_.emplace_back(begin, builder_.define(body, name(i) + "_stop", end, least));
        }
    }
}

/// The loops of the thread, in the program's order; the body for a point.
kernel::Body& UpdateKernel::loops(kernel::Body& body) {
    kernel::Body* inner = &body;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        const Axis& axis = axes_[i];
        const ir::Range& range = update_.domain[i];
        const auto strip = std::find(strips_.begin(), strips_.end(), i);
        ir::Expr lo, hi;
        if (strip != strips_.end()) {
            std::tie(lo, hi) = strip_bounds_[static_cast<std::size_t>(strip - strips_.begin())];
        } else if (!axis.tiled) {
            lo = sum(bound(range.lo), thread(axis));
            hi = bound(range.hi);
        } else {
            continue;
        }
        const bool unroll = axis.extent.value_or(plan::kInnerPoints + 1) <= plan::kInnerPoints;
        inner = &builder_.loop(*inner, name(i), lo, hi, constant(threads(axis)), at_[range.var], unroll);
    }
    return *inner;
}

// ------------------------------------------------------------------------------------------------------------- bodies

/// The update of the cell that the thread does not keep in a register.
kernel::Atomic UpdateKernel::atomic(const std::vector<ir::Expr>& indices, const ir::Expr& value) {
    if (!shared_) {
        const bool often_same = !exclusive_ && lane_ && may_share_targets(update_, update_.domain[*lane_].var);
        return {target_, indices, update_.op, value, exclusive_, often_same};
    }
    ir::Expr cell = constant(0);
    for (std::size_t d = 0; d < indices.size(); ++d) {
        const ir::Expr place = ir::binary(BinaryOp::Sub, indices[d], box_[d].lo);
        cell = sum(product(cell, constant(*constant_extent(box_[d].lo, box_[d].hi))), place);
    }
    return {{ir::Source::Kind::Local, 0}, {rewriter_.instance(cell, {})}, update_.op, value};
}

void UpdateKernel::point(kernel::Body& body) {
    for (const ir::Update& update : updates_) {
        kernel::Body& inner = KernelBuilder::guarded(body, update.guard ? bound(update.guard) : nullptr);
        const ir::Expr value = bound(update.value);
        if (register_) {
            const ir::VarId var = ir::as<ir::Variable>(register_value_)->id;
            add(inner, kernel::Assign{var, ir::binary(ir::fold_op(update.op), register_value_, value)});
            continue;
        }
        std::vector<ir::Expr> indices;
        for (const ir::Expr& index : update.indices) indices.push_back(bound(index));
        add(inner, atomic(indices, value));
    }
}

void UpdateKernel::zero_shared() {
    kernel().shared.push_back({stage_.name + "_of_block", stage_.type, {cells_}});
    ir::Expr cell;
    const int threads = kernel().block[0] * kernel().block[1];
    kernel::Body& body =
        builder_.loop(kernel().body, "cell", thread_of_block(), constant(cells_), constant(threads), cell);
    add(body, kernel::Store{{ir::Source::Kind::Local, 0}, {cell}, {identity_}, nullptr});
    add(kernel().body, kernel::kBlockBarrier);
}

/// What the block has found goes to the stage; most cells of most blocks have nothing.
void UpdateKernel::merge_shared() {
    add(kernel().body, kernel::kBlockBarrier);
    ir::Expr cell;
    const int threads = kernel().block[0] * kernel().block[1];
    kernel::Body& body =
        builder_.loop(kernel().body, "cell", thread_of_block(), constant(cells_), constant(threads), cell);
    const ir::VarId var = builder_.variable("found", stage_.type);
    const ir::Expr found = ir::variable(var, stage_.type);
    add(body, kernel::Define{var, ir::read({ir::Source::Kind::Local, 0}, stage_.type, {cell})});
    std::vector<ir::Expr> indices(box_.size());
    std::int64_t stride = 1;
    for (std::size_t d = box_.size(); d-- > 0;) {
        const std::int64_t extent = *constant_extent(box_[d].lo, box_[d].hi);
        ir::Expr place = ir::binary(BinaryOp::Div, cell, constant(stride));
        if (d > 0) place = ir::binary(BinaryOp::Mod, place, constant(extent));
        indices[d] = rewriter_.instance(sum(place, box_[d].lo), {});
        stride *= extent;
    }
    kernel::Body& merge = KernelBuilder::guarded(body, ir::binary(BinaryOp::Ne, found, identity_));
    add(merge, kernel::Atomic{target_, indices, update_.op, found});
}

/// The warp's registers become one, which its first lane brings to the cell. Nothing was found where the guard never
/// held; then the target may not even exist.
void UpdateKernel::add_register() {
    kernel::Body& body = kernel().body;
    const ir::VarId var = ir::as<ir::Variable>(register_value_)->id;
    for (std::int64_t distance = kWarp / 2; distance >= 1; distance /= 2) {
        const ir::VarId other = builder_.variable("other", stage_.type);
        add(body, kernel::Shuffle{other, register_value_, kernel::Shuffle::From::Xor, constant(distance)});
        add(body, kernel::Assign{
                      var, ir::binary(ir::fold_op(update_.op), register_value_, ir::variable(other, stage_.type))});
    }
    const ir::Expr x = builder_.special(kernel::Special::Id::ThreadX);
    const ir::Expr first_lane = ir::binary(BinaryOp::Eq, ir::binary(BinaryOp::Mod, x, constant(kWarp)), constant(0));
    const ir::Expr found = ir::binary(BinaryOp::Ne, register_value_, identity_);
    kernel::Body& merge = KernelBuilder::guarded(body, both(first_lane, found));
    std::vector<ir::Expr> indices;
    for (const ir::Expr& index : update_.indices) indices.push_back(rewriter_.instance(index, {}));
    add(merge, atomic(indices, register_value_));
}

kernel::Kernel UpdateKernel::build() {
    if (shared_) zero_shared();
    if (register_) {
        const ir::VarId var = builder_.variable("of_thread", stage_.type);
        add(kernel().body, kernel::Variable{var, identity_});
        register_value_ = ir::variable(var, stage_.type);
    }
    point(loops(tiles(kernel().body)));
    if (register_) add_register();
    if (shared_) merge_shared();
    return std::move(kernel());
}

/// The group of the stage alone, in tiles of a cell for each thread.
std::optional<kernel::Step> gather_step(kernel::Program& program, int stage, const SourceManager& sources,
                                        bool in_order) {
    const ir::Stage& definition = program.pipeline.stages.at(static_cast<std::size_t>(stage));
    const auto gather = gathered(definition, in_order);
    if (!gather) return std::nullopt;
    poly::Group group;
    group.stages = group.live_outs = {stage};
    std::vector<poly::Alignment>& alignment = group.alignment.emplace_back();
    std::int64_t bytes = ir::bytes(definition.type);  // of a cell
    for (std::size_t d = 0; d < gather->owned.size(); ++d) {
        alignment.push_back({gather->owned[d] ? group.rank++ : -1});
        if (!gather->owned[d]) bytes *= *constant_extent(definition.dims[d].lo, definition.dims[d].hi);
    }
    group.reach.emplace_back(static_cast<std::size_t>(group.rank));
    fusion::GroupSchedule schedule;
    schedule.strategy = fusion::Strategy::Otptb;
    schedule.block = plan::gather_block(bytes, group.rank);
    auto step = group_step(program, group, schedule, sources);
    return std::get<kernel::Step>(std::move(step));
}

}  // namespace

std::vector<kernel::Step> accumulate_steps(kernel::Program& program, int stage, const SourceManager& sources,
                                           const CudaOptions& options, const fusion::HistogramShape& histogram) {
    const auto accumulate =
        std::get<ir::Accumulate>(program.pipeline.stages.at(static_cast<std::size_t>(stage)).definition);
    const std::vector<ir::Update>& updates = accumulate.updates;
    if (auto step = gather_step(program, stage, sources, options.deterministic)) return {std::move(*step)};
    std::vector<kernel::Step> steps{stage_step(program, stage, accumulate.init, sources)};
    const auto needs_atomics = [&](const ir::Update& update) {
        const bool in_order = options.deterministic && depends_on_order(update);
        return !in_order && !has_own_targets(update) && !has_one_target(update);
    };
    for (std::size_t i = 0; i < updates.size();) {
        std::vector<ir::Update> group{updates[i]};
        ir::Stage described = program.pipeline.stages[static_cast<std::size_t>(stage)];
        std::vector<std::string> comments;
        const auto describe = [&](const ir::Update& update) {
            described.range = update.range;
            const std::vector<std::string> lines = stage_comments(described, sources);
            comments.insert(comments.end(), lines.begin(), lines.end());
        };
        describe(updates[i]);
        while (++i < updates.size()) {
            if (updates[i].op != group.front().op || !needs_atomics(updates[i]) || !needs_atomics(group.front())) break;
            auto next = with_domain_of(group.front(), updates[i]);
            if (!next) break;
            describe(*next);
            group.push_back(std::move(*next));
        }
        const bool in_order = options.deterministic && depends_on_order(group.front());
        std::optional<kernel::Step> step;
        if (needs_atomics(group.front())) step = histogram_step(program, stage, group, histogram, true);
        if (!step) step = {{UpdateKernel(program, stage, std::move(group), in_order).build()}};
        for (kernel::Kernel& kernel : step->variants) {
            kernel.name = described.name + "_update";
            if (steps.size() > 1 || i < updates.size()) kernel.name += fmt::format("_{}", steps.size());
            if (kernel.layout == kernel::Layout::Wide) kernel.name += "_wide";
            kernel.comments = comments;
        }
        steps.push_back(std::move(*step));
    }
    return steps;
}

}  // namespace pipec::codegen
