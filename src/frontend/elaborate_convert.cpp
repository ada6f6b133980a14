// Types: what operators do with untyped constants, which type they work in, and what converts to what.
// docs/language.md, "Types and conversions", is the specification.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

#include "frontend/elaborate_fold.h"
#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::elab {

using ir::overloaded;

namespace {

constexpr Int128 kMinInt64 = std::numeric_limits<std::int64_t>::min();
constexpr Int128 kMaxInt64 = std::numeric_limits<std::int64_t>::max();

bool fits(Int128 value, ir::Type type) {
    return value >= static_cast<Int128>(ir::int_min(type)) && value <= static_cast<Int128>(ir::int_max(type));
}

std::string type_name(ir::Type type) {
    return std::string(ir::name(type));
}

std::int64_t low_bits(Int128 value) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
}

/// The type that a value has alone: Scalars their own, untyped ones none.
std::optional<ir::Type> own_type(const Value& value) {
    const auto* s = value.as<Scalar>();
    return s == nullptr ? std::nullopt : std::optional(s->expr->type);
}

/// `v / 32 * 32`
bool rounds_to_multiple(const ir::Binary& product) {
    const auto* quotient = ir::as<ir::Binary>(product.a);
    return product.op == ir::BinaryOp::Mul && quotient != nullptr && quotient->op == ir::BinaryOp::Div &&
           ir::structurally_equal(quotient->b, product.b);
}

Int128 floor_div(Int128 a, Int128 b) {
    const Int128 q = a / b;
    return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}

}  // namespace

void Elaborator::note_inexact(const Value& value) {
    const auto* i = value.as<UntypedInt>();
    if (i == nullptr || !i->inexact) return;
    report(diag::InexactConstantDivision, i->inexact->range, to_string(i->inexact->value))
        .note("write one of the numbers with a decimal point to divide real numbers");
}

ir::Expr Elaborator::typed_constant(const Value& untyped, ir::Type type, SourceRange range) {
    if (const auto* i = untyped.as<UntypedInt>()) {
        if (ir::is_float(type)) {
            note_inexact(untyped);
            const double rounded = type == ir::Type::Float32 ? static_cast<double>(static_cast<float>(i->value))
                                                             : ir::round_to(type, static_cast<double>(i->value));
            if (std::isfinite(rounded)) return ir::float_constant(type, rounded, range);
        } else if (fits(i->value, type)) {
            return ir::int_constant(type, low_bits(i->value), range);
        }
        report(diag::ConstantRange, range, to_string(i->value), type_name(type));
        return nullptr;
    }
    const double value = untyped.as<UntypedFloat>()->value;
    if (std::isfinite(value) && !std::isfinite(ir::round_to(type, value))) {
        report(diag::ConstantRange, range, fmt::format("{}", value), type_name(type));
        return nullptr;
    }
    return ir::float_constant(type, value, range);
}

ir::Expr Elaborator::typed(const Value& value, SourceRange range) {
    if (const auto* i = value.as<UntypedInt>()) {
        if (!in_index_) note_inexact(value);  // nothing says that a whole number is wanted
        return typed_constant(value, fits(i->value, ir::Type::Int32) ? ir::Type::Int32 : ir::Type::Int64, range);
    }
    if (value.is<UntypedFloat>()) return typed_constant(value, ir::Type::Float32, range);
    if (const auto* s = value.as<Scalar>()) return s->expr;
    if (value.is<Table>()) {
        report(diag::NotAValue, range, "a table").note("take an element of it: t[0]");
    } else if (!value.is<Poison>()) {
        report(diag::NotAValue, range, describe(value));
    }
    return nullptr;
}

