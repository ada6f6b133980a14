// A cell is what one combination of the aligned dimensions' indices has: one element for each point of the free
// dimensions. All elements get their first values; behind a barrier the updates follow, loop after loop; and of a
// live-out the elements then go to global memory, side by side where they lie side by side there.
#include "codegen/tile_accumulate.h"

#include <algorithm>
#include <vector>

#include "codegen/kernel_build.h"
#include "codegen/rewrite.h"
#include "codegen/update_facts.h"
#include "ir/build.h"
#include "poly/gather.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Loops of no more points than this are written for the compiler to unroll, innermost ones and those over elements;
/// and all loops of a cell that has no more points than that, so that it reads many of them at once.
constexpr std::int64_t kUnrolled = 16;
constexpr std::int64_t kUnrolledCell = 64;

class TileAccumulate {
public:
    TileAccumulate(TileSpace& space, const TileArrays& arrays, const TileSpace::Member& m, std::int64_t lanes,
                   bool interior)
        : space_(space),
          arrays_(arrays),
          m_(m),
          accumulate_(std::get<ir::Accumulate>(m.definition.definition)),
          lanes_(lanes),
          interior_(interior),
          gather_(poly::find_gather(accumulate_)) {
        for (std::size_t d = 0; d < m.alignment.size(); ++d) {
            if (m.alignment[d].dim < 0) gather_.release(d);
        }
    }

    void write(kernel::Body& body) {
        initialise(each_cell(body));
        barrier(body);
        for (std::size_t first = 0; first < accumulate_.updates.size();) {
            const Updates together = updates_from(first);
            collect(each_cell(body), first, together);
            first += together.size();
        }
        if (!m_.live) return;
        barrier(body);
        write_out(body);
    }

private:
    using Updates = std::vector<ir::Update>;
    using Owners = std::vector<std::optional<poly::Owner>>;
    enum class Unrolls : std::uint8_t { Nobody, Compiler, Here };
    struct Point {
        Rewriter::Bindings at;
        ir::Expr exists;
    };
    struct Ready {
        ir::ReduceOp op;
        ir::Expr value;
        std::vector<ir::Expr> element;
        ir::Expr exists;
    };

    void barrier(kernel::Body& body) const {
        const auto scope = space_.per_warp ? kernel::Barrier::Scope::Warp : kernel::Barrier::Scope::Block;
        add(body, kernel::Barrier{scope});
    }
    [[nodiscard]] bool is_free(std::size_t dim) const { return m_.alignment[dim].dim < 0; }
    [[nodiscard]] ir::Expr coordinate(std::size_t dim) {
        return space_.rewriter.expr(space_.first(m_, dim).add(*space_.rewriter.linear(offset_[dim]), 1));
    }
    [[nodiscard]] Rewriter::Bindings point() {
        Rewriter::Bindings result;
        for (std::size_t d = 0; d < offset_.size(); ++d) result[m_.definition.dims[d].var] = coordinate(d);
        return result;
    }

    kernel::Body& share_out(kernel::Body& body, std::int64_t count, ir::Expr& number);
    kernel::Body& each_cell(kernel::Body& body);
    void initialise(kernel::Body& body);
    Updates updates_from(std::size_t first) const;
    void collect(kernel::Body& body, std::size_t first, const Updates& together);
    kernel::Body& points(kernel::Body& body, const ir::Update& update, std::size_t range, std::size_t dim,
                         const poly::Owner& owner, Unrolls unrolls);
    static bool is_unrolled(const ir::Update& update, const Owners& owners, std::size_t range);
    template <class Place>
    kernel::Body& each_point(kernel::Body& body, const std::string& name, std::int64_t width, Unrolls unrolls,
                             const Place& place);
    Ready ready(kernel::Body& body, const ir::Update& u, bool defines);
    void perform(kernel::Body& body, const Ready& update);
    void update_cell(kernel::Body& body, const Updates& together);
    bool within(const ir::Range& range, std::size_t dim, const poly::Owner& owner);
    void write_out(kernel::Body& body);

    TileSpace& space_;
    const TileArrays& arrays_;
    const TileSpace::Member& m_;
    const ir::Accumulate& accumulate_;
    const std::int64_t lanes_;
    const bool interior_;
    poly::Gather gather_;
    std::vector<ir::Expr> offset_;     ///< of the lane's cell, from the first one of the tile's part; by dimension
    Rewriter::Bindings at_;            ///< the loops' variables
    std::vector<Point> side_by_side_;  ///< the innermost points, where they are not a loop
    ir::Expr exists_;                  ///< the loops are at a point that there is; null where that is certain
};

