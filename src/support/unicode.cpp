#include "support/unicode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pipec {
namespace {

struct Interval {
    char32_t first, last;
};

// The larger blocks are enough here: a caret that is off by a column under a rare script is no wrong program.
constexpr std::array kZeroWidth{Interval{0x0300, 0x036F},  Interval{0x0483, 0x0489}, Interval{0x0591, 0x05BD},
                                Interval{0x0610, 0x061A},  Interval{0x064B, 0x065F}, Interval{0x0E31, 0x0E31},
                                Interval{0x0E34, 0x0E3A},  Interval{0x1AB0, 0x1AFF}, Interval{0x1DC0, 0x1DFF},
                                Interval{0x20D0, 0x20FF},  Interval{0xFE00, 0xFE0F}, Interval{0xFE20, 0xFE2F},
                                Interval{0xE0100, 0xE01EF}};
constexpr std::array kDoubleWidth{Interval{0x1100, 0x115F},   Interval{0x2E80, 0x303E},   Interval{0x3041, 0x33FF},
                                  Interval{0x3400, 0x4DBF},   Interval{0x4E00, 0x9FFF},   Interval{0xA000, 0xA4CF},
                                  Interval{0xAC00, 0xD7A3},   Interval{0xF900, 0xFAFF},   Interval{0xFE30, 0xFE4F},
                                  Interval{0xFF00, 0xFF60},   Interval{0xFFE0, 0xFFE6},   Interval{0x1F300, 0x1F64F},
                                  Interval{0x1F680, 0x1F6FF}, Interval{0x1F900, 0x1F9FF}, Interval{0x20000, 0x3FFFD}};
constexpr std::array kUnprintable{Interval{0x0000, 0x001F},  Interval{0x007F, 0x009F}, Interval{0x00AD, 0x00AD},
                                  Interval{0x061C, 0x061C},  Interval{0x200B, 0x200F}, Interval{0x2028, 0x202E},
                                  Interval{0x2060, 0x2069},  Interval{0xFEFF, 0xFEFF}, Interval{0xFFF9, 0xFFFB},
                                  Interval{0xE0000, 0xE007F}};

template <std::size_t N>
bool contains(const std::array<Interval, N>& intervals, char32_t c) {
    return std::any_of(intervals.begin(), intervals.end(), [c](Interval i) { return i.first <= c && c <= i.last; });
}

}  // namespace

Decoded decode_utf8(std::string_view text, std::size_t offset) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[offset + i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const std::size_t length = lead >= 0xF0 && lead < 0xF8 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 0;
    if (length == 0 || lead >= 0xF8 || offset + length > text.size()) return {};
    char32_t value = lead & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return {};
        value = (value << 6U) | (byte(i) & 0x3FU);
    }
    constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    if (value < least.at(length) || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
    return {value, length};
}

std::size_t display_width(char32_t code_point) {
    if (contains(kZeroWidth, code_point)) return 0;
    return contains(kDoubleWidth, code_point) ? 2 : 1;
}

bool is_unprintable(char32_t code_point) {
    return contains(kUnprintable, code_point);
}

std::string spell_out(std::optional<char32_t> code_point, char byte) {
    return code_point ? fmt::format("<U+{:04X}>", static_cast<std::uint32_t>(*code_point))
                      : fmt::format("<{:02X}>", static_cast<unsigned char>(byte));
}

std::string printable(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        const Decoded decoded = decode_utf8(text, i);
        if (!decoded.code_point || is_unprintable(*decoded.code_point)) {
            result += spell_out(decoded.code_point, text[i]);
        } else {
            result += text.substr(i, decoded.bytes);
        }
        i += decoded.bytes;
    }
    return result;
}

}  // namespace pipec
