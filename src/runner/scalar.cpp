// Parsing of scalar values, with the checks that the language makes for constants.
#include "runner/scalar.h"

#include <Imath/half.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

namespace pipec::runner {

namespace {

template <class T>
std::errc parse(std::string_view text, T& value) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end != text.data() + text.size() ? std::errc::invalid_argument : error;
}

void store_integer(ir::Type type, std::uint64_t bits, std::byte* to) {
    std::memcpy(to, &bits, static_cast<std::size_t>(ir::bytes(type)));  // little endian: the low bytes come first
}

std::optional<std::string> store_int(ir::Type type, std::string_view text, std::byte* to) {
    std::int64_t value = 0;
    std::uint64_t large = 0;
    std::errc error = parse(text, value);
    if (error == std::errc() && value >= 0) large = static_cast<std::uint64_t>(value);
    if (error == std::errc::result_out_of_range && type == ir::Type::UInt64) error = parse(text, large);
    if (error == std::errc::invalid_argument) return fmt::format("`{}` is not an integer", text);
    const bool negative = error == std::errc() && value < 0;
    if (error == std::errc() && (negative ? value >= ir::int_min(type) : large <= ir::int_max(type))) {
        store_integer(type, negative ? static_cast<std::uint64_t>(value) : large, to);
        return std::nullopt;
    }
    return fmt::format("`{}` does not fit {}: {} to {}", text, ir::name(type), ir::int_min(type), ir::int_max(type));
}

std::optional<std::string> store_float(ir::Type type, std::string_view text, std::byte* to) {
    double wide = 0;
    float narrow = 0;
    const std::errc error = type == ir::Type::Float64 ? parse(text, wide) : parse(text, narrow);
    if (error == std::errc::invalid_argument) return fmt::format("`{}` is not a number", text);
    const half small(narrow);
    if (error != std::errc() || (type == ir::Type::Float16 && small.isInfinity() && !std::isinf(narrow))) {
        return fmt::format("`{}` is out of the range of {}", text, ir::name(type));
    }
    if (type == ir::Type::Float64) std::memcpy(to, &wide, sizeof wide);
    if (type == ir::Type::Float32) std::memcpy(to, &narrow, sizeof narrow);
    if (type == ir::Type::Float16) {
        const std::uint16_t bits = small.bits();
        std::memcpy(to, &bits, sizeof bits);
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> store_scalar(ir::Type type, std::string_view text, std::byte* to) {
    if (type == ir::Type::Bool) {
        const bool yes = text == "true" || text == "1";
        if (!yes && text != "false" && text != "0") return fmt::format("`{}` is neither `true` nor `false`", text);
        *to = std::byte{yes};
        return std::nullopt;
    }
    return ir::is_float(type) ? store_float(type, text, to) : store_int(type, text, to);
}

std::optional<std::vector<std::int64_t>> parse_list(std::string_view text) {
    std::vector<std::int64_t> result;
    for (;;) {
        const std::size_t comma = text.find(',');
        std::int64_t value = 0;
        if (parse(text.substr(0, comma), value) != std::errc()) return std::nullopt;
        result.push_back(value);
        if (comma == std::string_view::npos) return result;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace pipec::runner
