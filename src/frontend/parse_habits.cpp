// Spellings of other languages in a list of tokens. See parse_habits.h.
#include "frontend/parse_habits.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "PipeParser.h"
#include "frontend/diagnostics.h"
#include "frontend/parse.h"
#include "frontend/parse_tokens.h"
#include "ir/type.h"

namespace pipec::syntax {

using grammar::PipeParser;

namespace {

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

/// What is said about `e.name`.
std::string about_member(const std::string& name) {
    if (one_of(name, {"shape", "size", "width", "height", "rows", "cols", "channels", "dim", "extent", "len"})) {
        return "nothing has members: `extent(img, 0)` is the number of rows of an image, `extent(img, 1)` of columns";
    }
    if (one_of(name, {"astype", "convertTo", "to", "cast", "type"})) {
        return "nothing has members: a cast is written `uint8(e)`, one that clamps `saturate<uint8>(e)`";
    }
    if (name == "at" || name == "get" || name == "ptr") {
        return "nothing has members: a point of an image is read by `img(y, x)`";
    }
    if (one_of(name, {"T", "t", "transpose"})) return "nothing has members: a transpose is `g(y, x) = f(x, y)`";
    if (one_of(name, {"parallel", "vectorize", "compute_root", "compute_at", "store_at", "store_root", "tile", "unroll",
                      "gpu_tile", "gpu_blocks", "gpu_threads", "split", "reorder", "fuse", "bound", "realize"})) {
        return "a program says what is computed, and nothing about execution: that is for a schedule (`--schedule`)";
    }
    if (one_of(name, {"x", "y", "z", "w", "r", "g", "b", "a", "xy", "xyz", "rgb", "rgba"})) {
        return "nothing has members: `t[0]` is an element of a table, and channels of an image are a dimension, "
               "`img(0, y, x)`";
    }
    return fmt::format("nothing has members: a function stands before its arguments, `{}(e)`", name);
}

class Habits {
public:
    Habits(antlr4::CommonTokenStream& tokens, const SourceManager& sources, FileId file, Diagnostics& diags)
        : sources_(sources), file_(file), diags_(diags) {
        for (antlr4::Token* token : tokens.getTokens()) {
            if (token->getChannel() == antlr4::Token::DEFAULT_CHANNEL) {
                tokens_.push_back(dynamic_cast<antlr4::CommonToken*>(token));
            }
        }
    }

