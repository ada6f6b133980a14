// Slices that are shared out among blocks: overlapped tiles in the slice's dimension and the scan's. A launch computes
// some slices. A block has a thread for each of its points, and for those beside that they depend on: the farther back
// a slice is, the more of these, so that at the end of a launch only the block's own points have their values. The
// others have any, which nobody reads.
#include "codegen/strategies/scan/shared_slices.h"
#include "codegen/strategies/scan/slice_code.h"
#include "ir/build.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

class SliceStrips : public SliceCode {
public:
    SliceStrips(kernel::Program& program, int stage, const plan::SliceStrip& strip)
        : SliceCode(program, stage), strip_(strip), dim_(slice_dims_.front()) {}

    /// Nothing is read at a place that the scan's values say: those of points beside may be any.
    [[nodiscard]] bool is_possible() const;
    kernel::Kernel build();

private:
    [[nodiscard]] std::size_t ring() const { return terms_.of_scan; }
    ir::Expr slot(kernel::Body& body, const ir::Expr& position, std::int64_t before);
    ir::Expr exists();
    void load_before(kernel::Body& body);
    void compute_terms(kernel::Body& body);
    void compute_slice(kernel::Body& body, const ir::Expr& turn);

    const plan::SliceStrip strip_;
    const std::size_t dim_;
    std::int64_t rows_ = 1;  ///< of the ring, a power of two
    ir::Expr thread_, first_thread_, inside_, is_own_, first_position_;
};

bool SliceStrips::is_possible() const {
    bool possible = true;
    ir::for_each_node(terms_.value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        possible = possible && (read == nullptr || read->source == ir::Source{ir::Source::Kind::Stage, index_});
    });
    return possible;
}

/// The ring's row of the slice so many before the position.
ir::Expr SliceStrips::slot(kernel::Body& body, const ir::Expr& position, std::int64_t before) {
    const ir::Expr slice = before == 0 ? position : sum(position, constant(rows_ - before));
    return build_.define(body, "slot", ir::binary(BinaryOp::Mod, slice, constant(rows_)), 0, 1, rows_);
}

/// The stage has the thread's point.
ir::Expr SliceStrips::exists() {
    return guard_ ? both(inside_, rewriter_.instance(guard_, bindings(at_))) : inside_;
}

/// What launches before have computed.
void SliceStrips::load_before(kernel::Body& body) {
    for (std::int64_t k = 1; k <= stage_.scan->distance; ++k) {
        const ir::Expr row = slot(body, first_position_, k);
        const ir::Expr before = difference(first_position_, constant(k));
        const ir::Expr is_slice = ir::binary(BinaryOp::Ge, first_position_, constant(k));
        set_slice(body, build_.define(body, "position", ir::binary(BinaryOp::Max, before, constant(0)), 0));
        const ir::Expr value = ir::read({ir::Source::Kind::Stage, index_}, stage_.type, at_);
        const ir::VarId var = build_.variable(stage_.name, stage_.type);
        add(body, kernel::Define{var, ir::select(both(is_slice, exists()), value, nothing(stage_.type))});
        add(body, kernel::Store{{ir::Source::Kind::Local, static_cast<int>(ring())},
                                {row, thread_},
                                {ir::variable(var, stage_.type)},
                                nullptr});
    }
}

/// What does not depend on the scan, for all slices. Those behind the end are the last one again.
void SliceStrips::compute_terms(kernel::Body& outer) {
    const std::int64_t at_once = std::min(kTermsAtOnce, strip_.slices);
    ir::Expr batch = constant(0), turn;
    kernel::Body* body = &outer;
    if (at_once < strip_.slices)
        body = &build_.loop(outer, "batch", constant(0), constant(strip_.slices), constant(at_once), batch);
    body = &build_.loop(*body, "turn", batch, sum(batch, constant(at_once)), constant(1), turn, true);
    const ir::Expr last = difference(length_, constant(1));
    const ir::Expr position = ir::binary(BinaryOp::Min, sum(first_position_, turn), last);
    set_slice(*body, build_.define(*body, "position", position, 0));
    const Rewriter::Bindings at = bindings(at_);
    const ir::Expr needed = guard_ ? rewriter_.instance(guard_, at) : nullptr;
    for (std::size_t t = 0; t < terms_.of_scan; ++t) {
        const ScanTerm& term = terms_.terms[t];
        const ir::VarId var = build_.variable("term", term.value->type);
        add(*body, kernel::Define{var, term_value(term, at, needed)});
        add(*body, kernel::Store{{ir::Source::Kind::Local, static_cast<int>(t)},
                                 {turn, thread_},
                                 {ir::variable(var, term.value->type)},
                                 nullptr});
    }
}

