// Stage after stage, each over the tile and its reach beyond it, into shared memory, with a barrier of the team where
// one stage touches memory that another one has touched.
#include "codegen/strategies/shared/tile_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codegen/expr/pack.h"
#include "codegen/expr/point_loops.h"
#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/kernel/shared_memory.h"
#include "codegen/strategies/shared/tile_accumulate.h"
#include "codegen/strategies/shared/tile_arrays.h"
#include "codegen/strategies/shared/tile_patches.h"
#include "codegen/strategies/shared/tile_vectors.h"
#include "codegen/strategies/tile_space.h"
#include "fusion/group_fields.h"
#include "fusion/uniform_work.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "plan/lane_patches.h"
#include "plan/make_plan.h"
#include "plan/tiles.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Turns with no more points than this, and of no more operations, are written for the compiler to unroll: more would
/// neither fit into registers nor into the instruction cache.
constexpr std::int64_t kUnrolledPoints = 32, kUnrolledOperations = 4096;

/// The schedule passes plan::check_schedule, so that there are such tiles.
plan::Plan plan_of(const fusion::GroupShape& shape, const fusion::GroupSchedule& schedule) {
    return std::get<plan::Plan>(plan::make_plan(shape, schedule));
}

class TileKernel {
public:
    TileKernel(kernel::Program& program, const poly::Group& group, const fusion::GroupSchedule& schedule,
               std::int64_t access_bytes)
        : group_(with_vectors(program, group, schedule.vector)),
          shape_(fusion::group_shape(program.pipeline, program.model, group_)),
          plan_(plan_of(shape_, schedule)),
          vector_(schedule.vector),
          space_(program, group_, plan_.tiles),
          arrays_(space_, shape_, plan_.shared),
          packs_(program, space_.build, space_.rewriter, access_bytes),
          lanes_(plan_.tiles.threads_of_group()),
          patches_(space_, shape_, arrays_, schedule.vector, access_bytes, lanes_) {}

    /// Why the tiles are impossible; none where they are possible.
    [[nodiscard]] std::optional<std::string> refusal() const;
    kernel::Kernel build();
    [[nodiscard]] const plan::Tiles& tiles() const { return plan_.tiles; }
    /// Bytes of the widest access to global memory; 0: all are of one element.
    [[nodiscard]] std::int64_t widest() const { return packs_.widest(); }
    /// Whether lanes may move several elements at once.
    [[nodiscard]] bool has_vectors() const {
        return vector_ > 1 || std::any_of(space_.members.begin(), space_.members.end(),
                                          [&](const Member& m) { return m.accumulates || arrays_.axes(m).whole; });
    }

private:
    using Member = TileSpace::Member;
    using Members = TilePatches::Members;
    /// What a lane computes at once.
    struct Patch {
        std::vector<ir::Expr> first;  ///< by dimension, from the first point of the tile's part
        std::int64_t columns = 1, rows = 1;
        ir::Expr known_rows;  ///< rows before this one belong to the patch above, too; may be null
    };

    /// What is known to be in the interior: all that the tile computes, or just the patch.
    enum class Known : std::uint8_t { Tile, Patch, Nothing };

    kernel::Body stages(bool interior);
    [[nodiscard]] static bool alike(const Member& a, const Member& b);
    [[nodiscard]] static bool exist_together(const Member& a, const Member& b);
    void interior_stage(kernel::Body& body, const Members& together);
    void edge_stage(kernel::Body& body, const Members& together);

    kernel::Body& deal_out(kernel::Body& body, const Member& m, const Patches& patches, std::int64_t unrolled,
                           Patch& patch);
    ir::Expr inside(const Member& m, const std::vector<ir::Expr>& offset);
    ir::Expr inside_interior(const Member& m, const Patch& patch);
    void compute(kernel::Body& body, const Members& together, const Patch& patch, Known known);
    void store_row(kernel::Body& body, const Member& m, const std::vector<ir::Expr>& offset,
                   const std::vector<ir::Expr>& values);

    ir::Expr moved(const ir::Expr& offset, std::int64_t by);
    [[nodiscard]] Rewriter& rewriter() { return space_.rewriter; }

    const poly::Group group_;
    const fusion::GroupShape shape_;
    const plan::Plan plan_;
    const std::int64_t vector_;
    TileSpace space_;
    TileArrays arrays_;
    PackWriter packs_;
    const std::int64_t lanes_;  ///< of a team
    TilePatches patches_;
};

std::optional<std::string> TileKernel::refusal() const {
    return shared_refusal(plan_.shared.bytes, space_.program.target, "its tiles");
}

// -------------------------------------------------------------------------------------------------------------- places