    void run() {
        int braces = 0;
        for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {  // the last one is the end of the file
            if (hidden(i)) continue;
            if (is(i, PipeParser::LBRACE)) ++braces;
            if (is(i, PipeParser::RBRACE)) --braces;
            if (diags_.too_many()) return;
            [[maybe_unused]] const bool found = dot(i) || prefix(i) || c_cast(i) || rust_cast(i) || template_cast(i) ||
                                                declaration(i) || words_of_a_type(i) || loop(i) || operators(i) ||
                                                (braces > 0 && import(i)) || increment(i) || lambda(i);
        }
    }

private:
    // ----------------------------------------------------------------------------------------------------- tokens
    [[nodiscard]] bool is(std::size_t i, std::size_t type) const {
        return i < tokens_.size() && tokens_[i]->getType() == type;
    }
    [[nodiscard]] bool hidden(std::size_t i) const {
        return tokens_[i]->getChannel() != antlr4::Token::DEFAULT_CHANNEL;
    }
    void hide(std::size_t first, std::size_t last) {
        for (std::size_t i = first; i <= last && i + 1 < tokens_.size(); ++i) {
            tokens_[i]->setChannel(antlr4::Token::HIDDEN_CHANNEL);
        }
    }
    [[nodiscard]] SourceRange range(std::size_t first, std::size_t last) const {
        return join(range_of(file_, *tokens_[first]), range_of(file_, *tokens_[last]));
    }
    [[nodiscard]] std::string text(std::size_t i) const { return std::string(sources_.text(range(i, i))); }
    [[nodiscard]] std::string text(std::size_t first, std::size_t last) const {
        return std::string(sources_.text(range(first, last)));
    }
    [[nodiscard]] bool is_word(std::size_t i, std::initializer_list<std::string_view> words) const {
        return is(i, PipeParser::NAME) && one_of(text(i), words);
    }
    /// Nothing stands between this token and the one before.
    [[nodiscard]] bool touches(std::size_t i) const {
        return i > 0 && tokens_[i - 1]->getStopIndex() + 1 == tokens_[i]->getStartIndex();
    }
    [[nodiscard]] bool same_line(std::size_t a, std::size_t b) const {
        return tokens_[a]->getLine() == tokens_[b]->getLine();
    }
    [[nodiscard]] bool starts_line(std::size_t i) const { return i == 0 || !same_line(i - 1, i); }
    [[nodiscard]] std::size_t last_of_line(std::size_t i) const {
        while (i + 2 < tokens_.size() && same_line(i, i + 1)) ++i;
        return i;
    }
    [[nodiscard]] bool name_like(std::size_t i) const {
        return is(i, PipeParser::NAME) || is(i, PipeParser::MIN) || is(i, PipeParser::MAX) ||
               is(i, PipeParser::ARGMIN) || is(i, PipeParser::ARGMAX);
    }
    [[nodiscard]] bool ends_operand(std::size_t i) const {
        return name_like(i) || is(i, PipeParser::INT) || is(i, PipeParser::FLOAT) || is(i, PipeParser::RPAREN) ||
               is(i, PipeParser::RBRACKET);
    }
    [[nodiscard]] bool starts_operand(std::size_t i) const {
        return name_like(i) || is(i, PipeParser::INT) || is(i, PipeParser::FLOAT) || is(i, PipeParser::LPAREN) ||
               is(i, PipeParser::TYPE) || is(i, PipeParser::MINUS) || is(i, PipeParser::SUM);
    }
    /// The bracket that closes the one at `open`; `open` itself where none does.
    [[nodiscard]] std::size_t closing(std::size_t open) const {
        int depth = 0;
        for (std::size_t i = open; i < tokens_.size(); ++i) {
            if (is(i, PipeParser::LPAREN) || is(i, PipeParser::LBRACKET) || is(i, PipeParser::LBRACE)) ++depth;
            if (is(i, PipeParser::RPAREN) || is(i, PipeParser::RBRACKET) || is(i, PipeParser::RBRACE)) --depth;
            if (depth == 0) return i;
        }
        return open;
    }
    [[nodiscard]] std::size_t opening(std::size_t close) const {
        int depth = 0;
        for (std::size_t i = close + 1; i-- > 0;) {
            if (is(i, PipeParser::RPAREN) || is(i, PipeParser::RBRACKET) || is(i, PipeParser::RBRACE)) ++depth;
            if (is(i, PipeParser::LPAREN) || is(i, PipeParser::LBRACKET) || is(i, PipeParser::LBRACE)) --depth;
            if (depth == 0) return i;
        }
        return close;
    }
    /// The end of the operand that begins at `i`, with its calls and indices: `img(y, x)`.
    [[nodiscard]] std::size_t operand_end(std::size_t i) const {
        std::size_t end = is(i, PipeParser::LPAREN) ? closing(i) : i;
        while ((is(end + 1, PipeParser::LPAREN) || is(end + 1, PipeParser::LBRACKET)) && touches(end + 1)) {
            end = closing(end + 1);
        }
        return end;
    }
    [[nodiscard]] std::size_t operand_begin(std::size_t i) const {
        while (is(i, PipeParser::RPAREN) || is(i, PipeParser::RBRACKET)) {
            i = opening(i);
            if (i == 0 || !touches(i) || !ends_operand(i - 1)) return i;
            --i;
        }
        return i;
    }

    // ------------------------------------------------------------------------------------------------------ types
    /// A type of this language, or one that other languages write in one word or more, from `first` on: `unsigned
    /// char`.
    struct Words {
        std::string type;
        std::size_t last;
    };
    [[nodiscard]] std::optional<Words> type_at(std::size_t first) const {
        std::size_t i = first;
        while (is(i, PipeParser::CONST)) ++i;
        if (is(i, PipeParser::TYPE)) return Words{tokens_[i]->getText(), i};
        std::vector<std::string> words;
        for (; is(i, PipeParser::NAME); ++i) {
            const std::string word = text(i);
            if (!foreign_type(word) && !one_of(word, {"unsigned", "signed", "const"})) break;
            words.push_back(word);
        }
        std::erase(words, "const");
        if (words.empty()) return std::nullopt;
        const bool is_unsigned = std::ranges::find(words, "unsigned") != words.end();
        std::erase_if(words, [](const std::string& w) { return w == "unsigned" || w == "signed"; });
        if (words.size() > 1) std::erase(words, "int");
        std::string type = words.empty() ? "int32" : std::string(ir::name(*foreign_type(words.front())));
        if (is_unsigned && type.starts_with("int")) type = "u" + type;
        return Words{type, i - 1};
    }

