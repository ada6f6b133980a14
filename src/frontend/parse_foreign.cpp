// What people write who know other languages, found in the tokens around a syntax error. See parse_foreign.h.
#include "frontend/parse_foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "PipeParser.h"
#include "frontend/diagnostics.h"
#include "frontend/parse.h"
#include "frontend/parse_builder.h"
#include "frontend/parse_tokens.h"
#include "ir/type.h"

namespace pipec::syntax {

using grammar::PipeParser;

namespace {

/// Words between two operands, and what is written instead.
const std::map<std::string_view, std::string_view> kOperatorWords = {
    {"xor", "^"},        {"mod", "%"},          {"div", "/"},         {"is", "=="},
    {"elif", "else if"}, {"elseif", "else if"}, {"elsif", "else if"},
};

constexpr std::string_view kChoice = "a choice is written `if c then a else b`";
constexpr std::string_view kFunction = "a function is written `fn f(a, b) = e`, outside of pipelines";

class Foreign {
public:
    Foreign(const ErrorPlace& place, const SourceManager& sources, FileId file, Diagnostics& diags)
        : place_(place), found_(place.found), sources_(sources), file_(file), diags_(diags) {
        previous_ = visible(found_, -1);
        before_ = previous_ == nullptr ? nullptr : visible(*previous_, -1);
        next_ = visible(found_, +1);
    }

    bool report() {
        return names_without_let() || item() || cast() || comparison() || word() || choice() || range() || head() ||
               definition();
    }

private:
    [[nodiscard]] const antlr4::Token* visible(const antlr4::Token& from, int step) const {
        for (std::size_t index = from.getTokenIndex();;) {
            if (step < 0 ? index == 0 : index + 1 >= place_.tokens.size()) return nullptr;
            index += static_cast<std::size_t>(step);
            const antlr4::Token* token = place_.tokens.get(index);
            if (token->getChannel() == antlr4::Token::DEFAULT_CHANNEL) return token;
        }
    }
    [[nodiscard]] std::string text(const antlr4::Token& token) const {
        return std::string(sources_.text(range_of(file_, token)));
    }
    [[nodiscard]] bool is(const antlr4::Token* token, std::size_t type) const {
        return token != nullptr && token->getType() == type;
    }
    [[nodiscard]] bool found(std::size_t type) const { return found_.getType() == type; }
    [[nodiscard]] bool is_word(const antlr4::Token* token, std::initializer_list<std::string_view> words) const {
        return is(token, PipeParser::NAME) && std::ranges::find(words, text(*token)) != words.end();
    }
    [[nodiscard]] bool expects(std::size_t type) const {
        return std::ranges::find(place_.expected, type) != place_.expected.end();
    }
    [[nodiscard]] bool adjacent(const antlr4::Token* left, const antlr4::Token& right) const {
        return left != nullptr && left->getStopIndex() + 1 == right.getStartIndex();
    }
    [[nodiscard]] bool same_line(const antlr4::Token* a, const antlr4::Token* b) const {
        return a != nullptr && b != nullptr && a->getLine() == b->getLine();
    }
    [[nodiscard]] bool ends_operand(const antlr4::Token* token) const {
        if (token == nullptr) return false;
        switch (token->getType()) {
            case PipeParser::NAME:
            case PipeParser::INT:
            case PipeParser::FLOAT:
            case PipeParser::TRUE:
            case PipeParser::FALSE:
            case PipeParser::RPAREN:
            case PipeParser::RBRACKET: return true;
            default: return false;
        }
    }
    /// The type that a token names, here or in another language; "" where it names none.
    [[nodiscard]] std::string type_of(const antlr4::Token* token) const {
        if (is(token, PipeParser::TYPE)) return text(*token);
        if (!is(token, PipeParser::NAME)) return "";
        const auto foreign = foreign_type(text(*token));
        return foreign ? std::string(ir::name(*foreign)) : "";
    }
    [[nodiscard]] SourceRange from_to(const antlr4::Token& first, const antlr4::Token& last) const {
        return join(range_of(file_, first), range_of(file_, last));
    }
    bool say(SourceRange range, std::string_view message) {
        diags_.report(diag::ForeignSyntax, range, std::string(message));
        return true;
    }
    bool replace(SourceRange range, std::string_view message, std::string_view by) {
        diags_.report(diag::ForeignSyntax, range, std::string(message)).suggest(range, std::string(by));
        return true;
    }

