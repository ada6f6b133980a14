// A loop over the steps of the march. All that a step reads was written by earlier ones, so reads stand before writes,
// and the barrier at the end serves all members.
//
// Threads have places: a thread computes the points of its own column, row of the step, and plane. In steady steps,
// in which every member has rows, members need no branches: all values, then all stores. What a step takes from global
// memory was loaded by the one before, so that it has had a whole step to come. In the steps before, in which windows
// are filled, and behind, in which they are emptied, and at the edges of the image, each point is asked whether it
// exists.
#include "codegen/strategies/stream/stream_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "codegen/expr/pack.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/kernel/shared_memory.h"
#include "codegen/strategies/stream/stream_windows.h"
#include "codegen/strategies/tile_space.h"
#include "ir/build.h"
#include "ir/certain_reads.h"
#include "ir/visit.h"
#include "plan/make_plan.h"
#include "plan/tiles.h"
#include "support/integers.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Turns of a thread that are written out, or that the compiler is asked to unroll.
constexpr std::int64_t kUnrolledTurns = 8;
/// Loads that a thread has on their way for the next step: each takes a register.
constexpr std::size_t kLoads = 24;

class StreamKernel {
public:
    StreamKernel(kernel::Program& program, const poly::Group& group, const plan::Plan& plan);

    /// Why the windows are impossible; none where they are possible.
    [[nodiscard]] std::optional<std::string> refusal() const;
    kernel::Kernel build();

private:
    using Member = TileSpace::Member;
    /// A point that a thread computes of a member.
    struct Point {
        const Member* member = nullptr;
        std::vector<ir::Expr> offset;  ///< from the first one that the block computes
        ir::Expr exists;               ///< where it does not, `offset` is another thread's point; null: it does
        std::vector<ir::Expr> place;
        ir::Expr value;
    };

    kernel::Body code(bool interior);
    void points(kernel::Body& body, const Member& m, const ir::Expr& step, bool interior);
    kernel::Body& deal(kernel::Body& body, const Member& m, std::size_t dim, const ir::Expr& step, ir::Expr& offset);
    void steady(kernel::Body& before, kernel::If& choice, const ir::Expr& step);
    [[nodiscard]] bool is_regular(const Member& m) const;
    std::vector<Point> regular_points(kernel::Body& before, kernel::Body& body, const ir::Expr& step);
    ir::Expr regular(kernel::Body& before, kernel::Body& body, const Member& m, std::size_t dim, std::int64_t turn,
                     const ir::Expr& step, ir::Expr& exists);
    std::map<ir::VarId, ir::Expr> load_ahead(kernel::Body& before, std::vector<Point>& points);
    ir::Expr instance(const Point& point, bool interior);
    ir::Expr define(kernel::Body& body, const std::string& name, const ir::Expr& value);
    void store(kernel::Body& body, const Point& point);

    [[nodiscard]] const plan::March::Member& rows(const Member& m) const {
        return march_.members[space_.group.position(m.stage)];
    }
    /// Points of a member in one dimension in a step, the threads that there are for them, and how often these must
    /// come.
    [[nodiscard]] std::int64_t count(const Member& m, std::size_t dim) const {
        return dim == rows(m).rows ? rows(m).each : m.extent[dim].count;
    }
    [[nodiscard]] std::int64_t lanes(const Member& m, std::size_t dim) const {
        const int g = m.alignment[dim].dim;
        return g < 0 ? 1 : space_.dims[static_cast<std::size_t>(g)].lanes;
    }
    [[nodiscard]] std::int64_t turns(const Member& m, std::size_t dim) const {
        return ceil_quotient(count(m, dim), lanes(m, dim));
    }
    [[nodiscard]] ir::Expr lane(const Member& m, std::size_t dim) const {
        return lanes(m, dim) == 1 ? constant(0) : space_.dims[static_cast<std::size_t>(m.alignment[dim].dim)].lane;
    }

    const plan::Plan plan_;
    const plan::March& march_;
    TileSpace space_;
    StreamWindows windows_;
    std::vector<const Member*> marching_;  ///< the latest ones first
    std::int64_t steady_begin_ = 0, steady_end_ = 0;
    /// What steady steps share: by group dimension, points, where they begin, and turn.
    std::map<std::array<std::int64_t, 4>, ir::Expr> defined_;
    Rewriter::Bindings first_rows_,
        next_rows_;  ///< those of them that are rows: in the first steady step, and the next
};

