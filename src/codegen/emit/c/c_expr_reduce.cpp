// Reductions as loops. Those over the same ranges that are evaluated at one place are found in one loop: a sum and the
// sum of squares, a weighted sum and its weights, the least value and where it is.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "codegen/emit/c/c_expr.h"
#include "codegen/emit/c/c_expr_total.h"
#include "codegen/emit/c/c_types.h"
#include "fusion/written_out.h"
#include "ir/build.h"
#include "ir/reduction.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::ReduceOp;
using ir::Type;

namespace {

/// Nodes of a term from which on several of them at once would need too many registers.
constexpr std::size_t kLongTerm = 64;
/// Points of a loop, at most, of which four terms' values fit into registers.
constexpr std::size_t kPointsUnrolled = 32;
/// What the terms of a turn read, at most: a compiler begins with all of it, and has 255 registers.
constexpr std::size_t kTurnReads = 300;

bool contains(const ir::Expr& e, const ir::Expr& what) {
    bool found = false;
    ir::for_each_node(e, [&](const ir::Expr& node) { found = found || node == what; });
    return found;
}

bool has_known_number(const ir::Range& range) {
    return ir::as_int(range.lo) && ir::as_int(range.hi);
}

/// The same bounds, each variable of `a` standing for that of `b`.
bool same_ranges(const ir::Reduce& a, const ir::Reduce& b) {
    if (a.ranges.size() != b.ranges.size()) return false;
    std::map<ir::VarId, ir::Expr> like_a;
    for (std::size_t i = 0; i < a.ranges.size(); ++i) {
        const ir::Range &x = a.ranges[i], &y = b.ranges[i];
        if (!ir::structurally_equal(x.lo, ir::substitute(y.lo, like_a))) return false;
        if (!ir::structurally_equal(x.hi, ir::substitute(y.hi, like_a))) return false;
        like_a.emplace(y.var, ir::variable(x.var, Type::Int32));
    }
    return true;
}

}  // namespace

Text ExpressionWriter::fold(ReduceOp op, Type type, const Text& accumulated, const Text& next) {
    if (op == ReduceOp::Any) return infix("||", Precedence::Or, accumulated, next);
    if (op == ReduceOp::All) return infix("&&", Precedence::And, accumulated, next);
    return arithmetic(ir::fold_op(op), type, accumulated, next, false);
}

/// The most points that a range has, as far as that is known.
poly::Wide ExpressionWriter::most_points(const ir::Range& range) {
    return poly::most_points(ranges_, range);
}

/// Several terms at once need few registers.
bool ExpressionWriter::are_short(const std::vector<Total>& totals) const {
    if (helpers_.platform() == fusion::Platform::Host) return false;
    std::size_t nodes = 0;
    for (const Total& total : totals) {
        ir::for_each_node(total.reduction->body,
                          [&](const ir::Expr& e) { nodes += ir::as<ir::Reduce>(e) != nullptr ? kLongTerm : 1; });
    }
    return nodes < kLongTerm;
}

/// How many terms are evaluated together where so many are left: their loads take as long as one of them. 1: the
/// compiler decides, which it does well for a number of terms that it knows, and not otherwise: what is left of 16 it
/// evaluates one by one.
int ExpressionWriter::batch_of(const ir::Range& range, const std::vector<Total>& totals, bool known_number) {
    if (!batches_ || !are_short(totals) || known_number) return 1;
    const poly::Wide most = most_points(range);
    return most >= 16 ? 16 : most >= 4 ? 4 : most >= 2 ? 2 : 1;
}

/// Terms of a long loop in one turn, so that loads of one do not wait for those before; 1: the compiler decides. It
/// takes two of loops over many points. On an H200 four were faster by a third (products of matrices, convolutions of
/// 64 channels), and eight by another 6 to 12 % in four programs of eight, the others within 1 %; sixteen are no
/// faster.
int ExpressionWriter::unrolled_terms(const ir::Range& range, const std::vector<Total>& totals) {
    if (helpers_.platform() == fusion::Platform::Host || most_points(range) < ir::kBlockTerms) return 1;
    if (are_short(totals)) return 16;
    if (totals.size() < 4 || kPointsUnrolled < totals.size()) return 1;
    std::unordered_set<const ir::Node*> reads;
    bool branches = false;
    for (const Total& total : totals) {
        ir::for_each_node(total.reduction->body, [&](const ir::Expr& e) {
            if (ir::as<ir::Read>(e) != nullptr) reads.insert(e.get());
            const auto* choice = ir::as<ir::Select>(e);
            branches = branches || (choice != nullptr && (ir::has_reads(choice->then) ||
                                                          (choice->otherwise && ir::has_reads(choice->otherwise))));
        });
    }
    // What is read behind a condition waits for it, in every term.
    int terms = branches ? 2 : 8;
    while (terms > 1 && terms * reads.size() > kTurnReads) terms /= 2;
    return terms;
}