void SliceStrips::compute_slice(kernel::Body& body, const ir::Expr& turn) {
    const ir::Expr position = build_.define(body, "position", sum(first_position_, turn), 0);
    set_slice(body, position);
    std::vector<ir::Expr> rows;
    for (std::int64_t k = 0; k <= stage_.scan->distance; ++k) rows.push_back(slot(body, position, k));
    Rewriter::Bindings at = bindings(at_);
    const ir::VarId value = build_.variable(stage_.name, stage_.type);
    const ir::Expr own = ir::variable(value, stage_.type);
    add(body, kernel::Variable{value, nothing(stage_.type)});
    kernel::Body& there = KernelBuilder::guarded(body, exists());
    for (std::size_t t = 0; t < terms_.of_scan; ++t) {
        const Type type = terms_.terms[t].value->type;
        const ir::VarId var = build_.variable("term", type);
        add(there, kernel::Define{var, element(t, type, turn, thread_)});
        at[terms_.terms[t].var] = ir::variable(var, type);
    }
    const Rewriter::Hook from_ring = [&](const ir::Expr& e) -> ir::Expr {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source != ir::Source{ir::Source::Kind::Stage, index_}) return e;
        // Points at the edge of what the block has read themselves in place of what it has not.
        const ir::Expr column = difference(read->indices[dim_], first_thread_);
        const ir::Expr known =
            ir::binary(BinaryOp::Max, ir::binary(BinaryOp::Min, column, constant(strip_.threads() - 1)), constant(0));
        return element(ring(), stage_.type, rows.at(static_cast<std::size_t>(slices_back(*read))), known);
    };
    add(there, kernel::Assign{value, rewriter_.instance(terms_.value, at, from_ring)});
    add(there, kernel::Store{{ir::Source::Kind::Stage, index_}, at_, {own}, is_own_});
    add(body, kernel::Store{{ir::Source::Kind::Local, static_cast<int>(ring())}, {rows[0], thread_}, {own}, nullptr});
    add(body, kernel::kBlockBarrier);
}

kernel::Kernel SliceStrips::build() {
    kernel::Kernel& kernel = build_.kernel;
    kernel.name = stage_.name + "_strip";
    kernel.grid[0] = ceil_div(slice(), strip_.points);
    kernel.grid[2] = lines();
    kernel.repetitions = ceil_div(extent(scan_), strip_.slices);
    while (rows_ <= stage_.scan->distance) rows_ *= 2;
    thread_ = thread(strip_.threads());
    length_ = build_.argument("length", extent(scan_), 1);
    for (std::size_t t = 0; t < terms_.of_scan; ++t)
        add_shared("term", terms_.terms[t].value->type, {strip_.slices, strip_.threads()});
    add_shared("ring", stage_.type, {rows_, strip_.threads()});
    kernel.shared.back().ring = true;

    kernel::Body& body = kernel.body;
    set_places(body, outer_dims_, build_.special(kernel::Special::Id::BlockZ));
    // The first thread's coordinate, and the thread's own, or the nearest that there is.
    const ir::Expr tile = product(build_.special(kernel::Special::Id::BlockX), constant(strip_.points));
    const ir::Expr begin = first(dim_);
    first_thread_ = build_.define(body, "first", sum(sum(tile, constant(-strip_.below)), begin));
    const ir::Expr own = build_.define(body, "own", sum(first_thread_, thread_));
    const ir::Expr end = build_.argument(name(dim_) + "_end", domain_.box[dim_].hi);
    at_[dim_] =
        build_.define(body, name(dim_),
                      ir::binary(BinaryOp::Max, ir::binary(BinaryOp::Min, own, difference(end, constant(1))), begin));
    inside_ = both(ir::binary(BinaryOp::Ge, own, begin), ir::binary(BinaryOp::Lt, own, end));
    is_own_ = both(ir::binary(BinaryOp::Ge, thread_, constant(strip_.below)),
                   ir::binary(BinaryOp::Lt, thread_, constant(strip_.below + strip_.points)));
    first_position_ =
        build_.define(body, "first_position", product(build_.repetition("round"), constant(strip_.slices)), 0);
    load_before(body);
    if (terms_.of_scan > 0) compute_terms(body);
    add(body, kernel::kBlockBarrier);
    const ir::Expr rest = difference(length_, first_position_);
    const ir::Expr count =
        build_.define(body, "count", ir::binary(BinaryOp::Min, rest, constant(strip_.slices)), 0, 1, strip_.slices + 1);
    ir::Expr turn;
    kernel::Body& slices = build_.loop(body, "turn", constant(0), count, constant(1), turn);
    compute_slice(slices, turn);
    return std::move(kernel);
}

}  // namespace

std::optional<plan::SliceStrip> slice_strip(kernel::Program& program, int stage) {
    const ir::Stage& s = program.pipeline.stages.at(static_cast<std::size_t>(stage));
    if (s.scan->across.size() != 1) return std::nullopt;
    const auto reach = ir::scan_reach(s, stage, std::get<ir::Pure>(s.definition).value,
                                      static_cast<std::size_t>(s.scan->across.front()));
    if (!reach || reach->wraps) return std::nullopt;
    const auto strip = plan::make_slice_strip(reach->below, reach->above);
    return strip && SliceStrips(program, stage, *strip).is_possible() ? strip : std::nullopt;
}

kernel::Kernel slice_strip_kernel(kernel::Program& program, int stage, const plan::SliceStrip& strip) {
    return SliceStrips(program, stage, strip).build();
}

}  // namespace pipec::codegen