StreamKernel::StreamKernel(kernel::Program& program, const poly::Group& group, const plan::Plan& plan)
    : plan_(plan),
      march_(*plan_.march),
      space_(program, group, plan_.tiles),
      windows_(space_, plan_),
      steady_end_(march_.steps) {
    for (const Member& m : space_.members) {
        const plan::March::Member& own = rows(m);
        if (!own.rows) continue;
        marching_.push_back(&m);
        steady_begin_ = std::max(steady_begin_, ceil_quotient(-own.ahead, own.each));
        steady_end_ = std::min(steady_end_, (own.count - own.ahead) / own.each);
    }
    std::stable_sort(marching_.begin(), marching_.end(),
                     [&](const Member* a, const Member* b) { return rows(*a).late > rows(*b).late; });
}

std::optional<std::string> StreamKernel::refusal() const {
    return shared_refusal(plan_.shared.bytes, space_.program.target, "its windows");
}

// -------------------------------------------------------------------------------------------------------------- points

/// The point's value, as an expression over what the block has and what is in global memory.
ir::Expr StreamKernel::instance(const Point& point, bool interior) {
    const Member& m = *point.member;
    Rewriter::Bindings at;
    for (std::size_t d = 0; d < point.place.size(); ++d) at[m.definition.dims[d].var] = point.place[d];
    return space_.rewriter.instance(interior ? m.interior.value : m.value, at, windows_.reads());
}

ir::Expr StreamKernel::define(kernel::Body& body, const std::string& name, const ir::Expr& value) {
    const ir::VarId var = space_.build.variable(name, value->type);
    add(body, kernel::Define{var, value});
    return ir::variable(var, value->type);
}

void StreamKernel::store(kernel::Body& body, const Point& point) {
    const Member& m = *point.member;
    if (m.is_read) {
        add(body, kernel::Store{{ir::Source::Kind::Local, windows_.of(m)},
                                windows_.indices(m, point.offset),
                                {point.value},
                                point.exists});
    }
    if (m.live) {
        add(body, kernel::Store{{ir::Source::Kind::Stage, m.stage},
                                point.place,
                                {point.value},
                                both(point.exists, space_.owned(m, point.offset))});
    }
}

// ------------------------------------------------------------------------------------------------------- guarded steps

/// Goes on where the thread has a point in one dimension of a member.
kernel::Body& StreamKernel::deal(kernel::Body& outer, const Member& m, std::size_t dim, const ir::Expr& step,
                                 ir::Expr& offset) {
    const std::string name = space_.name(m, dim);
    const std::int64_t most = turns(m, dim), threads = lanes(m, dim), points = count(m, dim);
    kernel::Body* body = &outer;
    offset = lane(m, dim);
    if (most > 1) {
        ir::Expr turn;
        body = &space_.build.loop(*body, name + "_turn", constant(0), constant(most), constant(1), turn,
                                  most <= kUnrolledTurns);
        offset = threads == 1
                     ? turn
                     : space_.build.define(*body, name + "_i", sum(product(turn, constant(threads)), offset), 0);
    }
    if (points % threads != 0)
        body = &KernelBuilder::guarded(*body, ir::binary(BinaryOp::Lt, offset, constant(points)));
    const plan::March::Member& own = rows(m);
    if (dim != own.rows) return *body;
    const ir::Expr from_first = sum(product(step, constant(own.each)), offset);
    offset = space_.build.define(*body, name + "_i", sum(from_first, constant(own.ahead)), own.ahead);
    ir::Expr exists;
    if (own.ahead < 0) exists = ir::binary(BinaryOp::Ge, offset, constant(0));
    if (march_.steps * own.each + own.ahead > own.count)
        exists = both(exists, ir::binary(BinaryOp::Lt, offset, constant(own.count)));
    return KernelBuilder::guarded(*body, exists);
}

void StreamKernel::points(kernel::Body& outer, const Member& m, const ir::Expr& step, bool interior) {
    add(outer, kernel::Remark{m.definition.name});
    // Of a member without some of the dimensions, one of the threads that differ in them computes the points.
    ir::Expr first;
    for (std::size_t g = 0; g < space_.dims.size(); ++g) {
        if (TileSpace::has(m, g) || space_.dims[g].lanes == 1) continue;
        first = both(first, ir::binary(BinaryOp::Eq, space_.dims[g].lane, constant(0)));
    }
    kernel::Body* body = &KernelBuilder::guarded(outer, first);
    Point point{&m, std::vector<ir::Expr>(m.extent.size()), nullptr, {}, nullptr};
    for (std::size_t d = 0; d < point.offset.size(); ++d) body = &deal(*body, m, d, step, point.offset[d]);
    Rewriter::Bindings at;
    ir::Expr inside;
    for (std::size_t d = 0; d < point.offset.size(); ++d) {
        point.place.push_back(space_.coordinate(m, d, point.offset[d]));
        at[m.definition.dims[d].var] = point.place.back();
        if (!interior) inside = both(inside, space_.inside(m, d, point.place.back()));
    }
    if (!interior && m.guard) inside = both(inside, space_.rewriter.instance(m.guard, at));
    body = &KernelBuilder::guarded(*body, inside);
    point.value = define(*body, m.definition.name, instance(point, interior));
    store(*body, point);
}

