// A scan by all threads of a block along its lines. The warps have pieces of a chunk of the lines behind each other:
// each scans its own in registers, puts what that ends with into shared memory, and combines its points with what the
// warps before have put there. One barrier a chunk will do, since there are two places for these ends.
//
// Where lines run along memory, a block has one line. Lanes load and store points beside each other; in between these
// change places in shared memory, so that each lane scans points behind each other, and what they come to is shuffled
// once. (To shuffle each row of a warp took four times the instructions.) Otherwise each lane has a line, and combines
// the points of its own registers. Either way each value is read once and written once, by threads beside each other.
//
// Points that restart the line by themselves, other than its first one, go with a flag: whether a value has a restart
// in it, so that nothing from before counts.
#include "codegen/strategies/scan/parallel_scan.h"

#include <algorithm>

#include "codegen/strategies/scan/scan_code.h"
#include "ir/associative.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "plan/scan_tile.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

class ParallelScan : public ScanCode {
public:
    /// `lines`: that the kernel is for, where the program does not say how many there are.
    ParallelScan(kernel::Program& program, const ScanMembers& members, std::int64_t lines)
        : ScanCode(program, members) {
        const ir::VarId before = terms_.before.front();
        const auto is_before = [before](const ir::Expr& e) {
            const auto* variable = ir::as<ir::Variable>(e);
            return variable != nullptr && variable->id == before;
        };
        scan_parts_ = ir::associative_scan(terms_.value, is_before, program.fast_math);
        if (!scan_parts_) return;
        flagged_ = !scan_parts_->op || !is_first(scan_parts_->restart);
        const std::int64_t nodes =
            ir::node_count(scan_parts_->term) + ir::node_count(scan_parts_->restart) + term_nodes(true);
        known_lines_ = plan::line_count(order_, stage_.scan->dim, extents_);
        const plan::SharedScanPoint point{nodes * kWarp / 2 <= kLargestScanBody, ir::bytes(stage_.type)};
        tile_ = plan::make_shared_scan_tile(order_, stage_.scan->dim, extents_, known_lines_.value_or(lines), point);
    }

    std::optional<kernel::Kernel> build();
    /// The launch may have few lines or many, and blocks are not the same for these.
    [[nodiscard]] bool asks_for_lines() const { return tile_ && tile_->along_memory && !known_lines_; }

private:
    /// What some points of a line come to.
    struct Part {
        ir::Expr value;
        ir::Expr restarts;  ///< null where there are no flags
    };
    struct Point {
        std::vector<ir::Expr> at;
        ir::Expr exists;
        Rewriter::Bindings place;
        Part part;
    };

    ir::Expr define_value(kernel::Body& body, const std::string& name, const ir::Expr& e);
    Part defined(kernel::Body& body, const std::string& name, const Part& part);
    [[nodiscard]] Part combine(const Part& earlier, const Part& later) const;
    [[nodiscard]] static Part select(const ir::Expr& cond, const Part& then, const Part& otherwise);
    Part shuffled(kernel::Body& body, const Part& part, kernel::Shuffle::From from, std::int64_t amount);
    [[nodiscard]] Part nothing_before() const;
    [[nodiscard]] Part shared(const ir::Expr& buffer, const ir::Expr& warp) const;
    void put(kernel::Body& body, const ir::Expr& buffer, const Part& part);
    void chunk(kernel::Body& body, const ir::Expr& begin, const ir::Expr& buffer);
    void add_points(kernel::Body& body, const ir::Expr& begin, std::vector<Point>& points);
    [[nodiscard]] std::vector<ir::Expr> in_exchange(std::int64_t i, bool behind_each_other) const;
    std::vector<ir::Expr> exchanged(kernel::Body& body, int array, const std::vector<ir::Expr>& values,
                                    bool behind_each_other);
    void scan_across_lanes(kernel::Body& body, std::vector<Point>& points);

    std::optional<ir::AssociativeScan> scan_parts_;
    std::optional<plan::SharedScanTile> tile_;
    std::optional<std::int64_t> known_lines_;
    bool flagged_ = false;
    ir::Expr lane_, warp_, line_exists_;
    std::vector<ir::Expr> line_at_;
    Part ends_;          ///< what the points of a warp, or of a lane, come to
    Part before_lane_;   ///< where lines run along memory: what the points of the lanes before in the warp come to
    int exchange_ = -1;  ///< the array in which lanes exchange points there
    ir::VarId carry_ = -1, carry_restarts_ = -1;  ///< what the chunks before come to
};

ir::Expr ParallelScan::define_value(kernel::Body& body, const std::string& name, const ir::Expr& e) {
    const ir::VarId var = build_.variable(name, e->type);
    add(body, kernel::Define{var, e});
    return ir::variable(var, e->type);
}

