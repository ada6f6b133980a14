// Text to tokens: lexical errors and the operators of other languages. See parse_tokens.h.
#include "frontend/parse_tokens.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "PipeLexer.h"
#include "frontend/diagnostics.h"
#include "frontend/parse.h"

namespace pipec::syntax {

using grammar::PipeLexer;

std::size_t ByteStream::LA(ssize_t i) {
    if (i == 0) return 0;
    const auto at = static_cast<ssize_t>(position_) + i - (i > 0 ? 1 : 0);
    if (at < 0 || at >= static_cast<ssize_t>(text_.size())) return EOF;
    return static_cast<unsigned char>(text_[static_cast<std::size_t>(at)]);
}

std::string ByteStream::getText(const antlr4::misc::Interval& interval) {
    if (interval.a < 0 || interval.b < interval.a) return {};
    const auto begin = std::min(static_cast<std::size_t>(interval.a), text_.size());
    return std::string(text_.substr(begin, static_cast<std::size_t>(interval.b - interval.a) + 1));
}

std::string excerpt(const SourceManager& sources, SourceRange range) {
    constexpr std::size_t kMaxBytes = 40;
    std::string text(sources.text(range));
    if (text.size() <= kMaxBytes) return text;
    std::size_t end = kMaxBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
    return text.substr(0, end) + "...";
}

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Length of the well-formed UTF-8 sequence at the start of `text`; 0 where there is none. (RFC 3629: no surrogates, no
/// overlong forms, at most U+10FFFF.)
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        if (!continues(1) || !continues(2)) return 0;
        if (lead == 0xE0 && byte(1) < 0xA0) return 0;
        if (lead == 0xED && byte(1) > 0x9F) return 0;
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        if (!continues(1) || !continues(2) || !continues(3)) return 0;
        if (lead == 0xF0 && byte(1) < 0x90) return 0;
        if (lead == 0xF4 && byte(1) > 0x8F) return 0;
        return 4;
    }
    return 0;
}

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text.substr(at));
        if (length == 0) return at;
        at += length;
    }
    return std::nullopt;
}

std::uint32_t code_point(std::string_view sequence) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
    if (sequence.size() == 1) return byte(0);
    std::uint32_t value = byte(0) & (0x7FU >> sequence.size());
    for (std::size_t i = 1; i < sequence.size(); ++i) value = value << 6 | (byte(i) & 0x3FU);
    return value;
}

/// What other languages write, what .pipe writes, and the token to go on with.
struct ForeignToken {
    std::size_t type;
    std::string_view replacement;  ///< empty: no single token replaces it
    std::string_view advice;
    std::size_t as;
};
constexpr ForeignToken kForeignTokens[] = {
    {PipeLexer::AND_AND, "and", "logical and is written `and`", PipeLexer::AND},
    {PipeLexer::OR_OR, "or", "logical or is written `or`", PipeLexer::OR},
    {PipeLexer::BANG, "not ", "logical negation is written `not`, and binds looser than a comparison", PipeLexer::NOT},
    {PipeLexer::STAR_STAR, "", "a power is written `pow(a, b)`; a small one as a product", PipeLexer::STAR},
};

/// Signs of print, and how they are written here.
struct Sign {
    std::string_view text;
    std::string_view ascii;
    std::size_t type;
};
constexpr Sign kSigns[] = {
    {"×", "*", PipeLexer::STAR},           {"·", "*", PipeLexer::STAR},       {"÷", "/", PipeLexer::SLASH},
    {"−", "-", PipeLexer::MINUS},          {"–", "-", PipeLexer::MINUS},      {"≤", "<=", PipeLexer::LESS_EQUAL},
    {"≥", ">=", PipeLexer::GREATER_EQUAL}, {"≠", "!=", PipeLexer::NOT_EQUAL}, {"→", "->", PipeLexer::ARROW},
};

class Tokenizer {
public:
    Tokenizer(const SourceManager& sources, FileId file, Diagnostics& diags)
        : sources_(sources), file_(file), diags_(diags) {}

    TokenList run(antlr4::CharStream& stream) {
        const std::string_view text = sources_.text(file_);
        if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
            const auto at = static_cast<std::uint32_t>(nul);
            diags_.report(diag::NulByte, {file_, at, at + 1});
            return {};
        }
        if (const auto invalid = first_invalid_utf8(text)) {
            const auto at = static_cast<std::uint32_t>(*invalid);
            diags_.report(diag::InvalidUtf8, {file_, at, at + 1}, static_cast<unsigned char>(text[at]));
            return {};
        }
        if (text.starts_with(kByteOrderMark)) stream.seek(kByteOrderMark.size());
        PipeLexer lexer(&stream);
        lexer.removeErrorListeners();
        TokenList tokens;
        do {
            std::unique_ptr<antlr4::Token> token = lexer.nextToken();
            check(static_cast<antlr4::CommonToken&>(*token));
            tokens.push_back(std::move(token));
            if (stopped_ || diags_.too_many()) return {};
        } while (tokens.back()->getType() != antlr4::Token::EOF);
        return tokens;
    }

