// Spellings of other languages in a list of tokens. See parse_habits.h.
#include "frontend/parse_habits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/diagnostics.h"
#include "frontend/foreign_names.h"
#include "frontend/parse_habit_tokens.h"

namespace pipec::syntax {

namespace {

class Habits : HabitTokens {
public:
    Habits(antlr4::CommonTokenStream& tokens, const SourceManager& sources, FileId file, Diagnostics& diags)
        : HabitTokens(tokens, sources, file), diags_(diags) {}

    void run() {
        int braces = 0;
        for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {  // the last one is the end of the file
            if (hidden(i)) continue;
            if (is(i, PipeParser::LBRACE)) ++braces;
            if (is(i, PipeParser::RBRACE)) --braces;
            if (diags_.too_many()) return;
            [[maybe_unused]] const bool found = dots(i) || dot(i) || prefix(i) || c_cast(i) || rust_cast(i) ||
                                                template_cast(i) || declaration(i) || words_of_a_type(i) || loop(i) ||
                                                choice(i) || lone_word(i) || operators(i) ||
                                                (braces > 0 && import(i)) || increment(i) || lambda(i);
        }
    }

private:
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
    /// MATLAB's `...` at the end of a line, NumPy's in `f(..., y, x)`, and a range `0...n`.
    bool dots(std::size_t i) {
        if (!is(i, PipeParser::DOTDOT) || !is(i + 1, PipeParser::DOT) || !touches(i + 1)) return false;
        const bool ends_line = last_of_line(i) == i + 1;
        const bool begins = i > 0 && (is(i - 1, PipeParser::LPAREN) || is(i - 1, PipeParser::COMMA));
        if (begins && (is(i + 2, PipeParser::COMMA) || is(i + 2, PipeParser::RPAREN))) {
            const bool last = is(i + 2, PipeParser::RPAREN), after = is(i - 1, PipeParser::COMMA);
            hide(last && after ? i - 1 : i, last ? i + 1 : i + 2);
            return replace(range(i, i + 1), "`..k` names the other dimensions", range(i, i + 1), "..k");
        }
        hide(ends_line ? i : i + 1, i + 1);
        return replace(range(i, i + 1),
                       ends_line ? "an expression goes on in the next line without `...`"
                                 : "a range is written `a..b` without b, `a..=b` with it",
                       range(i, i + 1), ends_line ? "" : "..");
    }

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
        if (i > 0 && word_like(i + 1) && touches(i) && touches(i + 1)) return member(i);
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
            return prefixed(i - 1, i + 1);
        }
        if (is_word(i - 1, {"threadIdx", "blockIdx", "blockDim", "gridDim", "gl_FragCoord", "gl_GlobalInvocationID"})) {
            hide(i, i + 1);
            if (std::exchange(threads_, true)) return true;
            return say(range(i - 1, i + 1), "nothing is said about threads: `f(y, x) = e` defines all points");
        }
        const bool of_image = name_like(i - 1) && is(i + 2, PipeParser::LPAREN) && is(i + 3, PipeParser::RPAREN);
        diags_.report(diag::UnexpectedDot, range(i, i)).note(about_member(name, of_image));
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
        if (!is(i, PipeParser::COLON) || !is(i + 1, PipeParser::COLON) || !touches(i + 1) || !word_like(i + 2)) {
            return false;
        }
        std::size_t line = i;
        while (!starts_line(line)) --line;
        if (i == 0 || !touches(i) || is_word(line, {"use", "using", "from"})) return false;
        if (!word_like(i - 1)) return false;
        return prefixed(i - 1, i + 2);
    }

