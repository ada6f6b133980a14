// A team (a block or a warp) computes one tile of the group's live-outs: stage after stage, each over the tile and its
// reach beyond it, into shared memory, with a barrier of the team between. Group dimension d is cut into tiles of
// size[d] coordinates; tile q begins at size[d] * q, so that a stage of scale s has its points from size[d] / s * q on,
// and the distance between points of two stages of one tile is a constant.
#include "codegen/tile_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "codegen/interior.h"
#include "codegen/kernel_build.h"
#include "codegen/lower.h"
#include "codegen/rewrite.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

constexpr int kWarp = 32;
constexpr std::int64_t kStaticSharedBytes = 48 * 1024;

/// floor(sum / divisor) of sizes.
struct Bound {
    Linear sum;
    std::int64_t divisor;
};

/// Keeps the tighter one of two bounds that differ by a constant.
void tighten(std::vector<Bound>& bounds, const Bound& bound, bool greatest) {
    for (Bound& other : bounds) {
        if (other.divisor != bound.divisor || other.sum.terms != bound.sum.terms) continue;
        const std::int64_t a = other.sum.constant, b = bound.sum.constant;
        other.sum.constant = greatest ? std::max(a, b) : std::min(a, b);
        return;
    }
    bounds.push_back(bound);
}

class TileKernel {
public:
    TileKernel(kernel::Program& program, const poly::Group& group, const TileShape& shape)
        : program_(program),
          group_(group),
          shape_(shape),
          rewriter_(program.pipeline),
          build_(program.pipeline, rewriter_) {}

    std::optional<std::string> prepare();
    kernel::Kernel build();

private:
    struct Member {
        int stage;
        ir::Stage definition;  // copies: adding variables must not move them
        poly::Domain domain;
        ir::Expr value, guard;
        Interior interior;
        std::vector<poly::TileExtent> extent;  ///< by dimension of the stage; whole dimensions from their first point
        bool live = false, owns_all = true;    ///< `owns_all`: all points that are computed belong to the tile
        int array = -1;                        ///< in shared memory; -1: nobody in the group reads it
    };
    /// One group dimension.
    struct Dim {
        int axis = -1;                    ///< 0, 1, 2: x, y, z; -1: one tile coordinate after the other, in the grid
        std::int64_t size = 1;            ///< of a tile, in group coordinates
        int lanes = 1;                    ///< of the team
        int teams = 1;                    ///< of a block
        ir::Expr tile, lane;              ///< the team's tile, the thread's number in the team
        ir::Expr first, end;              ///< tiles that there are
        ir::Expr inner_first, inner_end;  ///< tiles in the interior
    };

    void add_member(int stage);
    void find_tiles();
    void limits(std::size_t d, bool inner, std::vector<Bound>& lo, std::vector<Bound>& hi, bool& ok);
    ir::Expr merged(const std::vector<Bound>& bounds, bool greatest);
    void place_team(kernel::Body& body);
    kernel::Body stages(bool interior);
    void stage(kernel::Body& body, const Member& member, bool interior);
    ir::Expr local_index(const Member& member, std::size_t dim, const ir::Expr& index);
    Rewriter::Hook local_reads();
    [[nodiscard]] const Member* member(int stage) const {
        for (const Member& m : members_) {
            if (m.stage == stage) return &m;
        }
        return nullptr;
    }
    [[nodiscard]] std::int64_t points(std::size_t d, const poly::Alignment& a) const { return dims_[d].size / a.scale; }
    [[nodiscard]] const std::vector<poly::Alignment>& alignment(const Member& m) const {
        return group_.alignment[group_.position(m.stage)];
    }
    [[nodiscard]] std::string name(const Member& m, std::size_t dim) const {
        return program_.pipeline.variables.at(static_cast<std::size_t>(m.definition.dims[dim].var)).name;
    }

    kernel::Program& program_;
    const poly::Group& group_;
    TileShape shape_;
    Rewriter rewriter_;
    KernelBuilder build_;
    std::vector<Member> members_;
    std::vector<Dim> dims_;
    bool has_interior_ = true;
    int teams_ = 1;
    ir::Expr team_;  ///< the warp's number in its block
};

