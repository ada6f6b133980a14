#include "codegen/wrapper/ends_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/emit/c/c_expr.h"
#include "codegen/emit/c/c_types.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

/// Types whose sums and products are exact in 64 bits.
bool is_followed(Type type) {
    return ir::is_int(type) && ir::bits(type) <= 32 && type != Type::UInt32;
}

Text call(const std::string& function, const Text& a, const Text& b) {
    return call_text(function, {a, b});
}

Text of_type(const std::string& function, Type type, const std::vector<Text>& args) {
    return call_text(fmt::format("{}<{}>", function, value_type(type)), args);
}

Text not_of(const Text& condition) {
    return infix("-", Precedence::Sum, {"1"}, condition);
}

/// A condition that may be false or true.
const Text kOpen{"Ends(0, 1)"};

}  // namespace

EndsText::EndsText(ir::Pipeline& pipeline, const CodeNames& names)
    : pipeline_(pipeline),
      names_(names),
      rewriter_(pipeline),
      ranges_(pipeline, std::vector<poly::IntRange>(pipeline.sizes.size(), kSizeRange)) {
    ranges_.know_stages();
}

void EndsText::bind(ir::VarId var, const poly::Interval& within, const std::string& name) {
    variables_[var] = name;
    const poly::Wide least = ranges_.integer(within.lo).lo, end = ranges_.integer(within.hi).hi;
    ranges_.bind(var, poly::IntRange{least, std::max(least, end - 1)});
    // The rewriter counts on variables that stay below the limit.
    if (least < -kernel::kVariableLimit || end > kernel::kVariableLimit) return;
    rewriter_.index(var, 1, static_cast<std::int64_t>(least), static_cast<std::int64_t>(end));
}

/// Made of variables, sizes and integer arithmetic alone: short, and worth a canonical form.
bool EndsText::is_index(const ir::Expr& e) {
    if (const auto known = is_index_.find(e); known != is_index_.end()) return known->second;
    bool result = e->type == Type::Int32 || e->type == Type::Bool;
    result = result && std::visit(ir::overloaded{
                                      [](const ir::Unary&) { return true; },
                                      [](const ir::Binary&) { return true; },
                                      [](const ir::Select&) { return true; },
                                      [](const ir::IntConstant&) { return true; },
                                      [](const ir::Variable&) { return true; },
                                      [](const ir::SizeRef&) { return true; },
                                      [](const ir::ParamRef&) { return true; },
                                      [](const auto&) { return false; },
                                  },
                                  e->value);
    if (result) {
        for (const ir::Expr& operand : ir::children(e)) result = result && is_index(operand);
    }
    is_index_.emplace(e, result);
    return result;
}

ir::Expr EndsText::canonical(const ir::Expr& e) {
    return is_index(e) ? rewriter_.instance(e, {}) : e;
}

std::optional<IndexSum> EndsText::sum(const ir::Expr& e) {
    const auto linear = rewriter_.linear(canonical(e));
    if (!linear || !rewriter_.fits(*linear)) return std::nullopt;
    return IndexSum{linear->terms, linear->constant, linear->constant};
}

Text EndsText::ends(const IndexSum& sum) {
    std::vector<std::pair<ir::Expr, std::int64_t>> terms = sum.terms;
    std::stable_sort(terms.begin(), terms.end(),
                     [](const auto& a, const auto& b) { return (a.second < 0) < (b.second < 0); });
    std::optional<Text> total;
    for (const auto& [atom, factor] : terms) {
        const std::int64_t times = total && factor < 0 ? -factor : factor;
        Text term = node(atom);
        if (times != 1) term = infix("*", Precedence::Product, literal(fmt::format("{}", times)), term);
        total = total ? infix(factor < 0 ? "-" : "+", Precedence::Sum, *total, term) : term;
    }
    if (sum.least != sum.greatest) {
        const Text constants{fmt::format("Ends({}, {})", sum.least, sum.greatest)};
        return total ? infix("+", Precedence::Sum, *total, constants) : constants;
    }
    if (!total) return literal(fmt::format("{}", sum.least));
    if (sum.least == 0) return *total;
    return infix(sum.least < 0 ? "-" : "+", Precedence::Sum, *total, {fmt::format("{}", std::abs(sum.least))});
}

