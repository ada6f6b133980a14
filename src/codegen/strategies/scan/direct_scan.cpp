// A scan of many lines that do not run along memory. Each thread has a line; adjacent threads have adjacent lines, so
// that all of a warp's accesses lie beside each other, and nothing passes through shared memory. A thread goes along
// its line in rounds of a few points: it loads what the next round needs before it computes the points of this one.
// Short lines go the same way even along memory: a thread soon uses the rest of each cache line that it touches.
#include "codegen/strategies/scan/direct_scan.h"

#include <algorithm>

#include "codegen/strategies/scan/scan_code.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "plan/scan_tile.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

class DirectScan : public ScanCode {
public:
    DirectScan(kernel::Program& program, const ScanMembers& members) : ScanCode(program, members) {
        find_recurrence_interior();
        const std::int64_t nodes = ir::node_count(terms_.value) + ir::node_count(interior_.value) + term_nodes(true);
        if (nodes * plan::kDirectPoints <= kLargestScanBody) points_ = plan::kDirectPoints;
    }

    kernel::Kernel build(const std::string& called);
    [[nodiscard]] std::string stage_name() const { return stage_.name; }
    [[nodiscard]] bool is_along_memory() const { return plan::runs_along_memory(order_, stage_.scan->dim, extents_); }
    [[nodiscard]] bool is_short() const { return plan::is_short_line(extents_[scan_]); }

private:
    /// What a point of a round has of its terms, in the terms' order.
    using Terms = std::vector<ir::VarId>;

    void load(kernel::Body& body, const ir::Expr& first);
    void point(kernel::Body& body, const ir::Expr& position, const Terms& terms, const ir::Expr& value);
    void round(kernel::Body& body, const ir::Expr& first);

    std::int64_t points_ = 1;  ///< of a round
    std::vector<ir::Expr> line_at_;
    std::vector<Terms> next_;  ///< of the points of the next round
};

/// What the points from position `first` on need. Those behind the end are the last one again, so that no access waits
/// for a condition.
void DirectScan::load(kernel::Body& body, const ir::Expr& first) {
    std::vector<ir::Expr> values;
    for (std::int64_t i = 0; i < points_; ++i) {
        const ir::Expr within = ir::binary(BinaryOp::Min, sum(first, constant(i)), difference(length_, constant(1)));
        std::vector<ir::Expr> at = line_at_;
        at[scan_] = coordinate(body, build_.define(body, "position", within, 0));
        const Rewriter::Bindings place = bindings(at);
        for (const ScanTerm& term : terms_.terms) {
            const ir::VarId var = build_.variable("term", term.value->type);
            add(body, kernel::Define{var, term_value(term, place, nullptr)});
            values.push_back(ir::variable(var, term.value->type));
        }
    }
    std::size_t value = 0;
    for (const Terms& terms : next_) {
        for (const ir::VarId var : terms) add(body, kernel::Assign{var, values[value++]});
    }
}

void DirectScan::point(kernel::Body& body, const ir::Expr& position, const Terms& terms, const ir::Expr& value) {
    std::vector<ir::Expr> at = line_at_;
    at[scan_] = coordinate(body, position);
    Rewriter::Bindings place = bindings(at);
    for (std::size_t t = 0; t < terms.size(); ++t) {
        place[terms_.terms[t].var] = ir::variable(terms[t], terms_.terms[t].value->type);
    }
    const ir::VarId var = build_.variable(stage_.name, stage_.type);
    add(body, kernel::Define{var, rewriter_.instance(value, place)});
    store_point(body, at, place, ir::variable(var, stage_.type), nullptr);
    for (std::size_t k = terms_.before.size(); k-- > 0;) {
        const ir::VarId from = k == 0 ? var : terms_.before[k - 1];
        add(body, kernel::Assign{terms_.before[k], ir::variable(from, stage_.type)});
    }
}