// ------------------------------------------------------------------------------------------------------------ geometry

std::optional<std::string> TileKernel::prepare() {
    const std::array<int, 3> warp = warp_shape(shape_.block);
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const int n = shape_.block[a];
        const bool power = n >= 1 && std::has_single_bit(static_cast<unsigned>(n));
        if (!power && !(axis == 0 && n % kWarp == 0 && n > 0)) {
            return fmt::format("{} threads in a dimension: it must be a power of two (or, in x, a multiple of 32)", n);
        }
        if (shape_.tile[a] < 1) return "a tile has at least one point";
    }
    const int threads = shape_.block[0] * shape_.block[1] * shape_.block[2];
    if (threads % kWarp != 0 || threads > 1024)
        return fmt::format("{} threads a block: 32 to 1024 make whole warps", threads);

    dims_.resize(static_cast<std::size_t>(group_.rank));
    for (int g = 0; g < group_.rank; ++g) {
        Dim& dim = dims_[static_cast<std::size_t>(g)];
        const int axis = group_.rank - 1 - g;
        const std::int64_t unit = poly::tile_unit(group_, g);
        dim.size = unit;
        if (axis > 2) continue;
        const auto a = static_cast<std::size_t>(axis);
        dim.axis = axis;
        dim.lanes = shape_.per_warp ? warp[a] : shape_.block[a];
        dim.teams = shape_.per_warp ? shape_.block[a] / warp[a] : 1;
        dim.size = static_cast<std::int64_t>(shape_.tile[a]) * dim.lanes;
        // Without lanes there is nothing to tile: one coordinate (of the coarsest stage) a tile.
        dim.size = (dim.size + unit - 1) / unit * unit;
        teams_ *= dim.teams;
    }
    // What a group of fewer dimensions has no use for.
    for (int axis = group_.rank; axis < 3; ++axis) {
        if (shape_.block[static_cast<std::size_t>(axis)] > 1) {
            return fmt::format("the group has {} dimensions, a block of threads with more is of no use", group_.rank);
        }
    }
    for (const int stage : group_.stages) add_member(stage);
    std::int64_t bytes = 0;
    for (const kernel::SharedArray& array : build_.kernel.shared) {
        std::int64_t count = ir::bytes(array.type);
        for (const std::int64_t extent : array.extents) count *= extent;
        bytes += count;
    }
    if (bytes > kStaticSharedBytes) {
        return fmt::format("its tiles take {} bytes of shared memory, but a block has {}", bytes, kStaticSharedBytes);
    }
    return std::nullopt;
}

void TileKernel::add_member(int stage) {
    const auto index = static_cast<std::size_t>(stage);
    Member m{stage, program_.pipeline.stages.at(index), program_.model.domains.at(index), {}, {}, {}, {}};
    for (std::size_t d = 0; d < m.definition.dims.size(); ++d) {
        rewriter_.index(m.definition.dims[d].var, 1, ir::as_int(m.domain.box[d].lo).value_or(-kernel::kVariableLimit));
    }
    m.value = rewriter_.instance(std::get<ir::Pure>(m.definition.definition).value, {});
    if (m.domain.guard) m.guard = rewriter_.instance(m.domain.guard, {});
    std::vector<bool> splits;  // a whole dimension belongs to one tile
    for (const poly::Alignment& a : group_.alignment[group_.position(stage)]) splits.push_back(a.dim >= 0);
    m.interior = find_interior(rewriter_, m.definition, m.domain, m.value, m.guard, splits);
    m.live = std::find(group_.live_outs.begin(), group_.live_outs.end(), stage) != group_.live_outs.end();
    const std::size_t position = group_.position(stage);
    kernel::SharedArray array{m.definition.name + "_tile", m.definition.type, {}};
    if (teams_ > 1) array.extents.push_back(teams_);
    for (std::size_t d = 0; d < m.definition.dims.size(); ++d) {
        const poly::Alignment& a = alignment(m)[d];
        if (a.dim < 0) {
            const std::int64_t lo = *ir::as_int(m.domain.box[d].lo), hi = *ir::as_int(m.domain.box[d].hi);
            m.extent.push_back({lo, hi - lo});
        } else {
            const auto g = static_cast<std::size_t>(a.dim);
            const poly::Distance& reach = group_.reach[position][g];
            m.extent.push_back(poly::tile_extent(a, reach, dims_[g].size));
            m.owns_all = m.owns_all && m.extent.back().first == 0 && m.extent.back().count == points(g, a);
        }
        array.extents.push_back(m.extent.back().count);
    }
    has_interior_ = has_interior_ && !m.interior.guard;
    const auto reads_it = [&](const poly::GroupEdge& edge) { return edge.producer == stage; };
    if (std::any_of(group_.edges.begin(), group_.edges.end(), reads_it)) {
        m.array = static_cast<int>(build_.kernel.shared.size());
        build_.kernel.shared.push_back(std::move(array));
    }
    members_.push_back(std::move(m));
}