    bool say(SourceRange where, const std::string& message) {
        diags_.report(diag::ForeignSyntax, where, message);
        return true;
    }
    bool replace(SourceRange where, const std::string& message, SourceRange what, const std::string& by) {
        diags_.report(diag::ForeignSyntax, where, message).suggest(what, by);
        return true;
    }
    /// `type(e)`, of the operand that these tokens are.
    [[nodiscard]] std::string cast_of(const std::string& type, std::size_t first, std::size_t last) const {
        const bool in_parentheses = is(first, PipeParser::LPAREN) && closing(first) == last;
        return in_parentheses ? type + text(first, last) : type + "(" + text(first, last) + ")";
    }

    // ----------------------------------------------------------------------------------------------------- habits
    bool dot(std::size_t i) {
        if (!is(i, PipeParser::DOT)) return false;
        const SourceRange where = range(i, i);
        if (is(i + 1, PipeParser::STAR) || is(i + 1, PipeParser::SLASH) || is(i + 1, PipeParser::CARET)) {
            return pointwise_operator(i);
        }
        if (i > 0 && is(i - 1, PipeParser::INT) && touches(i)) {  // 1. and 1.f
            const bool suffix = is(i + 1, PipeParser::NAME) && touches(i + 1) && !is(i + 2, PipeParser::LPAREN);
            diags_.report(diag::UnexpectedDot, where)
                .note("a float has a digit on both sides of its dot")
                .suggest(range(i - 1, suffix ? i + 1 : i), text(i - 1) + ".0");
            hide(i, suffix ? i + 1 : i);
            return true;
        }
        if (is(i + 1, PipeParser::INT) && touches(i + 1)) {
            diags_.report(diag::UnexpectedDot, where)
                .note("a float has a digit on both sides of its dot")
                .suggest(range(i, i + 1), "0." + text(i + 1));
            hide(i, i);
            return true;
        }
        if (i > 0 && hidden(i - 1) && touches(i)) {  // the next one of a chain: `.max(0).min(1)`
            hide(i, name_like(i + 1) ? operand_end(i + 1) : i);
            return true;
        }
        if (i > 0 && name_like(i + 1) && touches(i) && touches(i + 1)) return member(i);
        diags_.report(diag::UnexpectedDot, where)
            .note(is(i + 1, PipeParser::WHERE)
                      ? "nothing has members: a choice is written `if c then a else b`"
                      : "a float has a digit on both sides of its dot, a range is written `a..b`; nothing has members");
        hide(i, i);
        return true;
    }

    /// MATLAB's `.*`.
    bool pointwise_operator(std::size_t i) {
        const bool power = is(i + 1, PipeParser::CARET);
        auto report = diags_.report(diag::ForeignOperator, range(i, i + 1), text(i, i + 1));
        if (power) {
            report.note("a power is written `pow(a, b)`; a small one as a product");
            tokens_[i + 1]->setType(PipeParser::STAR);
        } else {
            report.note("all operators work on each point").suggest(range(i, i + 1), text(i + 1));
        }
        hide(i, i);
        return true;
    }

    bool member(std::size_t i) {
        const std::string name = text(i + 1);
        if (is_word(i - 1,
                    {"np", "numpy", "cv", "cv2", "math", "torch", "scipy", "tf", "jnp", "std", "Math", "ndimage"})) {
            hide(i - 1, i);
            const std::string here = is(i + 2, PipeParser::LPAREN)
                                         ? fmt::format("functions have no prefix: `{}(e)`", name)
                                         : fmt::format("names have no prefix: `{}`", name);
            return replace(range(i - 1, i), here, range(i - 1, i), "");
        }
        diags_.report(diag::UnexpectedDot, range(i, i)).note(about_member(name));
        std::size_t last = i + 1;
        if (is(last + 1, PipeParser::LESS) && touches(last + 1)) {  // .at<float>
            const auto type = type_at(last + 2);
            if (type && is(type->last + 1, PipeParser::GREATER)) last = type->last + 1;
        }
        const bool keeps_arguments = name == "at" || name == "get" || name == "ptr";
        if (!keeps_arguments) last = operand_end(last);
        // `out.parallel(y)` on a line of its own
        const bool alone = starts_line(i - 1) && (last == last_of_line(i) || is(last + 1, PipeParser::SEMICOLON));
        hide(alone ? i - 1 : i, last);
        return true;
    }

    /// `std::max`
    bool prefix(std::size_t i) {
        if (!is(i, PipeParser::COLON) || !is(i + 1, PipeParser::COLON) || !touches(i + 1) || !name_like(i + 2)) {
            return false;
        }
        std::size_t line = i;
        while (!starts_line(line)) --line;
        if (i == 0 || !touches(i) || is_word(line, {"use", "using", "from"})) return false;
        if (!name_like(i - 1) && !is(i - 1, PipeParser::TYPE)) return false;
        hide(i - 1, i + 1);
        return replace(range(i - 1, i + 1), fmt::format("names have no prefix: `{}`", text(i + 2)), range(i - 1, i + 1),
                       "");
    }