ir::Expr Elaborator::convert(const Value& value, ir::Type type, SourceRange range, const std::string& what) {
    if (value.is<UntypedInt>() && type != ir::Type::Bool) return typed_constant(value, type, range);
    if (value.is<UntypedFloat>() && ir::is_float(type)) return typed_constant(value, type, range);
    if (const auto* s = value.as<Scalar>(); s != nullptr && s->exact && type == ir::Type::Float64) return s->exact;
    const ir::Expr e = value.is<UntypedFloat>() && type == ir::Type::Bool ? typed(value, range)
                       : value.is<UntypedFloat>() ? ir::float_constant(ir::Type::Float64, as_double(value), range)
                                                  : typed(value, range);
    if (!e || e->type == type) return e;
    if (type != ir::Type::Bool && e->type != ir::Type::Bool && ir::converts_implicitly(e->type, type)) {
        if (ir::is_int(e->type) && ir::is_float(type)) note_dropped_fraction(e, type);
        return ir::cast(type, e, range);
    }
    const std::string source = text(range);
    const bool short_text = source.size() <= 40 && source.find('\n') == std::string::npos;
    const bool suggested = short_text && !files_.is_standard_library(range.file);  // that nobody can mend
    const std::string shown = short_text ? source : "...";
    const std::string from = value.is<UntypedFloat>() ? "a float constant" : type_name(e->type);
    Report r = report(diag::ConversionNeeded, range, what, type_name(type), from);
    if (type == ir::Type::Bool) {
        r.note(fmt::format("compare it with something: {} != 0", shown));
    } else if (e->type == ir::Type::Bool && source.starts_with("sum")) {
        r.note("the body of a sum ends before a comparison: `sum(i in 0..3) int32(f(i) > 1)` counts where it holds");
    } else if (e->type == ir::Type::Bool) {
        r.note(fmt::format("`{}({})` is 0 or 1", ir::name(type), shown));
        if (suggested) r.suggest(range, fmt::format("{}({})", ir::name(type), source));
    } else {
        const char* effect = ir::is_float(type)      ? "rounds to the nearest value"
                             : ir::is_float(e->type) ? "drops the fraction and clamps to the type's range"
                                                     : "keeps the low bits";
        r.note(fmt::format("`{}({})` {}", ir::name(type), shown, effect));
        if (ir::is_int(type) && ir::is_int(e->type)) {
            r.note(fmt::format("`saturate<{}>({})` clamps to the type's range", ir::name(type), shown));
        }
        if (suggested) r.suggest(range, fmt::format("{}({})", ir::name(type), source));
    }
    return nullptr;
}

bool Elaborator::is_share(const ir::Binary& quotient) const {
    constexpr std::int64_t kMostTile = 100;
    const auto divisor = ir::as_int(quotient.b);
    const bool tile = divisor && (*divisor < kMostTile || (*divisor & (*divisor - 1)) == 0);
    bool variable = false;
    ir::for_each_node(quotient.a, [&](const ir::Expr& e) {
        const auto* v = ir::as<ir::Variable>(e);
        variable = variable || (v != nullptr && index_variables_.contains(v->id));
    });
    return variable && !tile;
}

void Elaborator::lossy_quotients(const ir::Expr& e, std::set<const ir::Node*>& seen, std::vector<ir::Expr>& found) {
    if (!seen.insert(e.get()).second) return;
    const auto look = [&](const ir::Expr& operand) { lossy_quotients(operand, seen, found); };
    if (const auto* variable = ir::as<ir::Variable>(e)) {
        const auto let = let_values_.find(variable->id);
        if (let != let_values_.end()) look(let->second);
    } else if (const auto* let_in = ir::as<ir::Let>(e)) {
        look(let_in->body);
    } else if (const auto* choice = ir::as<ir::Select>(e)) {
        look(choice->then);
        if (choice->otherwise) look(choice->otherwise);
    } else if (const auto* n = ir::as<ir::Binary>(e)) {
        if (n->op == ir::BinaryOp::Div) {
            const bool written = e->range.valid() && !files_.is_standard_library(e->range.file);
            if (written && (contents_.of(e).reads || is_share(*n))) found.push_back(e);
        } else if (n->op == ir::BinaryOp::Add || n->op == ir::BinaryOp::Sub || n->op == ir::BinaryOp::Mul) {
            if (!rounds_to_multiple(*n)) {
                look(n->a);
                look(n->b);
            }
        }
    }
}

