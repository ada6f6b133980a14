// Where a cell has few points they stand side by side, and all that they read is loaded before the first update: one
// update has to wait for another one of the same element, but no load for any of them.
#include "codegen/strategies/shared/cell_updates.h"

#include <algorithm>

#include "codegen/kernel/kernel_build.h"
#include "codegen/strategies/reduce/update_facts.h"
#include "ir/build.h"
#include "ir/certain_reads.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Loops over more points of a cell at the edges are from the range's first to its last one.
constexpr std::int64_t kMostEdgePoints = 16;
/// What points side by side read is in registers before the first update; values are evaluated for so many at once.
constexpr std::size_t kCellReads = 64, kEdgeReads = 16;
constexpr std::size_t kRun = 16;

}  // namespace

CellUpdates::CellUpdates(TileSpace& space, const TileArrays& arrays, PackWriter& packs, const TileSpace::Member& m,
                         bool interior)
    : space_(space),
      arrays_(arrays),
      packs_(packs),
      m_(m),
      accumulate_(std::get<ir::Accumulate>(m.definition.definition)),
      interior_(interior),
      gather_(poly::find_gather(accumulate_)) {
    for (std::size_t d = 0; d < m.alignment.size(); ++d) {
        if (is_free(d)) gather_.release(d);
    }
}

ir::Expr CellUpdates::coordinate(std::size_t dim) {
    return space_.rewriter.expr(space_.first(m_, dim).add(*space_.rewriter.linear(offset[dim]), 1));
}