ir::Expr TileKernel::moved(const ir::Expr& offset, std::int64_t by) {
    Linear sum = *rewriter().linear(offset);
    sum.constant += by;
    return rewriter().expr(sum);
}

/// The point is in the member's domain.
ir::Expr TileKernel::inside(const Member& m, const std::vector<ir::Expr>& offset) {
    ir::Expr result;
    Rewriter::Bindings point;
    for (std::size_t d = 0; d < offset.size(); ++d) {
        const ir::Expr at = space_.coordinate(m, d, offset[d]);
        point[m.definition.dims[d].var] = at;
        result = both(result, space_.inside(m, d, at));
    }
    return m.guard ? both(result, rewriter().instance(m.guard, point)) : result;
}

/// All points of a patch of one row are in the member's interior.
ir::Expr TileKernel::inside_interior(const Member& m, const Patch& patch) {
    const auto& columns = arrays_.axes(m).columns;
    ir::Expr result;
    for (std::size_t d = 0; d < patch.first.size(); ++d) {
        if (m.alignment[d].dim < 0) continue;
        const std::string name = space_.name(m, d) + "_inner_";
        const ir::Expr at = space_.coordinate(m, d, patch.first[d]);
        const ir::Expr last = d == columns ? moved(at, patch.columns - 1) : at;
        const poly::Interval& box = m.interior.box[d];
        result = both(result, ir::binary(BinaryOp::Ge, at, space_.build.argument(name + "begin", box.lo)));
        result = both(result, ir::binary(BinaryOp::Lt, last, space_.build.argument(name + "end", box.hi)));
    }
    return result;
}

// ------------------------------------------------------------------------------------------------------------- patches

/// Opens the loop over the patches of a lane, for the compiler to unroll where these have at most `unrolled` points.
kernel::Body& TileKernel::deal_out(kernel::Body& outer, const Member& m, const Patches& patches, std::int64_t unrolled,
                                   Patch& patch) {
    const TileArrays::Axes& axes = arrays_.axes(m);
    kernel::Body* body = &outer;
    const std::int64_t turns = patches.turns(lanes_);
    ir::Expr rest = space_.lane;
    if (turns > 1) {
        const bool unroll = turns * patches.columns * patches.rows <= unrolled;
        ir::Expr turn;
        body = &space_.build.loop(*body, "turn", constant(0), constant(turns), constant(1), turn, unroll);
        rest = space_.build.define(*body, "patch", sum(product(turn, constant(lanes_)), rest), 0);
    }
    if (patches.count() % lanes_ != 0) {
        body = &KernelBuilder::guarded(*body, ir::binary(BinaryOp::Lt, rest, constant(patches.count())));
    }
    patch = {std::vector<ir::Expr>(m.definition.dims.size()), patches.columns, patches.rows, nullptr};
    std::int64_t left = patches.count();  // values of `rest`
    // The least digits of `rest`: the place in a block.
    const auto place = [&](std::int64_t count) {
        if (count == 1) return constant(0);
        const ir::Expr digit =
            space_.build.define(*body, "lane_i", ir::binary(BinaryOp::Mod, rest, constant(count)), 0);
        rest = space_.build.define(*body, "patch", ir::binary(BinaryOp::Div, rest, constant(count)), 0);
        left /= count;
        return digit;
    };
    const ir::Expr block_column = place(patches.block_across), block_row = place(patches.block_down);
    for (auto d = axes.order.rbegin(); d != axes.order.rend(); ++d) {
        const std::int64_t extent = m.extent[*d].count;
        const bool is_column = *d == axes.columns, is_row = *d == axes.rows;
        const std::int64_t count = is_column ? patches.across / patches.block_across
                                   : is_row  ? patches.down / patches.block_down
                                             : extent;
        const std::int64_t step = is_column ? patches.columns : is_row ? patches.rows : 1;
        const std::int64_t block = is_column ? patches.block_across : is_row ? patches.block_down : 1;
        const std::string name = space_.name(m, *d) + "_i";
        ir::Expr i = constant(0);
        if (count > 1) i = count == left ? rest : ir::binary(BinaryOp::Mod, rest, constant(count));
        if (block > 1) i = sum(product(i, constant(block)), is_column ? block_column : block_row);
        if (count * block > 1) i = space_.build.define(*body, name, product(i, constant(step)), 0, step);
        if (*d == axes.columns) i = moved(i, patches.skipped);
        if (count > 1 && count < left) {
            rest = space_.build.define(*body, "patch", ir::binary(BinaryOp::Div, rest, constant(count)), 0);
        }
        left /= count;
        if (*d == axes.rows && extent % step != 0) {
            patch.known_rows = i;
            i = space_.build.define(*body, name, ir::binary(BinaryOp::Min, i, constant(extent - step)), 0);
        }
        patch.first[*d] = rewriter().unique(i);
    }
    return *body;
}