    /// `np.clip`, `std::max`: the prefix is the token `first`, and what it stands before `name`.
    bool prefixed(std::size_t first, std::size_t name) {
        static const std::map<std::string_view, std::string_view> kOfNumPy = {{"maximum", "max"}, {"minimum", "min"}};
        const SourceRange where = range(first, name);
        if (text(name).ends_with("cast") && is(name + 1, PipeParser::LESS)) {  // template_cast has its message
            hide(first, name - 1);
            return true;
        }
        const bool called = is(name + 1, PipeParser::LPAREN);
        const std::string known = text(name);
        const auto of_numpy = kOfNumPy.find(known);
        const auto foreign = of_numpy != kOfNumPy.end() ? ForeignName{std::string(of_numpy->second), "", ""}
                                                        : foreign_name(known).value_or(ForeignName{known, "", ""});
        const bool alone = called && closing(name + 1) > name + 2 && !has_comma(name + 1);  // one argument
        if (one_of(known, {"sum", "prod", "any", "all"}) || (alone && one_of(known, {"max", "min"}))) {
            hide(first, operand_end(name));
            return say(
                where,
                fmt::format("over an image it is `m() = {}(y in 0..R, x in 0..C) img(y, x)`, read by `m()`", known));
        }
        if (foreign.name.empty() || !foreign.import.empty()) {
            hide(first, qualified_end(name));
            if (foreign.name.empty()) return say(where, foreign.note);
            return say(where,
                       fmt::format("the standard library has `{}`: add import \"{}\"", foreign.name, foreign.import));
        }
        hide(first, name - 1);
        return replace(where,
                       called ? fmt::format("functions have no prefix: `{}(e)`", foreign.name)
                              : fmt::format("names have no prefix: `{}`", foreign.name),
                       where, foreign.name);
    }
    [[nodiscard]] bool has_comma(std::size_t open) const {
        const std::size_t close = closing(open);
        for (std::size_t i = open + 1; i < close; ++i) {
            if (is(i, PipeParser::COMMA)) return true;
            if (is(i, PipeParser::LPAREN) || is(i, PipeParser::LBRACKET)) i = closing(i);
        }
        return false;
    }
    /// The end of `numeric_limits<float>::max()`, from its first name on.
    [[nodiscard]] std::size_t qualified_end(std::size_t i) const {
        const auto type = is(i + 1, PipeParser::LESS) && touches(i + 1) ? type_at(i + 2) : std::nullopt;
        if (type && is(type->last + 1, PipeParser::GREATER)) i = type->last + 1;
        if (is(i + 1, PipeParser::COLON) && is(i + 2, PipeParser::COLON) && word_like(i + 3)) i += 3;
        return operand_end(i);
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
        std::size_t last = i;
        while (const auto declared = declare(last)) {  // each is followed by the comma before the next one
            last = *declared;
            if (!is(last + 1, PipeParser::COMMA)) break;
            ++last;
        }
        if (last == i) return false;
        const bool ends_with_comma = is(last, PipeParser::COMMA);
        hide(comma ? i : i + 1, comma && ends_with_comma ? last - 1 : last);
        return true;
    }
    /// Reports the declaration behind the token `before`; its last token.
    std::optional<std::size_t> declare(std::size_t before) {
        const auto type = type_at(before + 1);
        if (!type) return std::nullopt;
        std::size_t name = type->last + 1;
        while (is(name, PipeParser::STAR) || is(name, PipeParser::AMPERSAND)) ++name;
        if (!name_like(name)) return std::nullopt;
        std::size_t last = name;
        std::string extents;
        while (is(last + 1, PipeParser::LBRACKET)) {
            const std::size_t close = closing(last + 1);
            if (close > last + 2) extents += (extents.empty() ? "" : ", ") + text(last + 2, close - 1);
            last = close;
        }
        auto report = diags_.report(diag::DeclarationOrder, range(before + 1, name - 1), text(name), type->type);
        if (last == name && type->last + 1 == name) {
            report.suggest(range(before + 1, name), fmt::format("{}: {}", text(name), type->type));
        } else if (extents.empty()) {
            report.note(fmt::format("an image has extents, too: `{}: {}[R, C]`", text(name), type->type));
        } else {
            report.suggest(range(before + 1, last), fmt::format("{}: {}[{}]", text(name), type->type, extents));
        }
        return last;
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

    /// `for (int y = 0; ...)` and `while ...`, with what they would repeat.
    bool loop(std::size_t i) {
        const bool is_for = is(i, PipeParser::FOR) && is(i + 1, PipeParser::LPAREN);
        const bool is_while = is_word(i, {"while"}) && starts_line(i) && block_of(i);
        if (!is_for && !is_while) return false;
        const std::size_t last = block_of(i).value_or(closing(i + 1));
        if (last == i + 1) return false;
        hide(i, last);
        if (is_for) {
            return say(range(i + 1, i + 1),
                       "`for l in 0..4 { ... }` repeats statements at compile time; `f(y, x) = e` defines all points");
        }
        return say(
            range(i, i),
            "there is no `while`: `f(y, x) = e` defines all points, `sum(i in 0..n) e` and others combine values");
    }

    /// `switch (e) { ... }` and `match e { ... }`, as a statement or a value.
    bool choice(std::size_t i) {
        if (!is_word(i, {"switch", "match"}) || !(starts_line(i) || is(i - 1, PipeParser::ASSIGN))) return false;
        const auto last = block_of(i);
        if (!last) return false;
        hide(i, *last);
        return say(range(i, i), "a choice is written `if c then a else b`, one behind another `else if`");
    }
    /// The brace that closes the block behind the head that begins at `i`, as in `while (...) { ... }`.
    [[nodiscard]] std::optional<std::size_t> block_of(std::size_t i) const {
        std::size_t open = is(i + 1, PipeParser::LPAREN) ? closing(i + 1) + 1 : i + 1;
        while (open + 1 < tokens_.size() && same_line(i, open) && !is(open, PipeParser::LBRACE)) {
            if (is(open, PipeParser::ASSIGN) || is(open, PipeParser::COLON)) return std::nullopt;
            ++open;
        }
        if (!is(open, PipeParser::LBRACE) || open == i + 1 || closing(open) == open) return std::nullopt;
        return closing(open);
    }

    /// `pass`, `break` and the like as statements.
    bool lone_word(std::size_t i) {
        if (!is_word(i, {"pass", "break", "continue"})) return false;
        const bool begins = i == 0 || is(i - 1, PipeParser::LBRACE) || is(i - 1, PipeParser::RBRACE) ||
                            is(i - 1, PipeParser::SEMICOLON) || (starts_line(i) && ends_operand(i - 1));
        const bool ends = is(i + 1, PipeParser::RBRACE) || is(i + 1, PipeParser::SEMICOLON) || last_of_line(i) == i;
        if (!begins || !ends) return false;
        hide(i, i);
        if (text(i) == "pass") {
            return replace(range(i, i), "a block may be empty, `{ }`, and has no `pass`", range(i, i), "");
        }
        return say(range(i, i), "a loop at compile time runs to its end: an `if` in it chooses what it defines");
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
        const bool words = is(i + 1, PipeParser::NAME) && is(i + 2, PipeParser::NAME) && same_line(i, i + 2);
        if (is(i, PipeParser::PERCENT) && (words || (starts_line(i) && (i == 0 || !ends_operand(i - 1))))) {
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

    /// `i++`, which no operand follows.
    bool increment(std::size_t i) {
        const bool plus = is(i, PipeParser::PLUS);
        if (i == 0 || !(plus || is(i, PipeParser::MINUS)) || !is(i + 1, tokens_[i]->getType()) || !touches(i + 1)) {
            return false;
        }
        if (!ends_operand(i - 1) || (starts_operand(i + 2) && same_line(i, i + 2))) return false;
        const std::size_t begin = operand_begin(i - 1);
        if (begin != i - 1 && !is(i - 1, PipeParser::RBRACKET) &&
            (starts_line(begin) || is(begin - 1, PipeParser::LBRACE))) {
            tokens_[i]->setType(PipeParser::PLUS_ASSIGN);  // `h(v)++` of an accumulate
            tokens_[i + 1]->setType(PipeParser::INT);
            tokens_[i + 1]->setText("1");
            const std::string by = plus ? " += 1" : " += -1";
            return replace(range(i, i + 1), fmt::format("an update is written `h(i){}`", by), range(i, i + 1), by);
        }
        const bool statement = name_like(i - 1) && starts_line(i - 1);
        hide(statement ? i - 1 : i, i + 1);
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

    Diagnostics& diags_;
    bool in_head_ = false;  ///< of a pipeline
    bool threads_ = false;  ///< `threadIdx` and its like were reported
};

}  // namespace

void mend_habits(antlr4::CommonTokenStream& tokens, const SourceManager& sources, FileId file, Diagnostics& diags) {
    Habits(tokens, sources, file, diags).run();
}

}  // namespace pipec::syntax
