// A block goes along a line, slice after slice. The last slices are a ring in shared memory: a point reads it, and a
// barrier stands behind each slice. What does not depend on the scan (scan_terms.h), a thread computes for a few slices
// of its points at once, so that it waits for global memory once for all of them. What is the same for all points of a
// slice, such as the least value of the slice before, each warp computes once, its lanes together.
#include "codegen/strategies/scan/shared_slices.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "codegen/expr/chains.h"
#include "codegen/strategies/scan/slice_code.h"
#include "ir/build.h"
#include "ir/reduction.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

/// Reductions of fewer terms are not worth a warp's shuffles.
constexpr std::int64_t kLeastWarpTerms = 16;
/// Slices may be much shorter than what there is room for.
constexpr std::int64_t kMostRounds = 2;

/// A definition with a variable for each reduction that is the same for all points of a slice.
struct Shared {
    struct Common {
        ir::VarId var;
        ir::Expr reduce;
    };
    ir::Expr definition;
    std::vector<Common> common{};
};

class CommonParts {
public:
    CommonParts(ir::Pipeline& pipeline, int stage)
        : pipeline_(pipeline), index_(stage), stage_(pipeline.stages.at(static_cast<std::size_t>(stage))) {}

    Shared find() {
        result_.definition = without(std::get<ir::Pure>(stage_.definition).value);
        return std::move(result_);
    }

private:
    /// Only the scan is read, and neither a point's place in the slice nor a name for a value says what.
    bool is_same_for_all(const ir::Expr& e) {
        bool same = true, recursive = false;
        std::set<ir::VarId> own;
        ir::for_each_node(e, [&](const ir::Expr& node) {
            if (const auto* reduce = ir::as<ir::Reduce>(node)) {
                for (const ir::Range& range : reduce->ranges) own.insert(range.var);
            }
            if (ir::as<ir::Let>(node) != nullptr) same = false;
        });
        ir::for_each_node(e, [&](const ir::Expr& node) {
            if (const auto* read = ir::as<ir::Read>(node)) {
                recursive = true;
                same = same && read->source == ir::Source{ir::Source::Kind::Stage, index_};
            }
            if (const auto* variable = ir::as<ir::Variable>(node))
                same = same && (own.count(variable->id) > 0 || is_outer(variable->id));
        });
        return same && recursive;
    }

    /// A reduction that is, of enough terms.
    bool is_common(const ir::Expr& e) {
        const auto* n = ir::as<ir::Reduce>(e);
        if (n == nullptr || n->ranges.size() != 1 || ir::depends_on_blocks(n->op, e->type)) return false;
        if (n->op == ir::ReduceOp::ArgMin || n->op == ir::ReduceOp::ArgMax) return false;
        const auto terms = constant_extent(n->ranges[0].lo, n->ranges[0].hi);
        if (terms && *terms < kLeastWarpTerms) return false;
        bool common = is_same_for_all(e);
        ir::for_each_node(n->body,
                          [&](const ir::Expr& node) { common = common && ir::as<ir::Reduce>(node) == nullptr; });
        return common;
    }

    [[nodiscard]] bool is_outer(ir::VarId var) const {
        for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
            if (stage_.dims[d].var == var) return !stage_.scan->is_across(d);
        }
        return false;
    }

    ir::Expr without(const ir::Expr& e) {
        if (const auto known = replaced_.find(e.get()); known != replaced_.end()) return known->second;
        ir::Expr result;
        if (is_common(e)) {
            const ir::VarId var = ir::new_variable(pipeline_, "common", e->type);
            result_.common.push_back({var, e});
            result = ir::variable(var, e->type);
        } else if (const ir::Expr loops = is_same_for_all(e) ? with_loops(pipeline_, e) : e; loops != e) {
            result = without(loops);  // a constant range, which the front end has written out
        } else {
            result = ir::map_children(e, [&](const ir::Expr& child) { return child ? without(child) : child; });
        }
        return replaced_[e.get()] = result;
    }

    ir::Pipeline& pipeline_;
    const int index_;
    const ir::Stage stage_;  // a copy: adding variables must not move it
    Shared result_;
    std::unordered_map<const ir::Node*, ir::Expr> replaced_;
};

