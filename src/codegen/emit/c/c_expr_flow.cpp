// Control flow inside expressions: `if`, `and`, `or`, `let`, loops, and what may be computed before a branch.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "codegen/emit/c/c_expr.h"
#include "codegen/emit/c/c_types.h"
#include "codegen/expr/pack.h"
#include "ir/build.h"
#include "ir/certain_reads.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

/// Reads of a branch before its condition: with more of them a branch that is not taken saves something.
constexpr std::ptrdiff_t kMostReadsFirst = 16;
/// With so many cases the values that each of them keeps alive fill the registers. The place of the least of 64 values
/// took 447 us of an H200 in a kernel with 64 registers, and 68 us from the last case on. With 16 cases, or without a
/// register limit, it took up to 14 % longer from the last case on: nvcc then loads less ahead.
constexpr std::size_t kLeastBackwards = 24;

void ExpressionWriter::begin_block(const std::string& head) {
    out_->open(head);
    scopes_.emplace_back();
}

void ExpressionWriter::end_block(std::string_view tail) {
    scopes_.pop_back();
    out_->close(tail);
}

void ExpressionWriter::else_block() {
    scopes_.back().clear();
    out_->outdent();
    out_->open("} else");
}

/// What is computed in one case only. In a choice among values, nodes are counted by the case's own uses.
ExpressionWriter::Branch ExpressionWriter::branch(const ir::Expr& e, bool counts_anew) {
    Branch result;
    Writer* const outer = out_;
    out_ = &result.statements;
    scopes_.emplace_back();
    if (counts_anew) branches_.push_back({e});
    blocks_.push_back({{e}});
    result.value = value(e);
    blocks_.pop_back();
    if (counts_anew) branches_.pop_back();
    scopes_.pop_back();
    out_ = outer;
    return result;
}

/// `condition ? then : otherwise`, or the statement where a branch needs statements. A choice among more than two has a
/// statement of its own.
Text ExpressionWriter::choose(Type type, const Text& condition, const Branch& then, const Branch& otherwise,
                              std::string_view wanted) {
    if (then.statements.empty() && otherwise.statements.empty()) {
        const Text choice{
            fmt::format("{} ? {} : {}", at_least(condition, Precedence::Or), at_least(then.value, Precedence::Or),
                        at_least(otherwise.value, Precedence::Ternary)),
            Precedence::Ternary};
        const bool is_chain =
            then.value.precedence == Precedence::Ternary || otherwise.value.precedence == Precedence::Ternary;
        return is_chain && branches_.empty() ? Text{declare(type, choice, wanted)} : choice;
    }
    const std::string name = names_.add(wanted);
    out_->line("{} {};", value_type(type), name);
    out_->open(fmt::format("if ({})", condition.text));
    out_->append(then.statements);
    out_->line("{} = {};", name, then.value.text);
    out_->outdent();
    out_->open("} else");
    out_->append(otherwise.statements);
    out_->line("{} = {};", name, otherwise.value.text);
    out_->close();
    return {name};
}

/// A choice among constants or variables as a statement for each case, from the last case to the first. Where is the
/// least of 64 values? Each condition compares with the least value so far. If the first case comes first, all 64 of
/// these are alive at once; if the last case does, one is. Nothing where the conditions share no value, or where a
/// later one reads what the first one does not: the first one may guard that read.
std::optional<Text> ExpressionWriter::backwards(const ir::Expr& e, const std::string& wanted) {
    std::vector<const ir::Select*> cases;
    ir::Expr last = e;
    for (const auto* n = ir::as<ir::Select>(last); n != nullptr && n->otherwise && known(last) == nullptr;
         n = ir::as<ir::Select>(last)) {
        if (!ir::children(n->then).empty()) break;
        cases.push_back(n);
        last = n->otherwise;
    }
    if (cases.size() < kLeastBackwards || !ir::children(last).empty() || forwards_.count(e.get()) > 0) return {};
    std::unordered_set<const ir::Node*> first;
    ir::for_each_node(cases.front()->cond, [&](const ir::Expr& node) { first.insert(node.get()); });
    bool shares = false, reads_more = false;
    ir::for_each_node(cases.front()->otherwise, [&](const ir::Expr& node) {
        const bool in_first = first.count(node.get()) > 0;
        shares = shares || (in_first && !ir::children(node).empty());
        reads_more = reads_more || (!in_first && ir::as<ir::Read>(node) != nullptr);
    });
    if (!shares || reads_more) {
        for (const ir::Select* n : cases) forwards_.insert(n->otherwise.get());
        return {};
    }
    Text chosen = value(last);
    for (std::size_t i = cases.size(); i-- > 0;) {
        const Text condition = value(cases[i]->cond), then = value(cases[i]->then);
        chosen = {declare(e->type,
                          {fmt::format("{} ? {} : {}", at_least(condition, Precedence::Or),
                                       at_least(then, Precedence::Or), at_least(chosen, Precedence::Ternary)),
                           Precedence::Ternary},
                          wanted)};
    }
    return chosen;
}

