// Divisions and square roots of float32 for devices, where those of the library have a branch for rare operands, about
// which nothing can be scheduled: a kernel of divisions takes twice the time. Two ways around it: of constants, of
// which the reciprocal is known (codegen/expr/reciprocal.h), and functions that note rare operands; where some were
// met, the kernel computes the points again (kernel::If::same_points).
#include <algorithm>
#include <cmath>

#include "codegen/emit/c/c_expr.h"
#include "codegen/emit/c/c_types.h"
#include "codegen/expr/reciprocal.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Builtin;
using ir::Type;

namespace {

/// Of 0.
constexpr int kNoDigits = 1000;
/// Numbers that are 0 or no smaller than this power of two are no rare operands.
constexpr int kTiny = -60;

/// The weight of the last digit that is not 0.
int last_digit(double value) {
    if (value == 0) return kNoDigits;
    int exponent = 0;
    auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
    exponent -= 53;
    for (; digits % 2 == 0; digits /= 2) ++exponent;
    return exponent;
}

std::optional<int> least(std::optional<int> a, std::optional<int> b) {
    return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
}

/// A divisor for which `divide_by` rounds as a division does.
bool has_remainder_step(double divisor) {
    const double size = std::abs(divisor);
    return size >= 3 && size < 0x1p22 && std::fmod(size, 2) == 1;
}

}  // namespace

bool ExpressionWriter::note_rare(std::string rare) {
    rare_ = std::move(rare);
    return std::exchange(noted_, false);
}

/// The value is a multiple of 2 to this power: then it is 0 or no smaller. Rounding leaves that as it is, as floats
/// that are no multiples lie closer together than those that are.
std::optional<int> ExpressionWriter::granule(const ir::Expr& e) {
    if (const auto found = known_granules_.find(e); found != known_granules_.end()) return found->second;
    const std::optional<int> result = find_granule(e);
    return known_granules_[e] = result;
}

std::optional<int> ExpressionWriter::find_granule(const ir::Expr& e) {
    if (!ir::is_float(e->type)) return ir::is_int(e->type) ? std::optional(0) : std::nullopt;
    return std::visit(
        ir::overloaded{[&](const ir::FloatConstant& n) -> std::optional<int> {
                           return std::isfinite(n.value) ? std::optional(last_digit(n.value)) : std::nullopt;
                       },
                       [&](const ir::Variable& n) -> std::optional<int> {
                           const auto found = granules_.find(n.id);
                           return found == granules_.end() ? std::nullopt : std::optional(found->second);
                       },
                       [&](const ir::Cast& n) -> std::optional<int> {
                           const bool exact = ir::is_int(n.a->type) || ir::bits(n.a->type) <= ir::bits(e->type);
                           return exact ? granule(n.a) : std::nullopt;
                       },
                       [&](const ir::Unary& n) { return granule(n.a); },
                       [&](const ir::Binary& n) -> std::optional<int> {
                           const auto a = granule(n.a), b = granule(n.b);
                           if (n.op == BinaryOp::Mul) return a && b ? std::optional(*a + *b) : std::nullopt;
                           const bool keeps = n.op == BinaryOp::Add || n.op == BinaryOp::Sub || n.op == BinaryOp::Min ||
                                              n.op == BinaryOp::Max;
                           return keeps ? least(a, b) : std::nullopt;
                       },
                       [&](const ir::Select& n) {
                           return n.otherwise ? least(granule(n.then), granule(n.otherwise)) : std::nullopt;
                       },
                       [&](const ir::Call& n) -> std::optional<int> {
                           switch (n.fn) {
                               case Builtin::Abs: return granule(n.args.front());
                               case Builtin::Floor:
                               case Builtin::Ceil:
                               case Builtin::Round:
                               case Builtin::Trunc: return 0;
                               default: return std::nullopt;
                           }
                       },
                       [](const auto&) -> std::optional<int> { return std::nullopt; }},
        e->value);
}

/// a / n.b, where `a` is the text of n.a.
Text ExpressionWriter::quotient(const ir::Binary& n, const Text& a) {
    const auto* constant = ir::as<ir::FloatConstant>(n.b);
    const auto number = [&](double v) { return literal(float_literal(Type::Float32, v, helpers_.platform())); };
    const bool device = helpers_.platform() == fusion::Platform::Cuda;  // the host's divisions are cheap enough
    if (const auto by = device && constant != nullptr ? exact_reciprocal(constant->value) : std::nullopt) {
        std::vector<Text> args{a, number(by->high), number(by->low)};
        if (granule(n.a).value_or(kTiny - 1) >= kTiny) return helper("quotient_by", args);
        if (!rare_.empty() && !has_remainder_step(constant->value)) {
            noted_ = true;
            args.push_back({rare_});
            return helper("noted_quotient_by", args);
        }
    }
    if (device && constant != nullptr && has_remainder_step(constant->value)) {
        const double reciprocal = ir::round_to(Type::Float32, 1 / constant->value);
        return helper("divide_by", {a, number(constant->value), number(reciprocal)});
    }
    int exponent = 0;
    const bool is_power = constant != nullptr && std::abs(std::frexp(constant->value, &exponent)) == 0.5;
    if (rare_.empty() || is_power) return infix("/", Precedence::Product, a, value(n.b));
    noted_ = true;
    return helper("quotient", {a, value(n.b), {rare_}});
}

Text ExpressionWriter::square_root(const Text& a) {
    noted_ = true;
    return helper("root", {a, {rare_}});
}

}  // namespace pipec::codegen