/// Tiles q of dimension d with, for every live-out, a point in its domain, or (inner) for every member all points in
/// its interior.
void TileKernel::limits(std::size_t d, bool inner, std::vector<Bound>& lo, std::vector<Bound>& hi, bool& ok) {
    for (const Member& m : members_) {
        if (!inner && !m.live) continue;
        for (std::size_t i = 0; i < m.definition.dims.size(); ++i) {
            const poly::Alignment& a = alignment(m)[i];
            if (a.dim != static_cast<int>(d)) continue;
            const poly::Interval& box = inner ? m.interior.box[i] : m.domain.box[i];
            const auto begin = rewriter_.linear(box.lo), end = rewriter_.linear(box.hi);
            if (!begin || !end) {
                ok = false;
                return;
            }
            const std::int64_t n = points(d, a);
            Bound first{*begin, n}, last{*end, n};
            if (inner) {
                // n q + first >= begin  <=>  q >= ceil((begin - first) / n);  n q + first + count <= end
                first.sum.constant += n - 1 - m.extent[i].first;
                last.sum.constant += n - m.extent[i].first - m.extent[i].count;
            } else {
                last.sum.constant += n - 1;  // floor(begin / n) <= q < ceil(end / n)
            }
            tighten(lo, first, inner);
            tighten(hi, last, !inner);
        }
    }
}

ir::Expr TileKernel::merged(const std::vector<Bound>& bounds, bool greatest) {
    ir::Expr result;
    for (const Bound& bound : bounds) {
        ir::Expr e = rewriter_.expr(bound.sum);
        if (bound.divisor > 1) e = ir::binary(BinaryOp::Div, e, constant(bound.divisor));
        result = result ? ir::binary(greatest ? BinaryOp::Max : BinaryOp::Min, result, e) : e;
    }
    return result;
}

void TileKernel::find_tiles() {
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        std::vector<Bound> lo, hi, inner_lo, inner_hi;
        bool ok = true, inner_ok = true;
        limits(d, false, lo, hi, ok);
        dims_[d].first = merged(lo, false);
        dims_[d].end = merged(hi, true);
        limits(d, true, inner_lo, inner_hi, inner_ok);
        has_interior_ = has_interior_ && inner_ok;
        dims_[d].inner_first = merged(inner_lo, true);
        dims_[d].inner_end = merged(inner_hi, false);
    }
}

