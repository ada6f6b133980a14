// An indenting writer for generated text, which breaks long lines.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/source.h"

namespace pipec::codegen {

/// Collects lines at a depth of indentation. Lines are broken to 120 columns when the text is asked for.
class Writer {
public:
    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        add(fmt::format(format, std::forward<Args>(args)...));
    }
    /// One line as it is, no placeholders.
    void add(std::string line) { lines_.push_back({depth_, std::move(line)}); }
    /// Several lines as they are, each at the present depth; never broken.
    void verbatim(std::string_view text);
    /// An empty line, unless the last one is empty or opened a block.
    void blank();

    /// "head {", and deeper from here on; an empty head opens a plain block.
    void open(std::string_view head);
    /// Back out, "}" and what follows it. An `if` of one short statement takes a line.
    void close(std::string_view tail = "");
    void indent() { ++depth_; }
    void outdent() { --depth_; }

    /// The lines of another writer, at the present depth.
    void append(const Writer& other);
    /// The place of the next line, and a line at a place that was next before, at the present depth.
    [[nodiscard]] std::size_t place() const { return lines_.size(); }
    void insert(std::size_t place, std::string line);
    /// The block that began at a place and has just ended becomes part of the block around it.
    void unwrap(std::size_t place);

    [[nodiscard]] bool empty() const { return lines_.empty(); }
    [[nodiscard]] std::string str() const;

private:
    struct Line {
        int depth;
        std::string text;
        bool breakable = true;
    };
    bool join_short_block();

    std::vector<Line> lines_;
    int depth_ = 0;
};

/// A C string literal with the quotes.
std::string c_string(std::string_view text);

/// Text for the inside of a /* */ or // comment: no end of comment, no line end, no trailing backslash.
std::string comment_text(std::string_view text);

/// The last part of a path; names such as "<stdin>" and "<stdlib>/math.pipe" stay whole.
std::string_view base_name(std::string_view path);

/// Where a range begins ("blur.pipe:12"), and that line for a comment.
std::string source_place(const SourceManager& sources, SourceRange range);
std::string source_line(const SourceManager& sources, SourceRange range);

}  // namespace pipec::codegen
