// What people write who know other languages, found in the tokens around a syntax error. See parse_foreign.h.
#include "frontend/parse_foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "frontend/foreign_names.h"
#include "frontend/parse_builder.h"
#include "frontend/parse_error_tokens.h"

namespace pipec::syntax {

namespace {

/// Words between two operands, and what is written instead.
const std::map<std::string_view, std::string_view> kOperatorWords = {
    {"xor", "^"},          {"mod", "%"},         {"div", "/"},   {"is", "=="}, {"elif", "else if"},
    {"elseif", "else if"}, {"elsif", "else if"}, {"AND", "and"}, {"OR", "or"}, {"XOR", "^"},
};

constexpr std::string_view kChoice = "a choice is written `if c then a else b`";
constexpr std::string_view kFunction = "a function is written `fn f(a, b) = e`, outside of pipelines";

class ForeignSyntax : ErrorTokens {
public:
    ForeignSyntax(const ErrorPlace& place, const SourceManager& sources, FileId file, Diagnostics& diags)
        : ErrorTokens(place, sources, file, diags) {}

    bool report() {
        return names_without_let() || named_argument() || comparison() || word() || choice() || range() || list() ||
               cast() || definition();
    }

private:
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

    /// `clamp(v, lo=0, hi=1)`
    bool named_argument() {
        const bool in_statement =
            place_.statement != nullptr && place_.rule != PipeParser::RuleDims && place_.rule != PipeParser::RuleDim;
        const bool begins = is(before_, PipeParser::COMMA) || is(before_, PipeParser::LPAREN);
        if (!in_statement || !found(PipeParser::ASSIGN) || !is_name(previous_) || !begins) return false;
        const antlr4::Token* open = open_bracket();
        if (!is(open, PipeParser::LPAREN) || callee_of(open) == nullptr) return false;
        if (const std::string name = text(*previous_); name == "axis" || name == "dim") {
            diags_.report(diag::ForeignSyntax, from_to(*previous_, found_), "a reduction names its indices, not axes")
                .note("the maximum over the rows of an image is `f(x) = max(y in 0..R) img(y, x)`");
            return true;
        }
        return replace(from_to(*previous_, found_), "arguments have no names, only an order", "");
    }

