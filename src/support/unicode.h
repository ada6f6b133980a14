// As much Unicode as showing a line of source on a terminal needs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pipec {

/// One code point of a UTF-8 text. A byte that is no part of a valid sequence stands alone, without a code point.
struct Decoded {
    std::optional<char32_t> code_point;
    std::size_t bytes = 1;
};

/// Decodes the code point at `offset` (< text.size()). Overlong forms, surrogates and values above U+10FFFF are
/// invalid.
Decoded decode_utf8(std::string_view text, std::size_t offset);

/// Columns that a terminal gives to a code point: 0 for combining marks, 2 for East Asian wide forms and emoji, else 1.
std::size_t display_width(char32_t code_point);

/// Characters that would change how the text around them is shown: controls, and the marks that reorder or hide text.
bool is_unprintable(char32_t code_point);

/// A code point as `<U+202E>`, or a byte that is none as `<FF>`.
std::string spell_out(std::optional<char32_t> code_point, char byte);

/// `text` with everything spelt out that is unprintable or no UTF-8, so that it can be shown on a terminal.
std::string printable(std::string_view text);

}  // namespace pipec
