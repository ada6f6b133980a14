// Diagnostics as text: the message, the source line, a caret with its range, fix-its below it.
#include <algorithm>
#include <string>
#include <vector>

#include "support/render.h"
#include "support/unicode.h"

namespace pipec {
namespace {

constexpr std::size_t kTabStop = 4;

// ------------------------------------------------------------------------------------------------------------ colours
enum class Paint { Plain, Bold, Error, Warning, Note, Caret, Fixit };

std::string paint(Paint kind, std::string_view text, const TextStyle& style) {
    if (!style.color || kind == Paint::Plain || text.empty()) return std::string(text);
    const char* code = "";
    switch (kind) {
        case Paint::Plain: break;
        case Paint::Bold: code = "1"; break;
        case Paint::Error: code = "1;31"; break;
        case Paint::Warning: code = "1;35"; break;
        case Paint::Note: code = "1;36"; break;
        case Paint::Caret: code = "1;32"; break;
        case Paint::Fixit: code = "32"; break;
    }
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

// -------------------------------------------------------------------------------------------------- a line on a screen
/// One code point (or invalid byte) of a source line as it is shown.
struct Cell {
    std::size_t offset;  ///< first byte in the line
    std::size_t bytes;
    std::size_t column;  ///< first display column, from 0
    std::size_t width;
    std::string text;
};

std::vector<Cell> cells_of(std::string_view line) {
    std::vector<Cell> cells;
    std::size_t column = 0;
    for (std::size_t i = 0; i < line.size();) {
        const Decoded decoded = decode_utf8(line, i);
        Cell cell{i, decoded.bytes, column, 0, {}};
        if (decoded.code_point == U'\t') {
            cell.width = kTabStop - column % kTabStop;
            cell.text.assign(cell.width, ' ');
        } else if (!decoded.code_point || is_unprintable(*decoded.code_point)) {
            cell.text = spell_out(decoded.code_point, line[i]);
            cell.width = cell.text.size();
        } else {
            cell.text = line.substr(i, decoded.bytes);
            cell.width = display_width(*decoded.code_point);
        }
        column += cell.width;
        i += decoded.bytes;
        cells.push_back(std::move(cell));
    }
    return cells;
}

/// The part of a line that is shown, and where its bytes stand on the screen.
class Window {
public:
    Window(std::string_view line, std::size_t focus_offset, std::size_t width) : cells_(cells_of(line)) {
        end_ = cells_.empty() ? 0 : cells_.back().column + cells_.back().width;
        limit_ = end_;
        if (end_ <= width) return;
        const std::size_t focus = line_column(focus_offset);
        begin_ = std::min(focus - std::min(focus, width / 3), end_ - width);
        limit_ = begin_ + width;
    }

    [[nodiscard]] std::string text() const {
        std::string result = begin_ > 0 ? kEllipsis : "";
        std::size_t column = begin_;
        for (const Cell& cell : cells_) {
            if (cell.column < begin_ || cell.column + cell.width > limit_) continue;
            result.append(cell.column - column, ' ');  // where half of a wide character was cut off
            result += cell.text;
            column = cell.column + cell.width;
        }
        return result + (limit_ < end_ ? kEllipsis : "");
    }

    /// Column on the screen of a byte of the line; what lies outside of the window stands at its edge.
    [[nodiscard]] std::size_t column(std::size_t offset) const {
        const std::size_t shown = std::clamp(line_column(offset), begin_, limit_) - begin_;
        return shown + (begin_ > 0 ? kEllipsis.size() : 0);
    }

private:
    inline static const std::string kEllipsis = "...";

    [[nodiscard]] std::size_t line_column(std::size_t offset) const {
        const auto after = std::upper_bound(cells_.begin(), cells_.end(), offset,
                                            [](std::size_t o, const Cell& cell) { return o < cell.offset; });
        if (after == cells_.end() && (cells_.empty() || offset >= cells_.back().offset + cells_.back().bytes)) {
            return end_;
        }
        return after == cells_.begin() ? 0 : (after - 1)->column;
    }

    std::vector<Cell> cells_;
    std::size_t begin_ = 0, limit_ = 0;  // display columns that are shown
    std::size_t end_ = 0;                // width of the whole line
};

// ------------------------------------------------------------------------------------------------------------ snippets
/// A place with its first line.
struct Place {
    LineColumn at;
    std::string_view line;
    std::size_t begin, end;  ///< bytes of `line`; of a longer range only what lies on its first line
};

Place place_of(SourceRange range, const SourceManager& sources) {
    const std::string_view text = sources.text(range.file);
    Place place{};
    place.at = sources.position(range.file, range.begin);
    place.line = sources.line(range.file, place.at.line);
    const auto line_start = static_cast<std::uint32_t>(place.line.data() - text.data());
    place.begin = std::min<std::size_t>(range.begin - line_start, place.line.size());
    place.end = std::clamp<std::size_t>(std::max(range.end, range.begin) - line_start, place.begin, place.line.size());
    if (range.end > line_start + place.line.size()) {
        // The rest of the range is on other lines: underline up to the last character, not the blanks behind it.
        while (place.end > place.begin && (place.line[place.end - 1] == ' ' || place.line[place.end - 1] == '\t')) {
            --place.end;
        }
    }
    return place;
}

constexpr std::string_view kEmptyGutter = "      | ";

std::string source_line(std::uint32_t number, const Window& window) {
    return fmt::format("{:5} | {}\n", number, window.text());
}

void put(std::string& line, std::size_t column, std::string_view text) {
    if (line.size() < column + text.size()) line.resize(column + text.size(), ' ');
    line.replace(column, text.size(), text);
}

std::string underline(const Place& place, const Window& window) {
    const std::size_t first = window.column(place.begin);
    const std::size_t last = std::max(window.column(place.end), first + 1);
    std::string marks;
    put(marks, first, std::string(last - first, '~'));
    marks[first] = '^';
    return marks;
}

/// The replacements that start on line `number`, each below the place that it replaces; one that would run into its
/// neighbour gets a line of its own.
std::string fixit_lines(const std::vector<std::pair<Place, std::string>>& fixits, const Window& window,
                        const TextStyle& style) {
    std::vector<std::string> lines;
    for (const auto& [place, text] : fixits) {
        const std::size_t column = window.column(place.begin);
        const std::size_t removed = window.column(place.end) - column;
        const std::string shown = text.empty() ? std::string(std::max<std::size_t>(removed, 1), '-') : printable(text);
        const auto free = std::find_if(lines.begin(), lines.end(),
                                       [&](const std::string& line) { return line.empty() || line.size() < column; });
        put(free == lines.end() ? lines.emplace_back() : *free, column, shown);
    }
    std::string result;
    for (const std::string& line : lines) {
        const std::size_t indent = line.find_first_not_of(' ');
        result += fmt::format("{}{}{}\n", kEmptyGutter, line.substr(0, indent),
                              paint(Paint::Fixit, line.substr(std::min(indent, line.size())), style));
    }
    return result;
}

std::string snippet(SourceRange range, const std::vector<FixIt>& fixits, const SourceManager& sources,
                    const TextStyle& style) {
    const Place place = place_of(range, sources);
    const Window window(place.line, place.begin, style.width);
    const std::string marks = underline(place, window);
    const std::size_t indent = marks.find('^');
    std::string result = source_line(place.at.line, window);
    result += fmt::format("{}{}{}\n", kEmptyGutter, marks.substr(0, indent),
                          paint(Paint::Caret, marks.substr(indent), style));

    std::vector<std::pair<Place, std::string>> here;
    std::string elsewhere;
    for (const FixIt& fixit : fixits) {
        if (!fixit.range.valid()) continue;
        const Place target = place_of(fixit.range, sources);
        if (fixit.range.file == range.file && target.at.line == place.at.line) {
            here.emplace_back(target, fixit.text);
        } else {
            const Window other(target.line, target.begin, style.width);
            elsewhere += source_line(target.at.line, other) + fixit_lines({{target, fixit.text}}, other, style);
        }
    }
    std::stable_sort(here.begin(), here.end(),
                     [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
    return result + fixit_lines(here, window, style) + elsewhere;
}

std::string message_line(SourceRange range, Paint kind, std::string_view severity, std::string_view message,
                         std::string_view id, const SourceManager& sources, const TextStyle& style) {
    std::string line;
    if (range.valid()) {
        const LineColumn at = place_of(range, sources).at;
        line = fmt::format("{}:{}:{}: ", printable(sources.name(range.file)), at.line, at.column);
    } else if (kind != Paint::Note) {
        line = "pipec: ";
    }
    line = paint(Paint::Bold, line, style) + paint(kind, fmt::format("{}: ", severity), style) +
           paint(kind == Paint::Note ? Paint::Plain : Paint::Bold, printable(message), style);
    return id.empty() ? line + "\n" : fmt::format("{} [{}]\n", line, id);
}

std::string counted(std::size_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace

std::string render_text(const Diagnostics& diagnostics, const SourceManager& sources, const TextStyle& style) {
    std::string result;
    std::size_t errors = 0;
    std::size_t warnings = 0;
    for (const Diagnostic& d : distinct(diagnostics)) {
        const bool is_error = d.severity == Severity::Error;
        ++(is_error ? errors : warnings);
        result += message_line(d.range, is_error ? Paint::Error : Paint::Warning, is_error ? "error" : "warning",
                               d.message, d.id, sources, style);
        if (d.range.valid()) result += snippet(d.range, d.fixits, sources, style);
        for (const DiagnosticNote& note : d.notes) {
            result += message_line(note.range, Paint::Note, "note", note.message, {}, sources, style);
            if (note.range.valid()) result += snippet(note.range, {}, sources, style);
        }
    }
    if (diagnostics.too_many()) result += "pipec: too many errors; the rest is not shown\n";
    if (errors + warnings == 0) return result;
    return result + fmt::format("{}{}{} generated.\n", errors > 0 ? counted(errors, "error") : "",
                                errors > 0 && warnings > 0 ? " and " : "",
                                warnings > 0 ? counted(warnings, "warning") : "");
}

}  // namespace pipec
