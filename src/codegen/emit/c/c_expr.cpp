// Expressions as C++: operators, casts, calls. Control flow inside expressions is in c_expr_flow.cpp.
#include "codegen/emit/c/c_expr.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/emit/c/c_types.h"
#include "codegen/emit/c/wide_expr.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Builtin;
using ir::Type;
using ir::UnaryOp;

namespace {

/// A sum or product of more terms than this is written in several statements.
constexpr std::size_t kTermsPerStatement = 16;

struct Operator {
    const char* text;
    Precedence precedence;
};

Operator infix_operator(BinaryOp op) {
    switch (op) {
        case BinaryOp::Add: return {"+", Precedence::Sum};
        case BinaryOp::Sub: return {"-", Precedence::Sum};
        case BinaryOp::Mul: return {"*", Precedence::Product};
        case BinaryOp::Div: return {"/", Precedence::Product};
        case BinaryOp::Mod: return {"%", Precedence::Product};
        case BinaryOp::BitAnd: return {"&", Precedence::BitAnd};
        case BinaryOp::BitOr: return {"|", Precedence::BitOr};
        case BinaryOp::BitXor: return {"^", Precedence::BitXor};
        case BinaryOp::Shl: return {"<<", Precedence::Shift};
        case BinaryOp::Shr: return {">>", Precedence::Shift};
        case BinaryOp::Eq: return {"==", Precedence::Equality};
        case BinaryOp::Ne: return {"!=", Precedence::Equality};
        case BinaryOp::Lt: return {"<", Precedence::Relation};
        case BinaryOp::Le: return {"<=", Precedence::Relation};
        case BinaryOp::Gt: return {">", Precedence::Relation};
        case BinaryOp::Ge: return {">=", Precedence::Relation};
        case BinaryOp::And: return {"&&", Precedence::And};
        case BinaryOp::Or: return {"||", Precedence::Or};
        case BinaryOp::Min:
        case BinaryOp::Max: break;
    }
    return {"", Precedence::Primary};
}

/// The C function of a builtin, without the f of those for float.
std::string_view math_function(Builtin fn) {
    switch (fn) {
        case Builtin::Abs: return "fabs";
        case Builtin::Sqrt: return "sqrt";
        case Builtin::Exp: return "exp";
        case Builtin::Exp2: return "exp2";
        case Builtin::Log: return "log";
        case Builtin::Log2: return "log2";
        case Builtin::Pow: return "pow";
        case Builtin::Sin: return "sin";
        case Builtin::Cos: return "cos";
        case Builtin::Tan: return "tan";
        case Builtin::Asin: return "asin";
        case Builtin::Acos: return "acos";
        case Builtin::Atan: return "atan";
        case Builtin::Atan2: return "atan2";
        case Builtin::Sinh: return "sinh";
        case Builtin::Cosh: return "cosh";
        case Builtin::Tanh: return "tanh";
        case Builtin::Hypot: return "hypot";
        case Builtin::Floor: return "floor";
        case Builtin::Ceil: return "ceil";
        case Builtin::Round: return "nearbyint";
        case Builtin::Trunc: return "trunc";
        case Builtin::IsNan: return "isnan";
        case Builtin::Rsqrt:
        case Builtin::MinHalves:
        case Builtin::MaxHalves: break;
    }
    return "";
}

bool is_leaf(const ir::Expr& e) {
    return std::visit(
        ir::overloaded{[](const ir::IntConstant&) { return true; }, [](const ir::FloatConstant&) { return true; },
                       [](const ir::Variable&) { return true; }, [](const ir::SizeRef&) { return true; },
                       [](const ir::ParamRef&) { return true; }, [](const auto&) { return false; }},
        e->value);
}

/// The x of 0 - x, x * -1, -1 * x and ~x + 1, which nvcc makes -x.
ir::Expr negated(const ir::Binary& n) {
    const auto is = [](const ir::Expr& e, std::int64_t number) { return ir::as_int(e) == number; };
    if (n.op == BinaryOp::Sub && is(n.a, 0)) return n.b;
    if (n.op == BinaryOp::Mul && is(n.b, -1)) return n.a;
    if (n.op == BinaryOp::Mul && is(n.a, -1)) return n.b;
    const auto* inverse = n.op == BinaryOp::Add && is(n.b, 1) ? ir::as<ir::Unary>(n.a) : nullptr;
    return inverse != nullptr && inverse->op == UnaryOp::BitNot ? inverse->a : nullptr;
}

/// The x of max(x, 0).
ir::Expr not_negative(const ir::Binary& n) {
    if (n.op != BinaryOp::Max) return nullptr;
    return ir::as_int(n.b) == 0 ? n.a : ir::as_int(n.a) == 0 ? n.b : nullptr;
}

}  // namespace