/// Opens a loop over those of `count` things that are the lane's.
kernel::Body& TileAccumulate::share_out(kernel::Body& body, std::int64_t count, ir::Expr& number) {
    number = space_.lane;
    if (count == lanes_) return body;
    if (count < lanes_) return KernelBuilder::guarded(body, ir::binary(BinaryOp::Lt, number, constant(count)));
    return space_.build.loop(body, "cell", space_.lane, constant(count), constant(lanes_), number);
}

/// Columns are innermost, as in the array.
kernel::Body& TileAccumulate::each_cell(kernel::Body& outer) {
    std::vector<std::size_t> order = arrays_.axes(m_).order;
    std::erase_if(order, [&](std::size_t d) { return is_free(d); });
    std::int64_t left = 1;
    for (const std::size_t d : order) left *= m_.extent[d].count;
    ir::Expr rest;
    kernel::Body* body = &share_out(outer, left, rest);
    offset_.assign(m_.alignment.size(), constant(0));
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
        const std::int64_t count = m_.extent[*d].count;
        if (count == 1) continue;
        const bool last = count == left;
        const ir::Expr i = last ? rest : ir::binary(BinaryOp::Mod, rest, constant(count));
        offset_[*d] = last ? rest : space_.build.define(*body, space_.name(m_, *d) + "_i", i, 0);
        left /= count;
        if (!last) rest = space_.build.define(*body, "cell", ir::binary(BinaryOp::Div, rest, constant(count)), 0);
    }
    if (interior_) return *body;
    ir::Expr inside;
    for (const std::size_t d : order) inside = both(inside, space_.inside(m_, d, coordinate(d)));
    return KernelBuilder::guarded(*body, inside);
}

void TileAccumulate::initialise(kernel::Body& outer) {
    kernel::Body* body = &outer;
    for (std::size_t d = 0; d < offset_.size(); ++d) {
        if (!is_free(d) || m_.extent[d].count == 1) continue;
        body = &space_.build.loop(*body, space_.name(m_, d), constant(0), constant(m_.extent[d].count), constant(1),
                                  offset_[d], m_.extent[d].count <= kUnrolled);
    }
    const ir::Expr value = space_.rewriter.instance(interior_ ? m_.interior.value : m_.value, point());
    add(*body,
        kernel::Store{{ir::Source::Kind::Local, arrays_.of(m_)}, arrays_.indices(m_, offset_), {value}, nullptr});
}

/// The updates that one loop may do together: their loops are the same, and so are the cells that they belong to, and
/// no element can tell that they take turns.
TileAccumulate::Updates TileAccumulate::updates_from(std::size_t first) const {
    Updates together{accumulate_.updates[first]};
    const auto take_turns = [](const ir::Update& a, const ir::Update& b) {
        for (std::size_t d = 0; d < a.indices.size(); ++d) {
            const auto i = ir::as_int(a.indices[d]), j = ir::as_int(b.indices[d]);
            if (i && j && *i != *j) return true;  // other elements
        }
        return a.op == b.op && !rounds(a);
    };
    while (first + together.size() < accumulate_.updates.size()) {
        const std::size_t next = first + together.size();
        auto update = with_domain_of(together.front(), accumulate_.updates[next]);
        const bool fits = update && gather_.owners[next] == gather_.owners[first] &&
                          std::all_of(together.begin(), together.end(),
                                      [&](const auto& other) { return take_turns(other, *update); });
        if (!fits) break;
        together.push_back(std::move(*update));
    }
    return together;
}

/// Whether tiles of the interior own points of the range only, which is then asked for.
bool TileAccumulate::within(const ir::Range& range, std::size_t dim, const poly::Owner& owner) {
    if (!interior_ || !is_size_arithmetic(range.lo) || !is_size_arithmetic(range.hi)) return false;
    const ir::Expr lo = space_.rewriter.instance(range.lo, {}), hi = space_.rewriter.instance(range.hi, {});
    if (!space_.rewriter.linear(lo) || !space_.rewriter.linear(hi)) return false;
    const poly::TileExtent& cells = m_.extent[dim];
    space_.accesses.push_back({static_cast<std::size_t>(m_.alignment[dim].dim),
                               {lo, hi},
                               owner.width * space_.points(m_, dim),
                               {owner.width * cells.first - owner.shift, owner.width * cells.count}});
    return true;
}

