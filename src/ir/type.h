// Scalar types of the language.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pipec::ir {

// By hand: a property a line.
// clang-format off
enum class Type : std::uint8_t {
    Bool, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64
};

constexpr bool is_float(Type t) { return t >= Type::Float16; }
constexpr bool is_signed_int(Type t) { return t >= Type::Int8 && t <= Type::Int64; }
constexpr bool is_unsigned_int(Type t) { return t >= Type::UInt8 && t <= Type::UInt64; }
constexpr bool is_int(Type t) { return t >= Type::Int8 && t <= Type::UInt64; }
constexpr bool is_numeric(Type t) { return t != Type::Bool; }

/// Width in bits; Bool is 8 in memory.
constexpr int bits(Type t) {
    switch (t) {
        case Type::Bool: case Type::Int8: case Type::UInt8: return 8;
        case Type::Int16: case Type::UInt16: case Type::Float16: return 16;
        case Type::Int32: case Type::UInt32: case Type::Float32: return 32;
        default: return 64;
    }
}
constexpr int bytes(Type t) { return bits(t) / 8; }

/// Least value of an integer type (or Bool), as int64.
constexpr std::int64_t int_min(Type t) {
    return is_signed_int(t) ? (bits(t) == 64 ? INT64_MIN : -(std::int64_t{1} << (bits(t) - 1))) : 0;
}
/// Greatest value of an integer type (or Bool), as uint64.
constexpr std::uint64_t int_max(Type t) {
    if (t == Type::Bool) return 1;
    const int value_bits = is_signed_int(t) ? bits(t) - 1 : bits(t);
    return value_bits == 64 ? UINT64_MAX : (std::uint64_t{1} << value_bits) - 1;
}

/// The name in the language: "uint8", "float32", ...
std::string_view name(Type t);
std::optional<Type> type_from_name(std::string_view name);

/// True when every value of `from` is a value of `to`, or `from` is an integer and `to` a float: what the language
/// converts without being asked (docs/language.md, "Types and conversions").
bool converts_implicitly(Type from, Type to);

/// The type in which an operator works on operands of these types: integers promote to at least int32, then the wider
/// one, of mixed signs the signed type that holds both; a float wins over every integer. None for bool, or for uint64
/// with a signed type.
std::optional<Type> common_type(Type a, Type b);

// clang-format on

}  // namespace pipec::ir
