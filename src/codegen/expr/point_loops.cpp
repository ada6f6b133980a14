#include "codegen/expr/point_loops.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "fusion/point_terms.h"
#include "ir/build.h"
#include "ir/certain_reads.h"
#include "ir/reduction.h"
#include "ir/visit.h"
#include "poly/value_ranges.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::ReduceOp;

namespace {

bool is_folded(ReduceOp op) {
    return op == ReduceOp::Sum || op == ReduceOp::Prod || op == ReduceOp::Min || op == ReduceOp::Max;
}

const ir::Reduce& as_reduce(const ir::Expr& e) {
    return *ir::as<ir::Reduce>(e);
}

}  // namespace

/// Its terms are combined from the first one to the last one: a tree has no more than one block.
bool PointLoops::is_sequential(const ir::Reduce& reduce) {
    if (!ir::depends_on_blocks(reduce.op, reduce.body->type)) return true;
    poly::ValueRanges ranges = poly::ranges_within(program_.pipeline, &program_.model);
    return poly::most_points(ranges, reduce.ranges.front()) <= ir::kBlockTerms;
}

std::vector<PointLoops::Group> PointLoops::groups(const std::vector<ir::Expr>& values) {
    std::map<std::vector<std::int64_t>, std::size_t> known;  // by the variables of the loops
    std::vector<Group> result;
    for (const ir::Expr& e : ir::certain_reductions(values)) {
        std::vector<std::int64_t> key;
        for (const ir::Range& range : as_reduce(e).ranges) key.push_back(range.var);
        const auto [at, is_new] = known.emplace(std::move(key), result.size());
        if (is_new) result.emplace_back();
        result[at->second].push_back(e);
    }
    // The printed code has one loop for all reductions over the same ranges, which this is not to divide.
    std::erase_if(result, [&](const Group& group) {
        const ir::Range& last = as_reduce(group.front()).ranges.back();
        // The compiler writes out what has a known number of terms.
        if (ir::as_int(last.lo) && ir::as_int(last.hi)) return true;
        return !std::all_of(group.begin(), group.end(), [&](const ir::Expr& e) {
            return is_folded(as_reduce(e).op) && is_sequential(as_reduce(e));
        });
    });
    return result;
}

/// The terms from `at` on, of one reduction after the other.
std::vector<ir::Expr> PointLoops::terms(const Group& group, const ir::Expr& at, std::int64_t count) {
    std::vector<ir::Expr> result;
    for (std::int64_t i = 0; i < count; ++i) {
        const ir::Expr place = rewriter_.unique(i == 0 ? at : sum(at, constant(i)));
        for (const ir::Expr& e : group) {
            result.push_back(rewriter_.instance(as_reduce(e).body, {{as_reduce(e).ranges.back().var, place}}));
        }
    }
    return result;
}

/// Several terms in a turn take far fewer accesses than one after the other; in an inner loop, where there is one.
bool PointLoops::gains(const Group& group) {
    const ir::Expr at = ir::variable(as_reduce(group.front()).ranges.back().var, ir::Type::Int32);
    const std::vector<ir::Expr> one = terms(group, at, 1);
    if (std::any_of(one.begin(), one.end(), [](const ir::Expr& e) { return ir::has_reduction(e); })) {
        const std::vector<Group> inner = groups(one);
        return std::any_of(inner.begin(), inner.end(), [&](const Group& of) { return gains(of); });
    }
    if (group.size() < 2) return false;
    const std::vector<ir::Expr> all = ir::certain_reads(terms(group, at, fusion::kTermsInTurn));
    if (all.size() > static_cast<std::size_t>(fusion::kMostReadInTurn)) return false;
    const std::int64_t apart = std::ssize(ir::certain_reads(one)) * fusion::kTermsInTurn;
    return static_cast<double>(packs_.accesses(all, fill_)) <= fusion::kAccessesOfTurn * static_cast<double>(apart);
}

void PointLoops::write(kernel::Body& body, const std::vector<ir::Expr>& values, Totals& found) {
    for (const Group& group : groups(values)) {
        if (!gains(group)) continue;
        std::vector<ir::Expr> totals;
        for (const ir::Expr& e : group) {
            const ir::VarId var = build_.variable(std::string(ir::name(as_reduce(e).op)), e->type);
            add(body, kernel::Variable{var, ir::identity(as_reduce(e).op, e->type)});
            totals.push_back(ir::variable(var, e->type));
            found[e.get()] = totals.back();
        }
        write_loops(body, group, totals);
    }
}

ir::Expr PointLoops::with_totals(const ir::Expr& value, const Totals& found) {
    return rewriter_.instance(value, {}, [&](const ir::Expr& e) {
        const auto known = found.find(e.get());
        return known == found.end() ? e : known->second;
    });
}

void PointLoops::write(kernel::Body& body, std::vector<ir::Expr>& values) {
    Totals found;
    write(body, values, found);
    if (found.empty()) return;
    for (ir::Expr& value : values) value = with_totals(value, found);
}