/// Defines each dimension's tile and lane.
void TileKernel::place_team(kernel::Body& body) {
    using Id = kernel::Special::Id;
    const int threads = shape_.block[0] * shape_.block[1] * shape_.block[2];
    const ir::Expr thread = build_.special(Id::ThreadX);
    build_.kernel.block = {threads, 1, 1};
    const auto div = [](const ir::Expr& a, const ir::Expr& b) { return ir::binary(BinaryOp::Div, a, b); };
    const auto mod = [](const ir::Expr& a, const ir::Expr& b) { return ir::binary(BinaryOp::Mod, a, b); };

    ir::Expr lane = thread, team = constant(0);
    if (shape_.per_warp) {
        lane = build_.define(body, "lane", mod(thread, constant(kWarp)), 0);
        if (teams_ > 1) team = team_ = build_.define(body, "warp", div(thread, constant(kWarp)), 0);
    }
    ir::Expr blocks = constant(1);
    for (auto dim = dims_.rbegin(); dim != dims_.rend(); ++dim) {
        const ir::Expr count = tile_count(dim->first, dim->end, dim->teams);
        blocks = count_product(blocks, count);
    }
    build_.kernel.grid[0] = blocks;

    ir::Expr block = build_.special(Id::BlockX);
    static constexpr const char* kAxes[] = {"x", "y", "z"};
    for (std::size_t d = dims_.size(); d-- > 0;) {
        Dim& dim = dims_[d];
        const std::string suffix = dim.axis >= 0 ? kAxes[dim.axis] : fmt::format("{}", d);
        if (dim.axis >= 0) {
            // x varies fastest, in the lanes of a team as in the teams of a block.
            const bool last = std::none_of(dims_.begin(), dims_.begin() + static_cast<std::ptrdiff_t>(d),
                                           [](const Dim& other) { return other.lanes > 1; });
            if (dim.lanes == 1)
                dim.lane = constant(0);
            else if (last)
                dim.lane = lane;
            else
                dim.lane = build_.define(body, "lane_" + suffix, mod(lane, constant(dim.lanes)), 0);
            if (dim.lanes > 1 && !last) lane = build_.define(body, "lane_rest", div(lane, constant(dim.lanes)), 0);
        }
        const ir::Expr count = tile_count(dim.first, dim.end, dim.teams);
        ir::Expr tile = block;
        if (d > 0) {
            const ir::Expr tiles = build_.argument("tiles_" + suffix, count, 1);
            tile = ir::as_int(tiles).value_or(0) == 1 ? constant(0) : mod(block, tiles);
            if (ir::as_int(tiles).value_or(0) != 1) block = div(block, tiles);
            if (d > 1 && ir::as<ir::Variable>(block) == nullptr) block = build_.define(body, "block", block, 0);
        }
        if (dim.teams > 1) {
            tile = ir::binary(BinaryOp::Add, ir::binary(BinaryOp::Mul, tile, constant(dim.teams)),
                              mod(team, constant(dim.teams)));
            team = div(team, constant(dim.teams));
        }
        const ir::Expr first = build_.argument("first_" + suffix, dim.first);
        if (ir::as_int(first).value_or(1) != 0) tile = ir::binary(BinaryOp::Add, tile, first);
        dim.tile = build_.define(body, "tile_" + suffix, tile);
    }
}

// --------------------------------------------------------------------------------------------------------------- code

/// Where in a member's array a point is: index - (first point of the tile).
ir::Expr TileKernel::local_index(const Member& m, std::size_t dim, const ir::Expr& index) {
    const poly::Alignment& a = alignment(m)[dim];
    Linear base{{}, m.extent[dim].first};
    if (a.dim >= 0) {
        const auto g = static_cast<std::size_t>(a.dim);
        base.add(*rewriter_.linear(dims_[g].tile), points(g, a));
    }
    if (const auto sum = rewriter_.linear(index)) {
        Linear difference = *sum;
        return rewriter_.expr(difference.add(base, -1));
    }
    return rewriter_.unique(ir::binary(BinaryOp::Sub, index, rewriter_.expr(base)));
}

Rewriter::Hook TileKernel::local_reads() {
    return [this](const ir::Expr& e) -> ir::Expr {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return e;
        const Member* m = member(read->source.index);
        if (m == nullptr) return e;
        std::vector<ir::Expr> indices;
        if (teams_ > 1) indices.push_back(team_);
        for (std::size_t d = 0; d < read->indices.size(); ++d) indices.push_back(local_index(*m, d, read->indices[d]));
        return ir::read({ir::Source::Kind::Local, m->array}, e->type, std::move(indices), e->range);
    };
}