/// Nothing in it waits for a variable that has no name yet.
bool ExpressionWriter::can_be_written(const ir::Expr& e) const {
    std::set<ir::VarId> used, bound;
    ir::for_each_node(e, [&](const ir::Expr& node) {
        if (const auto* variable = ir::as<ir::Variable>(node)) used.insert(variable->id);
        if (const auto* let = ir::as<ir::Let>(node)) bound.insert(let->var);
        if (const auto* reduce = ir::as<ir::Reduce>(node)) {
            for (const ir::Range& range : reduce->ranges) bound.insert(range.var);
        }
    });
    return std::ranges::all_of(used, [&](ir::VarId var) { return bound.count(var) > 0 || variables_.count(var) > 0; });
}

/// `e` and the reductions that its loop can find with it: evaluated whenever `e` is, over the same ranges, and none
/// needed for another one's terms.
std::vector<ir::Expr> ExpressionWriter::same_loop(const ir::Expr& e) {
    std::vector<ir::Expr> result{e};
    const auto& n = *ir::as<ir::Reduce>(e);
    std::unordered_set<const ir::Node*> seen{e.get()};
    std::vector<ir::Expr> stack;
    if (!blocks_.empty()) stack.assign(blocks_.back().roots.rbegin(), blocks_.back().roots.rend());
    while (!stack.empty() && std::ssize(result) < fusion::kMostTotals) {
        const ir::Expr node = std::move(stack.back());
        stack.pop_back();
        for (const ir::Expr& operand : certain_operands(node)) {
            if (seen.insert(operand.get()).second) stack.push_back(operand);
        }
        const auto* other = ir::as<ir::Reduce>(node);
        if (other == nullptr || node == e || known(node) != nullptr || !same_ranges(n, *other)) continue;
        const bool apart = std::ranges::none_of(
            result, [&](const ir::Expr& one) { return contains(one, node) || contains(node, one); });
        if (apart && can_be_written(node)) result.push_back(node);
    }
    return result;
}

/// Of the name of a total, with what it is without terms.
void ExpressionWriter::declare_start(const Total& total) {
    const std::string start = value(ir::identity(total.reduction->op, total.type())).text;
    out_->line("{} {} = {};", value_type(total.type()), total.name, start);
}

/// Declares what the loop begins with.
std::vector<ExpressionWriter::Total> ExpressionWriter::totals_of(const std::vector<ir::Expr>& reductions) {
    std::vector<Total> totals;
    std::string blocks;  // the number of blocks in each tree
    for (const ir::Expr& e : reductions) {
        const auto& n = *ir::as<ir::Reduce>(e);
        // The variables of all are those of the first one.
        const auto& first = *ir::as<ir::Reduce>(reductions.front());
        for (std::size_t i = 0; i < n.ranges.size(); ++i) {
            shared_variables_[n.ranges[i].var] = first.ranges[i].var;
        }
        const auto same = std::ranges::find_if(totals, [&](const Total& total) {
            return ir::fold_op(total.reduction->op) == ir::fold_op(n.op) && total.reduction->body == n.body;
        });
        Total& total = same == totals.end() ? totals.emplace_back(Total{&n, {}, {}, {}, {}, {}, {}}) : *same;
        if (ir::gives_place(n.op)) {
            total.places.push_back({e, &n, {}});
        } else {
            total.nodes.push_back(e);
        }
    }
    for (Total& total : totals) {
        const ReduceOp op = total.reduction->op;
        const std::string type(value_type(total.type()));
        const bool only_place = total.nodes.empty();
        const std::string start = value(ir::identity(op, total.type())).text;
        total.name = names_.add(only_place ? "best" : ir::name(op));
        if (ir::depends_on_blocks(op, total.type()) && most_points(total.reduction->ranges.front()) > ir::kBlockTerms) {
            helpers_.use("BlockTree");
            if (blocks.empty()) {
                blocks = names_.add("blocks");
                out_->line("unsigned {} = 0;", blocks);
            }
            total.blocks = blocks;
            total.tree = names_.add(total.name + "_tree");
            const auto alike = std::ranges::find_if(totals, [&](const Total& other) {
                return !other.combine.empty() && other.reduction->op == op && other.type() == total.type();
            });
            if (alike == totals.end()) {
                total.combine = names_.add("combine");
                out_->line("const auto {0} = []({1} a, {1} b) {{ return {2}; }};", total.combine, type,
                           fold(op, total.type(), {"a"}, {"b"}).text);
            } else {
                total.combine = alike->combine;
            }
            out_->line("BlockTree<{0}> {1} = block_tree<{0}>({2});", type, total.tree, start);
        } else {
            declare_start(total);
        }
        for (Total::Place& place : total.places) {
            const ir::Range& range = place.reduction->ranges[static_cast<std::size_t>(place.reduction->place)];
            const Text lo = value(range.lo);
            place.name = names_.add(ir::name(place.reduction->op));
            out_->line("int32_t {} = {};", place.name, lo.text);
        }
    }
    return totals;
}