ExpressionWriter::ExpressionWriter(const ir::Pipeline& pipeline, const Uses& uses, Naming naming, Names& names,
                                   Helpers& helpers, Writer& out, const poly::Model* within)
    : pipeline_(pipeline),
      uses_(uses),
      naming_(std::move(naming)),
      names_(names),
      helpers_(helpers),
      out_(&out),
      ranges_(poly::ranges_within(pipeline, within)),
      scopes_(1) {}

void ExpressionWriter::bind(ir::VarId var, std::string name, poly::IntRange range) {
    variables_[var] = std::move(name);
    index_variables_.insert(var);
    ranges_.bind(var, range);
}

void ExpressionWriter::define(ir::VarId var, const ir::Expr& e, std::string_view wanted,
                              std::optional<std::int64_t> index) {
    exact_ = index.has_value();
    if (ir::as<ir::Select>(e) != nullptr) wanted_ = wanted;
    const Text text = value(e);
    wanted_.clear();
    exact_ = false;
    const bool has_name = text.precedence == Precedence::Primary && names_.has(text.text) && !changing(e);
    const std::string name = has_name ? text.text : declare(e->type, text, wanted);
    if (index) {
        const poly::IntRange range = ranges_.integer(e);
        bind(var, name, {std::max<poly::Wide>(range.lo, -*index + 1), std::min<poly::Wide>(range.hi, *index - 1)});
    } else {
        bind(var, name);
        note_extremum(var, e);
        ranges_.bind(var, ranges_.of(e));
        if (const auto of_value = granule(e)) granules_[var] = *of_value;
    }
    if (!is_leaf(e)) scopes_.back().insert_or_assign(e.get(), Named{name, e});
}

void ExpressionWriter::forget(const std::function<bool(const ir::Expr&)>& changed) {
    std::unordered_map<const ir::Node*, bool> known;
    const std::function<bool(const ir::Expr&)> evaluates_changed = [&](const ir::Expr& e) {
        if (const auto found = known.find(e.get()); found != known.end()) return found->second;
        const std::vector<ir::Expr> operands = ir::children(e);
        return known[e.get()] = changed(e) || std::any_of(operands.begin(), operands.end(), evaluates_changed);
    };
    for (auto& scope : scopes_) {
        for (auto named = scope.begin(); named != scope.end();) {
            named = evaluates_changed(named->second.node) ? scope.erase(named) : std::next(named);
        }
    }
}

// ------------------------------------------------------------------------------------------------- names for nodes

constexpr std::size_t kMostCounted = 16;

/// By how many operands a node is used where code is written: in a branch, by those of the branch. In branches of
/// branches that are nested deeper than anybody reads, by all operands: counting takes time for each level.
int ExpressionWriter::count(const ir::Expr& e) const {
    const int everywhere = uses_.of(e);
    if (everywhere < 2 || branches_.empty() || branches_.size() > kMostCounted) return everywhere;
    Counted& branch = branches_.back();
    if (!branch.uses) branch.uses.emplace().add(branch.root);
    return branch.uses->of(e);
}

bool ExpressionWriter::deserves_name(const ir::Expr& e) const {
    if (is_leaf(e) || known(e) != nullptr || count(e) < 2) return false;
    // x + 1 is as short as a name.
    if (ir::is_int(e->type) && (ir::as<ir::Binary>(e) != nullptr || ir::as<ir::Unary>(e) != nullptr)) {
        const std::vector<ir::Expr> operands = ir::children(e);
        return !std::all_of(operands.begin(), operands.end(), is_leaf);
    }
    if (const auto* n = ir::as<ir::Cast>(e)) return !is_leaf(n->a);
    return true;
}

const std::string* ExpressionWriter::known(const ir::Expr& e) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        if (const auto found = scope->find(e.get()); found != scope->end()) return &found->second.name;
    }
    return nullptr;
}