private:
    void check(antlr4::CommonToken& token) {
        const SourceRange range = range_of(file_, token);
        if (token.getLine() == commented_line_ && token.getType() != antlr4::Token::EOF) {
            token.setChannel(antlr4::Token::HIDDEN_CHANNEL);
            return;
        }
        switch (token.getType()) {
            case PipeLexer::LPAREN:
            case PipeLexer::LBRACKET:
            case PipeLexer::LBRACE:
                if (++depth_ > kMaxNesting) {
                    diags_.report(diag::NestedTooDeeply, range, kMaxNesting);
                    stopped_ = true;
                }
                break;
            case PipeLexer::RPAREN:
            case PipeLexer::RBRACKET:
            case PipeLexer::RBRACE: depth_ = std::max(0, depth_ - 1); break;
            case PipeLexer::INVALID_NUMBER: invalid_number(token, range); break;
            case PipeLexer::UNTERMINATED_STRING:
                diags_.report(diag::UnterminatedString, {file_, range.begin, range.begin + 1});
                token.setType(PipeLexer::STRING);
                break;
            case PipeLexer::UNTERMINATED_COMMENT:
                diags_.report(diag::UnterminatedComment, {file_, range.begin, range.begin + 2});
                token.setChannel(antlr4::Token::HIDDEN_CHANNEL);
                break;
            case PipeLexer::LINE_COMMENT: division(range); break;
            case PipeLexer::UNKNOWN_CHARACTER: unknown_character(token, range); break;
            default: foreign(token, range); break;
        }
    }

    /// `(a + b) // 2` as Python divides: a comment of numbers alone, behind an operand on its line.
    void division(SourceRange comment) {
        const std::string_view source = sources_.text(file_);
        const std::string_view divisor = source.substr(comment.begin + 2, comment.end - comment.begin - 2);
        const std::size_t first = divisor.find_first_not_of(" \t\r"), last = divisor.find_last_not_of(" \t\r");
        const bool numbers = divisor.find_first_not_of(" \t\r0123456789()+-*/") == std::string_view::npos &&
                             divisor.find_first_of("0123456789") != std::string_view::npos;
        const std::size_t before = source.substr(0, comment.begin).find_last_not_of(" \t");
        if (!numbers || before == std::string_view::npos || source[before] != ')') return;
        diags_.report(diag::DivisionComment, comment, std::string(divisor.substr(first, last - first + 1)))
            .suggest({file_, comment.begin, comment.begin + 2}, "/")
            .note("`/` of integers rounds down");
    }

    void invalid_number(antlr4::CommonToken& token, SourceRange range) {
        auto report = diags_.report(diag::InvalidNumber, range, excerpt(sources_, range));
        report.note(
            "numbers are written `12`, `0x1F`, `0b101`, `1.5`, `2e-3`; a type is given by a cast: `float32(1)`");
        // `0.5f`, `1u`, `2f32`: the number without the letters of its type
        const std::string text(sources_.text(range));
        const std::size_t digits = text.find_first_not_of("0123456789.");
        static const std::set<std::string_view> kSuffixes = {"f",   "F",   "l",   "L",   "u",   "U",   "ul",  "UL",
                                                             "ull", "ULL", "ll",  "LL",  "f16", "h",   "f32", "f64",
                                                             "u8",  "u16", "u32", "u64", "i8",  "i16", "i32", "i64"};
        if (digits != std::string::npos && kSuffixes.contains(std::string_view(text).substr(digits))) {
            report.suggest(range, text.substr(0, digits));
        } else if (digits != std::string::npos && text.find_first_of("xXbB") != 1) {
            report.note(
                fmt::format("a product has an operator: `{} * {}`", text.substr(0, digits), text.substr(digits)));
        }
        token.setType(PipeLexer::INT);
        token.setText("0");
    }

    void foreign(antlr4::CommonToken& token, SourceRange range) {
        for (const ForeignToken& f : kForeignTokens) {
            if (token.getType() != f.type) continue;
            if (f.type == PipeLexer::BANG && range.begin > 0 && sources_.text(file_)[range.begin - 1] == '=') {
                token.setType(f.as);  // `=!`: the parser says how `!=` is written
                continue;
            }
            auto report = diags_.report(diag::ForeignOperator, range, std::string(sources_.text(range)));
            report.note(std::string(f.advice));
            if (!f.replacement.empty()) report.suggest(range, std::string(f.replacement));
            token.setType(f.as);
        }
    }

    void unknown_character(antlr4::CommonToken& token, SourceRange range) {
        const std::string_view text = sources_.text(range);
        const bool quote = text == "'";
        const bool closing_quote = quote && quoted_line_ == token.getLine();
        if (quote) quoted_line_ = token.getLine();
        if (range.begin != hidden_end_ && !closing_quote) {  // one report for a run of them
            const std::uint32_t code = code_point(text);
            const bool printable = code > 0x20 && code != 0x7F && !(code >= 0x80 && code < 0xA0);
            auto report = diags_.report(diag::UnknownCharacter, range,
                                        printable ? fmt::format("`{}`", text) : fmt::format("U+{:04X}", code));
            if (text == "#") {
                const std::string_view rest = sources_.text(file_).substr(range.end);
                report.note(rest.starts_with("include")  ? "a file is imported by `import \"stencil\"`"
                            : rest.starts_with("define") ? "a constant is written `const N = 3`"
                                                         : "a comment begins with `//`");
                commented_line_ = token.getLine();
            }
            const char before = range.begin == 0 ? ' ' : sources_.text(file_)[range.begin - 1];
            if (text == "@") report.note("a product of matrices is `sum(k in 0..n) a(y, k) * b(k, x)`");
            if (quote && (before == ')' || std::isalnum(static_cast<unsigned char>(before)) != 0)) {
                report.note("a transpose is a stage: `g(y, x) = f(x, y)`");
            } else if (quote) {
                report.note("there are no character literals; a path stands in `\"`");
            }
            for (const auto& [sign, ascii, type] : kSigns) {
                if (text != sign) continue;
                report.suggest(range, std::string(ascii));
                token.setType(type);
                return;
            }
        }
        hide(token, range);
    }

    void hide(antlr4::CommonToken& token, SourceRange range) {
        token.setChannel(antlr4::Token::HIDDEN_CHANNEL);
        hidden_end_ = range.end;
    }

    const SourceManager& sources_;
    FileId file_;
    Diagnostics& diags_;
    int depth_ = 0;
    bool stopped_ = false;
    std::size_t quoted_line_ = SIZE_MAX;     ///< with a `'` that was reported
    std::size_t commented_line_ = SIZE_MAX;  ///< with a `#`, most likely meant to begin a comment
    std::uint32_t hidden_end_ = UINT32_MAX;  ///< where the last hidden garbage ended
};

}  // namespace