/// Opens the loop over the points of a range that the cell owns.
kernel::Body& TileAccumulate::points(kernel::Body& outer, const ir::Update& update, std::size_t range, std::size_t dim,
                                     const poly::Owner& owner, Unrolls unrolls) {
    const ir::Range& r = update.domain[range];
    const std::string name = space_.program.pipeline.variables.at(static_cast<std::size_t>(r.var)).name;
    const ir::Expr cell = coordinate(dim);
    Linear first_of_cell{{}, -owner.shift};
    first_of_cell.add(*space_.rewriter.linear(cell), owner.width);
    kernel::Body* body = &outer;
    if (within(r, dim, owner)) {
        return each_point(*body, name, owner.width, unrolls, [&](kernel::Body& at_point, const ir::Expr& i) {
            Linear at = first_of_cell;
            at_[r.var] =
                space_.build.define(at_point, name, space_.rewriter.expr(at.add(*space_.rewriter.linear(i), 1)));
        });
    }
    // A cell far from the range, of which nothing would come, is left out: its points might be too far away for an
    // index.
    const ir::Expr lo = space_.rewriter.instance(r.lo, at_), hi = space_.rewriter.instance(r.hi, at_);
    const ir::Expr last = difference(hi, constant(1));
    const auto owner_of = [&](const ir::Expr& e) {
        return ir::binary(BinaryOp::Div, sum(e, constant(owner.shift)), constant(owner.width));
    };
    body = &KernelBuilder::guarded(
        *body, both(ir::binary(BinaryOp::Lt, lo, hi), both(ir::binary(BinaryOp::Ge, cell, owner_of(lo)),
                                                           ir::binary(BinaryOp::Le, cell, owner_of(last)))));
    const ir::Expr first = space_.build.define(*body, name + "_first", space_.rewriter.expr(first_of_cell));
    if (owner.width > kUnrolled) {
        const ir::Expr begin = space_.build.define(*body, name + "_begin", ir::binary(BinaryOp::Max, lo, first));
        const ir::Expr end =
            space_.build.define(*body, name + "_end", ir::binary(BinaryOp::Min, hi, sum(first, constant(owner.width))));
        return space_.build.loop(*body, name, begin, end, constant(1), at_[r.var]);
    }
    // Few points: in place of those outside of the range another one is read, and then nothing is done with it. So
    // reading does not wait for a condition, and all points are read at once.
    return each_point(*body, name, owner.width, unrolls,
                      [&, outer_exists = exists_](kernel::Body& at_point, const ir::Expr& i) {
                          const ir::Expr wanted = space_.build.define(at_point, name + "_wanted", sum(first, i));
                          const ir::Expr at = ir::binary(BinaryOp::Min, ir::binary(BinaryOp::Max, wanted, lo), last);
                          at_[r.var] = space_.build.define(at_point, name, at);
                          exists_ = both(outer_exists, ir::binary(BinaryOp::Eq, wanted, at_[r.var]));
                      });
}

/// A loop over a few points; the innermost ones where they can be read all at once stand side by side.
template <class Place>
kernel::Body& TileAccumulate::each_point(kernel::Body& outer, const std::string& name, std::int64_t width,
                                         Unrolls unrolls, const Place& place) {
    kernel::Body* body = &outer;
    if (unrolls == Unrolls::Here) {
        for (std::int64_t k = 0; k < width; ++k) {
            place(*body, constant(k));
            side_by_side_.push_back({at_, exists_});
        }
        return *body;
    }
    ir::Expr i = constant(0);
    if (width > 1) {
        body = &space_.build.loop(*body, name + "_i", constant(0), constant(width), constant(1), i,
                                  unrolls == Unrolls::Compiler);
    }
    place(*body, i);
    return *body;
}

/// Which loops of an update the compiler is to unroll: all where the points of a cell are few, or the innermost one.
bool TileAccumulate::is_unrolled(const ir::Update& update, const Owners& owners, std::size_t range) {
    std::int64_t points = 1;  // from `range` on
    for (std::size_t i = update.domain.size(); i-- > range;) {
        const auto owner =
            std::find_if(owners.begin(), owners.end(), [&](const auto& o) { return o && o->range == i; });
        const auto extent = constant_extent(update.domain[i].lo, update.domain[i].hi);
        points *= owner != owners.end() ? (*owner)->width : extent.value_or(kUnrolledCell + 1);
        if (points > (i + 1 == update.domain.size() ? kUnrolled : kUnrolledCell)) return false;
    }
    return true;
}

/// What an update does at the point that the loops are at. `defines`: all is evaluated at once.
TileAccumulate::Ready TileAccumulate::ready(kernel::Body& body, const ir::Update& u, bool defines) {
    Ready result{u.op, space_.rewriter.instance(u.value, at_), offset_, exists_};
    if (defines) {
        const ir::VarId var = space_.build.variable("value", m_.definition.type);
        add(body, kernel::Define{var, result.value});
        result.value = ir::variable(var, m_.definition.type);
    }
    for (std::size_t d = 0; d < offset_.size(); ++d) {
        if (!is_free(d)) continue;
        ir::Expr& i = result.element[d];
        i = space_.rewriter.instance(difference(u.indices[d], constant(m_.extent[d].first)), at_);
        if (defines && !ir::as_int(i))
            i = space_.build.define(body, space_.name(m_, d) + "_i", i, 0, 1, m_.extent[d].count);
    }
    return result;
}