std::vector<Text> ExpressionWriter::values(const std::vector<ir::Expr>& together) {
    blocks_.push_back({together});
    std::vector<Text> texts;
    for (const ir::Expr& e : together) texts.push_back(value(e));
    blocks_.pop_back();
    return texts;
}

std::string ExpressionWriter::local_type(Type type) const {
    return fmt::format("{}{}", helpers_.platform() == fusion::Platform::Cuda ? "" : "const ", value_type(type));
}

std::string ExpressionWriter::declare(Type type, const Text& text, std::string_view wanted) {
    std::string name = names_.add(wanted);
    out_->add(fmt::format("{} {} = {};", local_type(type), name, text.text));
    return name;
}

Text ExpressionWriter::value(const ir::Expr& e) {
    if (const std::string* name = known(e)) return {*name};
    const bool is_root = blocks_.empty();
    if (is_root) blocks_.push_back({{e}});
    Text text = node(e);
    if (is_root) blocks_.pop_back();
    if (!deserves_name(e)) return text;
    // The node may be a name already: that of a variable, or of a reduction's result.
    std::string name =
        text.precedence == Precedence::Primary && names_.has(text.text) ? text.text : declare(e->type, text, "t");
    scopes_.back().insert_or_assign(e.get(), Named{name, e});
    return {std::move(name)};
}

Text ExpressionWriter::node(const ir::Expr& e) {
    return std::visit(
        ir::overloaded{
            [&](const ir::IntConstant& n) { return literal(int_literal(e->type, n.value)); },
            [&](const ir::FloatConstant& n) { return literal(float_literal(e->type, n.value, helpers_.platform())); },
            [&](const ir::Variable& n) { return Text{variables_.at(n.id)}; },
            [&](const ir::SizeRef& n) { return Text{naming_.size(n.index)}; },
            [&](const ir::ParamRef& n) { return Text{naming_.param(n.index)}; },
            [&](const ir::Unary& n) { return unary(e, n); },
            [&](const ir::Binary& n) { return binary(e, n); },
            [&](const ir::Cast& n) { return cast(e, n); },
            [&](const ir::Call& n) { return call(e, n); },
            [&](const ir::Select& n) { return select(e, n); },
            [&](const ir::Read& n) { return read(e, n); },
            [&](const ir::Let& n) { return let(n); },
            [&](const ir::Reduce& n) { return reduce(e, n); },
        },
        e->value);
}

// ------------------------------------------------------------------------------------------------------- operators

Text ExpressionWriter::helper(std::string_view name, const std::vector<Text>& args) {
    return call_text(helpers_.use(name), args);
}

/// wrap_add and its like, or exact_add where overflow is detected.
Text ExpressionWriter::wrapping(std::string_view operation, std::vector<Text> args) {
    if (detected_.empty()) return helper(fmt::format("wrap_{}", operation), args);
    args.push_back({detected_});
    return helper(fmt::format("exact_{}", operation), args);
}

/// Types below int promote to it: back to the type.
Text ExpressionWriter::narrowed(Type type, Text text) {
    if (ir::is_int(type) && ir::bits(type) < 32) return call_text(value_type(type), {std::move(text)});
    return text;
}

/// No part of the addition, subtraction, multiplication or negation `e` wraps, as far as ranges can tell.
bool ExpressionWriter::fits(const ir::Expr& e) {
    if (exact_ && e->type == Type::Int32) return true;
    const std::vector<ir::Expr> operands = ir::children(e);
    return poly::fits(ranges_.unwrapped(e), e->type) &&
           std::all_of(operands.begin(), operands.end(),
                       [&](const ir::Expr& a) { return poly::fits(ranges_.unwrapped(a), a->type); });
}

Text ExpressionWriter::unary(const ir::Expr& e, const ir::Unary& n) {
    const Text a = value(n.a);
    if (n.op == UnaryOp::Not) return prefix("!", a);
    if (n.op == UnaryOp::BitNot) return narrowed(e->type, prefix("~", a));
    if (ir::is_float(e->type) || (fits(e) && !has_opaque_negation(e->type))) {
        return narrowed(e->type, prefix("-", a));
    }
    return wrapping("neg", {a});
}