bool starts_item(const antlr4::Token& token) {
    switch (token.getType()) {
        case PipeLexer::IMPORT:
        case PipeLexer::CONST:
        case PipeLexer::FN:
        case PipeLexer::PIPELINE:
        case antlr4::Token::EOF: return true;
        default: return false;
    }
}

bool starts_statement(const antlr4::Token& token) {
    switch (token.getType()) {
        case PipeLexer::NAME:
        case PipeLexer::MIN:
        case PipeLexer::MAX:
        case PipeLexer::ARGMIN:
        case PipeLexer::ARGMAX:
        case PipeLexer::ACCUMULATE:
        case PipeLexer::LET:
        case PipeLexer::CONST:
        case PipeLexer::FOR:
        case PipeLexer::IF:
        case PipeLexer::RETURN: return true;
        default: return false;
    }
}

bool is_keyword(const antlr4::Token& token) {
    return token.getType() >= PipeLexer::IMPORT && token.getType() <= PipeLexer::TYPE;
}

TokenList tokenize(antlr4::CharStream& stream, const SourceManager& sources, FileId file, Diagnostics& diags) {
    return Tokenizer(sources, file, diags).run(stream);
}

}  // namespace pipec::syntax

namespace pipec {

std::string dump_tokens(const SourceManager& sources, FileId file) {
    syntax::ByteStream stream(sources.text(file));
    grammar::PipeLexer lexer(&stream);
    lexer.removeErrorListeners();
    std::string out;
    while (true) {
        const auto token = lexer.nextToken();
        const SourceRange range = syntax::range_of(file, *token);
        const LineColumn position = sources.position(file, range.begin);
        if (token->getType() == antlr4::Token::EOF) {
            fmt::format_to(std::back_inserter(out), "{}:{}\tEND\n", position.line, position.column);
            return out;
        }
        fmt::format_to(std::back_inserter(out), "{}:{}\t{}\t{}\n", position.line, position.column,
                       lexer.getVocabulary().getSymbolicName(token->getType()), sources.text(range));
    }
}

}  // namespace pipec
