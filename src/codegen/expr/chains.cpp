#include "codegen/expr/chains.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>

#include "codegen/emit/c/c_expr.h"
#include "ir/build.h"
#include "ir/reduction.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

using ir::BinaryOp;
using ir::ReduceOp;
using ir::Type;

/// Chains of so many terms, or of so many nodes in all terms together, are long. The totals of shorter ones stay in
/// registers as straight lines.
constexpr std::int64_t kFewestTerms = 8, kManyTerms = 32;
constexpr std::int64_t kFewestNodes = 200, kManyNodes = 400;

bool is_long(std::int64_t terms, const ir::Expr& term) {
    const std::int64_t nodes = terms * ir::node_count(term);
    return terms >= kFewestTerms && nodes >= (terms >= kManyTerms ? kFewestNodes : kManyNodes);
}

bool is_same_leaf(const ir::Expr& a, const ir::Expr& b) {
    const bool leaf = ir::as<ir::SizeRef>(a) != nullptr || ir::as<ir::ParamRef>(a) != nullptr;
    return leaf && a->type == b->type && ir::same_node(*a, *b);
}

/// One expression for many that differ in constants only.
class LikeTerms {
public:
    /// `number` is the variable that tells the terms apart. Without a pipeline it is only asked whether there is such
    /// an expression: no variables are made.
    LikeTerms(ir::Pipeline* pipeline, ir::VarId number) : pipeline_(pipeline), number_(number) {}

    /// Null where the terms differ in more.
    ir::Expr find(const std::vector<ir::Expr>& terms) {
        if (names_.empty()) names_.resize(terms.size());
        const auto [memo, is_new] = found_.try_emplace(terms);
        if (!is_new) return memo->second;
        ir::Expr result = unify(terms);
        return found_[terms] = result;
    }

    std::vector<Chain::Table> tables;

private:
    ir::Expr unify(const std::vector<ir::Expr>& terms) {
        const ir::Expr& first = terms.front();
        if (std::ranges::all_of(terms, [&](const ir::Expr& e) { return e == first || is_same_leaf(e, first); }))
            return first;
        if (std::ranges::any_of(terms, [&](const ir::Expr& e) { return e->type != first->type; })) return nullptr;
        if (first->type == Type::Int32) {
            if (ir::Expr sum = unify_offsets(terms)) return sum;
        }
        if (std::ranges::any_of(terms, [&](const ir::Expr& e) { return e->value.index() != first->value.index(); })) {
            return nullptr;
        }
        return std::visit(ir::overloaded{
                              [&](const ir::IntConstant&) { return constants(terms); },
                              [&](const ir::FloatConstant&) { return constants(terms); },
                              [&](const ir::Variable& n) { return variables(terms, n); },
                              [&](const ir::SizeRef&) { return ir::Expr(); },  // the same one was found above
                              [&](const ir::ParamRef&) { return ir::Expr(); },
                              [&](const ir::Unary& n) { return like<ir::Unary>(terms, n.op, &ir::Unary::op); },
                              [&](const ir::Binary& n) { return like<ir::Binary>(terms, n.op, &ir::Binary::op); },
                              [&](const ir::Cast& n) { return like<ir::Cast>(terms, n.saturate, &ir::Cast::saturate); },
                              [&](const ir::Call& n) { return like<ir::Call>(terms, n.fn, &ir::Call::fn); },
                              [&](const ir::Select&) { return operands(terms); },
                              [&](const ir::Read& n) { return like<ir::Read>(terms, n.source, &ir::Read::source); },
                              [&](const ir::Let&) { return ir::Expr(); },
                              [&](const ir::Reduce& n) { return loops(terms, n); },
                          },
                          first->value);
    }

    /// Nodes of one kind with the same operator, or what takes its place.
    template <class N, class T>
    ir::Expr like(const std::vector<ir::Expr>& terms, const T& of_first, T N::*member) {
        const auto same = [&](const ir::Expr& e) { return ir::as<N>(e)->*member == of_first; };
        return std::ranges::all_of(terms, same) ? operands(terms) : nullptr;
    }

    /// Nodes that are alike if their operands are.
    ir::Expr operands(const std::vector<ir::Expr>& terms) {
        std::vector<std::vector<ir::Expr>> all;
        for (const ir::Expr& e : terms) all.push_back(ir::children(e));
        std::vector<ir::Expr> unified;
        for (std::size_t i = 0; i < all.front().size(); ++i) {
            std::vector<ir::Expr> column;
            for (const auto& of_term : all) {
                if (of_term.size() != all.front().size()) return nullptr;
                column.push_back(of_term[i]);
            }
            unified.push_back(find(column));
            if (!unified.back()) return nullptr;
        }
        std::size_t next = 0;
        return ir::map_children(terms.front(), [&](const ir::Expr&) { return unified[next++]; });
    }

