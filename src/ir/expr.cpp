#include "ir/expr.h"

#include <algorithm>
#include <array>

namespace pipec::ir {

namespace {
constexpr std::array<std::string_view, 3> kUnaryNames = {"-", "~", "not"};
constexpr std::array<std::string_view, 20> kBinaryNames = {
    "+", "-", "*", "/", "%", "min", "max", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "and", "or"};
constexpr std::array<std::string_view, 8> kReduceNames = {"sum", "prod", "min",    "max",
                                                          "any", "all",  "argmin", "argmax"};
constexpr std::array<std::string_view, 24> kBuiltinNames = {
    "abs",  "sqrt", "rsqrt", "exp",  "exp2", "log",  "log2",  "pow",   "sin",  "cos",   "tan",   "asin",
    "acos", "atan", "atan2", "sinh", "cosh", "tanh", "hypot", "floor", "ceil", "round", "trunc", "isnan"};
static_assert(static_cast<std::size_t>(BinaryOp::Or) + 1 == kBinaryNames.size());
static_assert(static_cast<std::size_t>(Builtin::IsNan) + 1 == kBuiltinNames.size());
}  // namespace

std::string_view name(UnaryOp op) {
    return kUnaryNames.at(static_cast<std::size_t>(op));
}
std::string_view name(BinaryOp op) {
    return kBinaryNames.at(static_cast<std::size_t>(op));
}
std::string_view name(Builtin fn) {
    if (is_of_halves(fn)) return fn == Builtin::MinHalves ? "min_halves" : "max_halves";
    return kBuiltinNames.at(static_cast<std::size_t>(fn));
}
bool is_library_function(Builtin fn) {
    switch (fn) {
        case Builtin::Abs:
        case Builtin::Floor:
        case Builtin::Ceil:
        case Builtin::Round:
        case Builtin::Trunc:
        case Builtin::IsNan:
        case Builtin::MinHalves:
        case Builtin::MaxHalves:
        case Builtin::Sqrt:
        case Builtin::Rsqrt: return false;
        default: return true;
    }
}
std::string_view name(ReduceOp op) {
    return kReduceNames.at(static_cast<std::size_t>(op));
}

std::optional<Builtin> builtin_from_name(std::string_view name) {
    const auto found = std::find(kBuiltinNames.begin(), kBuiltinNames.end(), name);
    if (found == kBuiltinNames.end()) return std::nullopt;
    return static_cast<Builtin>(found - kBuiltinNames.begin());
}

int arity(Builtin fn) {
    const bool of_two = fn == Builtin::Pow || fn == Builtin::Atan2 || fn == Builtin::Hypot;
    return of_two || is_of_halves(fn) ? 2 : 1;
}

}  // namespace pipec::ir