Text ExpressionWriter::select(const ir::Expr& e, const ir::Select& n) {
    if (!n.otherwise) return value(n.then);
    const std::string wanted = wanted_.empty() ? "v" : std::exchange(wanted_, "");
    if (few_registers_) {
        if (auto chosen = backwards(e, wanted)) return *chosen;
    }
    name_uniform(n.then);
    name_uniform(n.otherwise);
    name_common(n.then, n.otherwise);
    if (reads_first_ && conditions_.ask_data(n.cond)) {
        name_reads(n.then);
        name_reads(n.otherwise);
    }
    const Text condition = value(n.cond);
    const Branch then = branch(n.then, true);
    return choose(e->type, condition, then, branch(n.otherwise, true), wanted);
}

Text ExpressionWriter::logical(const ir::Binary& n) {
    const bool is_and = n.op == BinaryOp::And;
    const Text left = value(n.a);
    Branch right = branch(n.b, false);
    if (right.statements.empty()) {
        return infix(is_and ? "&&" : "||", is_and ? Precedence::And : Precedence::Or, left, right.value);
    }
    const Branch decided{{}, {is_and ? "false" : "true"}};
    return is_and ? choose(Type::Bool, left, right, decided) : choose(Type::Bool, left, decided, right);
}

Text ExpressionWriter::let(const ir::Let& n) {
    if (!uses_.variable(n.var)) return value(n.body);
    const ir::VariableInfo& info = pipeline_.variables.at(static_cast<std::size_t>(n.var));
    const Text text = value(n.value);
    variables_[n.var] = declare(n.value->type, text, info.name.empty() ? "t" : info.name);
    note_extremum(n.var, n.value);
    ranges_.bind(n.var, ranges_.of(n.value));
    return value(n.body);
}

// ------------------------------------------------------------------------------------------------------------ loops

/// `text`, or a constant with its value where it is no name or literal.
Text ExpressionWriter::primary(Type type, const Text& text, std::string_view wanted) {
    if (text.precedence == Precedence::Primary && text.text.back() != ')') return text;
    return {declare(type, text, wanted)};
}

const std::string& ExpressionWriter::variable_name(ir::VarId var) const {
    return pipeline_.variables.at(static_cast<std::size_t>(var)).name;
}

ExpressionWriter::Span ExpressionWriter::span_of(const ir::Range& range) {
    const Text first = value(range.lo);
    return {first, primary(Type::Int32, value(range.hi), variable_name(range.var) + "_end")};
}

/// `name` is a point of `range`.
void ExpressionWriter::bind_point(const ir::Range& range, const std::string& name) {
    const poly::IntRange lo = ranges_.integer(range.lo), hi = ranges_.integer(range.hi);
    bind(range.var, name, {lo.lo, std::max(lo.lo, hi.hi - 1)});
}

void ExpressionWriter::begin_points(const ir::Range& range, const Span& from) {
    const std::string name = names_.add(variable_name(range.var));
    begin_block(fmt::format("for (int32_t {0} = {1}; {0} < {2}; ++{0})", name, from.first.text, from.end.text));
    bind_point(range, name);
}

void ExpressionWriter::begin_loop(const ir::Range& range, const LoopForm& form) {
    const poly::IntRange lo = ranges_.integer(range.lo);
    const poly::IntRange hi = ranges_.integer(range.hi);
    const std::string name = names_.add(variable_name(range.var));
    const Span all = span_of(range);
    const bool by_one = !form.step || ir::as_int(form.step) == 1;
    const Text step = by_one ? Text{} : primary(Type::Int32, value(form.step), name + "_step");
    if (!form.pragma.empty()) out_->add(std::string(form.pragma));
    begin_block(fmt::format("for (int32_t {0} = {1}; {0} < {2}; {3})", name, all.first.text, all.end.text,
                            by_one ? "++" + name : fmt::format("{} += {}", name, step.text)));
    poly::IntRange values{lo.lo, std::max(lo.lo, hi.hi - 1)};
    if (form.limit)
        values = {std::max<poly::Wide>(values.lo, -*form.limit + 1), std::min<poly::Wide>(values.hi, *form.limit - 1)};
    bind(range.var, name, values);
}