void TileAccumulate::perform(kernel::Body& body, const Ready& update) {
    const bool exclusive = true;
    add(KernelBuilder::guarded(body, update.exists), kernel::Atomic{{ir::Source::Kind::Local, arrays_.of(m_)},
                                                                    arrays_.indices(m_, update.element),
                                                                    update.op,
                                                                    update.value,
                                                                    exclusive});
}

/// What the cell gets at the points that the loops are at.
void TileAccumulate::update_cell(kernel::Body& body, const Updates& together) {
    if (side_by_side_.empty()) {
        for (const ir::Update& u : together) {
            const ir::Expr guard = u.guard ? space_.rewriter.instance(u.guard, at_) : nullptr;
            kernel::Body& inner = guard ? KernelBuilder::guarded(body, both(exists_, guard)) : body;
            Ready update = ready(inner, u, exists_ && !guard);
            if (guard) update.exists = nullptr;
            perform(inner, update);
        }
        return;
    }
    std::vector<Ready> updates;
    for (const Point& point : side_by_side_) {
        at_ = point.at;
        exists_ = point.exists;
        for (const ir::Update& u : together) updates.push_back(ready(body, u, true));
    }
    for (const Ready& update : updates) perform(body, update);
}

void TileAccumulate::collect(kernel::Body& outer, std::size_t first, const Updates& together) {
    const ir::Update& update = together.front();
    const Owners& owners = gather_.owners[first];
    kernel::Body* body = &outer;
    at_.clear();
    exists_ = nullptr;
    side_by_side_.clear();
    const bool no_guard =
        std::none_of(together.begin(), together.end(), [](const auto& u) { return u.guard != nullptr; });
    for (std::size_t i = 0; i < update.domain.size(); ++i) {
        const auto dim =
            std::find_if(owners.begin(), owners.end(), [&](const auto& owner) { return owner && owner->range == i; });
        if (dim != owners.end()) {
            Unrolls how = is_unrolled(update, owners, i) ? Unrolls::Compiler : Unrolls::Nobody;
            if (how == Unrolls::Compiler && no_guard && (*dim)->width > 1 && i + 1 == update.domain.size())
                how = Unrolls::Here;
            body = &points(*body, update, i, static_cast<std::size_t>(dim - owners.begin()), **dim, how);
            continue;
        }
        const ir::Range& r = update.domain[i];
        const std::string& name = space_.program.pipeline.variables.at(static_cast<std::size_t>(r.var)).name;
        body = &space_.build.loop(*body, name, space_.rewriter.instance(r.lo, at_), space_.rewriter.instance(r.hi, at_),
                                  constant(1), at_[r.var], is_unrolled(update, owners, i));
    }
    update_cell(*body, together);
}

/// The elements that the tile owns, numbered in the order of the stage's dimensions.
void TileAccumulate::write_out(kernel::Body& outer) {
    std::vector<std::int64_t> counts;
    std::int64_t left = 1;
    for (std::size_t d = 0; d < m_.alignment.size(); ++d) {
        counts.push_back(is_free(d) ? m_.extent[d].count : space_.points(m_, d));
        left *= counts.back();
    }
    ir::Expr rest;
    kernel::Body* body = &share_out(KernelBuilder::guarded(outer, space_.writes(m_)), left, rest);
    for (std::size_t d = counts.size(); d-- > 0;) {
        const bool last = counts[d] == left;
        ir::Expr i = counts[d] == 1 ? constant(0) : last ? rest : ir::binary(BinaryOp::Mod, rest, constant(counts[d]));
        left /= counts[d];
        if (left > 1)
            rest = space_.build.define(*body, "cell", ir::binary(BinaryOp::Div, rest, constant(counts[d])), 0);
        if (!is_free(d)) i = sum(i, constant(-m_.extent[d].first));
        offset_[d] = ir::as_int(i) ? i : space_.build.define(*body, space_.name(m_, d) + "_i", i, 0);
    }
    std::vector<ir::Expr> at;
    ir::Expr inside;
    for (std::size_t d = 0; d < counts.size(); ++d) {
        at.push_back(coordinate(d));
        if (!interior_) inside = both(inside, space_.inside(m_, d, at.back()));
    }
    const ir::Expr value =
        ir::read({ir::Source::Kind::Local, arrays_.of(m_)}, m_.definition.type, arrays_.indices(m_, offset_));
    add(KernelBuilder::guarded(*body, inside),
        kernel::Store{{ir::Source::Kind::Stage, m_.stage}, at, {value}, nullptr});
}

}  // namespace

void accumulate_tile(kernel::Body& body, TileSpace& space, const TileArrays& arrays, const TileSpace::Member& m,
                     std::int64_t lanes, bool interior) {
    TileAccumulate(space, arrays, m, lanes, interior).write(body);
}

}  // namespace pipec::codegen
