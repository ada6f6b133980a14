// The tokens around a syntax error, and how what other languages write is reported: for parse_foreign*.cpp.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "PipeParser.h"
#include "frontend/diagnostics.h"
#include "frontend/parse.h"
#include "frontend/parse_foreign.h"
#include "frontend/parse_tokens.h"
#include "ir/type.h"

namespace pipec::syntax {

using grammar::PipeParser;

class ErrorTokens {
protected:
    ErrorTokens(const ErrorPlace& place, const SourceManager& sources, FileId file, Diagnostics& diags)
        : place_(place), found_(place.found), sources_(sources), file_(file), diags_(diags) {
        previous_ = visible(found_, -1);
        before_ = previous_ == nullptr ? nullptr : visible(*previous_, -1);
        next_ = visible(found_, +1);
    }

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

    /// The innermost bracket that is open before the offending token; null where none is.
    [[nodiscard]] const antlr4::Token* open_bracket() const {
        int closed = 0;
        for (const antlr4::Token* t = previous_; t != nullptr; t = visible(*t, -1)) {
            if (is(t, PipeParser::RPAREN) || is(t, PipeParser::RBRACKET) || is(t, PipeParser::RBRACE)) ++closed;
            const bool opens = is(t, PipeParser::LPAREN) || is(t, PipeParser::LBRACKET) || is(t, PipeParser::LBRACE);
            if (opens && closed-- == 0) return t;
        }
        return nullptr;
    }
    /// What is called or indexed by what stands in this bracket; null where the bracket stands by itself.
    [[nodiscard]] const antlr4::Token* callee_of(const antlr4::Token* open) const {
        const antlr4::Token* before = open == nullptr ? nullptr : visible(*open, -1);
        return (is_name(before) || ends_operand(before)) && adjacent(before, *open) ? before : nullptr;
    }
    [[nodiscard]] bool is_name(const antlr4::Token* token) const {
        return is(token, PipeParser::NAME) || is(token, PipeParser::MIN) || is(token, PipeParser::MAX);
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

/// Of an error at the top of a file, or in the head of a pipeline or function.
bool report_foreign_head(const ErrorPlace& place, const SourceManager& sources, FileId file, Diagnostics& diags);

}  // namespace pipec::syntax