    /// `[u, v] = t` on a line of its own, which the expression before it takes for an index.
    bool names_without_let() {
        const antlr4::Token* first = &found_;
        for (const antlr4::Token* t = first; same_line(t, &found_); t = visible(*t, -1)) first = t;
        if (!is(first, PipeParser::LBRACKET)) return false;
        const antlr4::Token* t = visible(*first, +1);
        while (is(t, PipeParser::NAME) || is(t, PipeParser::COMMA)) t = visible(*t, +1);
        if (!is(t, PipeParser::RBRACKET) || !is(visible(*t, +1), PipeParser::ASSIGN)) return false;
        const std::uint32_t begin = range_of(file_, *first).begin;
        diags_.report(diag::NamesWithoutLet, from_to(*first, *t)).suggest({file_, begin, begin}, "let ");
        return true;
    }

    /// At the top of a file.
    bool item() {
        if (place_.rule != PipeParser::RuleFile) return false;
        const SourceRange range = range_of(file_, found_);
        if (is_word(&found_, {"def", "function", "func", "fun", "proc"})) {
            return replace(range, "a function is written `fn f(a, b) = e`", "fn");
        }
        if (is_word(&found_, {"from", "include", "use", "using", "require"})) {
            return say(range, "a file is imported by `import \"stencil\"`, with all that it defines");
        }
        if (found(PipeParser::LET) || is_word(&found_, {"var", "val", "auto", "static", "constexpr", "define"})) {
            return replace(range, "a constant of a file is written `const N = 3`", "const");
        }
        if (found(PipeParser::TYPE) || is_word(&found_, {"void"}) || !type_of(&found_).empty()) {
            return say(range,
                       "a file holds `pipeline p(img: float32[R, C]) -> out: float32[R, C] { ... }`, `fn f(a) = e`, "
                       "`const N = 3` and imports");
        }
        return false;
    }

    bool cast() {
        // (uint8) e, and (float) e, which is an expression until something follows
        const antlr4::Token* close = found(PipeParser::RPAREN) ? &found_ : nullptr;
        if (close == nullptr && place_.statement != nullptr) close = visible(*place_.statement, -1);
        if (is(close, PipeParser::RPAREN) && same_line(close, &found_)) {
            const antlr4::Token* type = visible(*close, -1);
            const antlr4::Token* open = type == nullptr ? nullptr : visible(*type, -1);
            if (is(open, PipeParser::LPAREN) && !type_of(type).empty()) {
                return say(from_to(*open, *close), fmt::format("a cast is written `{}(e)`", type_of(type)));
            }
        }
        // e as uint8
        if (is_word(previous_, {"as"}) && ends_operand(before_) && !type_of(&found_).empty()) {
            return say(from_to(*previous_, found_), fmt::format("a cast is written `{}(e)`", type_of(&found_)));
        }
        // static_cast<uint8>(e)
        if (found(PipeParser::GREATER) && !type_of(previous_).empty() && is(before_, PipeParser::LESS)) {
            const antlr4::Token* name = visible(*before_, -1);
            if (!is(name, PipeParser::NAME)) return false;
            return replace(from_to(*name, found_), fmt::format("a cast is written `{}(e)`", type_of(previous_)),
                           type_of(previous_));
        }
        return false;
    }