void Elaborator::note_dropped_fraction(const ir::Expr& e, ir::Type type) {
    std::set<const ir::Node*> seen;
    std::vector<ir::Expr> quotients;
    lossy_quotients(e, seen, quotients);
    for (const ir::Expr& quotient : quotients) {
        const auto& [op, a, b] = *ir::as<ir::Binary>(quotient);
        const std::string left = text(a->range), right = text(b->range);
        Report r = report(diag::DroppedFraction, quotient->range, type_name(type));
        if (ir::as_int(b) && right.find_first_not_of("0123456789") == std::string::npos) {
            r.suggest(b->range, right + ".0");
        } else if (left.find('\n') == std::string::npos) {
            r.suggest(a->range, fmt::format("{}({})", ir::name(type), left));
        }
        r.note(fmt::format("`{}(...)` around all of the quotient says that the whole number is meant", ir::name(type)));
    }
}

std::optional<ir::Type> Elaborator::operator_type(const Value& a, const Value& b, bool promote, SourceRange a_range,
                                                  SourceRange b_range, SourceRange range) {
    for (const auto& [value, at] : {std::pair{&a, a_range}, std::pair{&b, b_range}}) {
        if (own_type(*value) == ir::Type::Bool) {
            const std::string source = text(at);
            report(diag::BoolArithmetic, at)
                .note("`int32(...)` of a bool is 0 or 1; `and`, `or` and `not` combine bools");
            return std::nullopt;
        }
        if (!own_type(*value) && !is_untyped(*value)) {
            typed(*value, at);
            return std::nullopt;
        }
    }
    std::optional<ir::Type> ta = own_type(a);
    std::optional<ir::Type> tb = own_type(b);
    // An untyped integer takes the other's type, an untyped float a float type.
    const auto adapt = [&](const Value& untyped, ir::Type other) {
        if (untyped.is<UntypedFloat>()) return ir::is_float(other) ? other : ir::Type::Float32;
        if (!promote && ir::is_int(other) && fits(untyped.as<UntypedInt>()->value, other)) return other;
        return *ir::common_type(other, other);
    };
    if (!ta && !tb) {
        if (a.is<UntypedFloat>() || b.is<UntypedFloat>()) return ir::Type::Float32;
        const bool small =
            fits(a.as<UntypedInt>()->value, ir::Type::Int32) && fits(b.as<UntypedInt>()->value, ir::Type::Int32);
        return small ? ir::Type::Int32 : ir::Type::Int64;
    }
    if (!ta) ta = adapt(a, *tb);
    if (!tb) tb = adapt(b, *ta);
    if (!promote && *ta == *tb) return ta;
    const auto common = ir::common_type(*ta, *tb);
    if (!common) {
        const bool a_unsigned = *ta == ir::Type::UInt64;
        const SourceRange at = a_unsigned ? b_range : a_range;
        report(diag::MixedSigns, range, type_name(*ta), type_name(*tb))
            .note(at, fmt::format("convert one of them, for example `uint64({})`", text(at)));
    }
    return common;
}

