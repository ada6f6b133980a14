// Positions of the Language Server Protocol, which count lines and UTF-16 code units, and the bytes of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipec::lsp {

/// Both start at 0. A client may send anything; what lies outside of the text means its nearest place.
struct Position {
    std::int64_t line = 0;
    std::int64_t character = 0;
    friend bool operator==(const Position&, const Position&) = default;
};

/// Half open.
struct Range {
    Position start, end;
    friend bool operator==(const Range&, const Range&) = default;
};

/// Where the lines of a text begin. Lines end with \n, \r\n or \r. The text must stay where it is.
class Lines {
public:
    explicit Lines(std::string_view text);

    /// The byte of a position: at most the size of the text, never inside of a character.
    [[nodiscard]] std::size_t offset(Position position) const;
    [[nodiscard]] Position position(std::size_t offset) const;
    [[nodiscard]] Range range(std::size_t begin, std::size_t end) const { return {position(begin), position(end)}; }

private:
    std::string_view text_;
    std::vector<std::size_t> starts_;
};

/// `text` with the bytes of `range` replaced. Ends that stand the wrong way round are exchanged.
std::string edited(std::string_view text, Range range, std::string_view replacement);

/// Bytes that are no UTF-8 become U+FFFD.
std::string valid_utf8(std::string_view text);

/// `file:` addresses and paths. An address of another kind stays as it is, and so is no path of a file.
std::string path_of(std::string_view uri);
std::string uri_of(std::string_view path);

}  // namespace pipec::lsp
