// What toml++ asserts of a text before it parses it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace pipec::fusion {

/// TOML has no control characters, and toml++ asserts that some do not reach it: the first one, by its line.
struct ControlCharacter {
    std::ptrdiff_t line = 0;
    unsigned code = 0;
};
inline std::optional<ControlCharacter> control_character(std::string_view text) {
    const auto is_control = [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
    };
    const auto at = std::find_if(text.begin(), text.end(), is_control);
    if (at == text.end()) return std::nullopt;
    return ControlCharacter{1 + std::count(text.begin(), at, '\n'), static_cast<unsigned char>(*at)};
}

}  // namespace pipec::fusion
