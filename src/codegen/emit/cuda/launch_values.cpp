#include "codegen/emit/cuda/launch_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codegen/emit/c/wide_expr.h"
#include "ir/build.h"
#include "ir/tree_size.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Operators in an expression that is written where it is used: `(C + 119) / 120` is short.
constexpr std::size_t kShort = 6, kShortTwice = 3;

void flatten(const ir::Expr& e, BinaryOp op, std::vector<ir::Expr>& operands) {
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr || n->op != op) {
        operands.push_back(e);
        return;
    }
    flatten(n->a, op, operands);
    flatten(n->b, op, operands);
}

}  // namespace

/// base + constant.
LaunchValues::Offset LaunchValues::offset_of(const ir::Expr& e) {
    if (const auto value = ir::as_int(e)) return {nullptr, *value};
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr || (n->op != BinaryOp::Add && n->op != BinaryOp::Sub)) return {e, 0};
    const auto constant = ir::as_int(n->b);
    if (!constant) return {e, 0};
    return {n->a, n->op == BinaryOp::Add ? *constant : -*constant};
}

ir::Expr LaunchValues::plus(const ir::Expr& base, std::int64_t constant) {
    const auto number = [&](std::int64_t value) {
        return nodes_.get(ir::int_constant(base ? base->type : ir::Type::Int32, value));
    };
    if (!base) return number(constant);
    if (constant == 0) return base;
    const BinaryOp op = constant > 0 ? BinaryOp::Add : BinaryOp::Sub;
    return nodes_.get(ir::binary(op, base, number(std::abs(constant))));
}

/// Of operands that differ by a constant one decides.
ir::Expr LaunchValues::extremum(const ir::Expr& e, const ir::Binary& n) {
    std::vector<ir::Expr> operands;
    flatten(simple(n.a), n.op, operands);
    flatten(simple(n.b), n.op, operands);
    std::vector<Offset> parts;
    for (const ir::Expr& operand : operands) {
        const Offset part = offset_of(operand);
        const auto same =
            std::find_if(parts.begin(), parts.end(), [&](const Offset& p) { return p.base == part.base; });
        if (same == parts.end()) {
            parts.push_back(part);
        } else {
            same->constant = n.op == BinaryOp::Min ? std::min(same->constant, part.constant)
                                                   : std::max(same->constant, part.constant);
        }
    }
    ir::Expr result;
    for (const Offset& part : parts) {
        const ir::Expr operand = plus(part.base, part.constant);
        result = result ? nodes_.get(ir::binary(n.op, result, operand, e->range)) : operand;
    }
    return result;
}

ir::Expr LaunchValues::simple(const ir::Expr& e) {
    if (const auto known = simple_.find(e); known != simple_.end()) return known->second;
    const auto* n = ir::as<ir::Binary>(e);
    ir::Expr result;
    if (n != nullptr && (n->op == BinaryOp::Min || n->op == BinaryOp::Max)) {
        result = extremum(e, *n);
    } else {
        result = nodes_.get(ir::map_children(e, [&](const ir::Expr& operand) { return simple(operand); }));
        // (R - 3) - 1
        const Offset outer = offset_of(result);
        if (outer.base && outer.base != result) {
            const Offset inner = offset_of(outer.base);
            result = plus(inner.base, inner.constant + outer.constant);
        }
    }
    simple_.emplace(e, result);
    return result;
}

void LaunchValues::add(const ir::Expr& e, const std::string& name) {
    const ir::Expr root = simple(e);
    roots_.push_back(root);
    wanted_.emplace(root.get(), name);
    count(root);
}

void LaunchValues::count(const ir::Expr& e) {
    if (uses_[e.get()]++ > 0) return;
    ir::for_each_child(*e, [&](const ir::Expr& operand) { count(operand); });
}

std::string LaunchValues::c_text(const ir::Expr& e) {
    const WideLeaf leaf = [&](const ir::Expr& n) {
        if (const auto* size = ir::as<ir::SizeRef>(n))
            return Text{names_.sizes.at(static_cast<std::size_t>(size->index))};
        return Text{variables_.at(static_cast<std::size_t>(ir::as<ir::Variable>(n)->id))};
    };
    return wide_text(e, leaf, helpers_).text;
}

/// A name for a local of the block. The table of names is not copied for it: programs of many stages have many blocks.
std::string LaunchValues::free_name(const std::string& wanted) const {
    const std::string first = identifier(wanted);
    std::string name = first;
    for (int number = 2;; ++number) {
        const bool used = std::find(variables_.begin(), variables_.end(), name) != variables_.end();
        if (!used && !names_.taken.has(name)) return name;
        name = fmt::format("{}_{}", first, number);
    }
}

/// `e` with variables for what has a name.
ir::Expr LaunchValues::named(Writer& out, const ir::Expr& e) {
    if (const auto known = written_.find(e.get()); known != written_.end()) return known->second;
    ir::Expr result = ir::map_children(e, [&](const ir::Expr& operand) { return named(out, operand); });
    const std::size_t size = ir::tree_size(result, 100);
    const auto wanted = wanted_.find(e.get());
    const bool is_long = wanted != wanted_.end() && size > kShort;
    if (ir::is_int(e->type) && (is_long || (uses_.at(e.get()) > 1 && size > kShortTwice))) {
        variables_.push_back(free_name(wanted == wanted_.end() ? "count" : wanted->second));
        out.line("const int64_t {} = {};", variables_.back(), c_text(result));
        result = ir::variable(static_cast<ir::VarId>(variables_.size()) - 1, e->type);
    }
    written_.emplace(e.get(), result);
    return result;
}

void LaunchValues::write(Writer& out) {
    for (const ir::Expr& root : roots_) named(out, root);
}

std::string LaunchValues::text(const ir::Expr& e) {
    return c_text(written_.at(simple(e).get()));
}

}  // namespace pipec::codegen