ParallelScan::Part ParallelScan::defined(kernel::Body& body, const std::string& name, const Part& part) {
    Part result{define_value(body, name, part.value), nullptr};
    if (flagged_) result.restarts = define_value(body, name + "_restarts", part.restarts);
    return result;
}

ParallelScan::Part ParallelScan::combine(const Part& earlier, const Part& later) const {
    const ir::Expr both = scan_parts_->op ? ir::combined(*scan_parts_, earlier.value, later.value) : earlier.value;
    if (!flagged_) return {both, nullptr};
    return {ir::select(later.restarts, later.value, both), ir::binary(BinaryOp::Or, earlier.restarts, later.restarts)};
}

ParallelScan::Part ParallelScan::select(const ir::Expr& cond, const Part& then, const Part& otherwise) {
    return {ir::select(cond, then.value, otherwise.value),
            then.restarts ? ir::select(cond, then.restarts, otherwise.restarts) : nullptr};
}

ParallelScan::Part ParallelScan::shuffled(kernel::Body& body, const Part& part, kernel::Shuffle::From from,
                                          std::int64_t amount) {
    const auto of = [&](const ir::Expr& e) {
        const ir::VarId var = build_.variable("other", e->type);
        add(body, kernel::Shuffle{var, e, from, constant(amount)});
        return ir::variable(var, e->type);
    };
    Part result{of(part.value), nullptr};
    if (flagged_) result.restarts = of(part.restarts);
    return result;
}

ParallelScan::Part ParallelScan::nothing_before() const {
    return {scan_parts_->identity ? scan_parts_->identity : nothing(stage_.type),
            flagged_ ? ir::bool_constant(false) : nullptr};
}

ParallelScan::Part ParallelScan::shared(const ir::Expr& buffer, const ir::Expr& warp) const {
    const std::vector<ir::Expr> at{buffer, warp, tile_->along_memory ? constant(0) : lane_};
    const auto of = [&](int array, Type type) { return ir::read({ir::Source::Kind::Local, array}, type, at); };
    return {of(0, stage_.type), flagged_ ? of(1, Type::Bool) : nullptr};
}

/// What is the same in all lanes of a warp, one of them stores.
void ParallelScan::put(kernel::Body& body, const ir::Expr& buffer, const Part& part) {
    const bool one = tile_->along_memory;
    const std::vector<ir::Expr> at{buffer, warp_, one ? constant(0) : lane_};
    const ir::Expr guard = one ? ir::binary(BinaryOp::Eq, lane_, constant(0)) : nullptr;
    add(body, kernel::Store{{ir::Source::Kind::Local, 0}, at, {part.value}, guard});
    if (flagged_) add(body, kernel::Store{{ir::Source::Kind::Local, 1}, at, {part.restarts}, guard});
}

/// The thread's points of the chunk that begins at position `begin` of the line, each with what it brings itself. Those
/// behind the end are the last one again: what they come to reaches nobody, and no access has to wait for a condition.
void ParallelScan::add_points(kernel::Body& body, const ir::Expr& begin, std::vector<Point>& points) {
    const std::int64_t step = tile_->along_memory ? kWarp : 1;
    const ir::Expr own = sum(product(warp_, constant(step * tile_->points)), tile_->along_memory ? lane_ : constant(0));
    const ir::Expr first = build_.define(body, "first", sum(begin, own), 0);
    for (std::int64_t i = 0; i < tile_->points; ++i) {
        Point& point = points.emplace_back();
        const ir::Expr position = i == 0 ? first : build_.define(body, "position", sum(first, constant(i * step)), 0);
        point.exists = ir::binary(BinaryOp::Lt, position, length_);
        const ir::Expr within =
            build_.define(body, "position", ir::binary(BinaryOp::Min, position, difference(length_, constant(1))), 0);
        point.at = line_at_;
        point.at[scan_] = coordinate(body, within);
        point.place = bindings(point.at);
        for (const ScanTerm& term : terms_.terms) {
            const ir::VarId var = build_.variable("term", term.value->type);
            add(body, kernel::Define{var, term_value(term, point.place, guard_ ? line_exists_ : nullptr)});
            point.place[term.var] = ir::variable(var, term.value->type);
        }
    }
    for (Point& point : points) {
        Part part{rewriter_.instance(scan_parts_->term, point.place), nullptr};
        if (flagged_) part.restarts = rewriter_.instance(scan_parts_->restart, point.place);
        point.part = defined(body, "part", part);
    }
}