class SharedSlices : public SliceCode {
public:
    SharedSlices(kernel::Program& program, int stage, const Shared& parts)
        : SliceCode(program, stage, parts.definition), common_(parts.common) {}

    [[nodiscard]] std::vector<plan::SharedSliceTile> tiles() const;
    kernel::Kernel build(const plan::SharedSliceTile& tile);

private:
    ir::Expr number_of(const std::vector<ir::Expr>& indices, bool clamped);
    ir::Expr from_ring(const ir::Expr& e, bool clamped);
    void compute_terms(kernel::Body& body, const ir::Expr& chunk);
    void compute_common(kernel::Body& body);
    void compute_slice(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& turn);

    const std::vector<Shared::Common> common_;
    plan::SharedSliceTile tile_;
    ir::Expr thread_, slice_;
    ir::Expr position_;            ///< of the slice that is computed
    std::vector<ir::Expr> slots_;  ///< of the ring: of the slice itself, the one before, ...
    Rewriter::Bindings common_values_;
};

std::vector<plan::SharedSliceTile> SharedSlices::tiles() const {
    std::int64_t term_bytes = 0;
    for (std::size_t t = 0; t < terms_.of_scan; ++t) term_bytes += ir::bytes(terms_.terms[t].value->type);
    const plan::SlicePoint point{stage_.scan->distance, ir::bytes(stage_.type), term_bytes,
                                 static_cast<std::int64_t>(terms_.of_scan) + 1};
    return plan::make_shared_slice_tiles(ir::as_int(slice()), point, program_.target.gpu().shared_per_block);
}

/// Of a point of a slice in the order of memory. `clamped`: what may be no point becomes one.
ir::Expr SharedSlices::number_of(const std::vector<ir::Expr>& indices, bool clamped) {
    ir::Expr number;
    for (const std::size_t dim : slice_dims_) {
        const ir::Expr place = difference(indices[dim], first(dim));
        if (!number) {
            number = place;
            continue;
        }
        number = sum(product(number, build_.argument(name(dim) + "_row", extent(dim))), place);
    }
    if (!clamped) return number;
    return ir::binary(BinaryOp::Max, ir::binary(BinaryOp::Min, number, difference(slice_, constant(1))), constant(0));
}

/// A node, with reads of the scan from the ring.
ir::Expr SharedSlices::from_ring(const ir::Expr& e, bool clamped) {
    const auto* read = ir::as<ir::Read>(e);
    if (read == nullptr || read->source != ir::Source{ir::Source::Kind::Stage, index_}) return e;
    const auto k = static_cast<std::size_t>(slices_back(*read));
    return element(terms_.of_scan, stage_.type, slots_.at(k), number_of(read->indices, clamped));
}

/// Of the thread's points in the chunk's slices. Those behind the end are the last one again, so that no load has to
/// wait for a condition.
void SharedSlices::compute_terms(kernel::Body& body, const ir::Expr& chunk) {
    const std::int64_t rounds =
        std::min({(tile_.slice + tile_.threads - 1) / tile_.threads, kTermsAtOnce / tile_.slices, kMostRounds});
    ir::Expr number, round, is_own, turn = constant(0);
    kernel::Body* points = &build_.loop(body, "number", thread_, slice_, constant(rounds * tile_.threads), number);
    if (rounds > 1) {
        points = &build_.loop(*points, "round", constant(0), constant(rounds), constant(1), round, true);
        const ir::Expr next = build_.define(*points, "next", sum(number, product(round, constant(tile_.threads))), 0);
        is_own = ir::binary(BinaryOp::Lt, next, slice_);
        number = build_.define(*points, "number", ir::binary(BinaryOp::Min, next, difference(slice_, constant(1))), 0);
    }
    set_places(*points, slice_dims_, number);
    kernel::Body* turns = points;
    if (tile_.slices > 1)
        turns = &build_.loop(*points, "turn", constant(0), constant(tile_.slices), constant(1), turn, true);
    const ir::Expr own = sum(product(chunk, constant(tile_.slices)), turn);
    const ir::Expr last = difference(length_, constant(1));
    set_slice(*turns, build_.define(*turns, "position", ir::binary(BinaryOp::Min, own, last), 0));
    const Rewriter::Bindings at = bindings(at_);
    const ir::Expr exists = guard_ ? rewriter_.instance(guard_, at) : nullptr;
    for (std::size_t t = 0; t < terms_.of_scan; ++t) {
        const ScanTerm& term = terms_.terms[t];
        const ir::VarId var = build_.variable("term", term.value->type);
        add(*turns, kernel::Define{var, term_value(term, at, exists)});
        add(*turns, kernel::Store{{ir::Source::Kind::Local, static_cast<int>(t)},
                                  {turn, number},
                                  {ir::variable(var, term.value->type)},
                                  is_own});
    }
}