    /// Loops in the terms have variables of their own.
    ir::Expr loops(const std::vector<ir::Expr>& terms, const ir::Reduce& first) {
        for (std::size_t i = 0; i < terms.size(); ++i) {
            const auto& n = *ir::as<ir::Reduce>(terms[i]);
            if (n.op != first.op || n.place != first.place || n.ranges.size() != first.ranges.size()) return nullptr;
            for (std::size_t r = 0; r < n.ranges.size(); ++r) names_[i][n.ranges[r].var] = first.ranges[r].var;
        }
        return operands(terms);
    }

    ir::Expr variables(const std::vector<ir::Expr>& terms, const ir::Variable& first) {
        for (std::size_t i = 0; i < terms.size(); ++i) {
            const ir::VarId id = ir::as<ir::Variable>(terms[i])->id;
            const auto name = names_[i].find(id);
            if ((name == names_[i].end() ? id : name->second) != first.id) return nullptr;
        }
        return terms.front();
    }

    /// x, x + 1, x - 2.
    ir::Expr unify_offsets(const std::vector<ir::Expr>& terms) {
        std::vector<ir::Expr> bases;
        std::vector<std::int64_t> offsets;
        for (const ir::Expr& e : terms) {
            const auto [base, offset] = ir::with_offset(e);
            bases.push_back(base);
            offsets.push_back(offset);
        }
        if (bases == terms) return nullptr;
        const ir::Expr base = find(bases);
        return base ? ir::binary(BinaryOp::Add, base, numbers(Type::Int32, offsets)) : nullptr;
    }

    ir::Expr constants(const std::vector<ir::Expr>& terms) {
        if (ir::as<ir::FloatConstant>(terms.front()) != nullptr) {
            const auto same = [&](const ir::Expr& e) { return ir::structurally_equal(e, terms.front()); };
            return std::ranges::all_of(terms, same) ? terms.front() : table(terms);
        }
        std::vector<std::int64_t> values;
        for (const ir::Expr& e : terms) values.push_back(*ir::as_int(e));
        return numbers(terms.front()->type, values);
    }

    /// A constant, a multiple of the term's number, or a table.
    ir::Expr numbers(Type type, const std::vector<std::int64_t>& values) {
        const bool small = type == Type::Int32 && std::ranges::all_of(values, [](std::int64_t value) {
                               return std::abs(value) <= kIndexLimit;
                           });
        const std::int64_t step = small ? values.back() - values[values.size() - 2] : 0;
        bool even = true;
        for (std::size_t i = 1; i < values.size(); ++i)
            even = even && (small ? values[i] - values[i - 1] == step : values[i] == values[0]);
        const ir::Expr first = ir::int_constant(type, ir::wrap_to(type, values.front()));
        if (even && step == 0) return first;
        if (even) {
            const ir::Expr number = ir::variable(number_, Type::Int32);
            return ir::binary(BinaryOp::Add, ir::binary(BinaryOp::Mul, number, ir::int_constant(Type::Int32, step)),
                              first);
        }
        std::vector<ir::Expr> all;
        for (const std::int64_t value : values) all.push_back(ir::int_constant(type, ir::wrap_to(type, value)));
        return table(all);
    }

    ir::Expr table(const std::vector<ir::Expr>& values) {
        const Type type = values.front()->type;
        for (const Chain::Table& known : tables) {
            const auto same = [](const ir::Expr& a, const ir::Expr& b) { return ir::structurally_equal(a, b); };
            if (std::ranges::equal(known.values, values, same)) return ir::variable(known.variable, type);
        }
        if (pipeline_ == nullptr) return values.front();
        tables.push_back({ir::new_variable(*pipeline_, "c", type), values});
        return ir::variable(tables.back().variable, type);
    }

    ir::Pipeline* pipeline_;
    ir::VarId number_;
    std::map<std::vector<ir::Expr>, ir::Expr> found_;
    std::vector<std::map<ir::VarId, ir::VarId>> names_;  ///< by term: variables of its loops, as the first one's
};

/// A chain as it is written: what each step combines, and where it has come to after each.
struct ChainSteps {
    ReduceOp op;
    std::vector<ir::Expr> terms, places;  ///< places of ArgMin and ArgMax alone
    std::vector<ir::Expr> after;          ///< by term: the result with it
    ir::Expr start, first_place;          ///< what stands before the first term
};

std::optional<ReduceOp> chain_operator(BinaryOp op) {
    switch (op) {
        case BinaryOp::Add: return ReduceOp::Sum;
        case BinaryOp::Mul: return ReduceOp::Prod;
        case BinaryOp::Min: return ReduceOp::Min;
        case BinaryOp::Max: return ReduceOp::Max;
        default: return std::nullopt;
    }
}