// -------------------------------------------------------------------------------------------------------- steady steps

/// All threads have points of the member, but for some in a warp at the end of its columns.
bool StreamKernel::is_regular(const Member& m) const {
    std::int64_t points = 1;
    for (std::size_t d = 0; d < m.extent.size(); ++d) {
        const std::int64_t most = turns(m, d), idle = most * lanes(m, d) - count(m, d);
        const bool columns = m.alignment[d].dim == space_.group.rank - 1;
        if (idle >= (columns ? kWarp : 1)) return false;
        points *= most;
    }
    for (std::size_t g = 0; g < space_.dims.size(); ++g) {
        if (!TileSpace::has(m, g) && space_.dims[g].lanes > 1) return false;
    }
    return points <= kUnrolledTurns;
}

/// A thread's offset in one dimension of a regular member, in one of its turns. Threads beyond the last column compute
/// that one.
ir::Expr StreamKernel::regular(kernel::Body& before, kernel::Body& body, const Member& m, std::size_t dim,
                               std::int64_t turn, const ir::Expr& step, ir::Expr& exists) {
    const plan::March::Member& own = rows(m);
    const std::int64_t points = count(m, dim), first = turn * lanes(m, dim);
    const ir::Expr i = sum(lane(m, dim), constant(first));
    const bool marches = dim == own.rows;
    if (!marches && first + lanes(m, dim) <= points) return space_.rewriter.expr(*space_.rewriter.linear(i));
    if (!marches) exists = both(exists, ir::binary(BinaryOp::Lt, i, constant(points)));
    ir::Expr& known = defined_[{m.alignment[dim].dim, points, marches ? own.ahead : 0, turn}];
    if (known) return known;
    const std::string name = space_.name(m, dim) + "_i";
    if (!marches)
        return known = space_.build.define(before, name, ir::binary(BinaryOp::Min, i, constant(points - 1)), 0);
    const ir::Expr at = sum(i, constant(own.ahead));
    known = space_.build.define(body, name, sum(product(step, constant(own.each)), at), 0);
    const ir::VarId row = ir::as<ir::Variable>(known)->id;
    first_rows_[row] = sum(at, constant(steady_begin_ * own.each));
    next_rows_[row] = sum(known, constant(own.each));
    return known;
}

/// The points of a steady step of which all threads have one, those of the latest members first.
std::vector<StreamKernel::Point> StreamKernel::regular_points(kernel::Body& before, kernel::Body& body,
                                                              const ir::Expr& step) {
    std::vector<Point> points;
    for (const Member* m : marching_) {
        if (!is_regular(*m)) continue;
        const std::size_t rank = m->extent.size();
        std::vector<std::int64_t> turn(rank, 0);
        for (std::size_t d = 0; d < rank;) {
            Point& point = points.emplace_back(Point{m, {}, nullptr, {}, nullptr});
            for (std::size_t k = 0; k < rank; ++k) {
                point.offset.push_back(regular(before, body, *m, k, turn[k], step, point.exists));
                point.place.push_back(space_.coordinate(*m, k, point.offset.back()));
            }
            point.value = instance(point, true);
            for (d = 0; d < rank && ++turn[d] == turns(*m, d); ++d) turn[d] = 0;
        }
    }
    return points;
}

/// Puts variables in the place of what the values read of global memory for certain. Returns what they are loaded with,
/// as it is in the step that reads them.
std::map<ir::VarId, ir::Expr> StreamKernel::load_ahead(kernel::Body& before, std::vector<Point>& points) {
    std::vector<ir::Expr> values;
    for (const Point& point : points) values.push_back(point.value);
    std::map<ir::VarId, ir::Expr> loads;
    std::unordered_map<const ir::Node*, ir::Expr> loaded;
    for (const ir::Expr& e : ir::certain_reads(values)) {
        const ir::Read& read = *ir::as<ir::Read>(e);
        const bool is_plain = std::all_of(read.indices.begin(), read.indices.end(),
                                          [&](const ir::Expr& index) { return space_.rewriter.linear(index); });
        if (read.source.kind == ir::Source::Kind::Local || !is_plain || loads.size() == kLoads) continue;
        const auto array = static_cast<std::size_t>(read.source.index);
        const ir::Pipeline& pipeline = space_.program.pipeline;
        const bool is_input = read.source.kind == ir::Source::Kind::Input;
        const ir::VarId var =
            space_.build.variable(is_input ? pipeline.inputs[array].name : pipeline.stages[array].name, e->type);
        loads[var] = e;
        loaded[e.get()] = ir::variable(var, e->type);
        const ir::Expr nothing = e->type == ir::Type::Bool ? ir::bool_constant(false) : ir::constant(e->type, 0);
        add(before, kernel::Variable{var, steady_begin_ == 0 ? space_.rewriter.instance(e, first_rows_) : nothing});
    }
    const Rewriter::Hook hook = [&](const ir::Expr& e) {
        const auto found = loaded.find(e.get());
        return found == loaded.end() ? e : found->second;
    };
    for (Point& point : points) point.value = space_.rewriter.instance(point.value, {}, hook);
    return loads;
}