/// One stage over its part of the tile: loops over what the lanes do not cover at once.
void TileKernel::stage(kernel::Body& outer, const Member& m, bool interior) {
    kernel::Body* body = &outer;
    const auto& dims = m.definition.dims;
    std::vector<ir::Expr> offset(dims.size());  // from the first point of the tile's part
    Rewriter::Bindings point;
    ir::Expr condition;
    // Lanes of dimensions that this stage has not would all compute the same.
    for (std::size_t g = 0; g < dims_.size(); ++g) {
        const auto& alignments = alignment(m);
        const bool has = std::any_of(alignments.begin(), alignments.end(),
                                     [&](const poly::Alignment& a) { return a.dim == static_cast<int>(g); });
        if (!has && dims_[g].lanes > 1) {
            condition = both(condition, ir::binary(BinaryOp::Eq, dims_[g].lane, constant(0)));
        }
    }
    body = &KernelBuilder::guarded(*body, condition);
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const poly::Alignment& a = alignment(m)[d];
        const std::int64_t count = m.extent[d].count;
        const int lanes = a.dim >= 0 ? dims_[static_cast<std::size_t>(a.dim)].lanes : 1;
        ir::Expr i;
        if (lanes == 1 && count == 1) {
            i = constant(0);
        } else if (count <= lanes) {
            i = dims_[static_cast<std::size_t>(a.dim)].lane;
        } else {
            const std::int64_t rounds = (count + lanes - 1) / lanes;
            body = &build_.loop(*body, name(m, d) + "_round", constant(0), constant(rounds), constant(1), i, true);
            if (lanes > 1) {
                i = ir::binary(BinaryOp::Mul, i, constant(lanes));
                i = build_.define(*body, name(m, d) + "_i",
                                  ir::binary(BinaryOp::Add, i, dims_[static_cast<std::size_t>(a.dim)].lane), 0);
            }
        }
        if (count % lanes != 0) body = &KernelBuilder::guarded(*body, ir::binary(BinaryOp::Lt, i, constant(count)));
        offset[d] = rewriter_.unique(i);
    }
    ir::Expr owned, inside;
    // Tiles along a dimension that a live-out has not would all write the same: the first one does.
    for (std::size_t g = 0; m.live && g < dims_.size(); ++g) {
        const auto& alignments = alignment(m);
        const bool has = std::any_of(alignments.begin(), alignments.end(),
                                     [&](const poly::Alignment& a) { return a.dim == static_cast<int>(g); });
        if (has) continue;
        owned = both(owned, ir::binary(BinaryOp::Eq, dims_[g].tile, build_.argument("first", dims_[g].first)));
    }
    std::vector<ir::Expr> indices, local;
    if (teams_ > 1) local.push_back(team_);
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const poly::Alignment& a = alignment(m)[d];
        Linear at{{}, m.extent[d].first};
        at.add(*rewriter_.linear(offset[d]), 1);
        if (a.dim >= 0)
            at.add(*rewriter_.linear(dims_[static_cast<std::size_t>(a.dim)].tile),
                   points(static_cast<std::size_t>(a.dim), a));
        const ir::Expr v = rewriter_.expr(at);
        point[dims[d].var] = v;
        indices.push_back(v);
        local.push_back(offset[d]);
        if (!interior && a.dim >= 0) {
            const poly::Interval& box = m.domain.box[d];
            inside = both(inside, ir::binary(BinaryOp::Ge, v, build_.argument(name(m, d) + "_begin", box.lo)));
            inside = both(inside, ir::binary(BinaryOp::Lt, v, build_.argument(name(m, d) + "_end", box.hi)));
        }
        if (!m.live || a.dim < 0) continue;
        const std::int64_t n = points(static_cast<std::size_t>(a.dim), a);
        const poly::TileExtent& extent = m.extent[d];
        if (extent.first < 0) owned = both(owned, ir::binary(BinaryOp::Ge, offset[d], constant(-extent.first)));
        if (extent.first + extent.count > n) {
            owned = both(owned, ir::binary(BinaryOp::Lt, offset[d], constant(n - extent.first)));
        }
    }
    if (!interior && m.guard) inside = both(inside, rewriter_.instance(m.guard, point));
    body = &KernelBuilder::guarded(*body, inside);
    const ir::Expr value = rewriter_.instance(interior ? m.interior.value : m.value, point, local_reads());
    const ir::VarId result = build_.variable(m.definition.name, m.definition.type);
    body->emplace_back(kernel::Stmt{kernel::Define{result, value}});
    const ir::Expr computed = ir::variable(result, m.definition.type);
    if (m.array >= 0) {
        body->emplace_back(kernel::Stmt{kernel::Store{{ir::Source::Kind::Local, m.array}, local, {computed}, nullptr}});
    }
    if (m.live) {
        body->emplace_back(kernel::Stmt{kernel::Store{{ir::Source::Kind::Stage, m.stage}, indices, {computed}, owned}});
    }
}

