// Source files and positions in them.
//
// A SourceRange is what every syntax node, IR node and diagnostic carries: a file and a half-open range of byte
// offsets. Lines and columns are worked out only when something is printed.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipec {

/// Index of a file in its SourceManager; -1 means "nowhere" (made by the compiler).
using FileId = std::int32_t;

/// Half-open range [begin, end) of byte offsets in one file.
struct SourceRange {
    FileId file = -1;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    [[nodiscard]] bool valid() const { return file >= 0; }
    friend bool operator==(const SourceRange&, const SourceRange&) = default;
};

/// The smallest range that holds both; either may be invalid.
SourceRange join(SourceRange a, SourceRange b);

/// A position for people: both start at 1; the column counts UTF-8 code points.
struct LineColumn {
    std::uint32_t line = 1;
    std::uint32_t column = 1;
};

/// Owns the text of every file of one compilation. Texts stay where they are: string_views into them remain valid.
class SourceManager {
public:
    /// Adds a text under the name that diagnostics shall print. The text is normalised to end with a newline.
    FileId add(std::string name, std::string text);

    [[nodiscard]] std::string_view name(FileId file) const;
    [[nodiscard]] std::string_view text(FileId file) const;
    [[nodiscard]] std::string_view text(SourceRange range) const;
    [[nodiscard]] LineColumn position(FileId file, std::uint32_t offset) const;
    /// The line with this 1-based number, without its newline.
    [[nodiscard]] std::string_view line(FileId file, std::uint32_t number) const;
    [[nodiscard]] std::size_t size() const { return files_.size(); }

private:
    struct File {
        std::string name;
        std::string text;
        std::vector<std::uint32_t> line_starts;
    };
    std::deque<File> files_;
};

}  // namespace pipec
