// Reductions that the lanes of a warp share out (ExpressionWriter::share_over_lanes): each folds a part of the terms,
// and all of them fold the parts. Where the result tells in which order the terms came, the parts are spans of terms
// that follow each other, and are folded in the order of the lanes; what is folded in blocks (ir/reduction.h) has a
// block for each lane. Elsewhere lanes take terms in turn, so that adjacent lanes read adjacent elements.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codegen/emit/c/c_expr.h"
#include "codegen/emit/c/c_expr_total.h"
#include "codegen/emit/c/c_types.h"
#include "fusion/lane_terms.h"
#include "ir/build.h"
#include "ir/reduction.h"

namespace pipec::codegen {

using ir::Type;

namespace {

constexpr int kLanes = 32;
/// Bounds below this in magnitude: then no index of a term overflows that lies beyond the end.
constexpr std::int64_t kMostBound = std::int64_t{3} << 29;

}  // namespace

/// How lanes share the terms, where they do and there are enough.
std::optional<ExpressionWriter::LaneShare> ExpressionWriter::lane_share(const ir::Reduce& n,
                                                                        const std::vector<Total>& totals) {
    if (lane_.empty() || n.ranges.empty()) return std::nullopt;
    LaneShare share;
    const auto any = [&](const auto& is_so) { return std::ranges::any_of(totals, is_so); };
    share.in_order = any([](const Total& total) {
        return !total.places.empty() || ir::depends_on_order(total.reduction->op, total.type());
    });
    const bool in_blocks =
        any([](const Total& total) { return ir::depends_on_blocks(total.reduction->op, total.type()); });
    const bool has_trees = any([](const Total& total) { return !total.tree.empty(); });
    if (in_blocks) share.terms = has_trees ? LaneShare::Terms::OneOrBlock : LaneShare::Terms::One;
    const auto is_long = [&](const ir::Range& range) { return most_points(range) >= fusion::kLeastLaneTerms; };
    if (!share.in_order) {
        const auto last = std::find_if(n.ranges.rbegin(), n.ranges.rend(), is_long);
        if (last != n.ranges.rend()) share.range = static_cast<std::size_t>(n.ranges.rend() - last) - 1;
    }
    const ir::Range& range = n.ranges[share.range];
    if (!is_long(range) || ranges_.integer(range.lo).lo < -kMostBound || ranges_.integer(range.hi).hi > kMostBound)
        return std::nullopt;
    return share;
}

/// Loops over the variables from number `first` to before `end`, around `body`.
void ExpressionWriter::inner_loops(const ir::Reduce& n, std::size_t first, std::size_t end,
                                   const std::function<void()>& body) {
    if (first >= end) return body();
    begin_loop(n.ranges[first]);
    bind_like(n.ranges[first].var);
    inner_loops(n, first + 1, end, body);
    end_loop();
}

/// Terms in turn: lane 0 has the first, the 33rd and so on.
void ExpressionWriter::strided_over_lanes(const ir::Reduce& n, std::size_t shared, const std::string& lane,
                                          std::vector<Total>& totals) {
    const ir::Range& range = n.ranges[shared];
    const std::size_t last = n.ranges.size() - 1;
    inner_loops(n, 0, shared, [&] {
        if (shared == last && are_short(totals)) name_same(range, totals);
        const Span all = span_of(range);
        const std::string wanted = variable_name(range.var), first = names_.add(wanted + "_first");
        out_->line("{} {} = {} + {};", local_type(Type::Int32), first, at_least(all.first, Precedence::Sum), lane);
        const std::string count = names_.add(wanted + "_count"), turn = names_.add("i"), index = names_.add(wanted);
        out_->line("{0} {1} = {2} < {3} ? ({3} - {2} + {4}) / {5} : 0;", local_type(Type::Int32), count, first,
                   all.end.text, kLanes - 1, kLanes);
        const bool together = shared == last && are_short(totals);
        const std::string function = together ? names_.add("add_term") : "";
        begin_block(together ? fmt::format("auto {} = [&](int32_t {}) __attribute__((always_inline))", function, turn)
                             : fmt::format("for (int32_t {0} = 0; {0} < {1}; ++{0})", turn, count));
        out_->line("{} {} = {} + {} * {};", local_type(Type::Int32), index, first, kLanes, turn);
        bind_point(range, index);
        bind_like(range.var);
        inner_loops(n, shared + 1, n.ranges.size(), [&] { add_terms(totals); });
        end_block(together ? ";" : "");
        if (!together) return;
        helpers_.use("in_batches");
        out_->line("in_batches<{}>(0, {}, {});", most_points(range) >= 16 * kLanes ? 16 : 4, count, function);
    });
    helpers_.use("lanes_total");
    for (const Total& total : totals) {
        const std::string type(value_type(total.type()));
        out_->line("{0} = lanes_total({0}, []({1} a, {1} b) {{ return {2}; }});", total.name, type,
                   fold(total.reduction->op, total.type(), {"a"}, {"b"}).text);
    }
}

/// Spans of terms, a lane's after that of the lane before, until all are folded.
void ExpressionWriter::in_rounds_of_lanes(const ir::Reduce& n, const LaneShare& share, const std::string& lane,
                                          std::vector<Total>& totals) {
    const ir::Range& range = n.ranges.front();
    const std::string wanted = variable_name(range.var), integer = local_type(Type::Int32);
    const bool single = share.terms == LaneShare::Terms::One;
    const int batch = n.ranges.size() == 1 && !single ? batch_of(range, totals, false) : 1;
    if (batch > 1) name_same(range, totals);
    const Span all = span_of(range);
    const Text first = primary(Type::Int32, all.first, wanted + "_first");
    const std::string terms = single ? "1" : names_.add(wanted + "_terms");
    if (share.terms == LaneShare::Terms::Span)
        out_->line("{} {} = ({} - {} + {}) / {};", integer, terms, all.end.text, first.text, kLanes - 1, kLanes);
    if (share.terms == LaneShare::Terms::OneOrBlock)
        out_->line("{0} {1} = {2} - {3} <= {4} ? 1 : {4};", integer, terms, all.end.text, first.text, ir::kBlockTerms);
    const std::string round = names_.add(wanted + "_round"), begin = names_.add(single ? wanted : wanted + "_begin"),
                      stop = names_.add(wanted + "_stop");
    begin_block(fmt::format("for (int32_t {0} = {1}; {0} < {2}; {0} += {3})", round, first.text, all.end.text,
                            single ? fmt::format("{}", kLanes) : fmt::format("{} * {}", kLanes, terms)));
    if (single) {
        out_->line("{} {} = {} + {};", integer, begin, round, lane);
    } else {
        out_->line("{} {} = {} + {} * {};", integer, begin, round, lane, terms);
        out_->line("{0} {1} = {2} - {3} < {4} ? {2} : {3} + {4};", integer, stop, all.end.text, begin, terms);
    }
    std::vector<Total> parts = totals;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Total& part = parts[i];
        part.name = names_.add(totals[i].tree.empty() ? totals[i].name + "_part" : totals[i].name);
        declare_start(part);
        for (Total::Place& place : part.places) {
            const std::string start = std::exchange(place.name, names_.add(place.name + "_part"));
            out_->line("int32_t {} = {};", place.name, start);
        }
    }
    if (single) {
        begin_block(fmt::format("if ({} < {})", begin, all.end.text));
        bind_point(range, begin);
        bind_like(range.var);
        add_terms(parts);
        end_block();
    } else if (n.ranges.size() == 1) {
        each_term(range, {{begin}, {stop}}, parts, batch);
    } else {
        begin_points(range, {{begin}, {stop}});
        bind_like(range.var);
        inner_loops(n, 1, n.ranges.size(), [&] { add_terms(parts); });
        end_block();
    }
    fold_parts(totals, parts);
    end_block();
}