Text EndsText::ends(const ir::Expr& e) {
    return node(canonical(e));
}

/// Of an expression in canonical form.
Text EndsText::node(const ir::Expr& e) {
    if (const auto constant = ir::as_int(e); constant && is_followed(e->type)) {
        return literal(fmt::format("{}", *constant));
    }
    if (!is_followed(e->type)) return known(e);
    if (const auto linear = rewriter_.linear(e)) {
        const bool is_atom = linear->terms.size() == 1 && linear->terms.front().first == rewriter_.unique(e);
        if (!is_atom) {
            const Text text = ends(IndexSum{linear->terms, linear->constant, linear->constant});
            return rewriter_.fits(*linear) ? text : of_type("wrapped", e->type, {text});
        }
    }
    if (const auto* n = ir::as<ir::Variable>(e)) {
        const auto found = variables_.find(n->id);
        return found == variables_.end() ? known(e) : Text{found->second};
    }
    if (const auto* n = ir::as<ir::SizeRef>(e)) return {names_.sizes.at(static_cast<std::size_t>(n->index))};
    if (const auto* n = ir::as<ir::ParamRef>(e)) {
        return {"args." + names_.fields.params.at(static_cast<std::size_t>(n->index))};
    }
    if (const auto* n = ir::as<ir::Cast>(e)) return cast(e, *n);
    if (const auto* n = ir::as<ir::Select>(e)) {
        if (!n->otherwise) return ends(n->then);
        return call_text("either", {condition(n->cond).value_or(kOpen), ends(n->then), ends(n->otherwise)});
    }
    if (const auto* n = ir::as<ir::Unary>(e); n && n->op == ir::UnaryOp::Neg) {
        return of_type("wrapped", e->type, {prefix("-", ends(n->a))});
    }
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return known(e);
    const auto wrapped = [&](std::string_view op, Precedence precedence) {
        // One of the operands is no plain number, so that this is no arithmetic of 64 bits without ends.
        const Text a = call_text("Ends", {ends(n->a)});
        return of_type("wrapped", e->type, {infix(op, precedence, a, ends(n->b))});
    };
    switch (n->op) {
        case BinaryOp::Add: return wrapped("+", Precedence::Sum);
        case BinaryOp::Sub: return wrapped("-", Precedence::Sum);
        case BinaryOp::Mul: return wrapped("*", Precedence::Product);
        case BinaryOp::Min: return call("least_of", ends(n->a), ends(n->b));
        case BinaryOp::Max: return call("greatest_of", ends(n->a), ends(n->b));
        case BinaryOp::Div: return of_type("quotient", e->type, {ends(n->a), ends(n->b)});
        case BinaryOp::Mod: return of_type("remainder_of", e->type, {ends(n->a), ends(n->b)});
        default: return known(e);
    }
}

Text EndsText::cast(const ir::Expr& e, const ir::Cast& n) {
    if (n.a->type == Type::Bool) return condition(n.a).value_or(kOpen);
    if (!is_followed(n.a->type)) return known(e);
    const Text a = ends(n.a);
    const poly::IntRange to = poly::type_range(e->type), from = poly::type_range(n.a->type);
    if (to.lo <= from.lo && from.hi <= to.hi) return a;
    if (!n.saturate) return of_type("wrapped", e->type, {a});
    const Text least = literal(fmt::format("{}", ir::int_min(e->type)));
    return call("least_of", call("greatest_of", a, least), {fmt::format("{}", ir::int_max(e->type))});
}