kernel::Body PointLoops::with_loops(kernel::Body body) {
    struct Later {
        ir::Expr reduction;
        std::size_t from;  ///< the first statement before which all is known that it needs
    };
    std::unordered_map<ir::VarId, std::size_t> defined;  // by statement
    std::vector<Later> all;
    std::vector<std::size_t> first(body.size(), 0);  // of `all` that a statement has
    for (std::size_t i = 0; i < body.size(); ++i) {
        std::vector<ir::Expr> values;
        for (const ir::Expr* value : kernel::own_values(body[i])) values.push_back(*value);
        first[i] = all.size();
        for (const ir::Expr& e : ir::certain_reductions(values)) {
            std::size_t from = 0;
            ir::for_each_node(e, [&](const ir::Expr& node) {
                const auto* variable = ir::as<ir::Variable>(node);
                const auto known = variable == nullptr ? defined.end() : defined.find(variable->id);
                if (known != defined.end()) from = std::max(from, known->second + 1);
            });
            all.push_back({e, from});
        }
        for (const ir::VarId var : kernel::own_variables(body[i])) defined[var] = i;
    }
    if (all.empty()) return body;
    kernel::Body result;
    Totals found;
    std::unordered_set<const ir::Node*> tried;
    for (std::size_t i = 0; i < body.size(); ++i) {
        const std::size_t end = i + 1 < body.size() ? first[i + 1] : all.size();
        bool is_new = false;
        for (std::size_t r = first[i]; r < end; ++r) is_new = is_new || tried.count(all[r].reduction.get()) == 0;
        if (is_new) {
            std::vector<ir::Expr> known;
            for (std::size_t r = first[i]; r < all.size(); ++r) {
                if (all[r].from <= i && tried.insert(all[r].reduction.get()).second) known.push_back(all[r].reduction);
            }
            write(result, known, found);
        }
        if (!found.empty()) {
            for (ir::Expr* value : kernel::own_values(body[i])) *value = with_totals(*value, found);
        }
        result.push_back(std::move(body[i]));
    }
    return result;
}

/// Opens a loop whose variable is known to lie between the bounds.
kernel::Body& PointLoops::loop(kernel::Body& body, ir::VarId like, const ir::Expr& lo, const ir::Expr& hi,
                               std::int64_t step, ir::Expr& at) {
    kernel::Body& inner = build_.loop(body, program_.pipeline.variables.at(static_cast<std::size_t>(like)).name, lo, hi,
                                      constant(step), at);
    const auto first = rewriter_.linear(lo), end = rewriter_.linear(hi);
    if (first && end) {
        const std::int64_t most = -rewriter_.least(Linear{}.add(*end, -1));
        rewriter_.index(ir::as<ir::Variable>(at)->id, 1, std::max(rewriter_.least(*first), -kernel::kVariableLimit),
                        std::min(most, kernel::kVariableLimit));
    }
    return inner;
}

void PointLoops::write_loops(kernel::Body& body, const Group& group, const std::vector<ir::Expr>& totals) {
    kernel::Body* inner = &body;
    const std::vector<ir::Range> ranges = as_reduce(group.front()).ranges;
    Rewriter::Bindings outer;
    for (std::size_t i = 0; i + 1 < ranges.size(); ++i) {
        ir::Expr at;
        inner = &loop(*inner, ranges[i].var, rewriter_.instance(ranges[i].lo, outer),
                      rewriter_.instance(ranges[i].hi, outer), 1, at);
        outer[ranges[i].var] = at;
    }
    Group rows = group;
    for (ir::Expr& e : rows) {
        const ir::Reduce& n = as_reduce(e);
        if (!outer.empty()) e = ir::reduce_like(n, {n.ranges.back()}, rewriter_.instance(n.body, outer), e->range);
    }
    const ir::Range& last = ranges.back();
    const ir::Expr lo = rewriter_.instance(last.lo, outer), hi = rewriter_.instance(last.hi, outer);
    ir::Expr at, first = lo;
    if (std::none_of(rows.begin(), rows.end(),
                     [](const ir::Expr& e) { return ir::has_reduction(as_reduce(e).body); })) {
        const ir::Expr count = ir::binary(BinaryOp::Max, difference(hi, lo), constant(0));
        const ir::Expr turns = ir::binary(BinaryOp::Div, count, constant(fusion::kTermsInTurn));
        const ir::Expr rest = rewriter_.instance(sum(lo, product(turns, constant(fusion::kTermsInTurn))), {});
        first = build_.define(*inner, "rest", rest);
        kernel::Body& turn = loop(*inner, last.var, lo, first, fusion::kTermsInTurn, at);
        write_turn(turn, rows, totals, at, fusion::kTermsInTurn);
    }
    kernel::Body& turn = loop(*inner, last.var, first, hi, 1, at);
    write_turn(turn, rows, totals, at, 1);
}

void PointLoops::write_turn(kernel::Body& body, const Group& group, const std::vector<ir::Expr>& totals,
                            const ir::Expr& at, std::int64_t count) {
    std::vector<ir::Expr> all = terms(group, at, count);
    packs_.load(body, all, fill_);
    write(body, all);
    for (std::size_t i = 0; i < group.size(); ++i) {
        ir::Expr total = totals[i];
        for (std::size_t t = i; t < all.size(); t += group.size()) {
            total = ir::binary(ir::fold_op(as_reduce(group[i]).op), total, all[t]);
        }
        add(body, kernel::Assign{ir::as<ir::Variable>(totals[i])->id, total});
    }
}

}  // namespace pipec::codegen