/// Folds the parts of all lanes in their order. Lanes without terms give what changes nothing.
void ExpressionWriter::fold_parts(std::vector<Total>& totals, const std::vector<Total>& parts) {
    helpers_.use("of_lane");
    for (std::size_t i = 0; i < totals.size(); ++i) {
        if (totals[i].tree.empty()) continue;
        helpers_.use("add_lane_blocks");
        out_->line("add_lane_blocks({}, {}, {});", totals[i].tree, parts[i].name, totals[i].combine);
    }
    carry_blocks(totals, kLanes);
    if (std::ranges::all_of(totals, [](const Total& total) { return !total.tree.empty(); })) return;
    const std::string from = names_.add("from");
    out_->add("#pragma unroll");
    begin_block(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", from, kLanes));
    for (std::size_t i = 0; i < totals.size(); ++i) {
        const Total &total = totals[i], &part = parts[i];
        if (!total.tree.empty()) continue;
        const std::string other = fmt::format("of_lane({}, {})", part.name, from);
        if (total.places.empty()) {
            out_->line("{} = {};", total.name, fold(total.reduction->op, total.type(), {total.name}, {other}).text);
            continue;
        }
        const std::string next = declare(total.type(), {other}, "next"), better = names_.add("better");
        const bool least = ir::fold_op(total.reduction->op) == ir::BinaryOp::Min;
        out_->line("{} {} = {} {} {};", local_type(Type::Bool), better, next, least ? "<" : ">", total.name);
        for (std::size_t p = 0; p < total.places.size(); ++p) {
            const std::string place =
                declare(Type::Int32, {fmt::format("of_lane({}, {})", part.places[p].name, from)}, "place");
            out_->line("{0} = {1} ? {2} : {0};", total.places[p].name, better, place);
        }
        out_->line("{0} = {1} ? {2} : {0};", total.name, better, next);
    }
    end_block();
}

void ExpressionWriter::in_lanes(const ir::Reduce& n, const LaneShare& share, std::vector<Total>& totals) {
    // Reductions in the terms are a lane's own.
    const std::string lane = std::exchange(lane_, "");
    if (share.in_order) {
        in_rounds_of_lanes(n, share, lane, totals);
    } else {
        strided_over_lanes(n, share.range, lane, totals);
    }
    lane_ = lane;
}

}  // namespace pipec::codegen