    bool comparison() {
        if (found(PipeParser::ASSIGN) && is(previous_, PipeParser::COLON) && adjacent(previous_, found_)) {
            return replace(from_to(*previous_, found_), "a definition is written with `=`", "=");
        }
        if (found(PipeParser::LESS) && is(next_, PipeParser::MINUS) && adjacent(&found_, *next_) &&
            expects(PipeParser::ASSIGN)) {
            return replace(from_to(found_, *next_), "a definition is written with `=`", "=");
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
        // Where a statement may begin, the word was taken for one, and the error is at what follows it.
        if (operator_word(previous_, before_, &found_) || operator_word(&found_, previous_, next_)) return true;
        if (is_word(previous_, {"mut"}) && is(before_, PipeParser::LET)) {
            return say(range_of(file_, *previous_), "a name keeps its value: `let a = e`");
        }
        if (found(PipeParser::RETURN) && expects(PipeParser::INT)) {
            return say(range_of(file_, found_), "a definition has no `return`: `f(y, x) = e`");
        }
        if (previous_ == nullptr || previous_ != place_.statement || !same_line(previous_, &found_)) return false;
        const SourceRange range = range_of(file_, *previous_);
        if (found(PipeParser::NAME)) {
            if (is_word(previous_, {"Var"})) {
                return say(range, "index variables are not declared: `f(y, x) = e` names them");
            }
            if (is_word(previous_, {"RDom", "RVar"})) {
                return say(range, "a reduction names its own variables: `sum(i in 0..3) e`");
            }
            if (is_word(previous_, {"Func", "Image", "ImageParam", "Buffer", "Mat", "Expr", "Array"})) {
                return say(range, kNothingDeclared);
            }
            if (is_word(previous_, {"vec2", "vec3", "vec4", "float2", "float3", "float4"})) {
                return say(range,
                           "nothing is declared: `const t = [1, 2, 3]` names a table, `let [a, b] = e` its elements");
            }
        }
        if ((found(PipeParser::NAME) || found(PipeParser::TYPE)) &&
            is_word(previous_, {"uniform", "varying", "param", "Param"})) {
            return say(range,
                       "what a caller gives stands in the head: `pipeline p(img: float32[R, C], k: float32 = 2)`");
        }
        if (is_word(previous_, {"var", "val", "auto", "mut", "define", "static"})) {
            diags_.report(diag::ForeignSyntax, range, "a number is named by `let a = e`, an image by `a(y, x) = e`")
                .suggest(range, "let");
            return true;
        }
        if ((found(PipeParser::NAME) || found(PipeParser::TYPE)) &&
            is_word(previous_, {"__shared__", "__constant__", "shared", "groupshared", "volatile", "register"})) {
            return say(range, "a program says what is computed, and nothing about where it is kept");
        }
        if (is_word(previous_, {"def", "function", "func", "fun"})) return say(range, kFunction);
        if (is_word(previous_, {"assert", "require", "requires", "assume"})) {
            return say(
                range,
                "conditions on sizes and parameters stand in the head: `... -> out: float32[R, C] where R > 3 {`");
        }
        return false;
    }

    bool operator_word(const antlr4::Token* word, const antlr4::Token* before, const antlr4::Token* after) {
        if (!is(word, PipeParser::NAME)) return false;
        const auto entry = kOperatorWords.find(text(*word));
        const bool follows = ends_operand(before) || is(before, PipeParser::RBRACE);
        if (entry == kOperatorWords.end() || !follows || !same_line(before, word)) return false;
        if (entry->first == "is" && is(after, PipeParser::NOT)) {
            return replace(from_to(*word, *after), "unequal is written `!=`", "!=");
        }
        return replace(range_of(file_, *word), fmt::format("this is written `{}`", entry->second), entry->second);
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
        if (expects(PipeParser::THEN) && starts_operand(&found_)) {
            const std::uint32_t begin = range_of(file_, found_).begin;
            return replace(range_of(file_, found_), kChoice, {file_, begin, begin}, "then ");
        }
        if (is(statement, PipeParser::IF) && expects(PipeParser::LBRACE) &&
            (starts_operand(&found_) || found(PipeParser::COLON))) {
            return say(range_of(file_, found_),
                       "as a statement, `if` has braces and a condition that is known at compile time; a choice for "
                       "each point is `f(y, x) = if c then a else b`");
        }
        if (found(PipeParser::LBRACE) && expects(PipeParser::INT)) {
            const antlr4::Token* second = next_ == nullptr ? nullptr : visible(*next_, +1);
            if (is(next_, PipeParser::LBRACE) || is(second, PipeParser::COMMA)) {
                return say(range_of(file_, found_), "a table is written `[1, 2, 1]`, of rows `[[1, 2], [3, 4]]`");
            }
            return say(range_of(file_, found_),
                       "an expression has no braces: parentheses group, `let a = e in ...` names a part");
        }
        if (found(PipeParser::IN) && is(statement, PipeParser::LET)) {
            return say(range_of(file_, found_),
                       "a `let` that is a statement has no `in`: what uses the name follows as the next statement");
        }
        if (found(PipeParser::WHERE) && place_.statement != nullptr) {
            const antlr4::Token* value = next_ == nullptr ? nullptr : visible(*next_, +1);
            const bool names = is(next_, PipeParser::NAME) && is(value, PipeParser::ASSIGN);
            return say(range_of(file_, found_),
                       fmt::format("`where` stands in the head of a pipeline, for its sizes; {}",
                                   names ? "a part is named by `let a = e in ...`" : kChoice));
        }
        return false;
    }

    bool range() {
        const SourceRange where = range_of(file_, found_);
        if (expects(PipeParser::DOTDOT) && (is(previous_, PipeParser::RPAREN) || found(PipeParser::RPAREN))) {
            return say(where, "expected `..`: a range is written `0..n`");
        }
        if (found(PipeParser::COLON) && (expects(PipeParser::RBRACKET) || starts_slice())) {
            return say(
                where,
                "there are no slices: a part of an image is a stage with other indices, `g(y, x) = f(y + 1, x)`");
        }
        if (expects(PipeParser::DOTDOT) && found(PipeParser::COLON)) {
            return replace(where, "a range is written `a..b`", "..");
        }
        if (found(PipeParser::COMMA) && expects(PipeParser::LBRACE) && is(place_.statement, PipeParser::FOR)) {
            return say(
                where,
                "a `for` of several variables repeats updates: `accumulate hist(b in 0..256): int32 = 0 { for y in "
                "0..R, x in 0..C { hist(img(y, x)) += 1 } }`; as a statement it has one variable, and repeats "
                "definitions");
        }
        const bool generator = found(PipeParser::FOR) && same_line(previous_, &found_);
        if (generator && expects(PipeParser::RBRACKET)) {
            return say(
                where,
                "the elements of a table are written out; values that an index tells are a stage, `g(i in 0..5) = "
                "e`, or a function");
        }
        if (generator && expects(PipeParser::RPAREN)) {
            return say(where, "a reduction says first what it goes over: `sum(i in 0..3) e`");
        }
        if (const antlr4::Token* callee = called_with_range()) {
            return say(range_of(file_, *callee),
                       fmt::format("`{}` is no reduction, so it takes no range: these are sum, prod, min, max, argmin, "
                                   "argmax, any and all; a mean is `(sum(i in 0..n) e) / n`",
                                   text(*callee)));
        }
        if (is(place_.statement, PipeParser::FOR) && place_.rule == PipeParser::RuleIndexRange &&
            expects(PipeParser::IN)) {
            return say(where, "`for l in 0..4 { ... }` repeats statements at compile time");
        }
        if (reduction()) {
            return say(where,
                       "a reduction says what it goes over: `sum(i in 0..3) e`, `sum(y in 0..R, x in 0..C) img(y, x)`");
        }
        if (found(PipeParser::DOTDOT) && expects(PipeParser::RPAREN)) {
            return say(where, "a range stands behind `in` only: `sum(i in 0..3) e`, `f(y in 0..R, x) = e`");
        }
        return false;
    }
    /// `mean` in `mean(i in 0..3) e`, before its `in`.
    [[nodiscard]] const antlr4::Token* called_with_range() const {
        const bool argument = is(previous_, PipeParser::NAME) && is(before_, PipeParser::LPAREN);
        if (!found(PipeParser::IN) || !argument || !expects(PipeParser::RPAREN)) return nullptr;
        const antlr4::Token* callee = visible(*before_, -1);
        return is(callee, PipeParser::NAME) && adjacent(callee, *before_) ? callee : nullptr;
    }
    /// In the parentheses of a reduction, before `in`.
    [[nodiscard]] bool reduction() const {
        if (place_.rule == PipeParser::RuleIndexRange && expects(PipeParser::IN)) return true;
        if (expects(PipeParser::LPAREN) && found(PipeParser::NAME) && is(previous_, PipeParser::SUM)) return true;
        const bool variable = expects(PipeParser::NAME) && !expects(PipeParser::INT);
        return variable && is(previous_, PipeParser::LPAREN) &&
               (is(before_, PipeParser::SUM) || is(before_, PipeParser::PROD) || is(before_, PipeParser::ANY) ||
                is(before_, PipeParser::ALL));
    }
    /// `[:`, `[a, :` and `(a, :`
    [[nodiscard]] bool starts_slice() const {
        return expects(PipeParser::INT) && (is(previous_, PipeParser::LBRACKET) || is(previous_, PipeParser::LPAREN) ||
                                            is(previous_, PipeParser::COMMA) || is(previous_, PipeParser::COLON));
    }

    /// A comma is missing: `max(a b)`, `out(y x)`, `img: float32[R C], gain: float32`.
    bool list() {
        if (is_word(&found_, {"step", "by"}) && expects(PipeParser::RPAREN) && ends_operand(previous_)) {
            return say(range_of(file_, found_),
                       "a range holds every number: of every second row, `sum(i in 0..(R + 1) / 2) img(2 * i, x)`");
        }
        const antlr4::Token* open = open_bracket();
        const bool in_table = is(open, PipeParser::LBRACKET) && callee_of(open) == nullptr;
        if (in_table && found(PipeParser::SEMICOLON)) {
            return say(range_of(file_, found_), "rows of a table are tables themselves: `[[1, 2], [3, 4]]`");
        }
        if (found(PipeParser::COMMA) && in_table && is(visible(*open, -1), PipeParser::RBRACKET)) {
            return missing(",", *visible(*open, -1), *open);  // `[[1, 2] [3, 4]]`, read as an index
        }
        const bool number = found(PipeParser::INT) || found(PipeParser::FLOAT);  // begins no statement
        if (!same_line(previous_, &found_) && !(in_table && number)) return false;
        if (!starts_operand(&found_) || found(PipeParser::LPAREN)) return false;
        const bool port = place_.rule == PipeParser::RulePipelineHead && is(&found_, PipeParser::NAME) &&
                          (is(previous_, PipeParser::RBRACKET) || is(previous_, PipeParser::TYPE)) &&
                          is(next_, PipeParser::COLON);
        const bool element =
            expects(PipeParser::COMMA) && (expects(PipeParser::RPAREN) || expects(PipeParser::RBRACKET));
        const bool of_table = in_table && expects(PipeParser::RBRACKET);
        if (!port && !((element || of_table) && ends_operand(previous_))) return false;
        const antlr4::Token* variable = open == nullptr ? nullptr : visible(*open, +1);
        const bool ranges = variable != nullptr && is(visible(*variable, +1), PipeParser::IN);
        return missing(ranges && !is(next_, PipeParser::IN) ? ")" : ",", *previous_, found_);
    }
    bool missing(std::string_view what, const antlr4::Token& after, const antlr4::Token& before) {
        const std::uint32_t end = range_of(file_, after).end;
        diags_
            .report(diag::SyntaxError, range_of(file_, before),
                    fmt::format("expected `{}` before `{}`", what, text(before)))
            .suggest({file_, end, end}, std::string(what));
        return true;
    }

    /// `uint8 img(y, x)`, `cast(uint8, e)`
    bool cast() {
        if (!is(previous_, PipeParser::TYPE) || !expects(PipeParser::LPAREN)) return false;
        return say(range_of(file_, *previous_), fmt::format("a cast is written `{}(e)`", text(*previous_)));
    }

    /// `print(img)` as a statement.
    bool call_statement() {
        const bool ends = expects(PipeParser::ASSIGN) && expects(PipeParser::COLON) &&
                          is(previous_, PipeParser::RPAREN) &&
                          (!same_line(previous_, &found_) || found(PipeParser::SEMICOLON) || found(PipeParser::RBRACE));
        const bool text_argument = found(PipeParser::STRING) && place_.rule == PipeParser::RuleDims;
        if (!is(place_.statement, PipeParser::NAME) || !(ends || text_argument)) return false;
        const auto foreign = foreign_name(text(*place_.statement));
        return say(range_of(file_, *place_.statement), foreign && !foreign->note.empty()
                                                           ? foreign->note
                                                           : "a call is no statement: `f(y, x) = e` defines an image");
    }

    bool definition() {
        if (is(previous_, PipeParser::NAME) && (is(before_, PipeParser::CONST) || is(before_, PipeParser::LET)) &&
            found(PipeParser::NAME) && !type_of(previous_).empty()) {
            const bool constant = is(before_, PipeParser::CONST);
            return replace(range_of(file_, *previous_),
                           constant ? "a constant has the type of its value: `const N = 3`"
                                    : "a `let` has the type of its value: `let a = float32(e)`",
                           {file_, range_of(file_, *previous_).begin, range_of(file_, found_).begin}, "");
        }
        if (place_.rule == PipeParser::RuleBinding && is(before_, PipeParser::COMMA)) {
            return say(range_of(file_, *before_), "what uses the names stands behind `in`: `let a = e in a * 2`");
        }
        if (expects(PipeParser::IN) && expects(PipeParser::COMMA) && starts_operand(&found_)) {
            const std::uint32_t begin = range_of(file_, found_).begin;
            return replace(range_of(file_, found_), "what uses the names stands behind `in`: `let a = e in a * 2`",
                           {file_, begin, begin}, "in ");
        }
        if (expects(PipeParser::INT) && (found(PipeParser::AMPERSAND) || found(PipeParser::STAR)) &&
            starts_operand(next_) && adjacent(&found_, *next_)) {
            return say(range_of(file_, found_), "there are no pointers: a point of an image is read by `img(y, x)`");
        }
        if (found(PipeParser::STRING) && expects(PipeParser::INT)) {
            return say(range_of(file_, found_), "there are no strings; the path of an `import` alone stands in `\"`");
        }
        if (found(PipeParser::ARROW) && ends_operand(previous_) && adjacent(previous_, found_)) {
            return say(range_of(file_, found_), "nothing has members: a point of an image is read by `img(y, x)`");
        }
        const bool first_of_several = found(PipeParser::COMMA) && is(previous_, PipeParser::NAME) &&
                                      (previous_ == place_.statement || is(before_, PipeParser::LET)) &&
                                      expects(PipeParser::ASSIGN);
        if (first_of_several || (is(previous_, PipeParser::LET) && found(PipeParser::LPAREN))) {
            return say(range_of(file_, found_), "several values are named by `let [a, b] = t`");
        }
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
        if (is_word(previous_, {"end", "endfor", "endif", "done", "fi"}) && previous_ == place_.statement &&
            expects(PipeParser::ASSIGN) && !same_line(previous_, &found_)) {
            return say(range_of(file_, *previous_), "blocks stand in braces: `for l in 0..4 { ... }`");
        }
        // `2 img(y, x)`: what follows the operand was taken for the next statement
        const antlr4::Token* ahead = place_.statement == nullptr ? nullptr : visible(*place_.statement, -1);
        if (ends_operand(ahead) && same_line(ahead, place_.statement) && expects(PipeParser::ASSIGN) &&
            expects(PipeParser::COLON)) {
            if (is(ahead, PipeParser::NAME)) {
                return say(range_of(file_, *ahead),
                           fmt::format("arguments stand in parentheses, and between two operands an operator: `{}(e)`",
                                       text(*ahead)));
            }
            if (ends_variables(*ahead)) {
                return say(range_of(file_, *ahead),
                           "a reduction says what its variables go over: `max(y in 0..R, x in 0..C) img(y, x)`");
            }
            return say(range_of(file_, *place_.statement),
                       fmt::format("expected an operator before `{}`", text(*place_.statement)));
        }
        if (place_.in_function && expects(PipeParser::ASSIGN) && expects(PipeParser::COLON) &&
            !starts_operand(&found_)) {
            return say(range_of(file_, *place_.statement),
                       "a function in braces returns its result: `return e`; one of an expression is `fn f(a) = e`");
        }
        if (call_statement()) return true;
        const bool comma = found(PipeParser::COMMA) && expects(PipeParser::RPAREN) && !expects(PipeParser::COMMA);
        const antlr4::Token* open = open_bracket();
        if (comma && open != nullptr && tuple(*open)) return true;
        const bool bar = found(PipeParser::PIPE) && expects(PipeParser::INT);
        if (!comma && !bar) return false;
        return say(range_of(file_, found_), "the dimensions stand on the left side: `out(y, x) = e`");
    }

    /// `(a, b)`, which is not the left side of `(y, x) => e`.
    bool tuple(const antlr4::Token& open) {
        int depth = 0;
        for (const antlr4::Token* t = &open; t != nullptr; t = visible(*t, +1)) {
            if (is(t, PipeParser::LPAREN)) ++depth;
            if (is(t, PipeParser::RPAREN)) --depth;
            if (depth > 0) continue;
            const antlr4::Token* after = visible(*t, +1);
            if (after == nullptr || (is(after, PipeParser::ASSIGN) && same_line(t, after)) ||
                is(after, PipeParser::ARROW)) {
                return false;
            }
            diags_.report(diag::ForeignSyntax, from_to(open, *t), "several values are a table: `[a, b]`")
                .suggest(range_of(file_, open), "[")
                .suggest(range_of(file_, *t), "]");
            return true;
        }
        return false;
    }

    /// Closes the names of `max(k)`, or `argmin(y, x)`.
    [[nodiscard]] bool ends_variables(const antlr4::Token& close) const {
        if (close.getType() != PipeParser::RPAREN) return false;
        const antlr4::Token* t = visible(close, -1);
        while (is(t, PipeParser::NAME) || is(t, PipeParser::COMMA)) t = visible(*t, -1);
        const antlr4::Token* callee = is(t, PipeParser::LPAREN) ? visible(*t, -1) : nullptr;
        return is(callee, PipeParser::MIN) || is(callee, PipeParser::MAX) || is(callee, PipeParser::ARGMIN) ||
               is(callee, PipeParser::ARGMAX);
    }
};

}  // namespace

bool report_foreign_syntax(const ErrorPlace& place, const SourceManager& sources, FileId file, Diagnostics& diags) {
    return report_foreign_head(place, sources, file, diags) || ForeignSyntax(place, sources, file, diags).report();
}

}  // namespace pipec::syntax
