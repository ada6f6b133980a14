// Items to lines: the breaks that the author made, where they are allowed, those that must be, and those that long
// lines need. A line is settled before the next one begins, so what a line is aligned with is always known.
#include <algorithm>
#include <optional>
#include <utility>

#include "format/format.h"
#include "format/items.h"

namespace pipec::format {

using concrete::TokenKind;

namespace {

constexpr std::size_t kCommentGap = 2;  ///< spaces between code and a comment behind it
constexpr int kWholeValuePenalty = -1, kCutValuePenalty = 5;

/// Code points after the last newline.
int width_of(std::string_view text) {
    const std::size_t newline = text.rfind('\n');
    if (newline != std::string_view::npos) text.remove_prefix(newline + 1);
    return static_cast<int>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

struct Line {
    std::string text;
    std::string comment;  ///< behind it
    bool blank_before = false;
};

class Layout {
public:
    explicit Layout(Items items) : items_(std::move(items.items)), blocks_(std::move(items.blocks)) {
        column_.resize(items_.size());
        line_.resize(items_.size());
        begins_.resize(items_.size());
        move_breaks();
    }

    std::string run() && {
        for (int i = 0; i < size();) i = line(i);
        return text();
    }

private:
    [[nodiscard]] int size() const { return static_cast<int>(items_.size()); }
    [[nodiscard]] const Item& item(int i) const { return items_[static_cast<std::size_t>(i)]; }
    int& column(int i) { return column_[static_cast<std::size_t>(i)]; }

    void begin_line(int i) {
        begins_[static_cast<std::size_t>(i)] = true;
        if (item(i).with >= 0) begins_[static_cast<std::size_t>(item(i).with)] = true;
    }

    /// The author's breaks go where they are allowed.
    void move_breaks() {
        bool moved = false;
        for (int i = 0; i < size(); ++i) {
            const bool wanted = moved || item(i).newlines > 0;
            moved = false;
            if (!wanted) continue;
            const bool forced = i > 0 && item(i - 1).kind == TokenKind::LineComment;
            if (item(i).breakable || item(i).comment()) {
                begin_line(i);
            } else if (item(i).trails && !forced) {
                moved = true;
            }
        }
    }

    /// The block that a brace is of.
    Block* block(int i) {
        const bool brace = item(i).block >= 0 && !item(i).statement && !item(i).comment();
        return brace ? &blocks_[static_cast<std::size_t>(item(i).block)] : nullptr;
    }
    void expand(const Block& of) {
        for (Block& other : blocks_) {
            if (other.chain == of.chain) other.one_line = false;
        }
    }

    /// True where item `i`, which is not the first of all, begins a line. What precedes it in its line has its column.
    bool must_begin(int i) {
        const Item& it = item(i);
        const Item& before = item(i - 1);
        if (before.kind == TokenKind::LineComment || begins_[static_cast<std::size_t>(i)]) return true;
        if (it.statement) {
            const bool one_line = it.block >= 0 && blocks_[static_cast<std::size_t>(it.block)].one_line;
            const bool led = before.comment() && first_ == i - 1 && it.newlines == 0;
            return !one_line && !led;
        }
        Block* of = block(i);
        if (of == nullptr) return false;
        if (of->close == i) return !of->one_line && !(of->open == i - 1);
        if (line_[static_cast<std::size_t>(of->head)] == lines_.size()) return false;
        if (of->one_line) expand(*of);
        return true;
    }

    /// Settles the line that begins with item `begin`; returns the first item of the next one.
    int line(int begin) {
        while (true) {
            first_ = begin;
            int x = item(begin).anchor.item < 0 ? 0 : column(item(begin).anchor.item);
            x += item(begin).anchor.columns;
            const int indentation = x;
            int end = begin;
            bool again = false, tried = false;
            for (; end < size(); ++end) {
                const Item& it = item(end);
                if (end > begin && must_begin(end)) break;
                if (is_trailing_comment(end)) continue;
                if (end > begin && !glued(end)) ++x;
                column(end) = x;
                line_[static_cast<std::size_t>(end)] = lines_.size();
                x = width_of(it.text) + (it.text.find('\n') == std::string::npos ? x : 0);
                if (x <= kMaxColumns || it.comment()) continue;
                if (Block* wide = one_line_block(begin, end)) {
                    expand(*wide);
                    again = true;
                    break;
                }
                const auto cut = best_break(tried ? end - 1 : begin, end, indentation);
                tried = true;
                if (!cut) continue;
                end = *cut;
                begin_line(end);
                break;
            }
            if (again) continue;
            emit(begin, end, indentation);
            return end;
        }
    }

    bool glued(int i) {
        if (item(i - 1).comment() && !item(i).comment())
            return item(i).glued && (item(i).trails || item(i).text == ")" || item(i).text == "]");
        if (item(i).glued) return true;
        if (item(i).comment()) return item(i - 1).text == "(" || item(i - 1).text == "[";
        return false;
    }
    bool is_trailing_comment(int i) { return i > first_ && item(i).kind == TokenKind::LineComment; }

    /// The outermost block that the line holds from brace to brace, or would hold.
    Block* one_line_block(int begin, int end) {
        for (int i = begin; i <= end; ++i) {
            Block* of = block(i);
            if (of != nullptr && of->one_line && of->open == i && of->close > of->open + 1) return of;
        }
        return nullptr;
    }

    /// Where to break a line that reaches beyond the limit with item `end`: behind `begin`, if anywhere.
    std::optional<int> best_break(int begin, int end, int indentation) {
        std::optional<int> best;
        int least = 0;
        for (int i = begin + 1; i <= end; ++i) {
            if (!item(i).breakable || begins_[static_cast<std::size_t>(i)]) continue;
            if (item(i).anchor.item < 0) continue;
            const int at = column(item(i).anchor.item) + item(i).anchor.columns;
            if (at >= column(i) || at < indentation) continue;
            int penalty = item(i).penalty;
            if (item(i).value) penalty = fits(i, at) ? kWholeValuePenalty : kCutValuePenalty;
            if (!best || penalty <= least) {
                best = i;
                least = penalty;
            }
        }
        return best;
    }

    /// True where what follows, up to the next line, fits into a line that begins at column `x`.
    bool fits(int i, int x) {
        const int begin = i;
        for (; i < size() && x <= kMaxColumns; ++i) {
            if (i > begin && (item(i).statement || begins_[static_cast<std::size_t>(i)])) break;
            if (item(i).kind == TokenKind::LineComment || (block(i) != nullptr && i > begin)) break;
            x += width_of(item(i).text) + (i > begin && !glued(i) ? 1 : 0);
        }
        return x <= kMaxColumns;
    }

    void emit(int begin, int end, int indentation) {
        Line line;
        line.text.assign(static_cast<std::size_t>(indentation), ' ');
        line.blank_before = blank_before(begin);
        for (int i = begin; i < end; ++i) {
            if (is_trailing_comment(i)) {
                line.comment = item(i).text;
            } else {
                if (i > begin && !glued(i)) line.text += ' ';
                line.text += item(i).text;
            }
        }
        lines_.push_back(std::move(line));
    }

    /// Blank lines stand between statements alone, not at the ends of a block.
    bool blank_before(int i) {
        if (i == 0 || item(i).newlines < 2) return false;
        if (Block* before = block(i - 1); before != nullptr && before->open == i - 1) return false;
        int next = i;
        while (next < size() && item(next).comment()) ++next;
        if (next == size()) return true;
        if (item(next).statement) return true;
        return next != i && block(next) != nullptr && block(next)->close == next;
    }

    /// Comments behind code in neighbouring lines begin in the same column.
    std::string text() {
        std::string result;
        for (std::size_t i = 0; i < lines_.size();) {
            std::size_t end = i + 1;
            int width = width_of(lines_[i].text);
            while (!lines_[i].comment.empty() && end < lines_.size() && !lines_[end].comment.empty() &&
                   !lines_[end].blank_before) {
                width = std::max(width, width_of(lines_[end++].text));
            }
            for (; i < end; ++i) {
                const Line& line = lines_[i];
                if (line.blank_before) result += '\n';
                result += line.text;
                if (!line.comment.empty()) {
                    result.append(static_cast<std::size_t>(width - width_of(line.text)) + kCommentGap, ' ');
                    result += line.comment;
                }
                result += '\n';
            }
        }
        return result;
    }

    std::vector<Item> items_;
    std::vector<Block> blocks_;
    std::vector<int> column_;        ///< by item, once its line is settled
    std::vector<std::size_t> line_;  ///< the number of its line
    std::vector<bool> begins_;       ///< a line begins with this item
    int first_ = 0;                  ///< of the line that is being settled
    std::vector<Line> lines_;
};

}  // namespace

std::string layout(Items items) {
    return Layout(std::move(items)).run();
}

}  // namespace pipec::format