    /// `(float)img(y, x)`
    bool c_cast(std::size_t i) {
        if (!is(i, PipeParser::LPAREN) || (i > 0 && touches(i) && !hidden(i - 1) && ends_operand(i - 1))) return false;
        const auto type = type_at(i + 1);
        if (!type || !is(type->last + 1, PipeParser::RPAREN)) return false;
        const std::size_t operand = type->last + 2;
        if (operand >= tokens_.size() || !starts_operand(operand) || !same_line(i, operand)) return false;
        const std::string message = fmt::format("a cast is written `{}(e)`", type->type);
        const SourceRange where = range(i, type->last + 1);
        hide(i, type->last + 1);
        const auto another = is(operand, PipeParser::LPAREN) ? type_at(operand + 1) : std::nullopt;
        if (is(operand, PipeParser::MINUS) || is(operand, PipeParser::SUM) || another) return say(where, message);
        const std::size_t end = operand_end(operand);
        return replace(where, message, range(i, end), cast_of(type->type, operand, end));
    }

    /// `img(y, x) as float`
    bool rust_cast(std::size_t i) {
        if (!is_word(i, {"as"}) || i == 0 || !ends_operand(i - 1) || !same_line(i - 1, i)) return false;
        const auto type = type_at(i + 1);
        if (!type || !same_line(i, type->last)) return false;
        const std::size_t begin = operand_begin(i - 1);
        const std::string message = fmt::format("a cast is written `{}(e)`", type->type);
        const bool second = hidden(i - 1);  // of `e as int as float`
        const bool negated = begin > 1 && is(begin - 1, PipeParser::MINUS) && !ends_operand(begin - 2);
        hide(i, type->last);
        if (second || negated) return say(range(i, type->last), message);
        return replace(range(i, type->last), message, range(begin, type->last), cast_of(type->type, begin, i - 1));
    }

    /// `static_cast<uint8>(e)`
    bool template_cast(std::size_t i) {
        if (!is(i, PipeParser::NAME) || !text(i).ends_with("cast") || !is(i + 1, PipeParser::LESS)) return false;
        const auto type = type_at(i + 2);
        if (!type || !is(type->last + 1, PipeParser::GREATER)) return false;
        const SourceRange where = range(i, type->last + 1);
        const std::string by = text(i) == "saturate_cast" ? fmt::format("saturate<{}>", type->type) : type->type;
        tokens_[i]->setType(PipeParser::TYPE);
        tokens_[i]->setText(type->type);
        hide(i + 1, type->last + 1);
        return replace(where, fmt::format("a cast is written `{}(e)`", by), where, by);
    }

    /// `unsigned char img[R][C]`, `const float *img`, among inputs and outputs.
    bool declaration(std::size_t i) {
        const bool comma = is(i, PipeParser::COMMA);
        const bool first = i >= 2 && is(i, PipeParser::LPAREN) && is(i - 2, PipeParser::PIPELINE);
        if (is(i, PipeParser::PIPELINE)) in_head_ = true;
        if (is(i, PipeParser::LBRACE)) in_head_ = false;
        if (!in_head_ || !(comma || first || is(i, PipeParser::ARROW))) return false;
        const auto type = type_at(i + 1);
        if (!type) return false;
        std::size_t name = type->last + 1;
        while (is(name, PipeParser::STAR) || is(name, PipeParser::AMPERSAND)) ++name;
        if (!name_like(name)) return false;
        std::size_t last = name;
        std::string extents;
        while (is(last + 1, PipeParser::LBRACKET)) {
            const std::size_t close = closing(last + 1);
            if (close > last + 2) extents += (extents.empty() ? "" : ", ") + text(last + 2, close - 1);
            last = close;
        }
        auto report = diags_.report(diag::DeclarationOrder, range(i + 1, name - 1), text(name), type->type);
        if (last == name && type->last + 1 == name) {
            report.suggest(range(i + 1, name), fmt::format("{}: {}", text(name), type->type));
        } else if (extents.empty()) {
            report.note(fmt::format("an image has extents, too: `{}: {}[R, C]`", text(name), type->type));
        } else {
            report.suggest(range(i + 1, last), fmt::format("{}: {}[{}]", text(name), type->type, extents));
        }
        const bool more = is(last + 1, PipeParser::COMMA);
        hide(comma ? i : i + 1, !comma && more ? last + 1 : last);
        return true;
    }