Value Elaborator::arithmetic(ir::BinaryOp op, const Value& a, const Value& b, SourceRange a_range, SourceRange b_range,
                             SourceRange range, SourceRange op_range) {
    using ir::BinaryOp;
    if (a.is<Poison>() || b.is<Poison>()) return poison();
    if (a.is<Table>() || b.is<Table>()) return table_arithmetic(op, a, b, a_range, b_range, range, op_range);
    if (is_untyped(a) && is_untyped(b)) return constant_arithmetic(op, a, b, range, false);
    const bool shift = op == BinaryOp::Shl || op == BinaryOp::Shr;
    // With a mask that fits, a byte stays one. The count of a shift does not take part in the choice of the type.
    const bool bitwise = op == BinaryOp::BitAnd || op == BinaryOp::BitOr || op == BinaryOp::BitXor;
    const bool masked = bitwise && (is_untyped(a) || is_untyped(b));
    const auto type = shift ? operator_type(a, a, true, a_range, a_range, range)
                            : operator_type(a, b, !masked, a_range, b_range, range);
    if (!type) return poison();
    const bool integers_only = op == BinaryOp::Mod || (op >= BinaryOp::BitAnd && op <= BinaryOp::Shr);
    const auto count = shift ? operator_type(b, b, true, b_range, b_range, range) : type;
    if (!count) return poison();
    if (integers_only && (ir::is_float(*type) || ir::is_float(*count))) {
        Report r = report(diag::IntegerOperator, op_range.valid() ? op_range : range, std::string(ir::name(op)),
                          type_name(ir::is_float(*type) ? *type : *count));
        if (op == BinaryOp::BitXor) r.note("a power is written `pow(a, b)`; a small one as a product");
        if (op == BinaryOp::Mod) r.note("the remainder of a division of floats is `a - b * floor(a / b)`");
        return poison();
    }
    const ir::Expr left = convert(a, *type, a_range, "an operand");
    if (!left) return poison();
    if (!shift) {
        const ir::Expr right = convert(b, *type, b_range, "an operand");
        if (!right) return poison();
        const ir::Expr exact_a = exact(a), exact_b = exact(b);
        const bool both = exact_a && exact_b && *type == ir::Type::Float32;
        return {Scalar{fold_binary(op, left, right, range), both ? fold_binary(op, exact_a, exact_b, range) : nullptr}};
    }
    const ir::Expr right = convert(b, *count, b_range, "a shift count");
    if (!right) return poison();
    // Counts are taken modulo the width, so only the low bits matter and the conversion may wrap.
    return {Scalar{ir::binary(op, left, ir::cast(*type, right, b_range), range)}};
}

Value Elaborator::constant_arithmetic(ir::BinaryOp op, const Value& a, const Value& b, SourceRange range,
                                      bool in_table) {
    using ir::BinaryOp;
    const bool floats = a.is<UntypedFloat>() || b.is<UntypedFloat>() || (in_table && op == BinaryOp::Div);
    if (floats) {
        note_inexact(a);
        note_inexact(b);
        const double x = as_double(a);
        const double y = as_double(b);
        switch (op) {
            case BinaryOp::Add: return {UntypedFloat{x + y}};
            case BinaryOp::Sub: return {UntypedFloat{x - y}};
            case BinaryOp::Mul: return {UntypedFloat{x * y}};
            case BinaryOp::Div: return {UntypedFloat{x / y}};
            default: break;
        }
        report(diag::IntegerOperator, range, std::string(ir::name(op)), "a float constant");
        return poison();
    }
    const Int128 x = a.as<UntypedInt>()->value;
    const Int128 y = b.as<UntypedInt>()->value;
    Int128 result = 0;
    // Of bits, shifts and remainders whole numbers are meant.
    const bool keeps = op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul || op == BinaryOp::Div;
    const auto &first = a.as<UntypedInt>()->inexact, &second = b.as<UntypedInt>()->inexact;
    auto inexact = !keeps ? std::nullopt : first ? first : second;
    switch (op) {
        case BinaryOp::Add: result = x + y; break;
        case BinaryOp::Sub: result = x - y; break;
        case BinaryOp::Mul:
            // Two values of up to 64 bits: the product of magnitudes below 2^64 fits 128 bits only up to 2^127.
            if (__builtin_mul_overflow(x, y, &result)) result = kMaxInt64 + 1;
            break;
        case BinaryOp::Div:
        case BinaryOp::Mod:
            if (y == 0) {
                report(diag::ConstantDivisionByZero, range);
                break;
            }
            result = op == BinaryOp::Div ? floor_div(x, y) : x - floor_div(x, y) * y;
            if (op == BinaryOp::Div && x % y != 0) inexact = InexactQuotient{range, result};
            break;
        case BinaryOp::BitAnd: result = x & y; break;
        case BinaryOp::BitOr: result = x | y; break;
        case BinaryOp::BitXor: result = x ^ y; break;
        case BinaryOp::Shl:
        case BinaryOp::Shr:
            if (y < 0 || y > 63) {
                report(diag::ConstantOverflow, range);
                return poison();
            }
            result = op == BinaryOp::Shl ? x * (Int128{1} << y) : x >> y;
            break;
        default: break;
    }
    if (result < kMinInt64 || result > kMaxInt64) {
        report(diag::ConstantOverflow, range);
        return poison();
    }
    return {UntypedInt{result, inexact}};
}