void ExpressionWriter::end_loop() {
    end_block();
}

// --------------------------------------------------------------------------------------- what both branches evaluate

/// The operands that are evaluated whenever `e` is, before anything that a loop in it repeats. Of a choice, what both
/// sides share is no operand.
std::vector<ir::Expr> ExpressionWriter::certain_operands(const ir::Expr& e) {
    if (const auto* n = ir::as<ir::Select>(e); n != nullptr && n->otherwise) return {n->cond};
    if (const auto* n = ir::as<ir::Binary>(e); n != nullptr && ir::is_logical(n->op)) return {n->a};
    if (const auto* loop = ir::as<ir::Reduce>(e)) {
        if (loop->ranges.empty()) return {};
        return {loop->ranges.front().lo, loop->ranges.front().hi};
    }
    return evaluated_operands(e);
}

/// The shared nodes that are evaluated whenever `root` is, parents before operands.
std::vector<ir::Expr> ExpressionWriter::certain(const ir::Expr& root) {
    std::vector<ir::Expr> found;
    std::unordered_set<const ir::Node*> seen;
    std::vector<ir::Expr> stack{root};
    const auto push = [&](const ir::Expr& e) { stack.push_back(e); };
    while (!stack.empty()) {
        const ir::Expr e = std::move(stack.back());
        stack.pop_back();
        if (!seen.insert(e.get()).second) continue;
        if (deserves_name(e)) found.push_back(e);
        if (const auto* n = ir::as<ir::Select>(e); n != nullptr && n->otherwise) {
            auto [memo, is_new] = certain_.try_emplace(e.get());
            if (is_new) {
                const std::vector<ir::Expr> then = certain(n->then);
                std::unordered_set<const ir::Node*> in_otherwise;
                for (const ir::Expr& other : certain(n->otherwise)) in_otherwise.insert(other.get());
                std::vector<ir::Expr> both;
                for (const ir::Expr& node : then) {
                    if (in_otherwise.count(node.get()) > 0) both.push_back(node);
                }
                certain_[e.get()] = both;
            }
            // These are evaluated, and so is what they evaluate.
            const std::vector<ir::Expr>& both = certain_[e.get()];
            std::for_each(both.rbegin(), both.rend(), push);
            push(n->cond);
        } else {
            const std::vector<ir::Expr> operands = certain_operands(e);
            std::for_each(operands.rbegin(), operands.rend(), push);
        }
    }
    return found;
}

ExpressionWriter::Sameness ExpressionWriter::sameness(const ir::Expr& e) {
    if (const auto known = sameness_.find(e.get()); known != sameness_.end()) return known->second;
    Sameness result{ir::as<ir::Variable>(e) == nullptr && ir::as<ir::Read>(e) == nullptr, false};
    const std::vector<ir::Expr> operands = ir::children(e);
    for (const ir::Expr& child : operands) {
        const Sameness of_child = sameness(child);
        result.uniform = result.uniform && of_child.uniform;
        result.has_uniform = result.has_uniform || of_child.has_uniform;
    }
    const bool has_worth = ir::is_float(e->type) && !operands.empty() && uses_.of(e) > 1;
    result.has_uniform = result.has_uniform || (result.uniform && has_worth);
    return sameness_[e.get()] = result;
}

/// Names, before a branch, what in it is the same for all points: sums and products, which inside would make statements
/// of what could be an expression, and all that the block needs elsewhere, too, where it would be computed again.
void ExpressionWriter::name_uniform(const ir::Expr& branch) {
    const std::function<bool(const ir::Expr&)> is_cheap = [&](const ir::Expr& node) {
        const std::vector<ir::Expr> operands = ir::children(node);
        const auto* n = ir::as<ir::Binary>(node);
        const bool adds = n != nullptr && (n->op == BinaryOp::Add || n->op == BinaryOp::Sub || n->op == BinaryOp::Mul);
        return operands.empty() || (adds && is_cheap(n->a) && is_cheap(n->b));
    };
    // Blocks of branches inside of what is named come and go; this one stays.
    Block& block = blocks_.back();
    std::optional<Uses> inside;
    const auto is_repeated = [&](const ir::Expr& node) {
        if (!ir::is_total(node)) return false;
        if (!inside) inside.emplace().add(branch);
        if (!block.uses) {
            block.uses.emplace();
            for (const ir::Expr& root : block.roots) block.uses->add(root);
        }
        return inside->of(node) < block.uses->of(node);
    };
    std::vector<ir::Expr> stack{branch};
    while (!stack.empty()) {
        const ir::Expr node = std::move(stack.back());
        stack.pop_back();
        if (!sameness(node).has_uniform || !block.searched.insert(node.get()).second) continue;
        if (sameness(node).uniform && ir::is_float(node->type) && deserves_name(node) &&
            (is_cheap(node) || is_repeated(node))) {
            static_cast<void>(value(node));
            continue;
        }
        const std::vector<ir::Expr> operands = ir::children(node);
        stack.insert(stack.end(), operands.rbegin(), operands.rend());
    }
}