/// Folds the terms of one point in.
void ExpressionWriter::add_terms(const std::vector<Total>& totals) {
    std::vector<ir::Expr> bodies;
    for (const Total& total : totals) bodies.push_back(total.reduction->body);
    blocks_.push_back({bodies});
    for (const Total& total : totals) {
        const ReduceOp op = total.reduction->op;
        Text next = value(total.reduction->body);
        if (total.places.empty()) {
            out_->line("{} = {};", total.name, fold(op, total.type(), {total.name}, next).text);
            continue;
        }
        // Terms that are no better change neither: a minimum and its place need one comparison.
        next = primary(total.type(), next, "term");
        const std::string better = names_.add("better");
        const bool least = ir::fold_op(op) == BinaryOp::Min;
        out_->line("{} {} = {} {} {};", local_type(Type::Bool), better, next.text, least ? "<" : ">", total.name);
        for (const Total::Place& place : total.places) {
            const ir::Range& range = place.reduction->ranges[static_cast<std::size_t>(place.reduction->place)];
            out_->line("{0} = {1} ? {2} : {0};", place.name, better, variables_.at(range.var));
        }
        out_->line("{0} = {1} ? {2} : {0};", total.name, better, next.text);
    }
    blocks_.pop_back();
}

/// Names what is the same in all turns of a loop.
void ExpressionWriter::name_same(const ir::Range& loop, const std::vector<Total>& totals) {
    std::vector<ir::Expr> terms;
    for (const Total& total : totals) terms.push_back(total.reduction->body);
    std::set<ir::VarId> variables{loop.var};
    for (const auto& [var, first] : shared_variables_) {
        if (first == loop.var) variables.insert(var);
    }
    name_invariant(terms, variables);
}

/// One point after another of `from`, which are of `range`: the innermost loop.
void ExpressionWriter::each_term(const ir::Range& range, const Span& from, const std::vector<Total>& totals,
                                 int batch) {
    if (batch == 1) {
        const int unrolled = unrolled_terms(range, totals);
        if (unrolled > 1) out_->add(fmt::format("#pragma unroll {}", unrolled));
        begin_points(range, from);
        bind_like(range.var);
        add_terms(totals);
        return end_block();
    }
    const std::string index = names_.add(variable_name(range.var)), function = names_.add("add_term");
    begin_block(fmt::format("auto {} = [&](int32_t {}) __attribute__((always_inline))", function, index));
    bind_point(range, index);
    bind_like(range.var);
    add_terms(totals);
    end_block(";");
    helpers_.use("in_batches");
    out_->line("in_batches<{}>({}, {}, {});", batch, from.first.text, from.end.text, function);
}

void ExpressionWriter::in_loops(const ir::Reduce& n, std::vector<Total>& totals) {
    for (const ir::Range& range : n.ranges) {
        if (&range == &n.ranges.back()) break;
        begin_loop(range);
        bind_like(range.var);
    }
    const ir::Range& last = n.ranges.back();
    const int batch = batch_of(last, totals, has_known_number(last));
    if (batch > 1) name_same(last, totals);
    each_term(last, span_of(last), totals, batch);
    for (std::size_t i = 1; i < n.ranges.size(); ++i) end_loop();
}