/// Each lane takes some terms, one after the other where their order can be told, and the lanes combine what they have.
void SharedSlices::compute_common(kernel::Body& body) {
    common_values_.clear();
    for (const Shared::Common& common : common_) {
        const auto& n = *ir::as<ir::Reduce>(common.reduce);
        const Type type = common.reduce->type;
        const BinaryOp op = ir::fold_op(n.op);
        const bool ordered = ir::depends_on_order(n.op, type);
        const ir::Expr lane =
            build_.define(body, "lane", ir::binary(BinaryOp::Mod, thread_, constant(kWarp)), 0, 1, kWarp);
        const Rewriter::Bindings here = bindings(at_);
        // Of the slices before the first one nothing is there, and nobody needs a value.
        std::int64_t back = 0;
        ir::for_each_node(n.body, [&](const ir::Expr& e) {
            if (const auto* read = ir::as<ir::Read>(e)) back = std::max(back, slices_back(*read));
        });
        const ir::Expr lo = rewriter_.instance(n.ranges[0].lo, here), all = rewriter_.instance(n.ranges[0].hi, here);
        const ir::Expr hi =
            build_.define(body, "end", ir::select(ir::binary(BinaryOp::Ge, position_, constant(back)), all, lo));
        ir::Expr begin = sum(lo, lane), end = hi;
        if (ordered) {
            const ir::Expr each = build_.define(body, "each", ceil_div(difference(hi, lo), kWarp), 0);
            begin = build_.define(body, "begin", sum(lo, product(lane, each)));
            end = ir::binary(BinaryOp::Min, sum(begin, each), hi);
        }
        const ir::VarId part = build_.variable("part", type);
        add(body, kernel::Variable{part, ir::identity(n.op, type)});
        ir::Expr at;
        kernel::Body& terms = build_.loop(body, "term", begin, end, constant(ordered ? 1 : kWarp), at);
        Rewriter::Bindings bound = here;
        bound[n.ranges[0].var] = at;
        const ir::Expr term = rewriter_.instance(n.body, bound, [&](const ir::Expr& e) { return from_ring(e, true); });
        add(terms, kernel::Assign{part, ir::binary(op, ir::variable(part, type), term)});
        ir::Expr mine = ir::variable(part, type);
        for (std::int64_t distance = 1; distance < kWarp; distance *= 2) {
            const ir::VarId var = build_.variable("other", type);
            add(body, kernel::Shuffle{var, mine, kernel::Shuffle::From::Xor, constant(distance)});
            const ir::Expr other = ir::variable(var, type);
            ir::Expr both = ir::binary(op, mine, other);
            if (ordered) {
                const ir::Expr is_later = ir::binary(
                    BinaryOp::Ge, ir::binary(BinaryOp::Mod, lane, constant(2 * distance)), constant(distance));
                both = ir::select(is_later, ir::binary(op, other, mine), both);
            }
            const ir::VarId combined = build_.variable("part", type);
            add(body, kernel::Define{combined, both});
            mine = ir::variable(combined, type);
        }
        common_values_[common.var] = mine;
    }
}

