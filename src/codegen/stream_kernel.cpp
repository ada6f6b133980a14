// A loop over the steps of the march. In its body the latest members stand first: what a member reads was written by
// earlier steps, so readers stand before what others write for the next steps, and the barrier at the end serves all of
// them.
//
// Threads have places: a thread computes the points of its own column, row of the step, and plane, and the threads
// beyond what a member has of them wait.
#include "codegen/stream_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/kernel_build.h"
#include "codegen/shared_memory.h"
#include "codegen/stream_windows.h"
#include "codegen/tile_space.h"
#include "fusion/gpu.h"
#include "ir/build.h"
#include "support/integers.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Turns of a thread that the compiler is asked to unroll.
constexpr std::int64_t kUnrolledTurns = 8;

std::vector<TileSpace::Cut> cuts_of(const poly::Group& group, const fusion::March& march,
                                    const std::array<int, 3>& block) {
    std::vector<TileSpace::Cut> cuts;
    for (int g = 0; g < group.rank; ++g) {
        const auto axis = static_cast<std::size_t>(group.rank - 1 - g);
        TileSpace::Cut& cut = cuts.emplace_back();
        cut.size = march.size[static_cast<std::size_t>(g)];
        if (axis <= 2) cut.lanes = block[axis];
    }
    return cuts;
}

class StreamKernel {
public:
    StreamKernel(kernel::Program& program, const poly::Group& group, fusion::March march,
                 const std::array<int, 3>& block)
        : march_(std::move(march)),
          space_(program, group, false, cuts_of(group, march_, block)),
          windows_(space_, march_) {}

    /// Why the windows are impossible; none where they are possible.
    [[nodiscard]] std::optional<std::string> refusal() const;
    kernel::Kernel build();

private:
    using Member = TileSpace::Member;
    /// Members that are computed in one go, as they have the same points in a step.
    using Members = std::vector<const Member*>;

    kernel::Body code(bool interior);
    [[nodiscard]] std::vector<Members> units() const;
    void points(kernel::Body& body, const Members& together, const ir::Expr& step, bool interior);
    kernel::Body& deal(kernel::Body& body, const Member& m, std::size_t dim, const ir::Expr& step, ir::Expr& offset);
    void compute(kernel::Body& body, const Members& together, const std::vector<ir::Expr>& offset, bool interior);
    [[nodiscard]] const fusion::March::Member& rows(const Member& m) const {
        return march_.members[space_.group.position(m.stage)];
    }

    const fusion::March march_;
    TileSpace space_;
    StreamWindows windows_;
};

std::optional<std::string> StreamKernel::refusal() const {
    const std::int64_t bytes = own_bytes(space_.build.kernel) + scratch_bytes(space_.build.kernel);
    const std::int64_t most = fusion::default_gpu().shared_per_block;
    if (bytes <= most) return std::nullopt;
    return fmt::format("its windows take {} bytes of shared memory, but a block has {}", bytes, most);
}

/// A thread's places in one dimension of a member: `offset` is from the first point that the block computes.
kernel::Body& StreamKernel::deal(kernel::Body& outer, const Member& m, std::size_t dim, const ir::Expr& step,
                                 ir::Expr& offset) {
    const fusion::March::Member& own = rows(m);
    const bool marches = dim == own.rows;
    const std::int64_t count = marches ? own.each : m.extent[dim].count;
    const int g = m.alignment[dim].dim;
    const std::int64_t lanes = g < 0 ? 1 : space_.dims[static_cast<std::size_t>(g)].lanes;
    const std::string name = space_.name(m, dim);
    kernel::Body* body = &outer;
    offset = lanes == 1 ? constant(0) : space_.dims[static_cast<std::size_t>(g)].lane;
    if (count > lanes) {
        const std::int64_t turns = ceil_quotient(count, lanes);
        ir::Expr turn;
        body = &space_.build.loop(*body, name + "_turn", constant(0), constant(turns), constant(1), turn,
                                  turns <= kUnrolledTurns);
        offset =
            lanes == 1 ? turn : space_.build.define(*body, name + "_i", sum(product(turn, constant(lanes)), offset), 0);
    }
    if (count % lanes != 0) body = &KernelBuilder::guarded(*body, ir::binary(BinaryOp::Lt, offset, constant(count)));
    if (!marches) return *body;
    // Before its first row a member waits for others to fill their windows, behind its last one for those to come.
    const ir::Expr from_first = sum(product(step, constant(own.each)), offset);
    offset = space_.build.define(*body, name + "_i", sum(from_first, constant(own.ahead)), own.ahead);
    ir::Expr exists;
    if (own.ahead < 0) exists = ir::binary(BinaryOp::Ge, offset, constant(0));
    if (march_.steps * own.each + own.ahead > own.count)
        exists = both(exists, ir::binary(BinaryOp::Lt, offset, constant(own.count)));
    return KernelBuilder::guarded(*body, exists);
}

