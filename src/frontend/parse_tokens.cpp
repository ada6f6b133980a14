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
};
constexpr Sign kSigns[] = {
    {"×", "*"},  {"·", "*"},  {"÷", "/"},  {"−", "-"},   {"–", "-"},  {"—", "-"},    {"≤", "<="},
    {"≥", ">="}, {"≠", "!="}, {"→", "->"}, {"∧", "and"}, {"∨", "or"}, {"¬", "not "}, {"…", ".."},
};

/// What is written for a sign of print or, as keyboards for Chinese and Japanese give it, for an ASCII character of
/// full width; empty where nothing is.
std::string ascii_of(std::string_view text, std::uint32_t code) {
    constexpr std::uint32_t kFirst = 0xFF01, kLast = 0xFF5E;  // of full width, in the order of ASCII from `!` on
    if (kFirst <= code && code <= kLast) return {static_cast<char>('!' + (code - kFirst))};
    const auto* sign = std::ranges::find(kSigns, text, &Sign::text);
    return sign == std::end(kSigns) ? "" : std::string(sign->ascii);
}

/// The one token that a text is; INVALID_TYPE where it is none or several.
std::size_t token_type(std::string_view text) {
    ByteStream stream(text);
    PipeLexer lexer(&stream);
    lexer.removeErrorListeners();
    const auto token = lexer.nextToken();
    const bool one = lexer.nextToken()->getType() == antlr4::Token::EOF;
    return one ? token->getType() : antlr4::Token::INVALID_TYPE;
}

bool is_number(std::string_view text) {
    const std::size_t type = token_type(text);
    return type == PipeLexer::INT || type == PipeLexer::FLOAT;
}

bool ends_operand(std::size_t type) {
    return type == PipeLexer::NAME || type == PipeLexer::INT || type == PipeLexer::FLOAT || type == PipeLexer::RPAREN ||
           type == PipeLexer::RBRACKET;
}

/// Spaces of other widths than the usual one's, and what has no width at all.
bool is_foreign_space(std::uint32_t code) {
    return code == 0xA0 || code == 0xAD || (0x2000 <= code && code <= 0x200F) || (0x2028 <= code && code <= 0x202F) ||
           code == 0x3000 || code == 0xFEFF;
}

/// Of the scripts for which keyboards are made: Latin, Greek, Cyrillic and those of Asia.
bool is_foreign_letter(std::uint32_t code) {
    return (0xC0 <= code && code <= 0x2AF && code != 0xD7 && code != 0xF7) || (0x370 <= code && code <= 0x1FFF) ||
           (0x3040 <= code && code <= 0xFDFF);
}

