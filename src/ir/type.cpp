#include "ir/type.h"

#include <algorithm>
#include <array>

namespace pipec::ir {

namespace {
constexpr std::array<std::string_view, 12> kNames = {"bool",   "int8",   "int16",  "int32",   "int64",   "uint8",
                                                     "uint16", "uint32", "uint64", "float16", "float32", "float64"};

constexpr Type promoted(Type t) {
    return is_int(t) && bits(t) < 32 ? Type::Int32 : t;
}
}  // namespace

std::string_view name(Type t) {
    return kNames.at(static_cast<std::size_t>(t));
}

std::optional<Type> type_from_name(std::string_view name) {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<Type>(found - kNames.begin());
}

bool converts_implicitly(Type from, Type to) {
    if (from == to) return true;
    if (from == Type::Bool || to == Type::Bool) return false;
    if (is_float(to)) return is_int(from) || bits(from) <= bits(to);
    return is_int(from) && int_min(to) <= int_min(from) && int_max(from) <= int_max(to);
}

std::optional<Type> common_type(Type a, Type b) {
    if (a == Type::Bool || b == Type::Bool) return std::nullopt;
    if (is_float(a) && is_float(b)) return std::max(a, b);
    if (is_float(a)) return a;
    if (is_float(b)) return b;
    const bool unsigned_and_wide = is_unsigned_int(a) && is_unsigned_int(b) && std::max(bits(a), bits(b)) >= 32;
    if (unsigned_and_wide) return std::max(a, b);
    a = promoted(a);
    b = promoted(b);
    if (is_signed_int(a) == is_signed_int(b)) return std::max(a, b);
    const Type u = is_unsigned_int(a) ? a : b;
    if (u == Type::UInt64) return std::nullopt;
    return Type::Int64;  // uint32 with int32 or int64
}

}  // namespace pipec::ir