std::optional<ChainSteps> fold_steps(const ir::Expr& e) {
    const auto* n = ir::as<ir::Binary>(e);
    const auto op = n != nullptr && e->type != Type::Bool ? chain_operator(n->op) : std::nullopt;
    if (!op) return std::nullopt;
    ChainSteps steps{*op, {}, {}, {}, e, nullptr};
    for (const auto* step = n; step != nullptr && step->op == n->op; step = ir::as<ir::Binary>(steps.start)) {
        steps.terms.push_back(step->b);
        steps.after.push_back(steps.start);
        steps.start = step->a;
    }
    std::ranges::reverse(steps.terms);
    std::ranges::reverse(steps.after);
    return steps;
}

/// The best value so far that the choice of a place compares with, and what is compared; null for other choices.
struct PlaceChoice {
    ir::Expr term, best;
};
std::optional<PlaceChoice> place_choice(const ir::Expr& e, BinaryOp better) {
    const auto* n = ir::as<ir::Select>(e);
    const auto* condition = n != nullptr && n->otherwise ? ir::as<ir::Binary>(n->cond) : nullptr;
    if (condition == nullptr || condition->op != better) return std::nullopt;
    return PlaceChoice{condition->a, condition->b};
}

/// place = term < best ? here : place; best = min(best, term), from the last step to the first.
std::optional<ChainSteps> place_steps(const ir::Expr& e, ReduceOp op) {
    const BinaryOp fold = ir::fold_op(op), better = ir::better_op(op);
    ChainSteps steps{op, {}, {}, {}, nullptr, e};
    if (e->type != Type::Int32) return std::nullopt;
    for (std::optional<PlaceChoice> now = place_choice(e, better); now; now = place_choice(steps.first_place, better)) {
        if (steps.start) {  // what the step behind compared with must be this step's best
            const auto* best = ir::as<ir::Binary>(steps.start);
            if (best == nullptr || best->op != fold || best->a != now->best || best->b != now->term) break;
        }
        const auto& choice = *ir::as<ir::Select>(steps.first_place);
        steps.terms.push_back(now->term);
        steps.places.push_back(choice.then);
        steps.after.push_back(steps.first_place);
        steps.first_place = choice.otherwise;
        steps.start = now->best;
    }
    if (steps.terms.empty()) return std::nullopt;
    // A best value that is NaN loses against every term, but none compares as better with it.
    const ir::Expr none = ir::identity(op, steps.start->type);
    if (ir::is_float(none->type) && !ir::structurally_equal(steps.start, none)) return std::nullopt;
    std::ranges::reverse(steps.terms);
    std::ranges::reverse(steps.places);
    std::ranges::reverse(steps.after);
    return steps;
}

class ChainFinder {
public:
    ChainFinder(ir::Pipeline& pipeline, const std::set<ir::VarId>& lanes) : pipeline_(pipeline), lanes_(lanes) {}

    /// `e` with its chains as reductions; only what is evaluated whenever `e` is.
    ir::Expr find(const ir::Expr& e) {
        if (const auto known = found_.find(e); known != found_.end()) return known->second;
        ir::Expr result = chain(e);
        if (!result) result = with_operands(e);
        return found_[e] = result;
    }

    Chains chains;

private:
    /// Terms that several chains may have, as the loop over them.
    struct Terms {
        ir::VarId number;
        LikeTerms like;
        ir::Expr term;
    };

    ir::Expr with_operands(const ir::Expr& e) {
        if (ir::as<ir::Reduce>(e) != nullptr) return e;
        const auto* select = ir::as<ir::Select>(e);
        const auto* binary = ir::as<ir::Binary>(e);
        const bool chooses =
            (select != nullptr && select->otherwise) || (binary != nullptr && ir::is_logical(binary->op));
        bool first = true;
        return ir::map_children(e, [&](const ir::Expr& operand) {
            const bool certain = std::exchange(first, false) || !chooses;
            return certain ? find(operand) : operand;
        });
    }

    ir::Expr chain(const ir::Expr& e) {
        std::optional<ChainSteps> steps = fold_steps(e);
        for (const ReduceOp op : {ReduceOp::ArgMin, ReduceOp::ArgMax}) {
            if (!steps) steps = place_steps(e, op);
        }
        if (!steps) return nullptr;
        // Terms of which the last are alike, and then those before them: what they are combined with.
        std::size_t end = steps->terms.size();
        while (static_cast<std::int64_t>(end) >= kFewestTerms) {
            const std::size_t begin = begin_of_like(*steps, end);
            if (is_long(static_cast<std::int64_t>(end - begin), steps->terms[end - 1])) {
                if (ir::Expr loop = as_loop(*steps, begin, end)) return with_rest(*steps, end, std::move(loop));
            }
            if (ir::gives_place(steps->op)) return nullptr;
            end = begin;
        }
        return nullptr;
    }