    bool comparison() {
        if (found(PipeParser::ASSIGN) && is(previous_, PipeParser::COLON) && adjacent(previous_, found_)) {
            return replace(from_to(*previous_, found_), "a definition is written with `=`", "=");
        }
        if (found(PipeParser::GREATER) && is(previous_, PipeParser::LESS) && adjacent(previous_, found_)) {
            return replace(from_to(*previous_, found_), "unequal is written `!=`", "!=");
        }
        const bool in_condition = expects(PipeParser::THEN) || expects(PipeParser::LBRACE) ||
                                  expects(PipeParser::RPAREN) || expects(PipeParser::RBRACKET);
        const bool in_dimensions = place_.rule == PipeParser::RuleDims || place_.rule == PipeParser::RuleDim ||
                                   place_.rule == PipeParser::RuleExtents || place_.rule == PipeParser::RuleTarget;
        if (!found(PipeParser::ASSIGN) || !in_condition || in_dimensions) return false;
        if (is(next_, PipeParser::GREATER) && adjacent(&found_, *next_)) {
            return replace(from_to(found_, *next_), "at least is written `>=`", ">=");
        }
        if (is(next_, PipeParser::NOT) && adjacent(&found_, *next_)) {
            return replace(from_to(found_, *next_), "unequal is written `!=`", "!=");
        }
        return replace(range_of(file_, found_), "`=` defines; a comparison is written `==`", "==");
    }

    bool word() {
        if (is(previous_, PipeParser::NAME)) {
            const auto found_word = kOperatorWords.find(text(*previous_));
            const bool after = ends_operand(before_) || is(before_, PipeParser::RBRACE);
            if (found_word != kOperatorWords.end() && after && same_line(before_, previous_)) {
                return replace(range_of(file_, *previous_), fmt::format("this is written `{}`", found_word->second),
                               found_word->second);
            }
        }
        if (is_word(previous_, {"mut"}) && is(before_, PipeParser::LET)) {
            return say(range_of(file_, *previous_), "a name keeps its value: `let a = e`");
        }
        if (previous_ == nullptr || previous_ != place_.statement || !same_line(previous_, &found_)) return false;
        const SourceRange range = range_of(file_, *previous_);
        if (is_word(previous_, {"var", "val", "auto", "mut", "define", "static"})) {
            diags_.report(diag::ForeignSyntax, range, "a number is named by `let a = e`, an image by `a(y, x) = e`")
                .suggest(range, "let");
            return true;
        }
        if (is_word(previous_, {"def", "function", "func", "fun"})) return say(range, kFunction);
        return false;
    }

    bool choice() {
        const antlr4::Token* statement = place_.statement;
        const antlr4::Token* ahead = statement == nullptr ? nullptr : visible(*statement, -1);
        if (found(PipeParser::ELSE) && is(statement, PipeParser::IF) && ends_operand(ahead) &&
            same_line(ahead, statement)) {
            return say(range_of(file_, *statement), "the condition of a choice comes first: `if c then a else b`");
        }
        if (found(PipeParser::LBRACE) && is_word(ahead, {"switch", "match", "case"}) && same_line(ahead, &found_)) {
            return say(range_of(file_, *ahead), fmt::format("{}, one behind another `else if`", kChoice));
        }
        if (expects(PipeParser::THEN) && found(PipeParser::COLON)) {
            return replace(range_of(file_, found_), kChoice, " then");
        }
        if (expects(PipeParser::THEN) && found(PipeParser::LBRACE)) {
            return say(range_of(file_, found_), fmt::format("{}; braces hold statements", kChoice));
        }
        if (found(PipeParser::LBRACE) && expects(PipeParser::INT)) {
            return say(range_of(file_, found_),
                       "an expression has no braces: parentheses group, `let a = e in ...` names a part");
        }
        if (found(PipeParser::IN) && is(statement, PipeParser::LET)) {
            return say(range_of(file_, found_),
                       "a `let` that is a statement has no `in`: what uses the name follows as the next statement");
        }
        if (found(PipeParser::WHERE) && place_.statement != nullptr) {
            return say(range_of(file_, found_),
                       fmt::format("`where` stands in the head of a pipeline, for its sizes; {}", kChoice));
        }
        return false;
    }

