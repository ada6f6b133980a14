// The writer: where to break a line, and what comments and string literals must escape.
#include "codegen/emit/c/text.h"

#include <algorithm>

namespace pipec::codegen {

namespace {

constexpr std::size_t kColumns = 120;
constexpr int kIndent = 4;

/// How tightly a comma or the operator at the end of `before` binds what stands around it.
int tightness(std::string_view before) {
    for (const std::string_view comparison : {"==", "!=", "<=", ">="}) {
        if (before.ends_with(comparison)) return 2;
    }
    switch (before.back()) {
        case ',': return 0;
        case '=':
        case ':':
        case '|':
        case '&': return 1;
        case '?':
        case '<':
        case '>': return 2;
        case '+':
        case '-': return 3;
        default: return 4;
    }
}

/// The space at which to break `text` so that the first part has at most `room` columns: of those in the last half of
/// the room the one inside the fewest parentheses, of these one behind what binds least, of these the
/// rightmost. npos where there is none.
std::size_t break_position(std::string_view text, std::size_t room) {
    std::size_t best = std::string_view::npos;
    std::size_t fallback = std::string_view::npos;
    std::pair<int, int> best_cost;  // nesting, how tightly what stands before it binds
    int nesting = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size() && i <= room; ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\') ++i;
            if (c == '"') quoted = false;
            continue;
        }
        if (c == '"') quoted = true;
        if (i > 0 && text.substr(i, 2) == "//") break;  // what follows is a comment, on this line only
        if (c == '(' || c == '{' || c == '[') ++nesting;
        if (c == ')' || c == '}' || c == ']') --nesting;
        if (c != ' ' || i == 0 || i + 1 == text.size()) continue;
        if (text[i - 1] == ' ' || text.substr(i + 1).substr(0, 1) == "{") continue;
        if (i < room / 2) {
            fallback = i;
        } else if (const std::pair cost{nesting, tightness(text.substr(0, i))};
                   best == std::string_view::npos || cost <= best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    return best != std::string_view::npos ? best : fallback;
}

void write_broken(std::string& out, std::string_view text, std::size_t indent) {
    bool comment = false;
    std::size_t used = indent;
    out.append(indent, ' ');
    while (used + text.size() > kColumns) {
        comment = comment || text.substr(0, 2) == "//";
        const std::size_t at = break_position(text, kColumns - std::min(used, kColumns - 40));
        if (at == std::string_view::npos) break;
        out.append(text.substr(0, at)).append("\n");
        text.remove_prefix(at + 1);
        used = indent + (comment ? 0 : kIndent);
        out.append(used, ' ');
        if (comment) out.append("// ");
    }
    out.append(text).append("\n");
}

}  // namespace

void Writer::verbatim(std::string_view text) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines_.push_back({depth_, std::string(text.substr(0, end)), false});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

void Writer::blank() {
    if (lines_.empty() || lines_.back().text.empty() || lines_.back().text.back() == '{') return;
    add("");
}

void Writer::open(std::string_view head) {
    add(head.empty() ? "{" : std::string(head) + " {");
    ++depth_;
}

/// `if (condition) statement;` for a block that holds one statement, where that fits a line.
bool Writer::join_short_block() {
    if (lines_.size() < 2) return false;
    Line& head = lines_[lines_.size() - 2];
    const Line& only = lines_.back();
    const auto begins = [](const std::string& text, std::string_view with) { return text.starts_with(with); };
    if (!begins(head.text, "if (") || head.text.back() != '{' || head.depth != depth_ || only.depth != depth_ + 1)
        return false;
    if (!only.breakable || only.text.empty() || only.text.back() != ';' || begins(only.text, "if (") ||
        begins(only.text, "//")) {
        return false;
    }
    const auto indent = static_cast<std::size_t>(depth_ * kIndent);
    if (indent + head.text.size() - 1 + only.text.size() > kColumns) return false;
    head.text.back() = only.text.front();
    head.text.append(only.text, 1);
    lines_.pop_back();
    return true;
}

void Writer::close(std::string_view tail) {
    --depth_;
    if (!tail.empty() || !join_short_block()) add("}" + std::string(tail));
}

void Writer::append(const Writer& other) {
    for (const Line& line : other.lines_) lines_.push_back({line.depth + depth_, line.text, line.breakable});
}

void Writer::unwrap(std::size_t place) {
    lines_.pop_back();
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(place));
    for (std::size_t i = place; i < lines_.size(); ++i) --lines_[i].depth;
}

void Writer::insert(std::size_t place, std::string line) {
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(place), {depth_, std::move(line)});
}

std::string Writer::str() const {
    std::string out;
    for (const Line& line : lines_) {
        const auto indent = static_cast<std::size_t>(line.depth * kIndent);
        const bool directive = line.text.substr(0, 1) == "#";
        const bool pragma = line.text.substr(0, 7) == "#pragma";  // belongs to a loop
        if (line.text.empty() || (directive && !pragma)) {
            out.append(line.text).append("\n");
        } else if (line.breakable && !pragma) {
            write_broken(out, line.text, indent);
        } else {
            out.append(indent, ' ').append(line.text).append("\n");
        }
    }
    return out;
}

std::string c_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
        } else if (c == '?') {
            out += "\\?";  // no trigraphs
        } else {
            out += c;
        }
    }
    return out + "\"";
}

std::string comment_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '/' && !out.empty() && out.back() == '*') out += ' ';
        if (c == '*' && !out.empty() && out.back() == '/') out += ' ';
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    while (!out.empty() && (out.back() == '\\' || out.back() == ' ')) out.pop_back();
    return out;
}

std::string_view base_name(std::string_view path) {
    if (path.substr(0, 1) == "<") return path;
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string source_place(const SourceManager& sources, SourceRange range) {
    return fmt::format("{}:{}", base_name(sources.name(range.file)), sources.position(range.file, range.begin).line);
}

std::string source_line(const SourceManager& sources, SourceRange range) {
    std::string_view line = sources.line(range.file, sources.position(range.file, range.begin).line);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return comment_text(line);
}

}  // namespace pipec::codegen