/// Integers that a device negates with `wrap_neg` even where nothing can wrap: see `opaque_neg`.
bool ExpressionWriter::has_opaque_negation(Type type) const {
    return helpers_.platform() == fusion::Platform::Cuda && ir::is_signed_int(type) && ir::bits(type) <= 32;
}

void ExpressionWriter::note_extremum(ir::VarId var, const ir::Expr& value) {
    const auto* n = ir::as<ir::Binary>(value);
    if (n != nullptr && (n->op == BinaryOp::Min || n->op == BinaryOp::Max) && ir::is_int(value->type))
        extrema_.insert(var);
}

/// Operators but And and Or on texts; `fits`: the result is known not to wrap.
Text ExpressionWriter::arithmetic(BinaryOp op, Type type, const Text& a, const Text& b, bool fits) {
    if (op == BinaryOp::Min || op == BinaryOp::Max) {
        const bool min = op == BinaryOp::Min;
        if (ir::is_float(type)) return helper(min ? "min_number" : "max_number", {a, b});
        if (helpers_.platform() == fusion::Platform::Cuda)
            return narrowed(type, call_text(min ? "min" : "max", {a, b}));
        return helper(min ? "min_integer" : "max_integer", {a, b});
    }
    const Operator symbol = infix_operator(op);
    const Text plain = infix(symbol.text, symbol.precedence, a, b);
    if (ir::is_comparison(op)) return plain;
    if (type == Type::Float16) return helper("round_half", {plain});
    if (ir::is_float(type)) return plain;
    const bool can_wrap = op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul;
    const bool wraps_by_itself = type == Type::UInt32 || type == Type::UInt64;
    if (fits || !can_wrap || (wraps_by_itself && detected_.empty())) return narrowed(type, plain);
    return wrapping(op == BinaryOp::Add ? "add" : op == BinaryOp::Sub ? "sub" : "mul", {a, b});
}

Text ExpressionWriter::binary(const ir::Expr& e, const ir::Binary& n) {
    if (ir::is_logical(n.op)) return logical(n);
    if (ir::is_int(n.a->type)) {
        if (n.op == BinaryOp::Div || n.op == BinaryOp::Mod) return divide(e, n);
        if (n.op == BinaryOp::Shl || n.op == BinaryOp::Shr) return shift(e, n);
        if (const ir::Expr a = negated(n); a && has_opaque_negation(e->type)) return wrapping("neg", {value(a)});
        if (const ir::Expr a = not_negative(n); a && has_opaque_negation(e->type)) return positive_part(a);
    }
    return chain(e);
}

/// max(e, 0) without max(min(a, b), 0) or max(max(a, b), 0) for nvcc to see: see `positive_part`.
Text ExpressionWriter::positive_part(const ir::Expr& e) {
    if (const auto constant = ir::as_int(e)) return literal(int_literal(e->type, std::max<std::int64_t>(*constant, 0)));
    if (ranges_.integer(e).lo >= 0) return value(e);
    const auto* n = ir::as<ir::Binary>(e);
    if (n != nullptr && n->op == BinaryOp::Min)
        return arithmetic(n->op, e->type, positive_part(n->a), positive_part(n->b), true);
    if (n != nullptr && n->op == BinaryOp::Max)
        return arithmetic(n->op, e->type, value(n->a), positive_part(n->b), true);
    const auto* variable = ir::as<ir::Variable>(e);
    if (variable != nullptr && extrema_.count(variable->id) > 0) return helper("positive_part", {value(e)});
    return arithmetic(BinaryOp::Max, e->type, value(e), literal(int_literal(e->type, 0)), true);
}