    /// `unsigned char` where a type stands.
    bool words_of_a_type(std::size_t i) {
        if (!is(i, PipeParser::NAME)) return false;
        const auto type = type_at(i);
        if (!type || type->last == i || !same_line(i, type->last)) return false;
        diags_.report(diag::UnknownType, range(i, type->last), text(i, type->last))
            .suggest(range(i, type->last), type->type);
        tokens_[i]->setType(PipeParser::TYPE);
        tokens_[i]->setText(type->type);
        hide(i + 1, type->last);
        return true;
    }

    /// `for (int y = 0; ...)` and `while (...)`, with the braces of what they would repeat.
    bool loop(std::size_t i) {
        const bool is_for = is(i, PipeParser::FOR);
        if (!is(i + 1, PipeParser::LPAREN) || !(is_for || is_word(i, {"while"}))) return false;
        const std::size_t close = closing(i + 1);
        if (close == i + 1) return false;
        if (!is_for && !is(close + 1, PipeParser::LBRACE)) return false;  // a stage with this name
        if (is(close + 1, PipeParser::LBRACE)) {
            const std::size_t end = closing(close + 1);
            hide(close + 1, close + 1);
            if (end != close + 1) hide(end, end);
        }
        hide(i, close);
        if (is_for) {
            return say(range(i + 1, i + 1),
                       "`for l in 0..4 { ... }` repeats statements at compile time; `f(y, x) = e` defines all points");
        }
        return say(
            range(i, i),
            "there is no `while`: `f(y, x) = e` defines all points, `sum(i in 0..n) e` and others combine values");
    }

    /// `~=`, `===`, and a line of MATLAB's comments.
    bool operators(std::size_t i) {
        if (i > 0 && is(i, PipeParser::TILDE) && is(i + 1, PipeParser::ASSIGN) && touches(i + 1) &&
            ends_operand(i - 1)) {
            tokens_[i]->setType(PipeParser::NOT_EQUAL);
            hide(i + 1, i + 1);
            return replace(range(i, i + 1), "unequal is written `!=`", range(i, i + 1), "!=");
        }
        if ((is(i, PipeParser::EQUAL) || is(i, PipeParser::NOT_EQUAL)) && is(i + 1, PipeParser::ASSIGN) &&
            touches(i + 1)) {
            const std::string by = text(i);
            hide(i + 1, i + 1);
            return replace(range(i, i + 1), fmt::format("this is written `{}`", by), range(i, i + 1), by);
        }
        if (is(i, PipeParser::PERCENT) && starts_line(i) && (i == 0 || !ends_operand(i - 1))) {
            hide(i, last_of_line(i));
            return replace(range(i, i), "a comment begins with `//`", range(i, i), "//");
        }
        return false;
    }

    bool import(std::size_t i) {
        if (!is(i, PipeParser::IMPORT) || !starts_line(i) || tokens_[i]->getCharPositionInLine() == 0) return false;
        const SourceRange where = range(i, last_of_line(i));
        hide(i, last_of_line(i));
        return say(where, "an import stands at the top of the file: `import \"stencil\"`");
    }

    bool increment(std::size_t i) {
        const bool plus = is(i, PipeParser::PLUS);
        if (i == 0 || !(plus || is(i, PipeParser::MINUS)) || !is(i + 1, tokens_[i]->getType()) || !touches(i + 1)) {
            return false;
        }
        if (!name_like(i - 1) || !starts_line(i - 1) ||
            !(last_of_line(i) == i + 1 || is(i + 2, PipeParser::SEMICOLON))) {
            return false;
        }
        hide(i - 1, i + 1);
        return say(range(i, i + 1),
                   "a name keeps its value: a number is named by `let a = e`, counts are made by an `accumulate`");
    }

    bool lambda(std::size_t i) {
        if (!is_word(i, {"lambda"}) || !name_like(i + 1)) return false;
        if (!is(i + 2, PipeParser::COLON) && !is(i + 2, PipeParser::COMMA)) return false;
        const SourceRange where = range(i, i);
        hide(i, last_of_line(i));
        return say(where, "a function is written `fn f(a, b) = e`, outside of pipelines");
    }

    const SourceManager& sources_;
    FileId file_;
    Diagnostics& diags_;
    std::vector<antlr4::CommonToken*> tokens_;  ///< that the parser sees, before anything is hidden here
    bool in_head_ = false;                      ///< of a pipeline
};

}  // namespace

void mend_habits(antlr4::CommonTokenStream& tokens, const SourceManager& sources, FileId file, Diagnostics& diags) {
    Habits(tokens, sources, file, diags).run();
}

}  // namespace pipec::syntax