/// Where a lane's point `i` is in the exchange: of the points that it loads and stores, those of a row of a warp beside
/// each other, or of those that it scans, all behind each other. A word is left out after each row, so that lanes reach
/// different banks either way.
std::vector<ir::Expr> ParallelScan::in_exchange(std::int64_t i, bool behind_each_other) const {
    const std::int64_t points = tile_->points;
    if (!behind_each_other) return {warp_, sum(lane_, constant(i * (kWarp + 1)))};
    const ir::Expr rows = ir::binary(BinaryOp::Div, lane_, constant(kWarp / points));
    return {warp_, sum(sum(product(lane_, constant(points)), rows), constant(i))};
}

/// The same values with each lane holding points behind each other, or points a row apart again. A warp reads only what
/// it has stored itself.
std::vector<ir::Expr> ParallelScan::exchanged(kernel::Body& body, int array, const std::vector<ir::Expr>& values,
                                              bool behind_each_other) {
    const ir::Source source{ir::Source::Kind::Local, array};
    const auto count = static_cast<std::int64_t>(values.size());
    for (std::int64_t i = 0; i < count; ++i) {
        add(body,
            kernel::Store{source, in_exchange(i, !behind_each_other), {values[static_cast<std::size_t>(i)]}, nullptr});
    }
    add(body, kernel::Barrier{kernel::Barrier::Scope::Warp});
    std::vector<ir::Expr> result;
    for (std::int64_t i = 0; i < count; ++i) {
        const ir::Expr there = ir::read(source, values.front()->type, in_exchange(i, behind_each_other));
        result.push_back(define_value(body, "part", there));
    }
    return result;
}

/// A lane scans points behind each other, then the lanes scan what these come to. Afterwards, points' parts are what
/// the lane's own points up to them come to, and `before_lane_` is what the lanes before come to.
void ParallelScan::scan_across_lanes(kernel::Body& body, std::vector<Point>& points) {
    if (points.size() > 1) {
        std::vector<ir::Expr> values, restarts;
        for (const Point& point : points) values.push_back(point.part.value), restarts.push_back(point.part.restarts);
        values = exchanged(body, exchange_, values, true);
        if (flagged_) restarts = exchanged(body, exchange_ + 1, restarts, true);
        for (std::size_t i = 0; i < points.size(); ++i) {
            points[i].part = {values[i], restarts[i]};
            if (i > 0) points[i].part = defined(body, "part", combine(points[i - 1].part, points[i].part));
        }
    }
    Part all = points.back().part;
    for (std::int64_t distance = 1; distance < kWarp; distance *= 2) {
        const ir::Expr has_other = ir::binary(BinaryOp::Ge, lane_, constant(distance));
        const Part other = shuffled(body, all, kernel::Shuffle::From::Up, distance);
        all = defined(body, "all", select(has_other, combine(other, all), all));
    }
    before_lane_ = shuffled(body, all, kernel::Shuffle::From::Up, 1);
    ends_ = shuffled(body, all, kernel::Shuffle::From::Index, kWarp - 1);
}

void ParallelScan::chunk(kernel::Body& body, const ir::Expr& begin, const ir::Expr& buffer) {
    std::vector<Point> points;
    add_points(body, begin, points);
    if (tile_->along_memory) {
        scan_across_lanes(body, points);
    } else {
        for (std::size_t i = 1; i < points.size(); ++i) {
            points[i].part = defined(body, "part", combine(points[i - 1].part, points[i].part));
        }
        ends_ = points.back().part;
    }
    put(body, buffer, ends_);
    add(body, kernel::kBlockBarrier);

    const Part carry{ir::variable(carry_, stage_.type), flagged_ ? ir::variable(carry_restarts_, Type::Bool) : nullptr};
    const ir::VarId before = build_.variable("before", stage_.type);
    const ir::VarId before_restarts = flagged_ ? build_.variable("before_restarts", Type::Bool) : -1;
    Part mine{ir::variable(before, stage_.type), flagged_ ? ir::variable(before_restarts, Type::Bool) : nullptr};
    add(body, kernel::Variable{before, carry.value});
    if (flagged_) add(body, kernel::Variable{before_restarts, carry.restarts});
    ir::Expr other;
    kernel::Body& each = build_.loop(body, "other", constant(0), constant(tile_->warps), constant(1), other, true);
    const Part end = defined(each, "end", shared(buffer, other));
    const ir::Expr is_earlier = ir::binary(BinaryOp::Lt, other, warp_);
    const Part earlier = defined(each, "earlier", select(is_earlier, combine(mine, end), mine));
    const Part all = defined(each, "all", combine(carry, end));
    add(each, kernel::Assign{before, earlier.value});
    add(each, kernel::Assign{carry_, all.value});
    if (flagged_) add(each, kernel::Assign{before_restarts, earlier.restarts});
    if (flagged_) add(each, kernel::Assign{carry_restarts_, all.restarts});

    if (tile_->along_memory) {
        const ir::Expr has_other = ir::binary(BinaryOp::Ge, lane_, constant(1));
        mine = defined(body, "before", select(has_other, combine(mine, before_lane_), mine));
    }
    std::vector<ir::Expr> values;
    for (const Point& point : points) values.push_back(combine(mine, point.part).value);
    if (tile_->along_memory && points.size() > 1) values = exchanged(body, exchange_, values, false);
    for (std::size_t i = 0; i < points.size(); ++i) {
        const Point& point = points[i];
        ir::Expr own = values[i];
        if (!terms_.readers.empty()) own = define_value(body, stage_.name, own);
        store_point(body, point.at, point.place, own, both(line_exists_, point.exists));
    }
}

