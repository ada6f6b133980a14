// Stage after stage, each over the tile and its reach beyond it, into shared memory, with a barrier of the team where
// one stage touches memory that another one has touched.
#include "codegen/tile_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "codegen/kernel_build.h"
#include "codegen/lane_patches.h"
#include "codegen/pack.h"
#include "codegen/rewrite.h"
#include "codegen/shared_memory.h"
#include "codegen/tile_space.h"
#include "fusion/gpu.h"
#include "ir/build.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Points of a patch, and elements that it reads, which all are in registers at once.
constexpr std::int64_t kPatchPoints = 32;
constexpr std::int64_t kPatchReads = 96;
/// Turns with no more points than this are written for the compiler to unroll.
constexpr std::int64_t kUnrolledPoints = 32;

std::vector<TileSpace::Cut> cuts_of(const poly::Group& group, const fusion::GroupSchedule& schedule) {
    const bool per_warp = schedule.strategy == fusion::Strategy::Otpw;
    const std::array<int, 3> warp = warp_shape(schedule.block);
    std::vector<TileSpace::Cut> cuts;
    for (int g = 0; g < group.rank; ++g) {
        TileSpace::Cut& cut = cuts.emplace_back();
        const int axis = group.rank - 1 - g;
        const std::int64_t vector = axis == 0 ? schedule.vector : 1;
        cut.size = poly::tile_unit(group, g) * vector;  // one coordinate of the coarsest stage
        if (axis > 2) continue;
        const auto a = static_cast<std::size_t>(axis);
        cut.lanes = per_warp ? warp[a] : schedule.block[a];
        cut.teams = per_warp ? schedule.block[a] / warp[a] : 1;
        const std::int64_t unit = cut.size;
        cut.size = (static_cast<std::int64_t>(schedule.tile[a]) * cut.lanes + unit - 1) / unit * unit;
    }
    return cuts;
}

class TileKernel {
public:
    TileKernel(kernel::Program& program, const poly::Group& group, const fusion::GroupSchedule& schedule,
               kernel::Layout layout)
        : group_(poly::with_multiple(group, group.rank - 1, schedule.vector)),
          vector_(schedule.vector),
          layout_(layout),
          space_(program, group_, schedule.strategy == fusion::Strategy::Otpw, cuts_of(group_, schedule)),
          packs_(program, space_.build, space_.rewriter, layout == kernel::Layout::Wide) {}

    std::optional<std::string> prepare();
    kernel::Kernel build();
    [[nodiscard]] bool has_packs() const { return packs_.has_packs(); }

private:
    using Member = TileSpace::Member;
    /// A member's dimensions in its array: columns innermost, so that what a lane computes at once lies together.
    struct Axes {
        std::vector<std::size_t> order;            ///< from outermost to innermost
        std::optional<std::size_t> columns, rows;  ///< the dimensions that lie along the tile's x and y
    };

    void place_arrays();
    [[nodiscard]] std::int64_t bytes_of_team(const Member& m) const;
    [[nodiscard]] bool overlap(int a, int b) const;
    kernel::Body stages(bool interior);
    void stage(kernel::Body& body, const Member& m, bool interior);
    Patches patches_of(const Member& m, const Axes& axes, bool interior);
    kernel::Body& deal_out(kernel::Body& body, const Member& m, const Axes& axes, const Patches& patches, bool unrolls,
                           std::vector<ir::Expr>& first, ir::Expr& known_rows);
    ir::Expr owned(const Member& m, const std::vector<ir::Expr>& offset);
    ir::Expr coordinate(const Member& m, std::size_t dim, const ir::Expr& offset);
    std::vector<ir::Expr> place_in_array(const Member& m, const std::vector<ir::Expr>& offset);
    Rewriter::Hook local_reads();
    [[nodiscard]] Axes axes_of(const Member& m) const;
    [[nodiscard]] int array(const Member& m) const { return arrays_[group_.position(m.stage)]; }
    [[nodiscard]] Rewriter& rewriter() { return space_.rewriter; }
    [[nodiscard]] std::int64_t lanes() const {
        std::int64_t result = 1;
        for (const TileSpace::Dim& dim : space_.dims) result *= dim.lanes;
        return result;
    }