bool is_quote(std::string_view text) {
    static const std::set<std::string_view> kQuotes = {"'", "‘", "’", "“", "”", "„", "«", "»"};
    return kQuotes.contains(text);
}

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
            if (token->getChannel() == antlr4::Token::DEFAULT_CHANNEL) last_type_ = token->getType();
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
            case PipeLexer::NAME:
            case PipeLexer::INT:
                if (range.begin == foreign_end_) return name_letter(token, range);
                if (token.getType() == PipeLexer::NAME) name_ = &token;
                break;
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
        // `// /255` and `// *2` say what somebody did, or did not.
        const bool operand = numbers && std::string_view("0123456789(-").find(divisor[first]) != std::string_view::npos;
        const std::size_t before = source.substr(0, comment.begin).find_last_not_of(" \t");
        if (!operand || before == std::string_view::npos || source[before] != ')') return;
        diags_.report(diag::DivisionComment, comment, std::string(divisor.substr(first, last - first + 1)))
            .suggest({file_, comment.begin, comment.begin + 2}, "/")
            .note("`/` of integers rounds down");
    }

    void invalid_number(antlr4::CommonToken& token, SourceRange range) {
        const std::string text(sources_.text(range));
        auto report = diags_.report(diag::InvalidNumber, range, excerpt(sources_, range));
        if (const std::string number = without_suffix(text); !number.empty()) {
            report.suggest(range, number).note("a number has no suffix; a type is given by a cast: `float32(1)`");
        } else {
            report.note("numbers are written `12`, `0x1F`, `0b101`, `1.5`, `2e-3`");
            const std::size_t digits = text.find_first_not_of("0123456789.");
            if (digits != std::string::npos && text[0] != '0' && token_type(text.substr(digits)) == PipeLexer::NAME) {
                report.note(
                    fmt::format("a product has an operator: `{} * {}`", text.substr(0, digits), text.substr(digits)));
            }
        }
        token.setType(PipeLexer::INT);
        token.setText("0");
    }

    /// `0.5f`, `1u`, `0xFFu`, `2f32`: the number without the letters of its type; empty where it is not that.
    static std::string without_suffix(const std::string& text) {
        static const std::set<std::string_view> kSuffixes = {"f",   "F",   "l",   "L",   "u",   "U",   "ul",  "UL",
                                                             "ull", "ULL", "ll",  "LL",  "f16", "h",   "f32", "f64",
                                                             "u8",  "u16", "u32", "u64", "i8",  "i16", "i32", "i64"};
        for (std::size_t at = 1; at < text.size(); ++at) {
            if (kSuffixes.contains(std::string_view(text).substr(at)) && is_number(text.substr(0, at))) {
                return text.substr(0, at);
            }
        }
        return "";
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
        const bool closing_quote = is_quote(text) && quoted_line_ == token.getLine();
        if (is_quote(text)) quoted_line_ = token.getLine();
        if (range.begin == hidden_end_ || closing_quote) return hide(token, range);  // one report for a run of them
        const std::uint32_t code = code_point(text);
        const bool letter = is_foreign_letter(code);
        const bool goes_on = letter && range.begin == foreign_end_;
        if (letter && (!letters_.insert(code).second || goes_on))
            return name_letter(token, range);  // known from before
        const bool printable = code > 0x20 && code != 0x7F && !(code >= 0x80 && code < 0xA0) && !is_foreign_space(code);
        auto report = diags_.report(diag::UnknownCharacter, range,
                                    printable ? fmt::format("`{}`", text) : fmt::format("U+{:04X}", code));
        if (letter) {
            report.note("names hold the letters A to Z, digits and `_`");
            return name_letter(token, range);
        }
        const std::string ascii = ascii_of(text, code);
        if (const std::size_t type = token_type(ascii); type < PipeLexer::AND_AND && type != 0) {
            report.suggest(range, ascii);
            token.setType(type);
            return;
        }
        hide(token, range);
        if (is_foreign_space(code)) {
            report.suggest(range, " ");
        } else if (is_quote(text)) {
            quote(report, range);
        } else if (text == "#") {
            hash(report, token, range);
        } else if (text == "@" && starts_line(range)) {  // Python's `@jit`
            report.note("a function is written `fn f(a, b) = e`, with nothing before it");
            commented_line_ = token.getLine();
        } else if (text == "@") {
            report.note("a product of matrices is `sum(k in 0..n) a(y, k) * b(k, x)`");
            if (ends_operand(last_type_)) show(token, PipeLexer::STAR);
        } else if (text == "\\") {
            report.note("an expression goes on in the next line without a sign").suggest(range, "");
        }
    }

    /// Begins a name, or goes on with the one before: parsing goes on with the name that is meant.
    void name_letter(antlr4::CommonToken& token, SourceRange range) {
        if (continues_name(range)) {
            name_->setStopIndex(range.end - 1);
            token.setChannel(antlr4::Token::HIDDEN_CHANNEL);
        } else {
            token.setType(PipeLexer::NAME);
            name_ = &token;
        }
        foreign_end_ = range.end;
    }
    [[nodiscard]] bool continues_name(SourceRange range) const {
        return name_ != nullptr && name_->getStopIndex() + 1 == range.begin;
    }

    /// `'math'`, `1'000` and MATLAB's `a'`.
    void quote(Diagnostics::Builder& report, SourceRange range) {
        const std::string_view source = sources_.text(file_);
        const auto alnum = [&](std::size_t at) {
            return at < source.size() && std::isalnum(static_cast<unsigned char>(source[at])) != 0;
        };
        const bool digits = range.begin > 0 && std::isdigit(static_cast<unsigned char>(source[range.begin - 1])) != 0;
        if (digits && alnum(range.end)) {
            report.suggest(range, "_");
        } else if (range.begin > 0 && (source[range.begin - 1] == ')' || alnum(range.begin - 1))) {
            report.note("a transpose is a stage: `g(y, x) = f(x, y)`");
        } else {
            report.note("there are no strings; the path of an `import` alone stands in `\"`");
            const std::string_view line = source.substr(0, source.find('\n', range.end));
            for (std::size_t at = range.end; last_type_ == PipeLexer::IMPORT && at < line.size(); ++at) {
                const std::size_t length = utf8_length(line.substr(at));
                if (!is_quote(line.substr(at, length))) continue;
                const auto closing = static_cast<std::uint32_t>(at);
                report.suggest(range, "\"")
                    .suggest({file_, closing, closing + static_cast<std::uint32_t>(length)}, "\"");
                break;
            }
        }
    }

    /// Most likely meant to begin a comment; the rest of the line is none of the program's.
    void hash(Diagnostics::Builder& report, const antlr4::CommonToken& token, SourceRange range) {
        const std::string_view rest = sources_.text(file_).substr(range.end);
        const std::string_view word = rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
        static const std::set<std::string_view> kDirectives = {"pragma", "if",    "ifdef", "ifndef", "elif",
                                                               "else",   "endif", "undef", "error"};
        if (word == "include") {
            report.note("a file is imported by `import \"stencil\"`");
        } else if (word == "define") {
            report.note("a constant is written `const N = 3`");
        } else if (kDirectives.contains(word)) {
            report.note("there is no preprocessor; an `if` whose condition is constant takes one of two");
        } else {
            report.note("a comment begins with `//`").suggest(range, "//");
        }
        commented_line_ = token.getLine();
    }

    /// Nothing but spaces stands before it on its line.
    [[nodiscard]] bool starts_line(SourceRange range) const {
        const std::string_view before = sources_.text(file_).substr(0, range.begin);
        const std::size_t last = before.find_last_not_of(" \t");
        return last == std::string_view::npos || before[last] == '\n';
    }

    void hide(antlr4::CommonToken& token, SourceRange range) {
        token.setChannel(antlr4::Token::HIDDEN_CHANNEL);
        hidden_end_ = range.end;
    }
    void show(antlr4::CommonToken& token, std::size_t type) {
        token.setChannel(antlr4::Token::DEFAULT_CHANNEL);
        token.setType(type);
    }

    const SourceManager& sources_;
    FileId file_;
    Diagnostics& diags_;
    int depth_ = 0;
    bool stopped_ = false;
    std::size_t quoted_line_ = SIZE_MAX;      ///< with a `'` that was reported
    std::size_t commented_line_ = SIZE_MAX;   ///< with a `#`, most likely meant to begin a comment
    std::size_t last_type_ = 0;               ///< of the token before
    antlr4::CommonToken* name_ = nullptr;     ///< the last one
    std::set<std::uint32_t> letters_;         ///< of other scripts, that were reported
    std::uint32_t foreign_end_ = UINT32_MAX;  ///< where the last of them ended
    std::uint32_t hidden_end_ = UINT32_MAX;   ///< where the last hidden garbage ended
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