/// The updates that one loop may do together: their loops are the same, and so are the cells that they belong to, and
/// no element can tell that they take turns.
CellUpdates::Updates CellUpdates::updates_from(std::size_t first) const {
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

void CellUpdates::read_ahead(kernel::Body& body) {
    const Updates together = updates_from(0);
    const std::vector<ir::Range>& domain = together.front().domain;
    const bool plain = std::all_of(domain.begin(), domain.end(), [&](const ir::Range& r) { return is_plain(r); });
    here_ = {};
    kernel::Body* same = &body;
    if (plain && stand_side_by_side(0, together, 0)) ahead_ = read_points(same, 0, together, 0);
}

void CellUpdates::collect(kernel::Body& body) {
    for (std::size_t first = 0; first < accumulate_.updates.size();) {
        const Updates together = updates_from(first);
        if (first == 0 && !ahead_.empty())
            perform_all(body, std::move(ahead_));
        else
            collect(body, first, together);
        first += together.size();
    }
}

void CellUpdates::collect(kernel::Body& outer, std::size_t first, const Updates& together) {
    const ir::Update& update = together.front();
    const Owners& owners = gather_.owners[first];
    kernel::Body* body = &outer;
    here_ = {};
    for (std::size_t i = 0; i < update.domain.size(); ++i) {
        if (stand_side_by_side(first, together, i)) {
            std::vector<Ready> updates = read_points(body, first, together, i);
            return perform_all(*body, std::move(updates));
        }
        const ir::Range& r = update.domain[i];
        if (const auto dim = dim_of(owners, i)) {
            each_point(body, r, *dim, *owners[*dim], i >= poly::first_unrolled(update, owners));
            continue;
        }
        const std::string& name = space_.program.pipeline.variables.at(static_cast<std::size_t>(r.var)).name;
        body = &space_.build.loop(*body, name, space_.rewriter.instance(r.lo, here_.at),
                                  space_.rewriter.instance(r.hi, here_.at), constant(1), here_.at[r.var],
                                  i >= poly::first_unrolled(update, owners));
    }
    update_point(*body, together);
}

// -------------------------------------------------------------------------------------------------------------- points

/// The dimension in which cells own the points of a range.
std::optional<std::size_t> CellUpdates::dim_of(const Owners& owners, std::size_t range) {
    for (std::size_t d = 0; d < owners.size(); ++d) {
        if (owners[d] && owners[d]->range == range) return d;
    }
    return std::nullopt;
}

/// The points of the ranges from this one on need no loops: they are some, but few, nothing is to be decided about one
/// after the other, and registers hold what all of them read.
bool CellUpdates::stand_side_by_side(std::size_t first, const Updates& together, std::size_t range) {
    const ir::Update& update = together.front();
    const Owners& owners = gather_.owners[first];
    if (range < poly::first_unrolled(update, owners)) return false;
    std::size_t points = 1;
    for (std::size_t i = range; i < update.domain.size(); ++i) {
        const auto dim = dim_of(owners, i);
        if (!dim || !is_size_arithmetic(update.domain[i].lo) || !is_size_arithmetic(update.domain[i].hi)) return false;
        points *= static_cast<std::size_t>(owners[*dim]->width);
    }
    std::vector<ir::Expr> values;
    for (const ir::Update& u : together) {
        if (u.guard) return false;
        values.push_back(space_.rewriter.instance(u.value, {}));
        for (const ir::Expr& index : u.indices) values.push_back(space_.rewriter.instance(index, {}));
    }
    // At the edges of the image code is long for each point, and tiles are few.
    const std::size_t most = interior_ ? kCellReads : kEdgeReads;
    return points > 1 && ir::certain_reads(values).size() * points <= most;
}

/// Tiles of the interior may be told by the range's ends.
bool CellUpdates::is_plain(const ir::Range& range) {
    const auto plain = [&](const ir::Expr& e) {
        return is_size_arithmetic(e) && space_.rewriter.linear(space_.rewriter.instance(e, {})).has_value();
    };
    return interior_ && plain(range.lo) && plain(range.hi);
}

/// The points of a range that the cell owns. That the range has all of them is asked for of tiles of the interior.
/// Elsewhere, a cell far from the range, of which nothing would come, is left out: its points might be too far away for
/// an index.
CellUpdates::Owned CellUpdates::open(kernel::Body*& body, const ir::Range& r, std::size_t dim,
                                     const poly::Owner& owner) {
    Owned owned;
    owned.name = space_.program.pipeline.variables.at(static_cast<std::size_t>(r.var)).name;
    const ir::Expr cell = coordinate(dim);
    owned.begin = Linear{{}, -owner.shift}.add(*space_.rewriter.linear(cell), owner.width);
    const ir::Expr lo = space_.rewriter.instance(r.lo, here_.at), hi = space_.rewriter.instance(r.hi, here_.at);
    if (is_plain(r)) {
        const poly::TileExtent& cells = m_.extent[dim];
        space_.accesses.push_back({static_cast<std::size_t>(m_.alignment[dim].dim),
                                   {lo, hi},
                                   owner.width * space_.points(m_, dim),
                                   {owner.width * cells.first - owner.shift, owner.width * cells.count}});
        return owned;
    }
    const auto owner_of = [&](const ir::Expr& e) {
        return ir::binary(BinaryOp::Div, sum(e, constant(owner.shift)), constant(owner.width));
    };
    owned.low = lo;
    owned.last = difference(hi, constant(1));
    body = &KernelBuilder::guarded(
        *body, both(ir::binary(BinaryOp::Lt, lo, hi), both(ir::binary(BinaryOp::Ge, cell, owner_of(lo)),
                                                           ir::binary(BinaryOp::Le, cell, owner_of(owned.last)))));
    owned.first = space_.build.define(*body, owned.name + "_first", space_.rewriter.expr(owned.begin));
    return owned;
}

/// Point `i` of them, and whether there is such a one (null: that is certain). In place of those outside of the range
/// another one is read, and then nothing is done with it: so reading does not wait for a condition.
std::pair<ir::Expr, ir::Expr> CellUpdates::place(kernel::Body& body, const Owned& owned, const ir::Expr& i,
                                                 bool defines) {
    if (!owned.first) {
        const ir::Expr at = space_.rewriter.expr(Linear{owned.begin}.add(*space_.rewriter.linear(i), 1));
        return {defines ? space_.build.define(body, owned.name, at) : at, nullptr};
    }
    const ir::Expr wanted = space_.build.define(body, owned.name + "_wanted", sum(owned.first, i));
    const ir::Expr inside = ir::binary(BinaryOp::Min, ir::binary(BinaryOp::Max, wanted, owned.low), owned.last);
    const ir::Expr at = space_.build.define(body, owned.name, inside);
    return {at, ir::binary(BinaryOp::Eq, wanted, at)};
}

/// Opens the loop over the points of a range that the cell owns.
void CellUpdates::each_point(kernel::Body*& body, const ir::Range& r, std::size_t dim, const poly::Owner& owner,
                             bool unroll) {
    const Owned owned = open(body, r, dim, owner);
    if (owned.first && owner.width > kMostEdgePoints) {
        const ir::Expr end = sum(owned.first, constant(owner.width));
        const ir::Expr hi = sum(owned.last, constant(1));
        const std::string& name = owned.name;
        const ir::Expr from =
            space_.build.define(*body, name + "_begin", ir::binary(BinaryOp::Max, owned.low, owned.first));
        const ir::Expr to = space_.build.define(*body, name + "_end", ir::binary(BinaryOp::Min, hi, end));
        body = &space_.build.loop(*body, name, from, to, constant(1), here_.at[r.var]);
        return;
    }
    ir::Expr i = constant(0);
    if (owner.width > 1) {
        body = &space_.build.loop(*body, owned.name + "_i", constant(0), constant(owner.width), constant(1), i, unroll);
    }
    const auto [at, exists] = place(*body, owned, i, true);
    here_.at[r.var] = at;
    here_.exists = both(here_.exists, exists);
}

/// The updates at all points of the ranges from this one on, and loads of what they read.
std::vector<CellUpdates::Ready> CellUpdates::read_points(kernel::Body*& body, std::size_t first,
                                                         const Updates& together, std::size_t range) {
    const Owners& owners = gather_.owners[first];
    const std::vector<ir::Range>& domain = together.front().domain;
    std::vector<Point> points{here_};
    for (std::size_t i = range; i < domain.size(); ++i) {
        const poly::Owner& owner = *owners[*dim_of(owners, i)];
        const Owned owned = open(body, domain[i], *dim_of(owners, i), owner);
        std::vector<std::pair<ir::Expr, ir::Expr>> places;
        for (std::int64_t k = 0; k < owner.width; ++k) places.push_back(place(*body, owned, constant(k), false));
        std::vector<Point> next;
        for (const Point& point : points) {
            for (const auto& [at, exists] : places) {
                next.push_back({point.at, both(point.exists, exists)});
                next.back().at[domain[i].var] = at;
            }
        }
        points = std::move(next);
    }
    std::vector<Ready> updates;
    std::vector<ir::Expr> values;
    for (const Point& point : points) {
        for (const ir::Update& u : together) {
            const Ready& update = updates.emplace_back(ready(u, point));
            values.push_back(update.value);
            values.insert(values.end(), update.element.begin(), update.element.end());
        }
    }
    packs_.load_ahead(*body, values);
    auto value = values.begin();
    for (Ready& update : updates) {
        update.value = *value++;
        for (ir::Expr& i : update.element) i = *value++;
    }
    return updates;
}

// ------------------------------------------------------------------------------------------------------------- updates

CellUpdates::Ready CellUpdates::ready(const ir::Update& update, const Point& point) {
    Ready result{update.op, space_.rewriter.instance(update.value, point.at), offset, point.exists};
    for (std::size_t d = 0; d < offset.size(); ++d) {
        if (!is_free(d)) continue;
        const ir::Expr i = difference(update.indices[d], constant(m_.extent[d].first));
        result.element[d] = space_.rewriter.instance(i, point.at);
    }
    return result;
}

/// Evaluates it.
void CellUpdates::define(kernel::Body& body, Ready& update) {
    const ir::VarId var = space_.build.variable("value", m_.definition.type);
    add(body, kernel::Define{var, update.value});
    update.value = ir::variable(var, m_.definition.type);
    for (std::size_t d = 0; d < offset.size(); ++d) {
        ir::Expr& i = update.element[d];
        if (is_free(d) && !ir::as_int(i))
            i = space_.build.define(body, space_.name(m_, d) + "_i", i, 0, 1, m_.extent[d].count);
    }
}

void CellUpdates::perform(kernel::Body& body, const Ready& update) {
    const bool exclusive = true;
    add(body, kernel::Atomic{{ir::Source::Kind::Local, arrays_.of(m_)},
                             arrays_.indices(m_, update.element),
                             update.op,
                             update.value,
                             exclusive});
}

void CellUpdates::perform_all(kernel::Body& body, std::vector<Ready> updates) {
    for (std::size_t begin = 0; begin < updates.size(); begin += kRun) {
        const std::size_t end = std::min(begin + kRun, updates.size());
        for (std::size_t i = begin; i < end; ++i) define(body, updates[i]);
        kernel::Body* where = &body;
        for (std::size_t i = begin; i < end; ++i) {
            const bool same_point = i > begin && updates[i].exists == updates[i - 1].exists;
            if (!same_point) where = &KernelBuilder::guarded(body, updates[i].exists);
            perform(*where, updates[i]);
        }
    }
}

/// The updates where the loops are.
void CellUpdates::update_point(kernel::Body& body, const Updates& together) {
    for (const ir::Update& u : together) {
        const ir::Expr guard = u.guard ? space_.rewriter.instance(u.guard, here_.at) : nullptr;
        kernel::Body& inner = guard ? KernelBuilder::guarded(body, both(here_.exists, guard)) : body;
        Ready update = ready(u, here_);
        if (here_.exists && !guard) define(inner, update);
        perform(guard ? inner : KernelBuilder::guarded(inner, here_.exists), update);
    }
}

}  // namespace pipec::codegen
