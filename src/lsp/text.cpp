#include "lsp/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "support/unicode.h"

namespace pipec::lsp {

namespace {

/// UTF-16 code units of what was decoded; a byte that is no UTF-8 counts as one, as its replacement does.
std::int64_t units(const Decoded& decoded) {
    return decoded.code_point && *decoded.code_point > 0xFFFF ? 2 : 1;
}

bool ends_line(char c) {
    return c == '\n' || c == '\r';
}

constexpr std::string_view kScheme = "file://";

std::optional<int> hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return std::nullopt;
}

}  // namespace

Lines::Lines(std::string_view text) : text_(text), starts_{0} {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool first_of_two = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
        if (ends_line(text[i]) && !first_of_two) starts_.push_back(i + 1);
    }
}

std::size_t Lines::offset(Position position) const {
    if (position.line < 0) return 0;
    if (position.line >= static_cast<std::int64_t>(starts_.size())) return text_.size();
    std::size_t at = starts_[static_cast<std::size_t>(position.line)];
    for (std::int64_t left = position.character; left > 0 && at < text_.size() && !ends_line(text_[at]);) {
        const Decoded decoded = decode_utf8(text_, at);
        left -= units(decoded);
        if (left < 0) break;  // in the middle of a pair
        at += decoded.bytes;
    }
    return at;
}

Position Lines::position(std::size_t offset) const {
    offset = std::min(offset, text_.size());
    const auto next = std::ranges::upper_bound(starts_, offset);
    Position result;
    result.line = next - starts_.begin() - 1;
    for (std::size_t at = *std::prev(next); at < offset && !ends_line(text_[at]);) {
        const Decoded decoded = decode_utf8(text_, at);
        if (at + decoded.bytes > offset) break;
        result.character += units(decoded);
        at += decoded.bytes;
    }
    return result;
}

std::string edited(std::string_view text, Range range, std::string_view replacement) {
    const Lines lines(text);
    std::size_t begin = lines.offset(range.start);
    std::size_t end = lines.offset(range.end);
    if (end < begin) std::swap(begin, end);
    std::string result(text.substr(0, begin));
    result += replacement;
    result += text.substr(end);
    return result;
}

std::string valid_utf8(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const Decoded decoded = decode_utf8(text, at);
        if (decoded.code_point) {
            result += text.substr(at, decoded.bytes);
        } else {
            result += "\xEF\xBF\xBD";
        }
        at += decoded.bytes;
    }
    return result;
}

std::string path_of(std::string_view uri) {
    if (!uri.starts_with(kScheme)) return std::string(uri);
    uri.remove_prefix(kScheme.size());
    if (const std::size_t slash = uri.find('/'); slash != std::string_view::npos) uri.remove_prefix(slash);
    std::string path;
    for (std::size_t i = 0; i < uri.size(); ++i) {
        const auto high = uri[i] == '%' && i + 2 < uri.size() ? hex(uri[i + 1]) : std::nullopt;
        const auto low = high ? hex(uri[i + 2]) : std::nullopt;
        if (low) {
            path += static_cast<char>(*high * 16 + *low);
            i += 2;
        } else {
            path += uri[i];
        }
    }
    return path;
}

std::string uri_of(std::string_view path) {
    if (!path.starts_with('/')) return std::string(path);
    std::string uri(kScheme);
    for (const char c : path) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view("/-._~").find(c) != std::string_view::npos;
        uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return uri;
}

}  // namespace pipec::lsp