/// a + b - c + ..., or a * b * ..., without recursion to the left: unrolled reductions have thousands of terms.
Text ExpressionWriter::chain(const ir::Expr& e) {
    std::vector<ir::Expr> links{e};  // outermost first
    const auto is_sum = [](BinaryOp op) { return op == BinaryOp::Add || op == BinaryOp::Sub; };
    while (true) {
        const auto& outer = *ir::as<ir::Binary>(links.back());
        const auto* inner = ir::as<ir::Binary>(outer.a);
        if (inner == nullptr || known(outer.a) != nullptr || deserves_name(outer.a)) break;
        if (inner->op != outer.op && !(is_sum(inner->op) && is_sum(outer.op))) break;
        if (not_negative(*inner) && has_opaque_negation(e->type)) break;
        if (ir::is_int(e->type) && (inner->op == BinaryOp::Div || inner->op == BinaryOp::Mod)) break;
        links.push_back(outer.a);
    }
    Text total = value(ir::as<ir::Binary>(links.back())->a);
    std::size_t terms = 1;
    const BinaryOp op = ir::as<ir::Binary>(e)->op;
    // Of floats: twice as fast as min_number there, and g++ takes a quarter of the time.
    const bool many_choices = helpers_.platform() == fusion::Platform::Host && links.size() >= kTermsPerStatement &&
                              ir::is_float(e->type) && (op == BinaryOp::Min || op == BinaryOp::Max);
    for (auto link = links.rbegin(); link != links.rend(); ++link) {
        const auto& n = *ir::as<ir::Binary>(*link);
        const Type type = n.a->type;
        if (++terms > kTermsPerStatement) {
            total = {declare(type, total, "part")};
            terms = 2;
        }
        const bool can_wrap = is_sum(n.op) || n.op == BinaryOp::Mul;
        const bool no_wrap = ir::is_int(type) && can_wrap && fits(*link);
        const auto constant = ir::as_int(n.b);
        // x + -1 reads better as x - 1.
        if (no_wrap && is_sum(n.op) && constant && *constant < 0 && *constant > INT32_MIN) {
            const BinaryOp opposite = n.op == BinaryOp::Add ? BinaryOp::Sub : BinaryOp::Add;
            total = arithmetic(opposite, type, total, literal(int_literal(type, -*constant)), true);
        } else if (n.op == BinaryOp::Div && type == Type::Float32) {
            total = quotient(n, total);
        } else if (many_choices) {
            total = helper(n.op == BinaryOp::Min ? "min_of_many" : "max_of_many", {total, value(n.b)});
        } else {
            total = arithmetic(n.op, type, total, value(n.b), no_wrap);
        }
    }
    return total;
}

Text ExpressionWriter::divide(const ir::Expr& e, const ir::Binary& n) {
    const bool is_div = n.op == BinaryOp::Div;
    const Text a = value(n.a);
    const auto constant = ir::as_int(n.b);
    if (constant && *constant > 0 && std::has_single_bit(static_cast<std::uint64_t>(*constant))) {
        // Shifting and masking round to minus infinity, as the language does, and are cheaper than a division of which
        // the C compiler does not know that nothing is negative.
        const auto power = static_cast<std::uint64_t>(*constant);
        if (is_div)
            return narrowed(e->type, infix(">>", Precedence::Shift, a, {fmt::format("{}", std::countr_zero(power))}));
        return narrowed(e->type, infix("&", Precedence::BitAnd, a, literal(int_literal(e->type, *constant - 1))));
    }
    if (ranges_.integer(n.a).lo >= 0 && ranges_.integer(n.b).lo > 0)
        return arithmetic(n.op, e->type, a, value(n.b), true);
    if (is_div && !detected_.empty()) return wrapping("div", {a, value(n.b)});
    if (ranges_.integer(n.b).lo > 0)
        return helper(is_div ? "floor_div_by_positive" : "floor_mod_by_positive", {a, value(n.b)});
    return helper(is_div ? "floor_div" : "floor_mod", {a, value(n.b)});
}

Text ExpressionWriter::shift(const ir::Expr& e, const ir::Binary& n) {
    const bool left = n.op == BinaryOp::Shl;
    const Text a = value(n.a);
    const poly::IntRange count = ranges_.integer(n.b);
    const bool in_width = count.lo >= 0 && count.hi < ir::bits(e->type);
    // Shifting a signed number to the left is shifting its bits.
    if (in_width && (!left || (ir::is_unsigned_int(e->type) && ir::bits(e->type) >= 32 && detected_.empty()))) {
        return arithmetic(n.op, e->type, a, value(n.b), true);
    }
    if (left && !detected_.empty()) return wrapping("shift_left", {a, value(n.b)});
    return helper(left ? "shift_left" : "shift_right", {a, value(n.b)});
}