/// Names, before a branch, what it certainly reads.
void ExpressionWriter::name_reads(const ir::Expr& branch) {
    const std::vector<ir::Expr> reads = ir::certain_reads({branch});
    if (std::ssize(reads) > kMostReadsFirst) return;
    for (const ir::Expr& read : reads) {
        if (known(read) != nullptr || !can_be_written(read)) continue;
        const Text text = value(read);
        if (known(read) == nullptr)
            scopes_.back().insert_or_assign(read.get(), Named{primary(read->type, text, "t").text, read});
    }
}

/// Names, before a branch, the shared nodes that both of its sides evaluate: otherwise each side would repeat them,
/// and nested branches would repeat the repetition.
void ExpressionWriter::name_common(const ir::Expr& a, const ir::Expr& b) {
    std::unordered_set<const ir::Node*> in_b;
    for (const ir::Expr& e : certain(b)) in_b.insert(e.get());
    if (in_b.empty()) return;
    for (const ir::Expr& e : certain(a)) {
        if (in_b.count(e.get()) > 0) static_cast<void>(value(e));
    }
}

/// Names, before a loop whose body code has several times, what is the same for all of its terms and takes floats: the
/// compiler would compute it again at each of these places.
void ExpressionWriter::name_invariant(const std::vector<ir::Expr>& terms, const std::set<ir::VarId>& loops) {
    std::set<ir::VarId> bound = loops;
    for (const ir::Expr& term : terms) {
        ir::for_each_node(term, [&](const ir::Expr& e) {
            if (const auto* let = ir::as<ir::Let>(e)) bound.insert(let->var);
            if (const auto* reduce = ir::as<ir::Reduce>(e)) {
                for (const ir::Range& range : reduce->ranges) bound.insert(range.var);
            }
        });
    }
    struct Kind {
        bool same = true, floats = false;
    };
    std::unordered_map<const ir::Node*, Kind> kinds;
    const std::function<Kind(const ir::Expr&)> kind = [&](const ir::Expr& e) {
        if (const auto found = kinds.find(e.get()); found != kinds.end()) return found->second;
        const auto* variable = ir::as<ir::Variable>(e);
        const auto* n = ir::as<ir::Binary>(e);
        Kind result;
        // Of what is noted there shall be nothing that no term needs.
        const bool may_be_noted = rare_.empty() && detected_.empty()
                                      ? false
                                      : ir::as<ir::Call>(e) != nullptr || (n != nullptr && n->op == BinaryOp::Div) ||
                                            (!detected_.empty() && !ir::is_float(e->type));
        result.same = (variable == nullptr || bound.count(variable->id) == 0) && ir::as<ir::Read>(e) == nullptr &&
                      ir::as<ir::Reduce>(e) == nullptr && ir::as<ir::Let>(e) == nullptr && !may_be_noted;
        const std::vector<ir::Expr> operands = ir::children(e);
        for (const ir::Expr& child : operands) {
            const Kind of_child = kind(child);
            result.same = result.same && of_child.same;
            result.floats = result.floats || of_child.floats;
        }
        result.floats = result.floats || (ir::is_float(e->type) && !operands.empty());
        return kinds[e.get()] = result;
    };
    std::unordered_set<const ir::Node*> seen;
    std::vector<ir::Expr> stack(terms.rbegin(), terms.rend());
    while (!stack.empty()) {
        const ir::Expr e = std::move(stack.back());
        stack.pop_back();
        if (!seen.insert(e.get()).second) continue;
        if (kind(e).same && kind(e).floats && ir::is_total(e)) {
            const Text text = value(e);
            if (known(e) == nullptr)
                scopes_.back().insert_or_assign(e.get(), Named{primary(e->type, text, "t").text, e});
            continue;
        }
        const std::vector<ir::Expr> operands = ir::children(e);
        stack.insert(stack.end(), operands.rbegin(), operands.rend());
    }
}

}  // namespace pipec::codegen
