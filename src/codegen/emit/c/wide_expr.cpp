// 64-bit expressions over sizes and index variables.
#include "codegen/emit/c/wide_expr.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <stdexcept>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// `a + (-3)` reads better as `a - 3`.
Text wide_sum(BinaryOp op, const ir::Expr& a, const ir::Expr& b, const WideLeaf& leaf, Helpers& helpers) {
    const auto constant = ir::as_int(b);
    if (constant && *constant < 0 && *constant > INT32_MIN) {
        return infix(op == BinaryOp::Add ? "-" : "+", Precedence::Sum, wide_text(a, leaf, helpers),
                     {fmt::format("{}", -*constant)});
    }
    return infix(op == BinaryOp::Add ? "+" : "-", Precedence::Sum, wide_text(a, leaf, helpers),
                 wide_text(b, leaf, helpers));
}

Text wide_quotient(BinaryOp op, const Text& a, const ir::Expr& divisor, const WideLeaf& leaf, Helpers& helpers) {
    const auto constant = ir::as_int(divisor);
    if (constant && *constant > 0 && std::has_single_bit(static_cast<std::uint64_t>(*constant))) {
        const auto value = static_cast<std::uint64_t>(*constant);
        if (op == BinaryOp::Div) {
            return infix(">>", Precedence::Shift, a, {fmt::format("{}", std::countr_zero(value))});
        }
        return infix("&", Precedence::BitAnd, a, {fmt::format("{}", value - 1)});
    }
    const std::string_view function = helpers.use(op == BinaryOp::Div ? "floor_div" : "floor_mod");
    return call_text(fmt::format("{}<int64_t>", function), {a, wide_text(divisor, leaf, helpers)});
}

void add_operands(const ir::Expr& e, BinaryOp op, const WideLeaf& leaf, Helpers& helpers,
                  std::vector<std::string>& operands) {
    const auto* n = ir::as<ir::Binary>(e);
    if (n != nullptr && n->op == op) {
        add_operands(n->a, op, leaf, helpers, operands);
        add_operands(n->b, op, leaf, helpers, operands);
        return;
    }
    std::string text = wide_text(e, leaf, helpers).text;
    if (std::find(operands.begin(), operands.end(), text) == operands.end()) operands.push_back(std::move(text));
}

/// The minimum or maximum of all operands, each once.
Text extremum(const ir::Binary& n, const WideLeaf& leaf, Helpers& helpers) {
    std::vector<std::string> operands;
    add_operands(n.a, n.op, leaf, helpers, operands);
    add_operands(n.b, n.op, leaf, helpers, operands);
    const std::string_view function = n.op == BinaryOp::Min ? "std::min<int64_t>" : "std::max<int64_t>";
    if (operands.size() == 1) return wide_text(n.a, leaf, helpers);
    if (operands.size() == 2) return {fmt::format("{}({}, {})", function, operands[0], operands[1])};
    return {fmt::format("{}({{{}}})", function, fmt::join(operands, ", "))};
}

Text binary(const ir::Binary& n, const WideLeaf& leaf, Helpers& helpers) {
    if (n.op == BinaryOp::Add || n.op == BinaryOp::Sub) return wide_sum(n.op, n.a, n.b, leaf, helpers);
    if (n.op == BinaryOp::Min || n.op == BinaryOp::Max) return extremum(n, leaf, helpers);
    const Text a = wide_text(n.a, leaf, helpers);
    if (n.op == BinaryOp::Div || n.op == BinaryOp::Mod) return wide_quotient(n.op, a, n.b, leaf, helpers);
    const Text b = wide_text(n.b, leaf, helpers);
    switch (n.op) {
        case BinaryOp::Mul: return infix("*", Precedence::Product, a, b);
        case BinaryOp::Eq: return infix("==", Precedence::Equality, a, b);
        case BinaryOp::Ne: return infix("!=", Precedence::Equality, a, b);
        case BinaryOp::Lt: return infix("<", Precedence::Relation, a, b);
        case BinaryOp::Le: return infix("<=", Precedence::Relation, a, b);
        case BinaryOp::Gt: return infix(">", Precedence::Relation, a, b);
        case BinaryOp::Ge: return infix(">=", Precedence::Relation, a, b);
        case BinaryOp::And: return infix("&&", Precedence::And, a, b);
        case BinaryOp::Or: return infix("||", Precedence::Or, a, b);
        default: throw std::logic_error("an operator that no bound has");
    }
}

}  // namespace