/// Straight-line code for a patch: what it reads, then all values, then what it writes.
void TileKernel::compute(kernel::Body& body, const Members& together, const Patch& patch, Known known) {
    const TileArrays::Axes& axes = arrays_.axes(*together.front());
    std::vector<std::vector<ir::Expr>> offsets;
    std::vector<ir::Expr> values;  // member after member
    for (std::int64_t i = 0; i < patch.rows * patch.columns; ++i) {
        std::vector<ir::Expr>& offset = offsets.emplace_back(patch.first);
        if (axes.columns) offset[*axes.columns] = moved(offset[*axes.columns], i % patch.columns);
        if (axes.rows) offset[*axes.rows] = moved(offset[*axes.rows], i / patch.columns);
    }
    for (const Member* m : together) {
        for (const std::vector<ir::Expr>& offset : offsets) {
            Rewriter::Bindings point;
            for (std::size_t d = 0; d < offset.size(); ++d) {
                point[m->definition.dims[d].var] = space_.coordinate(*m, d, offset[d]);
            }
            values.push_back(
                rewriter().instance(known == Known::Nothing ? m->value : m->interior.value, point, arrays_.reads()));
        }
    }
    packs_.load(body, values, known == Known::Tile);
    PointLoops(space_.program, space_.build, rewriter(), packs_, known == Known::Tile).write(body, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const ir::Stage& stage = together[i / offsets.size()]->definition;
        const ir::VarId var = space_.build.variable(stage.name, stage.type);
        add(body, kernel::Define{var, values[i]});
        values[i] = ir::variable(var, stage.type);
    }
    for (std::int64_t row = 0; row < patch.rows; ++row) {
        const auto first = static_cast<std::size_t>(row * patch.columns);
        ir::Expr is_new;
        if (patch.known_rows && row + 1 < patch.rows) {
            is_new = ir::binary(BinaryOp::Ge, offsets[first][*axes.rows], patch.known_rows);
        }
        kernel::Body& target = KernelBuilder::guarded(body, is_new);
        for (std::size_t m = 0; m < together.size(); ++m) {
            const auto begin = values.begin() + static_cast<std::ptrdiff_t>(m * offsets.size() + first);
            store_row(target, *together[m], offsets[first], {begin, begin + patch.columns});
        }
    }
}

/// Values of adjacent columns, from `offset` on.
void TileKernel::store_row(kernel::Body& body, const Member& m, const std::vector<ir::Expr>& offset,
                           const std::vector<ir::Expr>& values) {
    const auto& columns = arrays_.axes(m).columns;
    std::vector<Element> local, global;
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::vector<ir::Expr> at = offset, point;
        if (columns) at[*columns] = moved(at[*columns], static_cast<std::int64_t>(i));
        for (std::size_t d = 0; d < at.size(); ++d) point.push_back(space_.coordinate(m, d, at[d]));
        local.push_back({{ir::Source::Kind::Local, arrays_.of(m)}, arrays_.indices(m, at)});
        global.push_back({{ir::Source::Kind::Stage, m.stage}, std::move(point)});
    }
    if (m.is_read) packs_.store(body, local, values);
    if (m.live) packs_.store(KernelBuilder::guarded(body, space_.owned(m, offset)), global, values);
}

// -------------------------------------------------------------------------------------------------------------- stages

void TileKernel::interior_stage(kernel::Body& outer, const Members& together) {
    std::int64_t operations = 0;
    for (const Member* m : together) operations += fusion::work_of(m->interior.value);
    const std::int64_t unrolled =
        std::min(kUnrolledPoints, kUnrolledOperations / std::max<std::int64_t>(1, operations));
    for (const Patches& patches : patches_.of(together)) {
        Patch patch;
        kernel::Body& body = deal_out(outer, *together.front(), patches, unrolled, patch);
        compute(body, together, patch, Known::Tile);
    }
}

