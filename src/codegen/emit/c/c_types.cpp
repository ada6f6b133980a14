// Types and literals: exact, and without a warning from any compiler.
#include "codegen/emit/c/c_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>

namespace pipec::codegen {

namespace {
constexpr std::array<std::string_view, 12> kStorage = {"uint8_t",  "int8_t",   "int16_t",  "int32_t",
                                                       "int64_t",  "uint8_t",  "uint16_t", "uint32_t",
                                                       "uint64_t", "uint16_t", "float",    "double"};
}  // namespace

std::string_view storage_type(ir::Type type) {
    return kStorage.at(static_cast<std::size_t>(type));
}

std::string_view value_type(ir::Type type) {
    if (type == ir::Type::Bool) return "bool";
    if (type == ir::Type::Float16) return "float";
    return storage_type(type);
}

std::string pipe_type_name(ir::Type type) {
    std::string text = "PIPE_" + std::string(ir::name(type));
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

std::string int_literal(ir::Type type, std::int64_t value) {
    switch (type) {
        case ir::Type::Bool: return value != 0 ? "true" : "false";
        case ir::Type::Int32: return value == INT32_MIN ? "INT32_MIN" : fmt::format("{}", value);
        case ir::Type::Int64: return value == INT64_MIN ? "INT64_MIN" : fmt::format("INT64_C({})", value);
        case ir::Type::UInt32: return fmt::format("{}u", static_cast<std::uint32_t>(value));
        case ir::Type::UInt64: return fmt::format("UINT64_C({})", static_cast<std::uint64_t>(value));
        default: return fmt::format("{}({})", value_type(type), value);
    }
}

std::string float_literal(ir::Type type, double value, fusion::Platform platform) {
    const std::string_view c_type = value_type(type);
    // Functions of numeric_limits are not for the device.
    if (platform == fusion::Platform::Cuda && !std::isfinite(value)) {
        const std::string constant = std::isnan(value) ? "NAN" : "INFINITY";
        const std::string text = type == ir::Type::Float64 ? fmt::format("double({})", constant) : constant;
        return value < 0 ? "-" + text : text;
    }
    if (std::isnan(value)) return fmt::format("std::numeric_limits<{}>::quiet_NaN()", c_type);
    if (std::isinf(value)) return fmt::format("{}std::numeric_limits<{}>::infinity()", value < 0 ? "-" : "", c_type);
    const bool is_double = type == ir::Type::Float64;
    // The shortest decimal that reads back as the same number.
    std::string text = is_double ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return is_double ? text : text + "f";
}

std::uint16_t half_bits(double value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    if (std::isnan(value)) return sign | 0x7e00;
    if (std::isinf(value)) return sign | 0x7c00;
    if (value == 0) return sign;
    const double magnitude = std::fabs(value);
    const int exponent = std::max(std::ilogb(magnitude), -14);
    // In units of the last place; the leading one of a normal number counts into the exponent's field.
    const double units = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
    const long bits = static_cast<long>(units) + (static_cast<long>(exponent + 14) << 10);
    return static_cast<std::uint16_t>(sign | std::min(bits, 0x7c00L));
}

}  // namespace pipec::codegen