Text wide_text(const ir::Expr& e, const WideLeaf& leaf, Helpers& helpers) {
    if (const auto constant = ir::as_int(e)) {
        return e->type == ir::Type::Bool ? Text{*constant != 0 ? "true" : "false"}
                                         : literal(fmt::format("{}", *constant));
    }
    if (const auto* n = ir::as<ir::Binary>(e)) return binary(*n, leaf, helpers);
    if (const auto* n = ir::as<ir::Unary>(e)) {
        if (n->op == ir::UnaryOp::BitNot) throw std::logic_error("an operator that no bound has");
        return prefix(n->op == ir::UnaryOp::Neg ? "-" : "!", wide_text(n->a, leaf, helpers));
    }
    if (const auto* n = ir::as<ir::Select>(e)) {
        const Text then = wide_text(n->then, leaf, helpers);
        if (!n->otherwise) return then;
        return {fmt::format("{} ? {} : {}", at_least(wide_text(n->cond, leaf, helpers), Precedence::Or),
                            at_least(then, Precedence::Or), wide_text(n->otherwise, leaf, helpers).text),
                Precedence::Ternary};
    }
    if (ir::as<ir::Variable>(e) != nullptr || ir::as<ir::SizeRef>(e) != nullptr) return leaf(e);
    throw std::logic_error("a bound that is not over sizes");
}

bool is_wide(const ir::Expr& e) {
    bool result = true;
    ir::for_each_node(e, [&](const ir::Expr& node) {
        result = result &&
                 std::visit(ir::overloaded{
                                [](const ir::IntConstant&) { return true; },
                                [](const ir::Variable&) { return true; },
                                [](const ir::SizeRef&) { return true; },
                                [](const ir::Unary& n) { return n.op != ir::UnaryOp::BitNot; },
                                [](const ir::Binary& n) { return n.op < BinaryOp::BitAnd || n.op > BinaryOp::Shr; },
                                [](const ir::Select&) { return true; },
                                [](const auto&) { return false; },
                            },
                            node->value);
    });
    return result;
}

bool is_quasi_affine(const ir::Expr& e, const std::function<bool(ir::VarId)>& is_index_variable) {
    if (const auto* n = ir::as<ir::Variable>(e)) return is_index_variable(n->id);
    if (ir::as<ir::SizeRef>(e) != nullptr || ir::as_int(e)) return true;
    if (const auto* n = ir::as<ir::Unary>(e)) {
        return n->op == ir::UnaryOp::Neg && is_quasi_affine(n->a, is_index_variable);
    }
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return false;
    const auto positive = [](const ir::Expr& b) { return ir::as_int(b).value_or(0) > 0; };
    switch (n->op) {
        case BinaryOp::Add:
        case BinaryOp::Sub: return is_quasi_affine(n->a, is_index_variable) && is_quasi_affine(n->b, is_index_variable);
        case BinaryOp::Mul:
            return (ir::as_int(n->a) && is_quasi_affine(n->b, is_index_variable)) ||
                   (ir::as_int(n->b) && is_quasi_affine(n->a, is_index_variable));
        case BinaryOp::Div:
        case BinaryOp::Mod: return positive(n->b) && is_quasi_affine(n->a, is_index_variable);
        default: return false;
    }
}

}  // namespace pipec::codegen