Value Elaborator::table_arithmetic(ir::BinaryOp op, const Value& a, const Value& b, SourceRange a_range,
                                   SourceRange b_range, SourceRange range, SourceRange op_range) {
    return element_by_element({a, b}, {a_range, b_range}, range, [&](const std::vector<Value>& row) {
        const Value &x = row[0], &y = row[1];
        return is_untyped(x) && is_untyped(y) ? constant_arithmetic(op, x, y, range, true)
                                              : arithmetic(op, x, y, a_range, b_range, range, op_range);
    });
}

Value Elaborator::compare(ir::BinaryOp op, const Value& a, const Value& b, SourceRange a_range, SourceRange b_range,
                          SourceRange range) {
    using ir::BinaryOp;
    if (a.is<Poison>() || b.is<Poison>()) return poison();
    if (a.is<Table>() || b.is<Table>()) {
        return element_by_element({a, b}, {a_range, b_range}, range, [&](const std::vector<Value>& row) {
            return compare(op, row[0], row[1], a_range, b_range, range);
        });
    }
    if (is_untyped(a) && is_untyped(b)) {
        const auto order = [&](auto x, auto y) {
            switch (op) {
                case BinaryOp::Eq: return x == y;
                case BinaryOp::Ne: return x != y;
                case BinaryOp::Lt: return x < y;
                case BinaryOp::Le: return x <= y;
                case BinaryOp::Gt: return x > y;
                default: return x >= y;
            }
        };
        const bool integers = a.is<UntypedInt>() && b.is<UntypedInt>();
        const bool result =
            integers ? order(a.as<UntypedInt>()->value, b.as<UntypedInt>()->value) : order(as_double(a), as_double(b));
        return {Scalar{ir::bool_constant(result, range)}};
    }
    if ((op == BinaryOp::Eq || op == BinaryOp::Ne) && own_type(a) == ir::Type::Bool && own_type(b) == ir::Type::Bool) {
        return {Scalar{ir::binary(op, a.as<Scalar>()->expr, b.as<Scalar>()->expr, range)}};
    }
    const bool same = own_type(a) && own_type(a) == own_type(b);
    const auto type = operator_type(a, b, !same, a_range, b_range, range);
    if (!type) return poison();
    const ir::Expr left = convert(a, *type, a_range, "an operand");
    const ir::Expr right = convert(b, *type, b_range, "an operand");
    if (!left || !right) return poison();
    return {Scalar{fold_binary(op, left, right, range)}};
}

Value Elaborator::negate(ir::UnaryOp op, const Value& a, SourceRange a_range, SourceRange range) {
    if (a.is<Poison>()) return poison();
    if (const auto* table = a.as<Table>()) {
        std::vector<Value> elements;
        for (const Value& e : *table->elements) {
            elements.push_back(negate(op, e, a_range, range));
            if (elements.back().is<Poison>()) return poison();
        }
        return make_table(std::move(elements));
    }
    if (op == ir::UnaryOp::Not) {
        if (own_type(a) == ir::Type::Bool) return {Scalar{ir::unary(op, a.as<Scalar>()->expr, range)}};
        report(diag::ConditionType, a_range, describe(a));
        return poison();
    }
    if (const auto* i = a.as<UntypedInt>()) {
        const Int128 result = op == ir::UnaryOp::Neg ? -i->value : ~i->value;
        if (result >= kMinInt64 && result <= kMaxInt64) return {UntypedInt{result, i->inexact}};
        report(diag::ConstantOverflow, range);
        return poison();
    }
    if (const auto* f = a.as<UntypedFloat>(); f != nullptr && op == ir::UnaryOp::Neg) return {UntypedFloat{-f->value}};
    const auto type = operator_type(a, a, true, a_range, a_range, range);
    if (!type) return poison();
    if (op == ir::UnaryOp::BitNot && ir::is_float(*type)) {
        report(diag::IntegerOperator, range, "~", type_name(*type));
        return poison();
    }
    const ir::Expr e = convert(a, *type, a_range, "an operand");
    return e ? Value{Scalar{ir::unary(op, e, range)}} : poison();
}