    const poly::Group group_;
    const std::int64_t vector_;
    const kernel::Layout layout_;
    TileSpace space_;
    PackWriter packs_;
    std::vector<int> arrays_;  ///< of members, in shared memory; -1: nobody in the group reads it
};

// ------------------------------------------------------------------------------------------------------- shared memory

TileKernel::Axes TileKernel::axes_of(const Member& m) const {
    Axes axes;
    for (std::size_t d = 0; d < m.alignment.size(); ++d) {
        if (m.alignment[d].dim >= 0 && m.alignment[d].dim == group_.rank - 1)
            axes.columns = d;
        else
            axes.order.push_back(d);
        if (m.alignment[d].dim >= 0 && m.alignment[d].dim == group_.rank - 2) axes.rows = d;
    }
    if (axes.columns) axes.order.push_back(*axes.columns);
    return axes;
}

std::int64_t TileKernel::bytes_of_team(const Member& m) const {
    std::int64_t bytes = ir::bytes(m.definition.type);
    for (const poly::TileExtent& extent : m.extent) bytes *= extent.count;
    return bytes;
}

/// Members that are never needed at the same time share memory, unless all fit without that.
void TileKernel::place_arrays() {
    std::vector<Lifetime> lifetimes;
    std::vector<kernel::SharedArray*> placed;
    std::vector<kernel::SharedArray>& shared = space_.build.kernel.shared;
    shared.reserve(space_.members.size());
    for (std::size_t i = 0; i < space_.members.size(); ++i) {
        const Member& m = space_.members[i];
        arrays_.push_back(m.is_read ? static_cast<int>(shared.size()) : -1);
        if (!m.is_read) continue;
        kernel::SharedArray& array = shared.emplace_back();
        array.name = m.definition.name + "_tile";
        array.type = m.definition.type;
        if (space_.teams > 1) array.extents.push_back(space_.teams);
        for (const std::size_t d : axes_of(m).order) array.extents.push_back(m.extent[d].count);
        Lifetime lifetime{i, i, bytes_of_team(m)};
        for (const poly::GroupEdge& edge : group_.edges) {
            if (edge.producer == m.stage) lifetime.last = std::max(lifetime.last, group_.position(edge.reader));
        }
        lifetimes.push_back(lifetime);
        placed.push_back(&array);
    }
    const std::vector<std::int64_t> offsets = codegen::place_arrays(lifetimes);
    std::int64_t apart = 0, scratch = 0;  // bytes of a team
    for (std::size_t i = 0; i < placed.size(); ++i) {
        const auto aligned = [](std::int64_t bytes) {
            return (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
        };
        apart += aligned(lifetimes[i].bytes);
        scratch = std::max(scratch, aligned(offsets[i] + lifetimes[i].bytes));
    }
    if (scratch == apart && apart * space_.teams <= kStaticSharedBytes) return;
    for (std::size_t i = 0; i < placed.size(); ++i) {
        placed[i]->offset = offsets[i];
        if (space_.teams > 1) placed[i]->pitch = scratch;
    }
}

std::optional<std::string> TileKernel::prepare() {
    place_arrays();
    const std::int64_t bytes = own_bytes(space_.build.kernel) + scratch_bytes(space_.build.kernel);
    const std::int64_t most = fusion::default_gpu().shared_per_block;
    if (bytes <= most) return std::nullopt;
    return fmt::format("its tiles take {} bytes of shared memory, but a block has {}", bytes, most);
}

/// Whether two arrays have memory in common.
bool TileKernel::overlap(int a, int b) const {
    if (a == b) return true;
    const auto& first = space_.build.kernel.shared[static_cast<std::size_t>(a)];
    const auto& second = space_.build.kernel.shared[static_cast<std::size_t>(b)];
    if (first.offset < 0 || second.offset < 0) return false;
    const auto bytes = [&](int array) {
        const auto found = std::find(arrays_.begin(), arrays_.end(), array);
        return bytes_of_team(space_.members[static_cast<std::size_t>(found - arrays_.begin())]);
    };
    return first.offset < second.offset + bytes(b) && second.offset < first.offset + bytes(a);
}

/// The indices of a point in a member's array; `offset` is from the first point of the tile's part.
std::vector<ir::Expr> TileKernel::place_in_array(const Member& m, const std::vector<ir::Expr>& offset) {
    std::vector<ir::Expr> indices;
    if (space_.teams > 1) indices.push_back(space_.team);
    for (const std::size_t d : axes_of(m).order) indices.push_back(offset[d]);
    return indices;
}

/// Members read each other's arrays at index - (first point of the tile's part).
Rewriter::Hook TileKernel::local_reads() {
    return [this](const ir::Expr& e) -> ir::Expr {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return e;
        const Member* m = space_.member(read->source.index);
        if (m == nullptr) return e;
        std::vector<ir::Expr> offset;
        for (std::size_t d = 0; d < read->indices.size(); ++d) {
            Linear base = space_.origin(*m, d);
            if (m->alignment[d].dim >= 0) base.constant += m->extent[d].first;
            if (auto sum = rewriter().linear(read->indices[d]))
                offset.push_back(rewriter().expr(sum->add(base, -1)));
            else
                offset.push_back(rewriter().unique(ir::binary(BinaryOp::Sub, read->indices[d], rewriter().expr(base))));
        }
        return ir::read({ir::Source::Kind::Local, array(*m)}, e->type, place_in_array(*m, offset), e->range);
    };
}

// ---------------------------------------------------------------------------------------------------------- one stage

/// The point of a member that is so far from the first one of the tile's part.
ir::Expr TileKernel::coordinate(const Member& m, std::size_t dim, const ir::Expr& offset) {
    Linear at = space_.origin(m, dim);
    if (m.alignment[dim].dim >= 0) at.constant += m.extent[dim].first;
    return rewriter().expr(at.add(*rewriter().linear(offset), 1));
}

/// Whether the tile, not one beside it, writes this point of a live-out; null where it writes all that it computes.
ir::Expr TileKernel::owned(const Member& m, const std::vector<ir::Expr>& offset) {
    ir::Expr result = space_.writes(m);
    for (std::size_t d = 0; d < offset.size(); ++d) {
        if (m.alignment[d].dim < 0) continue;
        const poly::TileExtent& extent = m.extent[d];
        const std::int64_t n = space_.points(m, d);
        if (extent.first < 0) result = both(result, ir::binary(BinaryOp::Ge, offset[d], constant(-extent.first)));
        if (extent.first + extent.count > n) {
            result = both(result, ir::binary(BinaryOp::Lt, offset[d], constant(n - extent.first)));
        }
    }
    return result;
}

/// Vectors and several rows where no point needs a guard of its own, single points elsewhere.
Patches TileKernel::patches_of(const Member& m, const Axes& axes, bool interior) {
    const std::int64_t columns = axes.columns ? m.extent[*axes.columns].count : 1;
    const std::int64_t rows = axes.rows ? m.extent[*axes.rows].count : 1;
    std::int64_t others = 1;
    for (const std::size_t d : axes.order) {
        if (d != axes.columns && d != axes.rows) others *= m.extent[d].count;
    }
    if (!interior) return {1, 1, columns, rows, others};
    const std::int64_t width = axes.columns ? vector_ : 1;
    const auto reads = [&](const Patches& patches) {
        std::vector<ir::Expr> values;
        for (std::int64_t i = 0; i < patches.rows * width; ++i) {
            Rewriter::Bindings point;
            const auto move = [&](std::size_t d, std::int64_t by) {
                const ir::VarId var = m.definition.dims[d].var;
                point[var] = sum(ir::variable(var, ir::Type::Int32), constant(by));
            };
            if (axes.columns) move(*axes.columns, i % width);
            if (axes.rows) move(*axes.rows, i / width);
            values.push_back(rewriter().instance(m.interior.value, point));
        }
        return static_cast<std::int64_t>(certain_reads(values).size());
    };
    const auto shapes = patches_by_cost(width, columns, rows, others, lanes(), kPatchPoints / width);
    for (const Patches& shape : shapes) {
        if (shape.rows == 1 || reads(shape) <= kPatchReads) return shape;
    }
    return shapes.front();
}

/// Opens the loop over the patches of a lane. `first` becomes the patch's first point, as offset from that of the
/// tile's part; its rows below `known_rows` (null: none) belong to the patch above, too.
kernel::Body& TileKernel::deal_out(kernel::Body& outer, const Member& m, const Axes& axes, const Patches& patches,
                                   bool unrolls, std::vector<ir::Expr>& first, ir::Expr& known_rows) {
    kernel::Body* body = &outer;
    const std::int64_t turns = patches.turns(lanes());
    ir::Expr rest = space_.lane;
    if (turns > 1) {
        const bool unroll = unrolls && turns * patches.columns * patches.rows <= kUnrolledPoints;
        ir::Expr turn;
        body = &space_.build.loop(*body, "turn", constant(0), constant(turns), constant(1), turn, unroll);
        rest = space_.build.define(*body, "patch", sum(product(turn, constant(lanes())), rest), 0);
    }
    if (patches.count() % lanes() != 0) {
        body = &KernelBuilder::guarded(*body, ir::binary(BinaryOp::Lt, rest, constant(patches.count())));
    }
    std::int64_t left = patches.count();  // values of `rest`
    first.resize(m.definition.dims.size());
    for (auto d = axes.order.rbegin(); d != axes.order.rend(); ++d) {
        const std::int64_t extent = m.extent[*d].count;
        const std::int64_t count = *d == axes.columns ? patches.across : *d == axes.rows ? patches.down : extent;
        ir::Expr i = constant(0);
        if (count > 1 && count == left) {
            i = rest;
        } else if (count > 1) {
            i = ir::binary(BinaryOp::Mod, rest, constant(count));
            rest = space_.build.define(*body, "patch", ir::binary(BinaryOp::Div, rest, constant(count)), 0);
        }
        left /= count;
        std::int64_t step = 1;
        if (*d == axes.columns) step = patches.columns;
        if (*d == axes.rows) step = patches.rows;
        if (count > 1) {
            i = space_.build.define(*body, space_.name(m, *d) + "_i", product(i, constant(step)), 0, step);
        }
        if (*d == axes.rows && extent % step != 0) {
            known_rows = i;
            i = space_.build.define(*body, space_.name(m, *d) + "_i",
                                    ir::binary(BinaryOp::Min, i, constant(extent - step)), 0);
        }
        first[*d] = rewriter().unique(i);
    }
    return *body;
}

/// One stage over its part of the tile.
void TileKernel::stage(kernel::Body& outer, const Member& m, bool interior) {
    const Axes axes = axes_of(m);
    const Patches patches = patches_of(m, axes, interior);
    std::vector<ir::Expr> first;
    ir::Expr known_rows;
    kernel::Body* body = &deal_out(outer, m, axes, patches, interior, first, known_rows);

    std::vector<std::vector<ir::Expr>> offsets;  // of the patch's points, row by row
    std::vector<ir::Expr> values;
    std::vector<Element> local, global;
    ir::Expr inside;
    for (std::int64_t i = 0; i < patches.rows * patches.columns; ++i) {
        std::vector<ir::Expr>& offset = offsets.emplace_back(first);
        const auto move = [&](std::size_t d, std::int64_t by) {
            Linear at = *rewriter().linear(first[d]);
            at.constant += by;
            offset[d] = rewriter().expr(at);
        };
        if (axes.columns) move(*axes.columns, i % patches.columns);
        if (axes.rows) move(*axes.rows, i / patches.columns);
        Rewriter::Bindings point;
        Element& target = global.emplace_back(Element{{ir::Source::Kind::Stage, m.stage}, {}});
        for (std::size_t d = 0; d < offset.size(); ++d) {
            target.indices.push_back(coordinate(m, d, offset[d]));
            point[m.definition.dims[d].var] = target.indices.back();
            if (!interior) inside = both(inside, space_.inside(m, d, target.indices.back()));
        }
        if (!interior && m.guard) inside = both(inside, rewriter().instance(m.guard, point));
        if (m.is_read) local.push_back({{ir::Source::Kind::Local, array(m)}, place_in_array(m, offset)});
        values.push_back(rewriter().instance(interior ? m.interior.value : m.value, point, local_reads()));
    }
    body = &KernelBuilder::guarded(*body, inside);
    packs_.load(*body, values);
    for (ir::Expr& value : values) {
        const ir::VarId var = space_.build.variable(m.definition.name, m.definition.type);
        add(*body, kernel::Define{var, value});
        value = ir::variable(var, m.definition.type);
    }
    for (std::int64_t row = 0; row < patches.rows; ++row) {
        const auto of_row = [&](const auto& list) {
            const auto begin = list.begin() + row * patches.columns;
            return std::decay_t<decltype(list)>(begin, begin + patches.columns);
        };
        const std::vector<ir::Expr>& offset = offsets[static_cast<std::size_t>(row * patches.columns)];
        ir::Expr is_new;
        if (known_rows && row + 1 < patches.rows) is_new = ir::binary(BinaryOp::Ge, offset[*axes.rows], known_rows);
        kernel::Body& target = KernelBuilder::guarded(*body, is_new);
        if (m.is_read) packs_.store(target, of_row(local), of_row(values));
        if (m.live) packs_.store(KernelBuilder::guarded(target, owned(m, offset)), of_row(global), of_row(values));
    }
}

// --------------------------------------------------------------------------------------------------------- all stages

kernel::Body TileKernel::stages(bool interior) {
    kernel::Body body;
    std::vector<int> written, read;  // arrays, since the last barrier
    const auto touches = [&](const std::vector<int>& arrays, int array) {
        return std::any_of(arrays.begin(), arrays.end(), [&](int other) { return overlap(other, array); });
    };
    for (const Member& m : space_.members) {
        std::vector<int> reads;
        for (const poly::GroupEdge& edge : group_.edges) {
            if (edge.reader == m.stage) reads.push_back(arrays_[group_.position(edge.producer)]);
        }
        const bool waits =
            std::any_of(reads.begin(), reads.end(), [&](int array) { return touches(written, array); }) ||
            (m.is_read && (touches(written, array(m)) || touches(read, array(m))));
        if (waits) {
            const auto scope = space_.per_warp ? kernel::Barrier::Scope::Warp : kernel::Barrier::Scope::Block;
            add(body, kernel::Barrier{scope});
            written.clear();
            read.clear();
        }
        read.insert(read.end(), reads.begin(), reads.end());
        if (m.is_read) written.push_back(array(m));
        add(body, kernel::Remark{m.definition.name});
        stage(body, m, interior);
    }
    return body;
}

kernel::Kernel TileKernel::build() {
    const bool wide = layout_ == kernel::Layout::Wide;
    kernel::Kernel kernel = space_.kernel(space_.members.back().definition.name + (wide ? "_wide" : ""),
                                          [&](bool interior) { return stages(interior); });
    kernel.layout = layout_;
    return kernel;
}

}  // namespace

std::variant<kernel::Step, std::string> tile_step(kernel::Program& program, const poly::Group& group,
                                                  const fusion::GroupSchedule& schedule) {
    if (auto reason = check_block(schedule.block, group.rank)) return *reason;
    for (const int points : schedule.tile) {
        if (points < 1) return "a tile has at least one point";
    }
    const int vector = schedule.vector;
    if (vector < 1 || vector > 16 || !std::has_single_bit(static_cast<unsigned>(vector))) {
        return fmt::format("a vector of {} columns: it must be 1, 2, 4, 8 or 16", vector);
    }
    if (schedule.tile[0] % vector != 0) {
        return fmt::format("the {} columns of a thread are not made of vectors of {}", schedule.tile[0], vector);
    }
    kernel::Step step;
    for (const auto layout : {kernel::Layout::Wide, kernel::Layout::Dense}) {
        if (layout == kernel::Layout::Wide && vector == 1) continue;
        TileKernel builder(program, group, schedule, layout);
        if (auto reason = builder.prepare()) return *reason;
        kernel::Kernel kernel = builder.build();
        if (layout == kernel::Layout::Dense || builder.has_packs()) step.variants.push_back(std::move(kernel));
    }
    return step;
}

}  // namespace pipec::codegen
