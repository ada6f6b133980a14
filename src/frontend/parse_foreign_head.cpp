// What people write at the top of a file and in heads who know other languages. See parse_foreign.h.
#include <fmt/format.h>

#include <string>

#include "frontend/parse_error_tokens.h"

namespace pipec::syntax {

namespace {

class ForeignHead : ErrorTokens {
public:
    ForeignHead(const ErrorPlace& place, const SourceManager& sources, FileId file, Diagnostics& diags)
        : ErrorTokens(place, sources, file, diags) {}

    bool report() { return item() || head() || function(); }

private:
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
        if (found(PipeParser::NAME) && is(next_, PipeParser::ASSIGN)) {
            const std::uint32_t begin = range.begin;
            return replace(range, "a constant of a file is written `const N = 3`", {file_, begin, begin}, "const ");
        }
        if (found(PipeParser::TYPE) ||
            is_word(&found_, {"void", "struct", "class", "enum", "typedef", "template", "kernel", "__global__",
                              "__kernel", "__device__", "extern", "uniform"}) ||
            !type_of(&found_).empty()) {
            return say(range,
                       "a file holds `pipeline p(img: float32[R, C]) -> out: float32[R, C] { ... }`, `fn f(a) = e`, "
                       "`const N = 3` and imports");
        }
        return false;
    }

    bool head() {
        const bool in_head = place_.rule == PipeParser::RulePipelineHead || place_.rule == PipeParser::RulePorts ||
                             place_.rule == PipeParser::RulePort ||
                             (place_.rule == PipeParser::RuleType && place_.statement == nullptr);
        if (is(previous_, PipeParser::ARROW) && found(PipeParser::LPAREN)) {
            return say(range_of(file_, found_),
                       "outputs have no parentheses: `-> out: float32[R, C], total: float32[] { ... }`");
        }
        const antlr4::Token* open = open_bracket();
        if (found(PipeParser::COLON) && is(open, PipeParser::LBRACKET) && !type_of(visible(*open, -1)).empty()) {
            return say(range_of(file_, found_), "an extent is a size or a number: `img: float32[R, C]`");
        }
        if (found(PipeParser::COLON) && place_.statement == nullptr && expects(PipeParser::LBRACE) &&
            !expects(PipeParser::ASSIGN)) {
            return say(range_of(file_, found_), "the body stands in braces: `{ out(y, x) = e }`");
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
};

}  // namespace

bool report_foreign_head(const ErrorPlace& place, const SourceManager& sources, FileId file, Diagnostics& diags) {
    return ForeignHead(place, sources, file, diags).report();
}

}  // namespace pipec::syntax
