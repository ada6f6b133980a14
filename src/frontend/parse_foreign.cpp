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

class ForeignSyntax {
public:
    ForeignSyntax(const ErrorPlace& place, const SourceManager& sources, FileId file, Diagnostics& diags)
        : place_(place), found_(place.found), sources_(sources), file_(file), diags_(diags) {
        previous_ = visible(found_, -1);
        before_ = previous_ == nullptr ? nullptr : visible(*previous_, -1);
        next_ = visible(found_, +1);
    }

    bool report() {
        return names_without_let() || item() || comparison() || word() || choice() || range() || list() || head() ||
               function() || definition();
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
    [[nodiscard]] bool starts_operand(const antlr4::Token* token) const {
        if (token == nullptr) return false;
        switch (token->getType()) {
            case PipeParser::NAME:
            case PipeParser::MIN:
            case PipeParser::MAX:
            case PipeParser::INT:
            case PipeParser::FLOAT:
            case PipeParser::TRUE:
            case PipeParser::FALSE:
            case PipeParser::TYPE:
            case PipeParser::SUM:
            case PipeParser::LPAREN: return true;
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
    bool replace(SourceRange range, std::string_view message, SourceRange what, std::string_view by) {
        diags_.report(diag::ForeignSyntax, range, std::string(message)).suggest(what, std::string(by));
        return true;
    }
    bool replace(SourceRange range, std::string_view message, std::string_view by) {
        return replace(range, message, range, by);
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
            const antlr4::Token* last = &found_;
            for (const antlr4::Token* t = last; same_line(t, &found_); t = visible(*t, +1)) last = t;
            if (is(last, PipeParser::COLON)) return say(range, "a function is written `fn f(a, b) = e`");
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
                return say(range, "nothing is declared: `f(y, x) = e` defines an image, `let a = e` names a number");
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
        if (expects(PipeParser::DOTDOT) && is(previous_, PipeParser::RPAREN)) {
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
        if (previous_ == nullptr || !same_line(previous_, &found_)) return false;
        if (!starts_operand(&found_) || found(PipeParser::LPAREN)) return false;
        const bool port = place_.rule == PipeParser::RulePipelineHead && is(&found_, PipeParser::NAME) &&
                          (is(previous_, PipeParser::RBRACKET) || is(previous_, PipeParser::TYPE)) &&
                          is(next_, PipeParser::COLON);
        const bool element =
            expects(PipeParser::COMMA) && (expects(PipeParser::RPAREN) || expects(PipeParser::RBRACKET));
        const antlr4::Token* ahead = is(before_, PipeParser::LBRACKET) ? visible(*before_, -1) : nullptr;
        const bool second_of_table = expects(PipeParser::RBRACKET) && is(before_, PipeParser::LBRACKET) &&
                                     !(ends_operand(ahead) && adjacent(ahead, *before_));
        if (!port && !((element || second_of_table) && ends_operand(previous_))) return false;
        const std::uint32_t end = range_of(file_, *previous_).end;
        diags_.report(diag::SyntaxError, range_of(file_, found_), fmt::format("expected `,` before `{}`", text(found_)))
            .suggest({file_, end, end}, ",");
        return true;
    }

    bool head() {
        const bool in_head = place_.rule == PipeParser::RulePipelineHead || place_.rule == PipeParser::RulePorts ||
                             place_.rule == PipeParser::RulePort ||
                             (place_.rule == PipeParser::RuleType && place_.statement == nullptr);
        if (is(previous_, PipeParser::ARROW) && found(PipeParser::LPAREN)) {
            return say(range_of(file_, found_),
                       "outputs have no parentheses: `-> out: float32[R, C], total: float32[] { ... }`");
        }
        if (!in_head) return false;
        if (found(PipeParser::IN) && is(previous_, PipeParser::TYPE) && is(before_, PipeParser::COLON)) {
            const std::string name = text(*visible(*before_, -1));
            return say(
                range_of(file_, found_),
                fmt::format("what a parameter can be stands behind the outputs: `... -> out: float32[R, C] where 0 "
                            "<= {} <= 1 {{`",
                            name));
        }
        if (found(PipeParser::LBRACKET) && is(previous_, PipeParser::RBRACKET)) {
            return replace(from_to(*previous_, found_), "all extents stand in one pair of brackets: `float32[H, W]`",
                           ", ");
        }
        if (found(PipeParser::LBRACKET) && is(previous_, PipeParser::NAME)) {
            return say(range_of(file_, found_), "a type stands before the extents: `img: float32[R, C]`");
        }
        const bool nameless = expects(PipeParser::COLON) && is(previous_, PipeParser::NAME) && !found(PipeParser::NAME);
        if (is(previous_, PipeParser::NAME) && (found(PipeParser::TYPE) || !type_of(&found_).empty())) {
            const std::uint32_t end = range_of(file_, *previous_).end;
            return replace(range_of(file_, found_), "a type stands behind a colon: `img: float32[R, C]`",
                           {file_, end, end}, ":");
        }
        if (nameless || (expects(PipeParser::TYPE) && !found(PipeParser::TYPE)) ||
            (found(PipeParser::LESS) && !type_of(previous_).empty()) ||
            (found(PipeParser::LESS) && is(previous_, PipeParser::NAME))) {
            return say(range_of(file_, found_),
                       "inputs and outputs have a type and extents: `img: float32[R, C]`; numbers a type alone: "
                       "`gain: float32`");
        }
        if (is(previous_, PipeParser::RPAREN) && found(PipeParser::ASSIGN)) {
            return say(
                range_of(file_, found_),
                "outputs stand behind `->`, and a block defines them: `-> out: float32[R, C] { out(y, x) = e }`");
        }
        if (is(previous_, PipeParser::RPAREN) && (found(PipeParser::COLON) || found(PipeParser::LBRACE))) {
            return say(range_of(file_, found_),
                       "outputs stand behind `->`: `pipeline p(img: float32[R, C]) -> out: "
                       "float32[R, C] { ... }`");
        }
        return false;
    }

    bool function() {
        if (place_.rule == PipeParser::RuleFunctionHead && found(PipeParser::COLON)) {
            return say(range_of(file_, found_), "parameters of a function have no type: `fn f(a, b) = e`");
        }
        if (found(PipeParser::ARROW) && expects(PipeParser::LBRACE) && expects(PipeParser::ASSIGN)) {
            return say(range_of(file_, found_), "a function has the type of its value: `fn f(a, b) = e`");
        }
        if (found(PipeParser::COLON) && expects(PipeParser::LBRACE) && expects(PipeParser::ASSIGN)) {
            return say(range_of(file_, found_), "a function is written `fn f(a, b) = e`");
        }
        return false;
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
        if (found(PipeParser::STRING) && expects(PipeParser::INT)) {
            return say(range_of(file_, found_), "there are no strings; the path of an `import` alone stands in `\"`");
        }
        if (found(PipeParser::ARROW) && ends_operand(previous_) && adjacent(previous_, found_)) {
            return say(range_of(file_, found_), "nothing has members: a point of an image is read by `img(y, x)`");
        }
        const bool first_of_several = found(PipeParser::COMMA) && is(previous_, PipeParser::NAME) &&
                                      previous_ == place_.statement && expects(PipeParser::ASSIGN);
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
        const bool comma = found(PipeParser::COMMA) && expects(PipeParser::RPAREN) && !expects(PipeParser::COMMA);
        const bool bar = found(PipeParser::PIPE) && expects(PipeParser::INT);
        if (!comma && !bar) return false;
        return say(range_of(file_, found_), "the dimensions stand on the left side: `out(y, x) = e`");
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
    return ForeignSyntax(place, sources, file, diags).report();
}

}  // namespace pipec::syntax