void StreamKernel::points(kernel::Body& outer, const Members& together, const ir::Expr& step, bool interior) {
    const Member& m = *together.front();
    for (const Member* member : together) add(outer, kernel::Remark{member->definition.name});
    // Of a member without some of the dimensions, one of the threads that differ in them computes the points.
    ir::Expr first;
    for (std::size_t g = 0; g < space_.dims.size(); ++g) {
        if (TileSpace::has(m, g) || space_.dims[g].lanes == 1) continue;
        first = both(first, ir::binary(BinaryOp::Eq, space_.dims[g].lane, constant(0)));
    }
    kernel::Body* body = &KernelBuilder::guarded(outer, first);
    std::vector<ir::Expr> offset(m.extent.size());
    for (std::size_t d = 0; d < offset.size(); ++d) body = &deal(*body, m, d, step, offset[d]);
    compute(*body, together, offset, interior);
}

/// All values, then all stores: neighbours share what they read.
void StreamKernel::compute(kernel::Body& outer, const Members& together, const std::vector<ir::Expr>& offset,
                           bool interior) {
    kernel::Body* body = &outer;
    std::vector<ir::Expr> values;
    std::vector<std::vector<ir::Expr>> places;
    for (const Member* m : together) {
        Rewriter::Bindings point;
        std::vector<ir::Expr>& place = places.emplace_back();
        ir::Expr inside;
        for (std::size_t d = 0; d < offset.size(); ++d) {
            place.push_back(space_.coordinate(*m, d, offset[d]));
            point[m->definition.dims[d].var] = place.back();
            if (!interior) inside = both(inside, space_.inside(*m, d, place.back()));
        }
        if (!interior && m->guard) inside = both(inside, space_.rewriter.instance(m->guard, point));
        body = &KernelBuilder::guarded(*body, inside);
        const ir::VarId var = space_.build.variable(m->definition.name, m->definition.type);
        const ir::Expr& value = interior ? m->interior.value : m->value;
        add(*body, kernel::Define{var, space_.rewriter.instance(value, point, windows_.reads())});
        values.push_back(ir::variable(var, m->definition.type));
    }
    for (std::size_t i = 0; i < together.size(); ++i) {
        const Member& m = *together[i];
        if (m.is_read) {
            add(*body,
                kernel::Store{
                    {ir::Source::Kind::Local, windows_.of(m)}, windows_.indices(m, offset), {values[i]}, nullptr});
        }
        if (m.live) {
            add(*body,
                kernel::Store{{ir::Source::Kind::Stage, m.stage}, places[i], {values[i]}, space_.owned(m, offset)});
        }
    }
}

/// Members with rows, the latest ones first, those of the same points together.
std::vector<StreamKernel::Members> StreamKernel::units() const {
    std::vector<Members> units;
    for (const Member& m : space_.members) {
        if (!rows(m).rows) continue;
        const auto fits = [&](const Members& unit) {
            return rows(*unit.front()).late == rows(m).late && TileSpace::alike(*unit.front(), m);
        };
        const auto known = std::find_if(units.begin(), units.end(), fits);
        (known == units.end() ? units.emplace_back() : *known).push_back(&m);
    }
    std::stable_sort(units.begin(), units.end(),
                     [&](const Members& a, const Members& b) { return rows(*a.front()).late > rows(*b.front()).late; });
    return units;
}

kernel::Body StreamKernel::code(bool interior) {
    constexpr kernel::Barrier kBarrier{kernel::Barrier::Scope::Block};
    kernel::Body body;
    for (const Member& m : space_.members) {
        if (rows(m).rows) continue;
        points(body, {&m}, nullptr, interior);
        if (m.is_read) add(body, kBarrier);
    }
    ir::Expr step;
    kernel::Body& march = space_.build.loop(body, "step", constant(0), constant(march_.steps), constant(1), step);
    for (const Members& unit : units()) {
        if (interior)
            points(march, unit, step, true);
        else
            for (const Member* m : unit) points(march, {m}, step, false);
    }
    if (!space_.build.kernel.shared.empty()) add(march, kBarrier);
    return body;
}

kernel::Kernel StreamKernel::build() {
    return space_.kernel(space_.members.back().definition.name, [&](bool interior) { return code(interior); });
}

}  // namespace

std::variant<kernel::Step, std::string> stream_step(kernel::Program& program, const poly::Group& group,
                                                    const fusion::GroupSchedule& schedule) {
    if (auto reason = check_block(schedule.block, group.rank)) return *reason;
    for (const int points : schedule.tile) {
        if (points < 1) return "a tile has at least one point";
    }
    auto march = fusion::make_march(group, schedule.block, schedule.tile);
    if (auto* reason = std::get_if<std::string>(&march)) return *reason;
    StreamKernel builder(program, group, std::move(std::get<fusion::March>(march)), schedule.block);
    if (auto reason = builder.refusal()) return *reason;
    return kernel::Step{{builder.build()}};
}

}  // namespace pipec::codegen