    /// The first of the terms before `end` that are like the last one.
    static std::size_t begin_of_like(const ChainSteps& steps, std::size_t end) {
        std::size_t begin = end - 1;
        const auto is_like = [&](const ir::Expr& e) {
            return LikeTerms(nullptr, -1).find({e, steps.terms[end - 1]}) != nullptr;
        };
        while (begin > 0 && is_like(steps.terms[begin - 1])) --begin;
        return begin;
    }

    Terms& loop_over(const std::vector<ir::Expr>& terms) {
        const auto known = terms_.find(terms);
        if (known != terms_.end()) return known->second;
        const ir::VarId number = ir::new_variable(pipeline_, "i");
        Terms result{number, LikeTerms(&pipeline_, number), nullptr};
        result.term = result.like.find(terms);
        return terms_.emplace(terms, std::move(result)).first->second;
    }

    ir::Expr as_loop(const ChainSteps& steps, std::size_t begin, std::size_t end) {
        const auto part = [&](const std::vector<ir::Expr>& all) {
            return std::vector<ir::Expr>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                         all.begin() + static_cast<std::ptrdiff_t>(end));
        };
        const auto count = static_cast<std::int64_t>(end - begin);
        Terms& terms = loop_over(part(steps.terms));
        if (!terms.term || !depends_on_lane(terms.term)) return nullptr;
        Chain chain;
        if (ir::gives_place(steps.op)) {
            chain.place = terms.like.find(part(steps.places));
            if (!chain.place) return nullptr;
            chain.first_place = begin == 0 ? steps.first_place : find(steps.after[begin - 1]);
            chain.start = best_before(steps, begin);
        } else {
            chain.start = find(begin == 0 ? steps.start : steps.after[begin - 1]);
        }
        chain.tables = terms.like.tables;
        const ir::Range range{terms.number, ir::int_constant(Type::Int32, 0), ir::int_constant(Type::Int32, count)};
        ir::Expr loop = ir::reduce(steps.op, {range}, terms.term);
        chains.emplace(loop, std::move(chain));
        return loop;
    }

    /// What the first term of a loop over places is compared with.
    ir::Expr best_before(const ChainSteps& steps, std::size_t begin) {
        const ir::Expr best = place_choice(steps.after[begin], ir::better_op(steps.op))->best;
        return ir::structurally_equal(best, ir::identity(steps.op, best->type)) ? nullptr : find(best);
    }

    /// The terms behind a loop, one by one.
    ir::Expr with_rest(const ChainSteps& steps, std::size_t end, ir::Expr loop) {
        for (std::size_t i = end; i < steps.terms.size(); ++i)
            loop = ir::binary(ir::fold_op(steps.op), loop, find(steps.terms[i]));
        return loop;
    }

    [[nodiscard]] bool depends_on_lane(const ir::Expr& e) const {
        return ir::any_node(e, [&](const ir::Expr& node) {
            const auto* variable = ir::as<ir::Variable>(node);
            return variable != nullptr && lanes_.count(variable->id) > 0;
        });
    }

    ir::Pipeline& pipeline_;
    const std::set<ir::VarId>& lanes_;
    std::unordered_map<ir::Expr, ir::Expr> found_;
    std::map<std::vector<ir::Expr>, Terms> terms_;
};

}  // namespace

std::optional<WithChains> find_chains(ir::Pipeline& pipeline, const ir::Expr& value, const std::set<ir::VarId>& lanes) {
    ChainFinder finder(pipeline, lanes);
    WithChains result{finder.find(value), {}};
    if (finder.chains.empty()) return std::nullopt;
    result.chains = std::move(finder.chains);
    return result;
}

ir::Expr with_loops(ir::Pipeline& pipeline, const ir::Expr& e) {
    const std::optional<ChainSteps> steps = ir::is_int(e->type) ? fold_steps(e) : std::nullopt;
    if (!steps || static_cast<std::int64_t>(steps->terms.size()) < kFewestTerms) return e;
    const ir::VarId number = ir::new_variable(pipeline, "i");
    LikeTerms like(&pipeline, number);
    const ir::Expr term = like.find(steps->terms);
    if (!term || !like.tables.empty()) return e;
    const auto count = static_cast<std::int64_t>(steps->terms.size());
    const ir::Range range{number, ir::int_constant(Type::Int32, 0), ir::int_constant(Type::Int32, count)};
    return ir::binary(ir::fold_op(steps->op), steps->start, ir::reduce(steps->op, {range}, term));
}

}  // namespace pipec::codegen