void SharedSlices::compute_slice(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& turn) {
    position_ = build_.define(body, "position", sum(product(chunk, constant(tile_.slices)), turn), 0);
    set_slice(body, position_);
    slots_.clear();
    for (std::int64_t k = 0; k <= stage_.scan->distance; ++k) {
        const ir::Expr slice = k == 0 ? position_ : sum(position_, constant(tile_.ring - k));
        slots_.push_back(
            build_.define(body, "slot", ir::binary(BinaryOp::Mod, slice, constant(tile_.ring)), 0, 1, tile_.ring));
    }
    compute_common(body);
    ir::Expr number;
    kernel::Body& points = build_.loop(body, "number", thread_, slice_, constant(tile_.threads), number);
    set_places(points, slice_dims_, number);
    Rewriter::Bindings at = bindings(at_);
    kernel::Body& there = KernelBuilder::guarded(points, guard_ ? rewriter_.instance(guard_, at) : nullptr);
    at.insert(common_values_.begin(), common_values_.end());
    for (std::size_t t = 0; t < terms_.of_scan; ++t) {
        const Type type = terms_.terms[t].value->type;
        const ir::VarId var = build_.variable("term", type);
        add(there, kernel::Define{var, element(t, type, turn, number)});
        at[terms_.terms[t].var] = ir::variable(var, type);
    }
    const ir::VarId var = build_.variable(stage_.name, stage_.type);
    const ir::Expr own = ir::variable(var, stage_.type);
    add(there, kernel::Define{
                   var, rewriter_.instance(terms_.value, at, [&](const ir::Expr& e) { return from_ring(e, false); })});
    add(there, kernel::Store{
                   {ir::Source::Kind::Local, static_cast<int>(terms_.of_scan)}, {slots_[0], number}, {own}, nullptr});
    add(there, kernel::Store{{ir::Source::Kind::Stage, index_}, at_, {own}, nullptr});
    add(body, kernel::kBlockBarrier);
}

kernel::Kernel SharedSlices::build(const plan::SharedSliceTile& tile) {
    tile_ = tile;
    kernel::Kernel& kernel = build_.kernel;
    kernel.name = stage_.name;
    kernel.grid[0] = lines();
    thread_ = thread(tile.threads);
    length_ = build_.argument("length", extent(scan_), 1);
    slice_ = build_.argument("slice", slice(), 1);
    for (std::size_t t = 0; t < terms_.of_scan; ++t)
        add_shared("term", terms_.terms[t].value->type, {tile.slices, tile.slice});
    add_shared("ring", stage_.type, {tile.ring, tile.slice});
    kernel.shared.back().ring = true;
    kernel::Body& body = kernel.body;
    set_places(body, outer_dims_, build_.special(kernel::Special::Id::BlockX));
    ir::Expr chunk, turn;
    kernel::Body& chunks =
        build_.loop(body, "chunk", constant(0), build_.define(body, "chunks", ceil_div(length_, tile.slices), 0),
                    constant(1), chunk);
    if (terms_.of_scan > 0) {
        compute_terms(chunks, chunk);
        add(chunks, kernel::kBlockBarrier);
    }
    const ir::Expr rest = difference(length_, product(chunk, constant(tile.slices)));
    const ir::Expr count =
        build_.define(chunks, "count", ir::binary(BinaryOp::Min, rest, constant(tile.slices)), 0, 1, tile.slices + 1);
    kernel::Body& slices = build_.loop(chunks, "turn", constant(0), count, constant(1), turn);
    compute_slice(slices, chunk, turn);
    return std::move(kernel);
}

}  // namespace

std::vector<plan::SharedSliceTile> shared_slice_tiles(kernel::Program& program, int stage) {
    return SharedSlices(program, stage, CommonParts(program.pipeline, stage).find()).tiles();
}

kernel::Kernel shared_slice_kernel(kernel::Program& program, int stage, const plan::SharedSliceTile& tile) {
    return SharedSlices(program, stage, CommonParts(program.pipeline, stage).find()).build(tile);
}

}  // namespace pipec::codegen