    bool range() {
        if (expects(PipeParser::DOTDOT) && found(PipeParser::COLON)) {
            return replace(range_of(file_, found_), "a range is written `a..b`", "..");
        }
        if (expects(PipeParser::DOTDOT) && is(previous_, PipeParser::RPAREN)) {
            return say(range_of(file_, found_), "expected `..`: a range is written `0..n`");
        }
        if (found(PipeParser::COLON) && expects(PipeParser::RBRACKET)) {
            return say(
                range_of(file_, found_),
                "there are no slices: a part of an image is a stage with other indices, `g(y, x) = f(y + 1, x)`");
        }
        if (place_.rule == PipeParser::RuleIndexRange && expects(PipeParser::IN)) {
            return say(range_of(file_, found_),
                       "a reduction says what it goes over: `sum(i in 0..3) e`, `sum(y in 0..R, x in 0..C) img(y, x)`");
        }
        if (found(PipeParser::LPAREN) && is(previous_, PipeParser::FOR)) {
            return say(range_of(file_, found_),
                       "`for l in 0..4 { ... }` repeats statements at compile time; `f(y, x) = e` defines all points");
        }
        return false;
    }

    bool head() {
        const bool in_head = place_.rule == PipeParser::RulePipelineHead || place_.rule == PipeParser::RulePorts ||
                             place_.rule == PipeParser::RulePort;
        if (!in_head) return false;
        if (found(PipeParser::LBRACKET) && is(previous_, PipeParser::RBRACKET)) {
            return replace(from_to(*previous_, found_), "all extents stand in one pair of brackets: `float32[H, W]`",
                           ", ");
        }
        if (found(PipeParser::LBRACKET) && is(previous_, PipeParser::NAME)) {
            return say(range_of(file_, found_), "a type stands before the extents: `img: float32[R, C]`");
        }
        if (is(previous_, PipeParser::RPAREN) && (found(PipeParser::COLON) || found(PipeParser::LBRACE))) {
            return say(range_of(file_, found_),
                       "outputs stand behind `->`: `pipeline p(img: float32[R, C]) -> out: "
                       "float32[R, C] { ... }`");
        }
        return false;
    }

    bool definition() {
        if (is(before_, PipeParser::LET) && found(PipeParser::COLON)) {
            return say(range_of(file_, found_), "a `let` has the type of its value: `let a = float32(e)`");
        }
        if (found(PipeParser::ARROW) && expects(PipeParser::COLON)) {
            return replace(range_of(file_, found_), "the type of a stage stands behind a colon: `f(y, x): float32 = e`",
                           ":");
        }
        if (found(PipeParser::LBRACE) && expects(PipeParser::ASSIGN) && expects(PipeParser::COLON)) {
            return say(range_of(file_, found_), "a stage is defined by an expression: `f(y, x) = e`");
        }
        const bool comma = found(PipeParser::COMMA) && expects(PipeParser::RPAREN) && !expects(PipeParser::COMMA);
        const bool bar = found(PipeParser::PIPE) && expects(PipeParser::INT);
        if (!comma && !bar) return false;
        return say(range_of(file_, found_), "the dimensions stand on the left side: `out(y, x) = e`");
    }

    const ErrorPlace& place_;
    const antlr4::Token& found_;
    const SourceManager& sources_;
    FileId file_;
    Diagnostics& diags_;
    const antlr4::Token* previous_ = nullptr;  ///< the visible tokens before the offending one
    const antlr4::Token* before_ = nullptr;
    const antlr4::Token* next_ = nullptr;
};

}  // namespace

bool report_foreign_syntax(const ErrorPlace& place, const SourceManager& sources, FileId file, Diagnostics& diags) {
    return Foreign(place, sources, file, diags).report();
}

}  // namespace pipec::syntax
