#include "codegen/kernel/kernel_build.h"

#include <algorithm>

#include "codegen/emit/c/wide_expr.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

bool is_size_arithmetic(const ir::Expr& e) {
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return is_quasi_affine(e, [](ir::VarId) { return false; });
    switch (n->op) {
        case BinaryOp::Add:
        case BinaryOp::Sub:
        case BinaryOp::Min:
        case BinaryOp::Max: return is_size_arithmetic(n->a) && is_size_arithmetic(n->b);
        case BinaryOp::Mul:
            return (ir::as_int(n->a) && is_size_arithmetic(n->b)) || (ir::as_int(n->b) && is_size_arithmetic(n->a));
        case BinaryOp::Div:
        case BinaryOp::Mod: return ir::as_int(n->b).value_or(0) > 0 && is_size_arithmetic(n->a);
        default: return false;
    }
}

std::optional<std::int64_t> constant_extent(const ir::Expr& lo, const ir::Expr& hi) {
    const auto first = ir::as_int(lo), end = ir::as_int(hi);
    if (!first || !end) return std::nullopt;
    return std::max<std::int64_t>(0, *end - *first);
}

ir::Expr ceil_div(const ir::Expr& a, std::int64_t b) {
    if (b == 1) return a;
    const ir::Expr up = ir::binary(BinaryOp::Add, a, ir::int_constant(Type::Int32, b - 1));
    return ir::binary(BinaryOp::Div, up, ir::int_constant(Type::Int32, b));
}

ir::Expr tile_count(const ir::Expr& lo, const ir::Expr& hi, std::int64_t points) {
    const ir::Expr extent = ir::binary(BinaryOp::Sub, hi, lo);
    return ceil_div(ir::binary(BinaryOp::Max, extent, ir::int_constant(Type::Int32, 0)), points);
}

ir::Expr count_product(const ir::Expr& a, const ir::Expr& b) {
    const auto left = ir::as_int(a), right = ir::as_int(b);
    if (left && right) return ir::int_constant(Type::Int32, std::min<std::int64_t>(*left * *right, INT32_MAX));
    return ir::binary(BinaryOp::Mul, a, b);
}

std::vector<ir::Expr*> kernel::own_values(Stmt& stmt) {
    std::vector<ir::Expr*> values;
    if (auto* define = std::get_if<Define>(&stmt.value)) values.push_back(&define->value);
    if (auto* shuffle = std::get_if<Shuffle>(&stmt.value)) values.push_back(&shuffle->value);
    if (auto* store = std::get_if<Store>(&stmt.value); store != nullptr && !store->guard) {
        for (ir::Expr& value : store->values) values.push_back(&value);
    }
    return values;
}

std::vector<ir::VarId> kernel::own_variables(const Stmt& stmt) {
    if (const auto* define = std::get_if<Define>(&stmt.value)) return {define->var};
    if (const auto* variable = std::get_if<Variable>(&stmt.value)) return {variable->var};
    if (const auto* load = std::get_if<Load>(&stmt.value)) return load->vars;
    if (const auto* shuffle = std::get_if<Shuffle>(&stmt.value)) return {shuffle->var};
    return {};
}

ir::VarId KernelBuilder::variable(const std::string& name, ir::Type type) {
    return ir::new_variable(pipeline_, name, type);
}

ir::Expr KernelBuilder::index(ir::VarId var, std::int64_t least, std::int64_t multiple, std::int64_t end) {
    rewriter_.index(var, multiple, least, end);
    return rewriter_.unique(ir::variable(var, Type::Int32));
}

ir::Expr KernelBuilder::argument(const std::string& name, const ir::Expr& value, std::int64_t least) {
    const bool anything = least <= -kernel::kVariableLimit + 1;
    if (ir::as_int(value) || (ir::as<ir::SizeRef>(value) != nullptr && anything)) return rewriter_.unique(value);
    return argument({{}, value, least, false}, name);
}

ir::Expr KernelBuilder::divisor(const std::string& name, const ir::Expr& value) {
    return ir::as_int(value) ? rewriter_.unique(value) : argument({{}, value, 1, true}, name);
}

ir::Expr KernelBuilder::turn(const std::string& name) {
    return argument({{}, ir::int_constant(Type::Int32, 0), 0, false, true}, name);
}

ir::Expr KernelBuilder::repetition(const std::string& name) {
    return argument({{}, ir::int_constant(Type::Int32, 0), 0, false, false, true}, name);
}

ir::Expr KernelBuilder::argument(const kernel::Argument& wanted, const std::string& name) {
    for (kernel::Argument& known : kernel.arguments) {
        if (known.divides != wanted.divides || known.turn != wanted.turn || known.repetition != wanted.repetition ||
            !ir::structurally_equal(known.value, wanted.value))
            continue;
        known.least = std::max(known.least, wanted.least);
        return index(known.var, known.least);
    }
    kernel.arguments.push_back(wanted);
    kernel.arguments.back().var = variable(name, Type::Int32);
    return index(kernel.arguments.back().var, wanted.least);
}

ir::Expr KernelBuilder::special(kernel::Special::Id id) {
    for (const kernel::Special& known : kernel.specials) {
        if (known.id == id) return index(known.var, 0);
    }
    static constexpr const char* kNames[] = {"thread_x", "thread_y", "thread_z", "block_x", "block_y",
                                             "block_z",  "grid_x",   "grid_y",   "grid_z"};
    const ir::VarId var = variable(kNames[static_cast<std::size_t>(id)], Type::Int32);
    kernel.specials.push_back({var, id});
    return index(var, 0);
}

ir::Expr KernelBuilder::define(kernel::Body& body, const std::string& name, const ir::Expr& value, std::int64_t least,
                               std::int64_t multiple, std::int64_t end) {
    const ir::VarId var = variable(name, Type::Int32);
    add(body, kernel::Define{var, value, true});
    return index(var, least, multiple, end);
}

kernel::Body& KernelBuilder::loop(kernel::Body& body, const std::string& name, const ir::Expr& lo, const ir::Expr& hi,
                                  const ir::Expr& step, ir::Expr& at, bool unroll) {
    const ir::VarId var = variable(name, Type::Int32);
    at = index(var, ir::as_int(lo).value_or(-kernel::kVariableLimit + 1), 1,
               ir::as_int(hi).value_or(kernel::kVariableLimit));
    return add(body, kernel::For{var, lo, hi, step, unroll, {}}).body;
}

kernel::Body& KernelBuilder::guarded(kernel::Body& body, const ir::Expr& condition) {
    if (!condition) return body;
    return add(body, kernel::If{condition, {}, {}, kernel::If::Uniform::Lane}).then;
}

}  // namespace pipec::codegen
