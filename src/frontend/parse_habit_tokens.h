// The tokens of a program as parse_habits.cpp looks at them: brackets, operands, types of other languages, and what
// hides a token from the parser.
#pragma once

#include <antlr4-runtime.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "PipeParser.h"
#include "frontend/parse.h"
#include "frontend/parse_tokens.h"
#include "ir/type.h"
#include "support/source.h"

namespace pipec::syntax {

using grammar::PipeParser;

inline bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

class HabitTokens {
protected:
    HabitTokens(antlr4::CommonTokenStream& tokens, const SourceManager& sources, FileId file)
        : sources_(sources), file_(file) {
        for (antlr4::Token* token : tokens.getTokens()) {
            if (token->getChannel() == antlr4::Token::DEFAULT_CHANNEL) {
                tokens_.push_back(dynamic_cast<antlr4::CommonToken*>(token));
            }
        }
    }

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
    /// A name, or a keyword that is the name of something in other languages.
    [[nodiscard]] bool word_like(std::size_t i) const {
        return name_like(i) || is(i, PipeParser::TYPE) || is(i, PipeParser::SUM) || is(i, PipeParser::PROD) ||
               is(i, PipeParser::ANY) || is(i, PipeParser::ALL);
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

    const SourceManager& sources_;
    FileId file_;
    std::vector<antlr4::CommonToken*> tokens_;  ///< that the parser sees, before anything is hidden here
};

}  // namespace pipec::syntax