kernel::Body TileKernel::stages(bool interior) {
    kernel::Body body;
    bool pending = false;  // something was written that the next stage may read
    for (const Member& m : members_) {
        if (pending) {
            const auto scope = shape_.per_warp ? kernel::Barrier::Scope::Warp : kernel::Barrier::Scope::Block;
            const auto reads_member = [&](const poly::GroupEdge& edge) { return edge.reader == m.stage; };
            if (std::any_of(group_.edges.begin(), group_.edges.end(), reads_member)) {
                body.emplace_back(kernel::Stmt{kernel::Barrier{scope}});
                pending = false;
            }
        }
        body.emplace_back(kernel::Stmt{kernel::Remark{m.definition.name}});
        stage(body, m, interior);
        pending = pending || m.array >= 0;
    }
    return body;
}

kernel::Kernel TileKernel::build() {
    find_tiles();
    kernel::Kernel& kernel = build_.kernel;
    kernel.name = members_.back().definition.name;
    kernel.layout = kernel::Layout::Dense;
    place_team(kernel.body);
    const auto uniform = shape_.per_warp ? kernel::If::Uniform::Warp : kernel::If::Uniform::Block;
    kernel::Body* body = &kernel.body;
    ir::Expr exists, inner;
    for (const Dim& dim : dims_) {
        if (dim.teams > 1) {
            exists = both(exists, ir::binary(BinaryOp::Lt, dim.tile, build_.argument("end", dim.end)));
        }
        if (!has_interior_) continue;
        inner = both(inner, ir::binary(BinaryOp::Ge, dim.tile, build_.argument("inner_first", dim.inner_first)));
        inner = both(inner, ir::binary(BinaryOp::Lt, dim.tile, build_.argument("inner_end", dim.inner_end)));
    }
    if (exists) {
        body->emplace_back(kernel::Stmt{kernel::If{exists, {}, {}, uniform}});
        body = &std::get<kernel::If>(body->back().value).then;
    }
    if (!has_interior_ || !inner) {
        kernel::Body all = stages(false);
        body->insert(body->end(), all.begin(), all.end());
    } else {
        kernel::Body fast = stages(true), edge = stages(false);
        body->emplace_back(kernel::Stmt{kernel::If{inner, std::move(fast), std::move(edge), uniform}});
    }
    return kernel;
}

}  // namespace

std::array<int, 3> warp_shape(const std::array<int, 3>& block) {
    const int x = std::min(block[0], kWarp);
    const int y = std::min(block[1], kWarp / x);
    return {x, y, std::min(block[2], kWarp / (x * y))};
}

std::variant<kernel::Step, std::string> tile_step(kernel::Program& program, const poly::Group& group,
                                                  const TileShape& shape, const SourceManager& sources) {
    TileKernel builder(program, group, shape);
    if (auto reason = builder.prepare()) return *reason;
    kernel::Step step;
    step.variants.push_back(builder.build());
    for (const int stage : group.stages) {
        const auto lines = stage_comments(program.pipeline.stages.at(static_cast<std::size_t>(stage)), sources);
        auto& comments = step.variants.front().comments;
        comments.insert(comments.end(), lines.begin(), lines.end());
    }
    return step;
}

}  // namespace pipec::codegen