Text ExpressionWriter::cast(const ir::Expr& e, const ir::Cast& n) {
    const Type to = e->type;
    const Type from = n.a->type;
    const Text a = value(n.a);
    if (to == from) return a;
    if (ir::is_float(to)) {
        if (to == Type::Float16 && from == Type::Float64) return helper("double_to_half", {a});
        if (to == Type::Float16) {
            return helper("round_half", {from == Type::Float32 ? a : call_text("float", {a})});
        }
        if (from == Type::Float16 && to == Type::Float32) return a;
        return call_text(value_type(to), {a});
    }
    const std::string to_type(value_type(to));
    if (ir::is_float(from)) return call_text(fmt::format("{}<{}>", helpers_.use("to_integer"), to_type), {a});
    if (n.saturate && !poly::fits(ranges_.integer(n.a), to)) {
        return call_text(fmt::format("{}<{}>", helpers_.use("saturate"), to_type), {a});
    }
    return call_text(to_type, {a});
}

/// std::sqrt(a), or sqrtf(a) where functions are for the device too.
Text ExpressionWriter::math(Builtin fn, Type type, const std::vector<Text>& args) {
    const std::string_view name = ir::is_float(type) ? math_function(fn) : "abs";
    if (helpers_.platform() == fusion::Platform::Host) return call_text(fmt::format("std::{}", name), args);
    if (fn == Builtin::IsNan) return helper("is_nan", args);
    return call_text(fmt::format("{}{}", name, type == Type::Float64 ? "" : "f"), args);
}

Text ExpressionWriter::call(const ir::Expr& e, const ir::Call& n) {
    std::vector<Text> args;
    for (const ir::Expr& arg : n.args) args.push_back(value(arg));
    const Type type = n.args.front()->type;
    if (ir::is_of_halves(n.fn)) return helper(ir::name(n.fn), args);
    if (!ir::is_float(type)) {
        // What is not the least number has a magnitude, which g++ finds without a choice in vectors.
        const bool is_host = helpers_.platform() == fusion::Platform::Host;
        if (is_host && type == Type::Int32 && ranges_.integer(n.args.front()).lo > poly::type_range(type).lo)
            return math(Builtin::Abs, type, args);
        return wrapping("abs", args);
    }
    Text result;
    if (n.fn == Builtin::Rsqrt) {
        const bool noted = !rare_.empty() && type == Type::Float32;
        const Text one{type == Type::Float64 ? "1.0" : "1.0f"};
        const Text sqrt = noted ? square_root(args.front()) : math(Builtin::Sqrt, type, args);
        result = noted ? helper("quotient", {one, sqrt, {rare_}}) : infix("/", Precedence::Product, one, sqrt);
    } else if (n.fn == Builtin::Sqrt && type == Type::Float32 && !rare_.empty()) {
        result = square_root(args.front());
    } else {
        result = math(n.fn, type, args);
    }
    return e->type == Type::Float16 ? helper("round_half", {result}) : result;
}

// ----------------------------------------------------------------------------------------------------------- reads

/// No arithmetic in an integer expression wraps.
bool ExpressionWriter::all_fit(const ir::Expr& e) {
    const std::vector<ir::Expr> operands = ir::children(e);
    const bool arithmetic = ir::as<ir::Unary>(e) != nullptr || ir::as<ir::Binary>(e) != nullptr;
    return (!arithmetic || fits(e)) &&
           std::all_of(operands.begin(), operands.end(), [&](const ir::Expr& a) { return all_fit(a); });
}

/// An index. An affine one that could wrap in 32 bits is computed in 64: the analysis has proved that the true integer
/// is in bounds, and compilers see through plain sums, not through wrapping ones.
Text ExpressionWriter::index(const ir::Expr& e) {
    const auto is_index = [&](ir::VarId var) { return index_variables_.count(var) > 0; };
    if (!is_quasi_affine(e, is_index) || all_fit(e)) return value(e);
    const WideLeaf leaf = [&](const ir::Expr& n) { return call_text("int64_t", {node(n)}); };
    return wide_text(e, leaf, helpers_);
}

std::vector<Text> ExpressionWriter::indices(const std::vector<ir::Expr>& indices) {
    std::vector<Text> texts;
    for (const ir::Expr& e : indices) texts.push_back(index(e));
    return texts;
}

Text ExpressionWriter::read(const ir::Expr& e, const ir::Read& n) {
    Text element{naming_.read(n, indices(n.indices))};
    if (e->type == Type::Bool) return infix("!=", Precedence::Equality, element, {"0"});
    if (e->type == Type::Float16) return helper("half_to_float", {element});
    return element;
}

}  // namespace pipec::codegen