ExpressionWriter::Span ExpressionWriter::begin_blocks(const ir::Range& range) {
    const Span all = span_of(range);
    const std::string block = names_.add(variable_name(range.var) + "_block");
    const std::string stop = names_.add(variable_name(range.var) + "_stop");
    begin_block(fmt::format("for (int32_t {0} = {1}; {0} < {2}; {0} += {3})", block, all.first.text, all.end.text,
                            ir::kBlockTerms));
    out_->line("{4} {0} = {1} - {2} < {3} ? {1} : {2} + {3};", stop, all.end.text, block, ir::kBlockTerms,
               local_type(Type::Int32));
    return {{block}, {stop}};
}

/// Terms in blocks, and the blocks' results in a tree (ir/reduction.h).
void ExpressionWriter::in_blocks(const ir::Range& range, std::vector<Total>& totals) {
    const int batch = batch_of(range, totals, has_known_number(range));
    if (batch > 1) name_same(range, totals);
    const Span block = begin_blocks(range);
    for (const Total& total : totals) {
        if (!total.tree.empty()) declare_start(total);
    }
    each_term(range, block, totals, batch);
    for (const Total& total : totals) {
        if (!total.tree.empty()) out_->line("add_block({}, {}, {});", total.tree, total.name, total.combine);
    }
    carry_blocks(totals, 1);
    end_block();
}

/// After `added` blocks to each tree of the loop: what is full goes up.
void ExpressionWriter::carry_blocks(const std::vector<Total>& totals, int added) {
    std::string blocks;
    for (const Total& total : totals) {
        if (total.tree.empty()) continue;
        if (std::exchange(blocks, total.blocks).empty()) {
            out_->line("{} += {};", total.blocks, added);
            begin_block(fmt::format("if ({} % {} == 0)", total.blocks, ir::kBlockTerms));
        }
        out_->line("carry_blocks({}, {}, {});", total.tree, total.blocks, total.combine);
    }
    if (!blocks.empty()) end_block();
}

/// Names what the trees of a loop give; those of few blocks have nothing in their upper levels.
void ExpressionWriter::name_totals(std::vector<Total>& totals) {
    std::string blocks;
    for (Total& total : totals) {
        if (total.tree.empty()) continue;
        blocks = total.blocks;
        total.name = names_.add(ir::name(total.reduction->op));
        out_->line("{} {} = {}.last;", value_type(total.type()), total.name, total.tree);
    }
    if (blocks.empty()) return;
    begin_block(fmt::format("if ({} >= {})", blocks, ir::kBlockTerms));
    for (const Total& total : totals) {
        if (total.tree.empty()) continue;
        out_->line("{} = tree_total({}, {}, {});", total.name, total.tree, blocks, total.combine);
    }
    end_block();
}

/// Gives the variables that stand for `var` in other reductions of the loop its name.
void ExpressionWriter::bind_like(ir::VarId var) {
    const std::string name = variables_.at(var);
    const poly::IntRange range = ranges_.integer(ir::variable(var, Type::Int32));
    for (const auto& [other, first] : shared_variables_) {
        if (first == var && other != var) bind(other, name, range);
    }
}

Text ExpressionWriter::reduce(const ir::Expr& e, const ir::Reduce& n) {
    const auto outer = std::exchange(shared_variables_, {});
    const std::vector<ir::Expr> reductions = same_loop(e);
    std::vector<Total> totals = totals_of(reductions);
    const bool blocks = std::ranges::any_of(totals, [](const Total& total) { return !total.tree.empty(); });
    if (const auto share = lane_share(n, totals)) {
        in_lanes(n, *share, totals);
    } else if (blocks) {
        in_blocks(n.ranges.front(), totals);
    } else {
        in_loops(n, totals);
    }
    shared_variables_ = outer;
    name_totals(totals);
    for (Total& total : totals) {
        for (const ir::Expr& node : total.nodes) scopes_.back().insert_or_assign(node.get(), Named{total.name, node});
        for (const Total::Place& place : total.places) {
            scopes_.back().insert_or_assign(place.node.get(), Named{place.name, place.node});
        }
    }
    return {*known(e)};
}

}  // namespace pipec::codegen