/// The steady branch of a step, and what it takes before the march and in the other branch.
void StreamKernel::steady(kernel::Body& before, kernel::If& choice, const ir::Expr& step) {
    kernel::Body& body = choice.then;
    std::vector<Point> points = regular_points(before, body, step);
    const std::map<ir::VarId, ir::Expr> loads = load_ahead(before, points);
    const auto fetch = [&](kernel::Body& at, const ir::Expr& when, const Rewriter::Bindings& rows) {
        if (loads.empty()) return;
        kernel::If& branch = add(at, kernel::If{when, {}, {}, kernel::If::Uniform::Block});
        for (const auto& [var, read] : loads)
            add(branch.then, kernel::Assign{var, space_.rewriter.instance(read, rows)});
    };
    const auto uses_loads = [&](const ir::Expr& value) {
        bool found = false;
        ir::for_each_node(value, [&](const ir::Expr& e) {
            const auto* var = ir::as<ir::Variable>(e);
            found = found || (var != nullptr && loads.contains(var->id));
        });
        return found;
    };
    // The values that use what was loaded, so that the next loads can begin, then the others.
    const auto later = std::stable_partition(points.begin(), points.end(),
                                             [&](const Point& point) { return uses_loads(point.value); });
    const auto define_values = [&](auto begin, auto end) {
        for (auto p = begin; p != end; ++p) p->value = define(body, p->member->definition.name, p->value);
    };
    define_values(points.begin(), later);
    if (steady_begin_ + 1 < steady_end_)
        fetch(body, ir::binary(BinaryOp::Lt, step, constant(steady_end_ - 1)), next_rows_);
    define_values(later, points.end());
    for (const Member* m : marching_) {
        if (!is_regular(*m)) this->points(body, *m, step, true);
    }
    for (const Point& point : points) store(body, point);
    if (steady_begin_ > 0)
        fetch(choice.otherwise, ir::binary(BinaryOp::Eq, step, constant(steady_begin_ - 1)), first_rows_);
}

kernel::Body StreamKernel::code(bool interior) {
    kernel::Body body;
    for (const Member& m : space_.members) {
        if (rows(m).rows) continue;
        points(body, m, nullptr, interior);
        if (m.is_read) add(body, kernel::kBlockBarrier);
    }
    ir::Expr step;
    kernel::Body loop;
    kernel::Body& march = space_.build.loop(loop, "step", constant(0), constant(march_.steps), constant(1), step);
    kernel::Body* guarded = &march;
    if (interior && steady_begin_ < steady_end_) {
        kernel::If& choice = add(
            march,
            kernel::If{ir::binary(BinaryOp::Ge, step, constant(steady_begin_)), {}, {}, kernel::If::Uniform::Block});
        if (steady_end_ < march_.steps)
            choice.condition = both(choice.condition, ir::binary(BinaryOp::Lt, step, constant(steady_end_)));
        steady(body, choice, step);
        guarded = &choice.otherwise;
    }
    for (const Member* m : marching_) points(*guarded, *m, step, interior);
    if (!space_.build.kernel.shared.empty()) add(march, kernel::kBlockBarrier);
    body.push_back(std::move(loop.front()));
    return body;
}

kernel::Kernel StreamKernel::build() {
    return space_.kernel(space_.members.back().definition.name, [&](bool interior) { return code(interior); });
}

}  // namespace

std::variant<kernel::Step, std::string> stream_step(kernel::Program& program, const poly::Group& group,
                                                    const fusion::GroupSchedule& schedule) {
    auto plan = plan::make_plan(fusion::group_shape(program.pipeline, program.model, group), schedule);
    if (auto* reason = std::get_if<plan::Refusal>(&plan)) return std::move(*reason);
    StreamKernel builder(program, group, std::get<plan::Plan>(plan));
    if (auto reason = builder.refusal()) return *reason;
    return kernel::Step{{builder.build()}, plan::decided(std::get<plan::Plan>(plan).tiles)};
}

}  // namespace pipec::codegen