bool Elaborator::unify(std::vector<Value>& values, const std::vector<SourceRange>& ranges, SourceRange range) {
    for (const Value& value : values) {
        if (value.is<Poison>()) return false;
    }
    const auto is_bool = [](const Value& v) { return own_type(v) == ir::Type::Bool; };
    std::optional<ir::Type> type = own_type(values[0]);
    if (is_bool(values[0])) {
        for (std::size_t i = 1; i < values.size(); ++i) {
            if (is_bool(values[i])) continue;
            report(diag::BranchTypes, ranges[i], describe(values[i])).note(ranges[0], "this is a bool");
            return false;
        }
        return true;
    }
    // A placeholder of the type found so far meets the next value.
    Value so_far = values[0];
    for (std::size_t i = 1; i < values.size(); ++i) {
        if (is_bool(values[i])) {
            report(diag::BranchTypes, ranges[i], "a bool").note(ranges[0], "this is a number");
            return false;
        }
        if (is_untyped(so_far) && is_untyped(values[i])) {
            if (values[i].is<UntypedFloat>()) so_far = values[i];
            if (so_far.is<UntypedInt>() && !fits(values[i].as<UntypedInt>()->value, ir::Type::Int32))
                so_far = values[i];
            continue;
        }
        type = operator_type(so_far, values[i], false, ranges[0], ranges[i], range);
        if (!type) return false;
        so_far = {Scalar{ir::constant(*type, 0)}};
    }
    if (is_untyped(so_far)) {
        const ir::Expr e = typed(so_far, ranges[0]);
        if (!e) return false;
        type = e->type;
    } else {
        type = own_type(so_far);
        if (!type) {
            typed(so_far, ranges[0]);
            return false;
        }
        // Constants that stood before the type was known take part: -1 with uint8 asks for a signed type.
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (!is_untyped(values[i])) continue;
            type = operator_type(values[i], so_far, false, ranges[i], ranges[0], range);
            if (!type) return false;
            so_far = {Scalar{ir::constant(*type, 0)}};
        }
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        const ir::Expr e = convert(values[i], *type, ranges[i], "a branch");
        if (!e) return false;
        values[i] = {Scalar{e}};
    }
    return true;
}

Value Elaborator::explicit_cast(const Value& value, ir::Type type, bool saturate, SourceRange range,
                                SourceRange operand_range) {
    if (value.is<Poison>()) return poison();
    if (const auto* table = value.as<Table>()) {
        std::vector<Value> elements;
        for (const Value& e : *table->elements) {
            elements.push_back(explicit_cast(e, type, saturate, range, operand_range));
            if (elements.back().is<Poison>()) return poison();
        }
        return make_table(std::move(elements));
    }
    if (type == ir::Type::Bool) {
        if (own_type(value) == ir::Type::Bool) return value;
        report(diag::CastToBool, range).note(fmt::format("compare instead: {} != 0", text(operand_range)));
        return poison();
    }
    if (const auto* i = value.as<UntypedInt>()) {
        if (ir::is_float(type)) return {Scalar{ir::float_constant(type, static_cast<double>(i->value), range)}};
        const Int128 least = ir::int_min(type);
        const Int128 greatest = ir::int_max(type);
        const Int128 kept = saturate ? std::min(std::max(i->value, least), greatest) : i->value;
        return {Scalar{ir::int_constant(type, low_bits(kept), range)}};
    }
    if (const auto* f = value.as<UntypedFloat>()) {
        return {Scalar{fold_cast(type, ir::float_constant(ir::Type::Float64, f->value, range), saturate, range)}};
    }
    const ir::Expr e = typed(value, operand_range);
    return e ? Value{Scalar{fold_cast(type, e, saturate, range)}} : poison();
}

}  // namespace pipec::elab