void DirectScan::round(kernel::Body& body, const ir::Expr& first) {
    std::vector<Terms> here;
    for (const Terms& terms : next_) {
        Terms& own = here.emplace_back();
        for (std::size_t t = 0; t < terms.size(); ++t) {
            const ir::Type type = terms_.terms[t].value->type;
            own.push_back(build_.variable("term", type));
            add(body, kernel::Define{own.back(), ir::variable(terms[t], type)});
        }
    }
    if (!terms_.terms.empty()) load(body, build_.define(body, "next", sum(first, constant(points_)), 0));
    const ir::Expr end = build_.define(body, "end", sum(first, constant(points_)), 0);
    const ir::Expr last = difference(end, constant(1));
    const ir::Expr is_full = ir::binary(BinaryOp::Le, end, length_);
    const ir::Expr plain = both(is_full, inside(coordinate(body, first), coordinate(body, last)));
    auto& choice = add(body, kernel::If{plain, {}, {}, kernel::If::Uniform::Lane});
    for (std::int64_t i = 0; i < points_; ++i) {
        const Terms& terms = here[static_cast<std::size_t>(i)];
        const auto position = [&](kernel::Body& at) {
            return i == 0 ? first : build_.define(at, "position", sum(first, constant(i)), 0);
        };
        point(choice.then, position(choice.then), terms, interior_.simpler ? interior_.value : terms_.value);
        const ir::Expr own = position(choice.otherwise);
        kernel::Body& there = KernelBuilder::guarded(choice.otherwise, ir::binary(BinaryOp::Lt, own, length_));
        point(there, own, terms, terms_.value);
    }
}

kernel::Kernel DirectScan::build(const std::string& called) {
    kernel::Kernel& kernel = build_.kernel;
    kernel.name = called;
    kernel.layout = kernel::Layout::Dense;
    kernel.block = {static_cast<int>(plan::kDirectThreads), 1, 1};
    using Id = kernel::Special::Id;
    const ir::Expr thread = build_.special(Id::ThreadX);
    rewriter_.index(ir::as<ir::Variable>(thread)->id, 1, 0, plan::kDirectThreads);
    kernel.grid[0] = ceil_div(add_arguments(), plan::kDirectThreads);

    const ir::Expr first_line = product(build_.special(Id::BlockX), constant(plan::kDirectThreads));
    const ir::Expr line = build_.define(kernel.body, "line", sum(first_line, thread), 0);
    const ir::Expr exists = line_place(kernel.body, line, line_at_);
    kernel::Body& body = KernelBuilder::guarded(kernel.body, exists);
    for (const ir::VarId var : terms_.before) add(body, kernel::Variable{var, nothing(stage_.type)});
    for (std::int64_t i = 0; i < points_; ++i) {
        Terms& terms = next_.emplace_back();
        for (const ScanTerm& term : terms_.terms) {
            terms.push_back(build_.variable("next_term", term.value->type));
            add(body, kernel::Variable{terms.back(), nothing(term.value->type)});
        }
    }
    if (!terms_.terms.empty()) load(body, constant(0));
    ir::Expr first;
    kernel::Body& rounds = build_.loop(body, "first", constant(0), length_, constant(points_), first);
    round(rounds, first);
    return std::move(kernel);
}

}  // namespace

std::optional<kernel::Kernel> short_scan_kernel(kernel::Program& program, const ScanMembers& members) {
    DirectScan scan(program, members);
    if (!scan.refusal().empty() || !scan.is_short()) return std::nullopt;
    return scan.build(scan.stage_name());
}

std::optional<kernel::Kernel> direct_scan_kernel(kernel::Program& program, const ScanMembers& members,
                                                 kernel::Kernel& some) {
    DirectScan scan(program, members);
    if (scan.is_along_memory()) return std::nullopt;
    const std::int64_t enough = plan::direct_scan_lines(program.target.gpu());
    kernel::Kernel direct = scan.build(scan.stage_name() + "_lines");
    const ir::Expr lines = direct.arguments.front().value;
    if (const auto known = ir::as_int(lines); known && *known < enough) return std::nullopt;
    direct.grid[1] = at_least(lines, constant(enough));
    some.grid[1] = at_least(constant(enough - 1), lines);
    return direct;
}

}  // namespace pipec::codegen