/// What is known of an integer of at most 32 bits before the code runs.
Text EndsText::known(const ir::Expr& e) {
    const poly::IntRange range = ranges_.integer(e);
    return {fmt::format("Ends({}, {})", static_cast<std::int64_t>(range.lo), static_cast<std::int64_t>(range.hi))};
}

std::optional<Text> EndsText::condition(const ir::Expr& e) {
    if (const auto constant = ir::as_int(e)) return Text{fmt::format("Ends({})", *constant != 0 ? 1 : 0)};
    if (const auto* n = ir::as<ir::ParamRef>(e)) {
        return Text{fmt::format("Ends(args.{} != 0)", names_.fields.params.at(static_cast<std::size_t>(n->index)))};
    }
    if (const auto* n = ir::as<ir::Unary>(e); n && n->op == ir::UnaryOp::Not) {
        const auto a = condition(n->a);
        return a ? std::optional(not_of(*a)) : std::nullopt;
    }
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return std::nullopt;
    if (ir::is_logical(n->op)) {
        const auto a = condition(n->a), b = condition(n->b);
        if (!a && !b) return std::nullopt;
        return call(n->op == BinaryOp::And ? "least_of" : "greatest_of", a.value_or(kOpen), b.value_or(kOpen));
    }
    if (!ir::is_comparison(n->op) || !is_index(n->a) || !is_index(n->b) || n->a->type == Type::Bool) {
        return std::nullopt;
    }
    const Text a = ends(n->a), b = ends(n->b);
    switch (n->op) {
        case BinaryOp::Lt: return call("less", a, b);
        case BinaryOp::Gt: return call("less", b, a);
        case BinaryOp::Ge: return not_of(call("less", a, b));
        case BinaryOp::Le: return not_of(call("less", b, a));
        case BinaryOp::Eq: return call("equal", a, b);
        default: return not_of(call("equal", a, b));
    }
}

std::vector<EndsText::HalfSpace> EndsText::half_spaces(const ir::Expr& condition, bool truth) {
    std::vector<HalfSpace> result;
    if (const auto* n = ir::as<ir::Unary>(condition); n && n->op == ir::UnaryOp::Not) return half_spaces(n->a, !truth);
    const auto* n = ir::as<ir::Binary>(condition);
    if (n == nullptr) return result;
    if (n->op == (truth ? BinaryOp::And : BinaryOp::Or)) {
        result = half_spaces(n->a, truth);
        for (HalfSpace& more : half_spaces(n->b, truth)) result.push_back(std::move(more));
        return result;
    }
    if (!ir::is_comparison(n->op) || n->a->type != Type::Int32) return result;
    const auto a = sum(n->a), b = sum(n->b);
    if (!a || !b) return result;
    // more - less + constant >= 0
    const auto add = [&](const IndexSum& more, const IndexSum& less, std::int64_t constant) {
        Linear difference{more.terms, more.least + constant};
        difference.add(Linear{less.terms, less.least}, -1);
        for (const auto& [atom, factor] : difference.terms) {
            const auto* variable = ir::as<ir::Variable>(atom);
            if (variable == nullptr || variables_.count(variable->id) == 0) continue;
            Linear rest = difference;
            rest.add(Linear{{{atom, 1}}, 0}, -factor);
            result.push_back({variable->id, factor, {rest.terms, rest.constant, rest.constant}});
        }
    };
    switch (n->op) {
        case BinaryOp::Lt: truth ? add(*b, *a, -1) : add(*a, *b, 0); break;
        case BinaryOp::Le: truth ? add(*b, *a, 0) : add(*a, *b, -1); break;
        case BinaryOp::Gt: truth ? add(*a, *b, -1) : add(*b, *a, 0); break;
        case BinaryOp::Ge: truth ? add(*a, *b, 0) : add(*b, *a, -1); break;
        case BinaryOp::Eq:
        case BinaryOp::Ne:
            if ((n->op == BinaryOp::Eq) == truth) add(*a, *b, 0), add(*b, *a, 0);
            break;
        default: break;
    }
    return result;
}

}  // namespace pipec::codegen