/// At the edges of the image each point is asked whether it exists, but for vectors in the interior of the stage. The
/// columns of a whole dimension exist together: they are asked once, before the loop over them. (nvcc 13.0 crashes on
/// some loops that ask the same in every turn.)
void TileKernel::edge_stage(kernel::Body& outer, const Members& members) {
    const Member& m = *members.front();
    const TileArrays::Axes& axes = arrays_.axes(m);
    const Patches patches = patches_.at_edges(m);
    Patch patch;
    kernel::Body* body = &deal_out(outer, m, patches, 0, patch);
    const bool together = patches.columns > 1 && axes.whole && !m.guard;
    const ir::Expr exists = together ? inside(m, patch.first) : nullptr;
    if (together && !m.interior.simpler) {  // all that exists is interior
        compute(KernelBuilder::guarded(*body, exists), members, patch, Known::Patch);
        return;
    }
    if (patches.columns > 1) {
        kernel::If& choice = add(*body, kernel::If{inside_interior(m, patch), {}, {}});
        compute(choice.then, members, patch, Known::Patch);
        ir::Expr i;
        kernel::Body& rest = KernelBuilder::guarded(choice.otherwise, exists);
        body = &space_.build.loop(rest, space_.name(m, *axes.columns) + "_j", constant(0), constant(patches.columns),
                                  constant(1), i);
        patch.columns = 1;
        Linear at = *rewriter().linear(patch.first[*axes.columns]);
        patch.first[*axes.columns] = rewriter().expr(at.add(*rewriter().linear(i), 1));
    }
    const ir::Expr condition = together ? nullptr : inside(m, patch.first);
    compute(KernelBuilder::guarded(*body, condition), members, patch, Known::Nothing);
}

/// The same points of both are computed by a tile.
bool TileKernel::alike(const Member& a, const Member& b) {
    const auto same = [](const poly::TileExtent& x, const poly::TileExtent& y) {
        return x.first == y.first && x.count == y.count;
    };
    return a.alignment == b.alignment &&
           std::equal(a.extent.begin(), a.extent.end(), b.extent.begin(), b.extent.end(), same);
}

/// Wherever one has a point, so has the other, at the edges as well.
bool TileKernel::exist_together(const Member& a, const Member& b) {
    return !a.guard && !b.guard && poly::same_box(a.domain.box, b.domain.box) &&
           poly::same_box(a.interior.box, b.interior.box) && a.interior.simpler == b.interior.simpler;
}

kernel::Body TileKernel::stages(bool interior) {
    kernel::Body body;
    for (std::size_t i = 0; i < space_.members.size();) {
        Members together;
        while (i < space_.members.size()) {
            const Member& m = space_.members[i];
            const bool waits = plan_.shared.waits[i];
            const bool alone = m.accumulates || (!together.empty() && together.front()->accumulates);
            const bool goes_along = together.empty() || (!alone && !waits && alike(*together.front(), m) &&
                                                         (interior || exist_together(*together.front(), m)));
            if (!goes_along) break;
            if (waits) {
                const auto scope = space_.per_warp ? kernel::Barrier::Scope::Warp : kernel::Barrier::Scope::Block;
                add(body, kernel::Barrier{scope});
            }
            together.push_back(&m);
            add(body, kernel::Remark{m.definition.name});
            ++i;
        }
        if (together.front()->accumulates)
            accumulate_tile(body, space_, arrays_, packs_, *together.front(), lanes_, interior);
        else if (interior)
            interior_stage(body, together);
        else
            edge_stage(body, together);
    }
    return body;
}

kernel::Kernel TileKernel::build() {
    return space_.kernel(space_.members.back().definition.name, [&](bool interior) { return stages(interior); });
}

}  // namespace

std::variant<kernel::Step, std::string> tile_step(kernel::Program& program, const poly::Group& group,
                                                  const fusion::GroupSchedule& schedule) {
    if (auto reason = plan::check_schedule(schedule, group.rank)) return *reason;
    const int vector = schedule.vector;
    // Whole vectors where arrays are aligned for them, halves of 16 bytes where they are aligned for those; for other
    // arrays single columns, which lanes access side by side. Halves are for schedules that ask for vectors.
    kernel::Step step;
    std::vector<fusion::Choices> decided;
    fusion::GroupSchedule scalar = schedule;
    scalar.vector = 1;
    const auto widths = schedule.choices.access_widths.value_or(fusion::AccessWidths::All);
    for (const std::int64_t bytes : {16, 8, 0}) {
        if (bytes == 8 && (vector == 1 || widths == fusion::AccessWidths::Few)) continue;
        TileKernel builder(program, group, bytes > 0 ? schedule : scalar, bytes);
        if (auto reason = builder.refusal()) return *reason;
        if (bytes > 0 && !builder.has_vectors()) continue;
        kernel::Kernel kernel = builder.build();
        kernel.layout = bytes > 0 ? kernel::Layout::Wide : kernel::Layout::Dense;
        if (bytes > 0) kernel.name += fmt::format("_wide{}", builder.widest());
        const bool is_known = !step.variants.empty() && step.variants.back().name == kernel.name;
        if (bytes == 0 || (builder.widest() > 0 && !is_known)) {
            step.variants.push_back(std::move(kernel));
            decided.push_back(plan::decided(builder.tiles()));
        }
    }
    step.decided = fusion::agreed(decided);
    step.decided.access_widths = widths;
    return step;
}

}  // namespace pipec::codegen