std::optional<kernel::Kernel> ParallelScan::build() {
    if (!scan_parts_ || !tile_ || !refusal().empty()) return std::nullopt;
    kernel::Kernel& kernel = build_.kernel;
    kernel.name = stage_.name;
    kernel.layout = kernel::Layout::Dense;
    kernel.block = {kWarp, static_cast<int>(tile_->warps), 1};
    using Id = kernel::Special::Id;
    lane_ = build_.special(Id::ThreadX);
    rewriter_.index(ir::as<ir::Variable>(lane_)->id, 1, 0, kWarp);
    warp_ = build_.special(Id::ThreadY);
    rewriter_.index(ir::as<ir::Variable>(warp_)->id, 1, 0, tile_->warps);
    const ir::Expr lines = add_arguments();
    kernel::Body& body = kernel.body;

    kernel.grid[0] = ceil_div(lines, tile_->lines);
    const ir::Expr block = build_.special(Id::BlockX);
    ir::Expr line = tile_->along_memory ? block : sum(product(block, constant(kWarp)), lane_);
    if (!tile_->along_memory && !guard_) {
        const ir::Expr own = build_.define(body, "own_line", line, 0);
        line = build_.define(body, "line", ir::binary(BinaryOp::Min, own, difference(lines_, constant(1))), 0);
        line_place(body, line, line_at_);
        line_exists_ = ir::binary(BinaryOp::Lt, own, lines_);
    } else {
        line_exists_ = line_place(body, build_.define(body, "line", line, 0), line_at_);
        if (tile_->along_memory && !guard_) line_exists_ = nullptr;
    }
    // Of each warp (and lane, where each has a line) what its points come to, twice.
    const std::vector<std::int64_t> extents{2, tile_->warps, tile_->lines};
    add_shared("ends", stage_.type, extents);
    if (flagged_) add_shared("restarts", Type::Bool, extents);
    exchange_ = static_cast<int>(kernel.shared.size());
    if (tile_->along_memory && tile_->points > 1) {
        const std::vector<std::int64_t> rows{tile_->warps, tile_->exchanged()};
        add_shared("exchange", stage_.type, rows);
        if (flagged_) add_shared("exchange_restarts", Type::Bool, rows);
    }
    carry_ = build_.variable("carry", stage_.type);
    const Part nothing = nothing_before();
    add(body, kernel::Variable{carry_, nothing.value});
    if (flagged_) {
        carry_restarts_ = build_.variable("carry_restarts", Type::Bool);
        add(body, kernel::Variable{carry_restarts_, nothing.restarts});
    }
    const ir::Expr chunks = build_.define(body, "chunks", ceil_div(length_, tile_->chunk()), 0);
    ir::Expr turn;
    kernel::Body& round = build_.loop(body, "turn", constant(0), chunks, constant(1), turn);
    const ir::Expr buffer = build_.define(round, "buffer", ir::binary(BinaryOp::Mod, turn, constant(2)), 0, 1, 2);
    chunk(round, build_.define(round, "begin", product(turn, constant(tile_->chunk())), 0), buffer);
    return std::move(kernel);
}

}  // namespace

std::vector<kernel::Kernel> parallel_scan_kernels(kernel::Program& program, const ScanMembers& members) {
    const ir::Stage& scan = program.pipeline.stages.at(static_cast<std::size_t>(members.scan));
    if (!ir::is_associative_scan(scan, members.scan, program.fast_math)) return {};
    ParallelScan of_many(program, members, plan::kFewLines + 1);
    auto many = of_many.build();
    if (!many) return {};
    std::vector<kernel::Kernel> kernels{std::move(*many)};
    if (!of_many.asks_for_lines()) return kernels;
    kernel::Kernel few = *ParallelScan(program, members, plan::kFewLines).build();
    few.name += "_few";
    const ir::Expr lines = few.grid[0];  // a block has one
    few.grid[1] = at_least(constant(plan::kFewLines), lines);
    kernels.front().grid[1] = at_least(lines, constant(plan::kFewLines + 1));
    kernels.push_back(std::move(few));
    return kernels;
}

}  // namespace pipec::codegen
